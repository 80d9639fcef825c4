#include "implicit/levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "base/isa.hpp"
#include "linalg/gram.hpp"

namespace bitfm {

namespace {

constexpr int64_t kGrain = 4, kPanel = 256;
constexpr int kPasses = 3;
constexpr float kDependent = 1e-5f;  // weight and levels that say the same cannot be told apart

constexpr std::array<std::array<float, kMostLevelBits>, kMostLevelBits> kMagnitudes{{
    {0.7979f},
    {0.9814f, 0.5286f},
    {1.1720f, 0.5860f, 0.2930f},
    {1.3408f, 0.6704f, 0.3352f, 0.1676f},
}};

// The levels of every number of bits, rising, one after another.
struct LevelTable {
    std::vector<float> values;
    std::array<int32_t, kMostLevelBits + 1> first{};

    LevelTable() {
        for (int bits = 1; bits <= kMostLevelBits; ++bits) {
            first[static_cast<size_t>(bits)] = static_cast<int32_t>(values.size());
            for (int code = 0; code < 1 << bits; ++code) {
                float level = 0;
                for (int i = 0; i < bits; ++i) {
                    const float magnitude = kMagnitudes[static_cast<size_t>(bits - 1)][static_cast<size_t>(i)];
                    level += code >> (bits - 1 - i) & 1 ? magnitude : -magnitude;
                }
                values.push_back(level);
            }
        }
    }
};

class ItemEncoder {
  public:
    ItemEncoder(const Encoding& encoding, const LevelTable& table)
        : e_(encoding),
          n_(static_cast<int64_t>(encoding.bits.size())),
          size_(n_ + 1),
          kernels_(isa().kernels->implicit),
          values_(table.values) {
        for (int32_t bits : e_.bits) {
            first_.push_back(table.first[static_cast<size_t>(bits)]);
            count_.push_back(1 << bits);
        }
        for (auto* each : {&error_, &decoded_}) each->resize(static_cast<size_t>(size_));
    }

    double encode(int64_t item, float* level, float& gain, float& weight) {
        gather(item);
        const float* hessian = matrix_.data() + size_ + 1;  // without the row and column of t
        const float *cross = matrix_.data() + 1, *pull = target_.data() + 1;
        const float t_size = matrix_[0], t_pull = target_[0];
        for (int round = 0; round < e_.rounds && gain > 0; ++round) {
            multiply(hessian, level);
            for (int64_t t = 0; t < n_; ++t) error_[t] = pull[t] - weight * cross[t] - gain * decoded_[t];
            kernels_.descend_levels({.n = n_,
                                     .hessian = hessian,
                                     .stride = size_,
                                     .gain = gain,
                                     .first = first_.data(),
                                     .count = count_.data(),
                                     .values = values_.data(),
                                     .passes = kPasses,
                                     .error = error_.data(),
                                     .level = level});
            multiply(hessian, level);
            const float square = kernels_.dot(level, decoded_.data(), n_), along = kernels_.dot(level, pull, n_);
            const float common = kernels_.dot(level, cross, n_);
            const float determinant = square * t_size - common * common;
            if (!(determinant > kDependent * square * t_size)) break;
            gain = (along * t_size - t_pull * common) / determinant;
            weight = (square * t_pull - common * along) / determinant;
            if (gain < 0) {
                gain = -gain;
                for (int64_t t = 0; t < n_; ++t) level[t] = -level[t];
            }
        }
        return objective(hessian, cross, pull, level, gain, weight);
    }

