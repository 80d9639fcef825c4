#include "solvers/distillation.hpp"

#include <limits>

#include "base/error.hpp"
#include "bind/bind.hpp"

namespace bitfm {

namespace {

int bits_of(const Array2<uint8_t>& codes, const Array1<float>& gains) {
    require(codes.shape(0) == gains.shape(0), "one gain per feature is needed");
    return bits_of_bytes(codes.shape(1));
}

}  // namespace

void bind_distillation(nb::module_& m) {
    m.def(
        "distill_field",
        [](Array2<uint8_t> codes, Array1<float> gains, Array2<float> error, Array2<const float> hessian,
           Array1<const float> row_weight, std::optional<Array1<const int64_t>> start,
           std::optional<Array1<const int32_t>> rows, std::optional<Array1<const float>> values, int passes,
           bool keep_gains, int n_threads, float most_gain) {
            const int bits = bits_of(codes, gains);
            require(start.has_value() == rows.has_value() && start.has_value() == values.has_value(),
                    "give starts, rows and values of the columns, or none of them");
            require(!start || start->shape(0) > 0, "the columns' starts must rise from 0 to the number of non-zeros");
            nb::gil_scoped_release release;
            Team team(n_threads, poll_signals);
            return distill_field(team, span_of(codes), span_of(gains), bits, span_of(error), span_of(hessian),
                                 span_of(row_weight), {span_of(start), span_of(rows), span_of(values)}, passes,
                                 keep_gains, most_gain);
        },
        nb::arg("codes").noconvert(), nb::arg("gains").noconvert(), nb::arg("error").noconvert(),
        nb::arg("hessian").noconvert(), nb::arg("row_weight").noconvert(), nb::arg("start").noconvert().none(),
        nb::arg("rows").noconvert().none(), nb::arg("values").noconvert().none(), nb::arg("passes"),
        nb::arg("keep_gains"), nb::arg("n_threads"), nb::arg("most_gain") = std::numeric_limits<float>::max());
    m.def(
        "distill_pairs",
        [](Array2<uint8_t> codes, Array1<float> gains, Array2<const float> factors, Array1<const float> weights,
           int passes) {
            const int bits = bits_of(codes, gains);
            require(factors.shape(1) <= 1 << 20, "the factors are too wide");
            nb::gil_scoped_release release;
            Team team(1, poll_signals);
            return distill_pairs(team, span_of(codes), span_of(gains), bits, span_of(factors),
                                 static_cast<int>(factors.shape(1)), span_of(weights), passes);
        },
        nb::arg("codes").noconvert(), nb::arg("gains").noconvert(), nb::arg("factors").noconvert(),
        nb::arg("weights").noconvert(), nb::arg("passes"));
}

}  // namespace bitfm
