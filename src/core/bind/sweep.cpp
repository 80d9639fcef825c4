// The design, the trainer and the scores, for float32 and float64.
#include "base/error.hpp"
#include "bind/bind.hpp"
#include "bind/design.hpp"
#include "sweep/score.hpp"
#include "sweep/trainer.hpp"

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
        nb::arg("gains").noconvert(), nb::arg("cross"), nb::arg("n_threads"));
}

// Look for Ctrl-C, which Python hands to its main thread alone, and for what that thread has to say.
template <class Real>
std::function<void()> poll_of(const Trainer<Real>& trainer) {
    return [&trainer] {
        poll_signals();
        require(!trainer.cancelled(), "the fit was cancelled");
    };
}

template <class Real>
void bind_for(nb::module_& m, const char* suffix) {
    using Bound = BoundDesign<Real>;
    using T = Trainer<Real>;
    const auto name = [&](const char* stem) { return std::string(stem) + suffix; };

    nb::class_<Bound>(m, name("Design").c_str())
        .def(nb::init<>())
        .def("add_block", &Bound::add_block, nb::arg("n_rows"), nb::arg("rows").noconvert())
        .def("add_identity", &Bound::add_identity, nb::arg("n_columns"))
        .def("add_table", &Bound::add_table, nb::arg("n_columns"), nb::arg("indptr").noconvert(),
             nb::arg("indices").noconvert(), nb::arg("values").noconvert());

    m.def(
        "predict_reals",
        [](Bound& design, double bias, Array1<const Real> weights, Array2<const float> factors, bool cross,
           int n_threads) {
            return predict<Real, Real>(design, bias, span_of(weights), view_of(factors), cross, n_threads);
        },
        nb::arg("design"), nb::arg("bias"), nb::arg("weights").noconvert(), nb::arg("factors").noconvert(),
        nb::arg("cross"), nb::arg("n_threads"));
    m.def(
        "predict_reals",
        [](Bound& design, double bias, Array1<const Real> weights, Array2<const double> factors, bool cross,
           int n_threads) {
            return predict<Real, Real>(design, bias, span_of(weights), view_of(factors), cross, n_threads);
        },
        nb::arg("design"), nb::arg("bias"), nb::arg("weights").noconvert(), nb::arg("factors").noconvert(),
        nb::arg("cross"), nb::arg("n_threads"));
    bind_predict_codes<Real, float>(m);
    bind_predict_codes<Real, double>(m);

    nb::class_<T>(m, name("Trainer").c_str())
        .def(
            "__init__",
            [](T* self, Bound& design, Array1<const Real> targets, std::optional<Array1<const Real>> weights,
               bool cross) {
                require(!weights || weights->size() == targets.size(), "one weight per target is needed, or None");
                design.frozen = true;
                nb::gil_scoped_release release;
                new (self) T(design.design, span_of(targets), span_of(weights), cross);
            },
            nb::arg("design"), nb::arg("targets").noconvert(), nb::arg("weights").noconvert().none(), nb::arg("cross"),
            nb::keep_alive<1, 2>())
        .def("sibling", &T::sibling, nb::keep_alive<0, 1>())
        .def("cancel", &T::cancel)
        .def(
            "reset_reals",
            [](T& self, double bias, Array1<const Real> weights, Array2<const Real> factors, int n_threads) {
                nb::gil_scoped_release release;
                Team team(n_threads, poll_of(self));
                self.reset(team, bias, span_of(weights), view_of(factors));
            },
            nb::arg("bias"), nb::arg("weights").noconvert(), nb::arg("factors").noconvert(), nb::arg("n_threads"))
        .def(
            "reset_codes",
            [](T& self, double bias, Array1<const Real> weights, Array2<const uint8_t> codes,
               std::optional<Array1<const float>> gains, int n_threads) {
                nb::gil_scoped_release release;
                Team team(n_threads, poll_of(self));
                self.reset(team, bias, span_of(weights), view_of(codes, span_of(gains)));
            },
            nb::arg("bias"), nb::arg("weights").noconvert(), nb::arg("codes").noconvert(),
            nb::arg("gains").noconvert().none(), nb::arg("n_threads"))
        .def(
            "loss",
            [](T& self, int n_threads) {
                nb::gil_scoped_release release;
                Team team(n_threads, poll_of(self));
                return self.loss(team);
            },
            nb::arg("n_threads"))
        .def(
            "sweep_weights",
            [](T& self, double bias, Array1<Real> weights, Array1<const double> ridge, bool fit_bias, int n_threads) {
                nb::gil_scoped_release release;
                Team team(n_threads, poll_of(self));
                return self.sweep_weights(team, bias, span_of(weights), span_of(ridge), fit_bias);
            },
            nb::arg("bias"), nb::arg("weights").noconvert(), nb::arg("ridge").noconvert(), nb::arg("fit_bias"),
            nb::arg("n_threads"))
        .def(
            "sweep_factors",
            [](T& self, Array2<Real> factors, Array1<const double> ridge, std::optional<Array2<const float>> linear,
               double scale, int n_threads) {
                const auto rank = view_of(Array2<const Real>(factors)).width;
                nb::gil_scoped_release release;
                Team team(n_threads, poll_of(self));
                self.sweep_factors(team, span_of(factors), rank, span_of(ridge), span_of(linear), scale);
            },
            nb::arg("factors").noconvert(), nb::arg("ridge").noconvert(), nb::arg("linear").noconvert().none(),
            nb::arg("scale"), nb::arg("n_threads"))
        .def(
            "draw_weights",
            [](T& self, double bias, Array1<Real> weights, Array1<const double> precision, Array1<const double> mean,
               double noise_precision, uint64_t seed, int n_threads) {
                nb::gil_scoped_release release;
                Team team(n_threads, poll_of(self));
                return self.draw_weights(team, bias, span_of(weights), span_of(precision), span_of(mean),
                                         {noise_precision, seed});
            },
            nb::arg("bias"), nb::arg("weights").noconvert(), nb::arg("precision").noconvert(),
            nb::arg("mean").noconvert(), nb::arg("noise_precision"), nb::arg("seed"), nb::arg("n_threads"))
        .def(
            "draw_factors",
            [](T& self, Array2<Real> factors, Array2<const double> precision, Array2<const double> mean,
               double noise_precision, uint64_t seed, int n_threads) {
                const auto rank = view_of(Array2<const Real>(factors)).width;
                require(precision.shape(1) == factors.shape(1) && mean.shape(1) == factors.shape(1),
                        "precision and mean must be fields × rank");
                nb::gil_scoped_release release;
                Team team(n_threads, poll_of(self));
                self.draw_factors(team, span_of(factors), rank, span_of(precision), span_of(mean),
                                  {noise_precision, seed});
            },
            nb::arg("factors").noconvert(), nb::arg("precision").noconvert(), nb::arg("mean").noconvert(),
            nb::arg("noise_precision"), nb::arg("seed"), nb::arg("n_threads"))
        .def(
            "sweep_codes",
            [](T& self, Array2<uint8_t> codes, Array2<const float> delegate, double beta, int passes, int n_threads) {
                const int bits = bits_of_bytes(codes.shape(1));
                nb::gil_scoped_release release;
                Team team(n_threads, poll_of(self));
                return self.sweep_codes(team, span_of(codes), bits, span_of(delegate), beta, passes);
            },
            nb::arg("codes").noconvert(), nb::arg("delegate").noconvert(), nb::arg("beta"), nb::arg("passes"),
            nb::arg("n_threads"))
        .def(
            "sweep_anchored",
            [](T& self, int64_t field, Array2<uint8_t> codes, Array1<const float> gains, Array2<float> error,
               Array2<const float> hessian, double strength, int passes, int n_threads) {
                const int bits = bits_of_bytes(codes.shape(1));
                nb::gil_scoped_release release;
                Team team(n_threads, poll_of(self));
                return self.sweep_anchored(team, field, span_of(codes), span_of(gains), bits, span_of(error),
                                           span_of(hessian), strength, passes);
            },
            nb::arg("field"), nb::arg("codes").noconvert(), nb::arg("gains").noconvert(), nb::arg("error").noconvert(),
            nb::arg("hessian").noconvert(), nb::arg("strength"), nb::arg("passes"), nb::arg("n_threads"))
        .def(
            "sweep_sgd",
            [](T& self, double bias, Array1<Real> weights, Array2<Real> factors, Array1<const double> factor_ridge,
               Array1<const double> weight_ridge, double learning_rate, Array1<const int32_t> order) {
                const auto rank = view_of(Array2<const Real>(factors)).width;
                nb::gil_scoped_release release;
                Team team(1, poll_of(self));
                const double loss =
                    self.sweep_sgd(team, bias, span_of(weights), span_of(factors), rank, span_of(factor_ridge),
                                   span_of(weight_ridge), learning_rate, span_of(order));
                return std::pair(bias, loss);
            },
            nb::arg("bias"), nb::arg("weights").noconvert(), nb::arg("factors").noconvert(),
            nb::arg("factor_ridge").noconvert(), nb::arg("weight_ridge").noconvert(), nb::arg("learning_rate"),
            nb::arg("order").noconvert());
}

}  // namespace

void bind_sweep(nb::module_& m) {
    bind_for<float>(m, "32");
    bind_for<double>(m, "64");
}

}  // namespace bitfm
