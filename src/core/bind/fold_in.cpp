#include "solvers/fold_in.hpp"

#include "base/error.hpp"
#include "bind/bind.hpp"

namespace bitfm {

void bind_fold_in(nb::module_& m) {
    m.def(
        "solve_ids",
        [](Array1<const int64_t> start, Array1<const int32_t> rows, Array1<const double> values,
           Array1<const double> before, Array1<const double> constants, Array2<const float> vectors,
           Array1<const double> own_constants, Array2<const float> own_vectors, double noise, double weight_variance,
           double factor_variance, Array2<double> solved, int n_threads) {
            require(start.shape(0) > 0, "the starts must rise from 0 to the number of ratings");
            require_bits(static_cast<int64_t>(vectors.shape(1)));
            require(own_vectors.shape(1) == vectors.shape(1),
                    "all vectors must have as many elements as codes have bits");
            const RatingsOfIds ratings{.bits = static_cast<int>(vectors.shape(1)),
                                       .start = span_of(start),
                                       .row = span_of(rows),
                                       .value = span_of(values),
                                       .before = span_of(before),
                                       .constant = span_of(constants),
                                       .vector = span_of(vectors),
                                       .own_constant = span_of(own_constants),
                                       .own_vector = span_of(own_vectors)};
            nb::gil_scoped_release release;
            Team team(n_threads, poll_signals);
            solve_ids(team, ratings, {noise, weight_variance, factor_variance}, span_of(solved));
        },
        nb::arg("start").noconvert(), nb::arg("rows").noconvert(), nb::arg("values").noconvert(),
        nb::arg("before").noconvert(), nb::arg("constants").noconvert(), nb::arg("vectors").noconvert(),
        nb::arg("own_constants").noconvert(), nb::arg("own_vectors").noconvert(), nb::arg("noise"),
        nb::arg("weight_variance"), nb::arg("factor_variance"), nb::arg("solved").noconvert(), nb::arg("n_threads"));
    m.def(
        "nearest_codes",
        [](Array2<const float> vectors, Array2<const float> hessian, int passes, int rounds, Array2<uint8_t> codes,
           Array1<float> gains, int n_threads) {
            require_bits(static_cast<int64_t>(vectors.shape(1)));
            require(vectors.shape(0) == codes.shape(0) && vectors.shape(0) == gains.shape(0),
                    "one code and gain per vector are needed");
            nb::gil_scoped_release release;
            Team team(n_threads, poll_signals);
            nearest_codes(team, span_of(vectors), span_of(hessian), static_cast<int>(vectors.shape(1)), passes, rounds,
                          span_of(codes), span_of(gains));
        },
        nb::arg("vectors").noconvert(), nb::arg("hessian").noconvert(), nb::arg("passes"), nb::arg("rounds"),
        nb::arg("codes").noconvert(), nb::arg("gains").noconvert(), nb::arg("n_threads"));
}

}  // namespace bitfm
