// The design, the trainer and the scores, for float32 and float64.
#include "base/error.hpp"
#include "bind/bind.hpp"
#include "bind/design.hpp"
#include "bind/solver.hpp"
#include "scores/score.hpp"
#include "solvers/solvers.hpp"

namespace bitfm {

namespace {

template <class Real, class Weight>
auto predict(BoundDesign<Real>& bound, double bias, std::span<const Weight> weights, const FactorView& factors,
             bool cross, int n_threads) {
    const Design<Real>& design = bound.design;
    require(!design.blocks.empty(), "a design needs at least one block");
    require(static_cast<int64_t>(weights.size()) == design.n_features && factors.n_features == design.n_features,
            "weights and factors must have a row for each of the " + std::to_string(design.n_features) + " features");
    bound.frozen = true;
    std::vector<Real> out(static_cast<size_t>(design.n), static_cast<Real>(bias));
    {
        nb::gil_scoped_release release;
        std::vector<const int32_t*> row_of;
        for (const Block& block : design.blocks) row_of.push_back(block.rows.data());
        Team team(n_threads, poll_signals);
        add_scores<Real, Weight>(team, design, row_of, weights, factors, cross, out);
    }
    return own_array(std::move(out));
}

// Weights as the model has them, whatever X has: converting all of them would take longer than scoring a few rows.
template <class Real, class Weight>
void bind_predict_codes(nb::module_& m) {
    m.def(
        "predict_codes",
        [](BoundDesign<Real>& design, double bias, Array1<const Weight> weights, Array2<const uint8_t> codes,
           Array1<const float> gains, bool cross, int n_threads) {
            require(gains.size() == codes.shape(0), "one gain per feature is needed");
            const FactorView factors = view_of(codes, span_of(gains));
            return predict<Real, Weight>(design, bias, span_of(weights), factors, cross, n_threads);
        },
        nb::arg("design"), nb::arg("bias"), nb::arg("weights").noconvert(), nb::arg("codes").noconvert(),
        nb::arg("gains").noconvert(), nb::arg("across"), nb::arg("n_threads"));
}

template <class Real>
void reset_reals(Team& team, Residuals<Real>& residuals, double bias, std::span<const Real> weights,
                 Matrix<const Real> factors) {
    residuals.reset(team, bias, weights, view_of(factors));
}

template <class Real>
void reset_codes(Team& team, Residuals<Real>& residuals, double bias, std::span<const Real> weights,
                 Matrix<const uint8_t> codes, std::optional<std::span<const float>> gains) {
    residuals.reset(team, bias, weights, view_of(codes, gains.value_or(std::span<const float>())));
}

template <class Real>
double loss(Team& team, Residuals<Real>& residuals) {
    return residuals.loss(team);
}

template <class Real>
void set_working(Team& team, Residuals<Real>& residuals, std::span<const Real> residual,
                 std::span<const Real> curvature) {
    residuals.set_working(team, residual, curvature);
}

template <class Real>
auto scores(Residuals<Real>& residuals, int n_threads) {
    UnsetVector<Real> out(static_cast<size_t>(residuals.set().size()));
    {
        nb::gil_scoped_release release;
        Team team(n_threads, poll_of(residuals));
        residuals.write_scores(team, out);
    }
    return own_array(std::move(out));
}

// What a solver is called in Python, and its parameters.
template <class Real>
void bind_solvers(nb::class_<Residuals<Real>>& t) {
    bind_solver(t, "reset_reals", reset_reals<Real>, "bias", "weights", "factors");
    bind_solver(t, "reset_codes", reset_codes<Real>, "bias", "weights", "codes", "gains");
    bind_solver(t, "loss", loss<Real>);
    bind_solver(t, "set_working", set_working<Real>, "residual", "curvature");
    t.def("scores", scores<Real>, nb::arg("n_threads"));
    bind_solver(t, "sweep_weights", sweep_weights<Real>, "bias", "weights", "ridge", "fit_bias");
    bind_solver(t, "sweep_factors", sweep_factors<Real>, "factors", "ridge", "linear", "scale");
    bind_solver(t, "draw_weights", draw_weights<Real>, "bias", "weights", "precision", "mean", "noise_precision",
                "seed");
    bind_solver(t, "draw_factors", draw_factors<Real>, "factors", "precision", "mean", "noise_precision", "seed");
    bind_solver(t, "sweep_codes", sweep_codes<Real>, "codes", "delegate", "beta", "passes");
    bind_solver(t, "sweep_distilled", sweep_distilled<Real>, "field", "codes", "gains", "error", "hessian", "strength",
                "passes");
    bind_serial_solver(t, "sweep_sgd", sweep_sgd<Real>, "bias", "weights", "factors", "factor_ridge", "weight_ridge",
                       "learning_rate", "order");
}

template <class Real>
void bind_for(nb::module_& m, const char* suffix) {
    using Bound = BoundDesign<Real>;
    using T = Residuals<Real>;
    const auto name = [&](const char* stem) { return std::string(stem) + suffix; };

    nb::class_<Bound>(m, name("Design").c_str())
        .def(nb::init<>())
        .def("add_block", &Bound::add_block, nb::arg("n_rows"), nb::arg("rows").noconvert())
        .def("add_identity", &Bound::add_identity, nb::arg("n_columns"))
        .def("add_table", &Bound::add_table, nb::arg("n_columns"), nb::arg("indptr").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert())
        .def("add_dense", &Bound::add_dense, nb::arg("levels").noconvert(), nb::arg("scale"));

    m.def(
        "predict_reals",
        [](Bound& design, double bias, Array1<const Real> weights, Array2<const float> factors, bool cross,
           int n_threads) {
            return predict<Real, Real>(design, bias, span_of(weights), view_of(factors), cross, n_threads);
        },
        nb::arg("design"), nb::arg("bias"), nb::arg("weights").noconvert(), nb::arg("factors").noconvert(),
        nb::arg("across"), nb::arg("n_threads"));
    m.def(
        "predict_reals",
        [](Bound& design, double bias, Array1<const Real> weights, Array2<const double> factors, bool cross,
           int n_threads) {
            return predict<Real, Real>(design, bias, span_of(weights), view_of(factors), cross, n_threads);
        },
        nb::arg("design"), nb::arg("bias"), nb::arg("weights").noconvert(), nb::arg("factors").noconvert(),
        nb::arg("across"), nb::arg("n_threads"));
    bind_predict_codes<Real, float>(m);
    bind_predict_codes<Real, double>(m);

    nb::class_<T> trainer(m, name("Trainer").c_str());
    trainer
        .def(
            "__init__",
            [](T* self, Bound& design, Array1<const Real> targets, std::optional<Array1<const Real>> weights,
               bool cross) {
                require(!weights || weights->size() == targets.size(), "one weight per target is needed, or None");
                design.frozen = true;
                nb::gil_scoped_release release;
                new (self) T(design.design, span_of(targets), span_of(weights), cross);
            },
            nb::arg("design"), nb::arg("targets").noconvert(), nb::arg("weights").noconvert().none(), nb::arg("across"),
            nb::keep_alive<1, 2>())
        .def("sibling", &T::sibling, nb::keep_alive<0, 1>())
        .def("cancel", &T::cancel);
    bind_solvers(trainer);
}

}  // namespace

void bind_trainer(nb::module_& m) {
    bind_for<float>(m, "32");
    bind_for<double>(m, "64");
}

}  // namespace bitfm
