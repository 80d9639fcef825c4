// Discrete coordinate descent over the codes of one field, whose rows are also held to a teacher.
#include <cmath>

#include "base/error.hpp"
#include "parameters/bits.hpp"
#include "solvers/group_sweep.hpp"
#include "solvers/solvers.hpp"

namespace bitfm {

template <class Real>
int64_t sweep_distilled(Team& team, Residuals<Real>& residuals, int64_t field, Matrix<uint8_t> codes,
                        std::span<const float> gains, Matrix<float> error, Matrix<const float> hessian, double strength,
                        int passes) {
    const Design<Real>& design = residuals.design();
    const int bits = bits_of_bytes(static_cast<size_t>(codes.columns));
    require(residuals.cross(), "distillation needs pairs across blocks");
    require(codes.rows == design.n_features && static_cast<int64_t>(gains.size()) == design.n_features,
            "codes must be features × bits / 8 bytes, with one gain each");
    require(field >= 0 && field < static_cast<int64_t>(design.fields.size()), "there is no such field");
    const Field<Real>& of = design.fields[field];
    require(error.has_shape(design.blocks[of.block].n_rows, bits) && hessian.has_shape(bits, bits),
            "errors must be rows × bits, the Hessian bits × bits");
    require(strength >= 0 && std::isfinite(strength), "the strength must be finite and not negative");
    GroupSweep<Real> group(team, residuals);
    const FactorView view = FactorView::of(codes.all(), gains, design.n_features, bits);
    int64_t flips = 0;
    for (int which = 0; which < view.n_groups(); ++which) {
        group.load(team, view, which);
        RuleInput<Real> rule;
        rule.rule = Rule::flip;
        rule.passes = passes;
        flips += group.sweep_distilled(team, field, rule, {bits, strength, hessian.data, error.data}, which);
        for (int64_t i = of.first; i < of.first + of.n_columns; ++i)
            if (gains[i] > 0) codes.row(i)[which] = group.signs(i);  // without a gain there are no signs to tell
    }
    return flips;
}

#define BITFM_INSTANTIATE(Real)                                                                                 \
    template int64_t sweep_distilled(Team&, Residuals<Real>&, int64_t, Matrix<uint8_t>, std::span<const float>, \
                                     Matrix<float>, Matrix<const float>, double, int);
BITFM_INSTANTIATE(float)
BITFM_INSTANTIATE(double)

}  // namespace bitfm