  private:
    // The metric and the target, D A Dᵀ and D A v.
    void gather(int64_t item) {
        const int64_t first = e_.events.start[item], n = e_.events.start[item + 1] - first;
        const int64_t d = e_.users.columns;
        const auto area = static_cast<size_t>(size_ * size_);
        matrix_.resize(area);
        target_.resize(static_cast<size_t>(size_));
        const float ridge = e_.ridge[item];
        for (size_t i = 0; i < area; ++i) matrix_[i] = e_.unobserved.data[i] + ridge * e_.gram.data[i];
        for (int64_t t = 0; t < size_; ++t)
            target_[t] = e_.unobserved_teacher.row(item)[t] + ridge * e_.decoded_teacher.row(item)[t];
        left_.resize(static_cast<size_t>(kPanel * size_)), right_.resize(static_cast<size_t>(kPanel * size_));
        for (int64_t begin = 0; begin < n; begin += kPanel) {
            const int64_t count = std::min(kPanel, n - begin);
            for (int64_t i = 0; i < count; ++i) {
                const auto s = static_cast<size_t>(first + begin + i);
                const int32_t user = e_.events.index[s];
                const float *x = e_.decoded_users.row(user), weight = e_.events.weight(first + begin + i);
                for (int64_t t = 0; t < size_; ++t) {
                    right_[i * size_ + t] = x[t];
                    left_[i * size_ + t] = weight * x[t];
                }
                const float score = kernels_.dot(e_.users.row(user), e_.teacher.row(item), d);
                kernels_.add_scaled(target_.data(), score, left_.data() + i * size_, size_);
            }
            work_.add_products({left_.data(), count, size_, size_, 1}, {right_.data(), count, size_, size_, 1}, 1.0f,
                               matrix_.data(), size_);
        }
        for (int64_t i = 0; i < size_; ++i)
            for (int64_t j = 0; j < i; ++j) matrix_[i * size_ + j] = matrix_[j * size_ + i];
    }

    void multiply(const float* hessian, const float* level) {
        for (int64_t t = 0; t < n_; ++t) decoded_[t] = kernels_.dot(hessian + t * size_, level, n_);
    }

    double objective(const float* hessian, const float* cross, const float* pull, const float* level, float gain,
                     float weight) {
        multiply(hessian, level);
        double square = 0, along = 0, common = 0;
        for (int64_t t = 0; t < n_; ++t) {
            square += static_cast<double>(level[t]) * decoded_[t];
            along += static_cast<double>(level[t]) * pull[t];
            common += static_cast<double>(level[t]) * cross[t];
        }
        const double g = gain, w = weight;
        return g * g * square - 2 * g * (along - w * common) + w * w * matrix_[0] - 2 * w * target_[0];
    }

    const Encoding& e_;
    const int64_t n_, size_;
    const ImplicitKernels& kernels_;
    const std::vector<float>& values_;
    SymmetricWork work_;
    std::vector<int32_t> first_, count_;
    std::vector<float> matrix_, target_, left_, right_, error_, decoded_;
};

void check(const Encoding& e, const LevelCodes& codes, std::span<double> objective) {
    const auto n = static_cast<int64_t>(e.bits.size()), n_items = codes.level.rows, size = n + 1;
    require(n >= 1 && n <= 4096, "codes must have from 1 to 4096 dimensions");
    for (int32_t bits : e.bits) require(bits >= 1 && bits <= kMostLevelBits, "levels have from 1 to 4 bits");
    const int64_t n_users = e.users.rows, d = e.users.columns;
    require(codes.level.columns == n && static_cast<int64_t>(codes.gain.size()) == n_items &&
                codes.weight.size() == codes.gain.size() && objective.size() == codes.gain.size() &&
                e.ridge.size() == codes.gain.size(),
            "one code, gain, weight, ridge and objective per item are needed");
    require(e.teacher.has_shape(n_items, d) && e.decoded_users.has_shape(n_users, size) &&
                e.decoded_teacher.has_shape(n_items, size) && e.unobserved_teacher.has_shape(n_items, size) &&
                e.unobserved.has_shape(size, size) && e.gram.has_shape(size, size),
            "the decoder's products do not fit together");
    e.events.check(n_items, n_users);
}

}  // namespace

std::span<const float> level_magnitudes(int bits) {
    require(bits >= 1 && bits <= kMostLevelBits, "levels have from 1 to 4 bits");
    return {kMagnitudes[static_cast<size_t>(bits - 1)].data(), static_cast<size_t>(bits)};
}

void encode_levels(Team& team, const Encoding& encoding, const LevelCodes& codes, std::span<double> objective) {
    check(encoding, codes, objective);
    const LevelTable table;
    team.run(codes.level.rows, kGrain, [&](int64_t begin, int64_t end, int) {
        ItemEncoder encoder(encoding, table);
        for (int64_t item = begin; item < end; ++item)
            objective[item] = encoder.encode(item, codes.level.row(item), codes.gain[item], codes.weight[item]);
    });
}

}  // namespace bitfm
