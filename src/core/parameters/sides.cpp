#include "parameters/sides.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/isa.hpp"

namespace bitfm {

namespace {

constexpr int64_t kGrain = 512;

}  // namespace

template <class Real>
void single_features(Team& team, const Design<Real>& design, std::span<const float> gains, const SingleFeature& out) {
    require(static_cast<int64_t>(gains.size()) == design.n_features, "one gain per feature is needed");
    require(static_cast<int64_t>(out.feature.size()) == design.n && out.amount.size() == out.feature.size(),
            "room for one feature per interaction is needed");
    team.run(design.n, kGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t s = begin; s < end; ++s) {
            int64_t found = SingleFeature::kNone;
            double amount = 0;
            // Stops at the second: most rows with several features have many.
            for (size_t b = 0; b < design.blocks.size() && found != SingleFeature::kSeveral; ++b)
                visit_until(design, b, design.blocks[b].rows[static_cast<size_t>(s)], [&](int64_t feature, Real x) {
                    const double share =
                        static_cast<double>(x) * static_cast<double>(gains[static_cast<size_t>(feature)]);
                    if (share == 0) return false;
                    found = found == SingleFeature::kNone ? feature : SingleFeature::kSeveral;
                    amount = share;
                    return found == SingleFeature::kSeveral;
                });
            out.feature[static_cast<size_t>(s)] = found;
            out.amount[static_cast<size_t>(s)] = static_cast<float>(amount);
        }
    });
}

namespace {

// The rows of one thread.
template <class Real, class Weight>
class SideRows {
  public:
    SideRows(const Design<Real>& design, std::span<const Weight> weights, const FactorView& factors, bool cross)
        : design_(design),
          weights_(weights),
          factors_(factors),
          cross_(cross),
          all_(static_cast<size_t>(factors.width)),
          own_(all_.size()) {}

    // Returns the constant but for the bias, and writes the vector unless there is no room for it.
    double row(int64_t interaction, std::span<float> vector) {
        const PairKernels& kernels = isa().kernels->pairs;
        const bool needed = !vector.empty() || !cross_ || design_.blocks.size() > 1;
        double linear = 0, pairs = 0;
        if (needed) std::fill(all_.begin(), all_.end(), 0.0);
        for (size_t b = 0; b < design_.blocks.size(); ++b) {
            size_t n = 0;
            double squares = 0;
            const int64_t row_of_block = design_.blocks[b].rows[static_cast<size_t>(interaction)];
            if (needed) make_room(design_.n_in_row(b, row_of_block));
            each_feature(design_, b, row_of_block, [&](int64_t feature, Real x) {
                const auto f = static_cast<size_t>(feature);
                linear += static_cast<double>(x) * static_cast<double>(weights_[f]);
                if (!needed) return;
                const double amount = static_cast<double>(x) * static_cast<double>(factors_.gains[f]);
                squares += amount * amount;
                feature_[n] = feature;
                amount_[n++] = amount;
            });
            if (!needed) continue;
            const CodeRow row{feature_.data(), amount_.data(), static_cast<int64_t>(n)};
            std::vector<double>& sums = b == 0 ? all_ : own_;
            if (b > 0) std::fill(own_.begin(), own_.end(), 0.0);
            kernels.add_codes(factors_.codes, factors_.width / 8, row, sums.data());
            if (!cross_)
                pairs +=
                    (kernels.wide_product(sums.data(), sums.data(), factors_.width) - squares * factors_.width) / 2;
            if (b == 0) continue;
            pairs += kernels.wide_product(all_.data(), own_.data(), factors_.width);
            for (size_t t = 0; t < all_.size(); ++t) all_[t] += own_[t];
        }
        for (size_t t = 0; t < vector.size(); ++t) vector[t] = static_cast<float>(all_[t]);
        return linear + pairs;
    }

  private:
    void make_room(size_t n) {
        if (feature_.size() >= n) return;
        feature_.resize(n);
        amount_.resize(n);
    }

    const Design<Real>& design_;
    std::span<const Weight> weights_;
    const FactorView& factors_;
    bool cross_;
    std::vector<double> all_, own_;  // Σ x g b, of the blocks so far and of one
    std::vector<int64_t> feature_;
    std::vector<double> amount_;
};

}  // namespace

template <class Real, class Weight>
void side_rows(Team& team, const Design<Real>& design, double bias, std::span<const Weight> weights,
               const FactorView& factors, bool cross, std::span<double> constants, std::span<float> vectors) {
    require(factors.n_features == design.n_features, "one row of factors per feature is needed");
    require(static_cast<int64_t>(weights.size()) == design.n_features, "one weight per feature is needed");
    require(factors.codes && factors.gains, "codes and gains are needed");
    require(static_cast<int64_t>(constants.size()) == design.n &&
                (vectors.empty() || static_cast<int64_t>(vectors.size()) == design.n * factors.width),
            "room for one constant and one vector per interaction is needed");
    const auto width = vectors.empty() ? size_t(0) : static_cast<size_t>(factors.width);
    std::vector<SideRows<Real, Weight>> rows(static_cast<size_t>(team.size()),
                                             SideRows<Real, Weight>(design, weights, factors, cross));
    team.run(design.n, kGrain, [&](int64_t begin, int64_t end, int thread) {
        for (int64_t s = begin; s < end; ++s) {
            const auto at = static_cast<size_t>(s);
            constants[at] = bias + rows[static_cast<size_t>(thread)].row(s, vectors.subspan(at * width, width));
        }
    });
}

#define BITFM_INSTANTIATE_ROWS(Real, Weight)                                                                      \
    template void side_rows(Team&, const Design<Real>&, double, std::span<const Weight>, const FactorView&, bool, \
                            std::span<double>, std::span<float>);
BITFM_INSTANTIATE_ROWS(float, float)
BITFM_INSTANTIATE_ROWS(float, double)
BITFM_INSTANTIATE_ROWS(double, float)
BITFM_INSTANTIATE_ROWS(double, double)

#define BITFM_INSTANTIATE(Real) \
    template void single_features(Team&, const Design<Real>&, std::span<const float>, const SingleFeature&);
BITFM_INSTANTIATE(float)
BITFM_INSTANTIATE(double)

}  // namespace bitfm
