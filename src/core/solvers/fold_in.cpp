#include "solvers/fold_in.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "base/isa.hpp"
#include "linalg/symmetric.hpp"
#include "parameters/bits.hpp"
#include "parameters/factor_view.hpp"

namespace bitfm {

namespace {

constexpr int64_t kGrain = 4;
constexpr double kLeastNoise = 1e-12;

void check_ratings(const RatingsOfIds& r) {
    require_bits(r.bits);
    const size_t n_ids = r.own_constant.size(), n_rows = r.constant.size(), bits = static_cast<size_t>(r.bits);
    require(r.start.size() == n_ids + 1 && r.own_vector.size() == n_ids * bits,
            "one start, constant and vector per id");
    require(r.row.size() == r.value.size() && r.row.size() == r.before.size(),
            "one row, value and value before per rating");
    require(r.vector.size() == n_rows * bits, "one constant and vector per row");
    require(r.start.front() == 0 && r.start.back() == static_cast<int64_t>(r.row.size()) &&
                std::is_sorted(r.start.begin(), r.start.end()),
            "the starts must rise from 0 to the number of ratings");
    for (int32_t row : r.row) require(row >= 0 && static_cast<size_t>(row) < n_rows, "a row is out of range");
}

// The normal equations of one id at a time.
class Equations {
  public:
    Equations(const RatingsOfIds& ratings, const IdPrior& prior)
        : r_(ratings),
          noise_(std::max(prior.noise, kLeastNoise)),
          size_(static_cast<size_t>(ratings.bits) + 1),
          scale_(size_, std::sqrt(prior.factor)),
          z_(size_),
          gram_(size_ * size_),
          pull_(size_) {
        scale_[0] = std::sqrt(prior.weight);
    }

    void solve(int64_t id, double* solved) {
        std::fill(gram_.begin(), gram_.end(), 0);
        std::fill(pull_.begin(), pull_.end(), 0);
        add_ratings(id);
        // In units of the prior the matrix is positive definite whatever the ratings, and a variance of 0 does no harm.
        for (size_t i = 0; i < size_; ++i) {
            for (size_t j = i; j < size_; ++j) gram_[i * size_ + j] *= scale_[i] * scale_[j];
            gram_[i * size_ + i] += noise_;
            pull_[i] *= scale_[i];
        }
        const auto n = static_cast<int64_t>(size_);
        const bool done = solve_positive({gram_.data(), n, n}, {pull_.data(), n, 1}) &&
                          std::all_of(pull_.begin(), pull_.end(), [](double x) { return std::isfinite(x); });
        for (size_t i = 0; i < size_; ++i) solved[i] = done ? scale_[i] * pull_[i] : 0;
    }

  private:
    void add_ratings(int64_t id) {
        const size_t bits = size_ - 1;
        const float* own = r_.own_vector.data() + static_cast<size_t>(id) * bits;
        for (int64_t s = r_.start[id]; s < r_.start[id + 1]; ++s) {
            const float* vector = r_.vector.data() + static_cast<size_t>(r_.row[s]) * bits;
            const bool is_fresh = std::isnan(r_.before[s]);
            double said = r_.before[s];
            z_[0] = 1;
            for (size_t t = 0; t < bits; ++t) z_[t + 1] = vector[t];
            if (is_fresh) {
                said = r_.own_constant[id] + r_.constant[r_.row[s]];
                for (size_t t = 0; t < bits; ++t) said += z_[t + 1] * own[t];
            }
            const double left = r_.value[s] - said;
            for (size_t i = 0; i < size_; ++i) {
                double* row = gram_.data() + i * size_;
                for (size_t j = i; j < size_; ++j) row[j] += z_[i] * z_[j];
                pull_[i] += left * z_[i];
            }
        }
    }

    const RatingsOfIds& r_;
    const double noise_;
    const size_t size_;
    std::vector<double> scale_, z_, gram_, pull_;
};

}  // namespace

void solve_ids(Team& team, const RatingsOfIds& ratings, const IdPrior& prior, std::span<double> solved) {
    check_ratings(ratings);
    const size_t size = static_cast<size_t>(ratings.bits) + 1, n_ids = ratings.own_constant.size();
    require(prior.noise >= 0 && prior.weight >= 0 && prior.factor >= 0, "variances must be from 0 up");
    require(solved.size() == n_ids * size, "the result must be ids × (bits + 1)");
    team.run(static_cast<int64_t>(n_ids), kGrain, [&](int64_t begin, int64_t end, int) {
        Equations equations(ratings, prior);
        for (int64_t id = begin; id < end; ++id) equations.solve(id, solved.data() + static_cast<size_t>(id) * size);
    });
}

void nearest_codes(Team& team, std::span<const float> vectors, std::span<const float> hessian, int bits, int passes,
                   int rounds, std::span<uint8_t> codes, std::span<float> gains) {
    require_bits(bits);
    const size_t n = gains.size(), width = static_cast<size_t>(bits);
    require(vectors.size() == n * width && codes.size() == n * width / 8, "one vector, code and gain per id");
    require(hessian.size() == width * width, "the Hessian must be bits × bits");
    std::vector<float> error(vectors.size());
    const std::vector<float> weight(n, 1.0f);
    const DistilledField field{.bits = bits,
                               .passes = passes,
                               .start = nullptr,
                               .row = nullptr,
                               .value = nullptr,
                               .row_weight = weight.data(),
                               .hessian = hessian.data(),
                               .error = error.data(),
                               .codes = codes.data(),
                               .gains = gains.data(),
                               .keep_gains = false};
    team.run(static_cast<int64_t>(n), kGrain, [&](int64_t begin, int64_t end, int) {
        std::vector<float> lacking(width);
        for (int64_t id = begin; id < end; ++id) {
            const float* vector = vectors.data() + static_cast<size_t>(id) * width;
            uint8_t* code = codes.data() + static_cast<size_t>(id) * width / 8;
            float squares = 0;
            std::fill(code, code + width / 8, uint8_t{0});
            for (size_t t = 0; t < width; ++t) {
                squares += vector[t] * vector[t];
                if (vector[t] >= 0) code[t / 8] |= static_cast<uint8_t>(1u << (t % 8));
            }
            gains[id] = std::sqrt(squares / static_cast<float>(width));
            if (!(gains[id] > 0) || !std::isfinite(gains[id])) {
                gains[id] = 0;
                continue;
            }
            for (int round = 0; round < rounds; ++round) {
                for (size_t t = 0; t < width; ++t)
                    lacking[t] = vector[t] - ((code[t / 8] >> (t % 8)) & 1 ? gains[id] : -gains[id]);
                float* missed = error.data() + static_cast<size_t>(id) * width;
                std::fill(missed, missed + width, 0.0f);
                for (size_t s = 0; s < width; ++s)
                    for (size_t t = 0; t < width; ++t) missed[t] += lacking[s] * hessian[s * width + t];
                if (isa().kernels->codes.distill_columns(field, id, id + 1) == 0) break;
            }
        }
    });
}

}  // namespace bitfm
