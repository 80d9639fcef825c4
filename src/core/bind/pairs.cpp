// Scores of pairs from tables of features.
#include <algorithm>

#include "bind/bind.hpp"
#include "bind/design.hpp"
#include "scores/libfm_loop.hpp"
#include "scores/score_pairs.hpp"

namespace bitfm {

namespace {

PairTable::Kind kind_of(const std::string& name) {
    if (name == "codes") return PairTable::Kind::codes;
    if (name == "reals") return PairTable::Kind::reals;
    require(name == "bytes", "kind must be codes, reals or bytes, got " + name);
    return PairTable::Kind::bytes;
}

int64_t bytes_of(PairTable::Kind kind, int64_t width) {
    return kind == PairTable::Kind::codes ? width / 8 : kind == PairTable::Kind::reals ? width * 4 : width;
}

template <class Real>
auto score(BoundDesign<Real>& bound, const PairTable& table, int64_t n_features, double bias, bool cross,
           int n_threads) {
    require(!bound.design.blocks.empty(), "a design needs at least one block");
    require(n_features == bound.design.n_features,
            "the table must have a row for each of the " + std::to_string(bound.design.n_features) + " features");
    bound.frozen = true;
    std::vector<double> out(static_cast<size_t>(bound.design.n));
    {
        nb::gil_scoped_release release;
        Team team(n_threads, poll_signals);
        score_pairs<Real>(team, bound.design, table, bias, cross, out);
    }
    return own_array(std::move(out));
}

template <class Real>
void bind_for(nb::module_& m) {
    m.def(
        "score_pairs",
        [](BoundDesign<Real>& bound, double bias, Array1<const float> weights, Array2<const uint8_t> codes,
           Array1<const float> gains, bool cross, int n_threads) {
            const FactorView factors = view_of(codes, span_of(gains));
            require(gains.size() == codes.shape(0) && weights.size() == codes.shape(0),
                    "one gain and one weight per feature are needed");
            PairTable table;
            table.width = factors.width;
            table.vectors = codes.data();
            table.vector_stride = factors.width / 8;
            table.weights = reinterpret_cast<const uint8_t*>(weights.data());
            table.scales = reinterpret_cast<const uint8_t*>(gains.data());
            table.weight_stride = table.scale_stride = sizeof(float);
            return score(bound, table, factors.n_features, bias, cross, n_threads);
        },
        nb::arg("design"), nb::arg("bias"), nb::arg("weights").noconvert(), nb::arg("codes").noconvert(),
        nb::arg("gains").noconvert(), nb::arg("across"), nb::arg("n_threads"));
    m.def(
        "score_pairs_by_vectors",
        [](BoundDesign<Real>& bound, double bias, Array1<const float> weights, Array2<const float> vectors,
           int n_threads) {
            require(weights.size() == vectors.shape(0), "one weight and one vector per feature are needed");
            require(vectors.shape(1) <= 1 << 20, "vectors must have at most 1048576 numbers");
            PairTable table;
            table.kind = PairTable::Kind::reals;
            table.width = static_cast<int>(vectors.shape(1));
            table.vectors = reinterpret_cast<const uint8_t*>(vectors.data());
            table.vector_stride = table.width * int64_t(sizeof(float));
            table.weights = table.scales = reinterpret_cast<const uint8_t*>(weights.data());
            table.weight_stride = table.scale_stride = sizeof(float);
            return score(bound, table, static_cast<int64_t>(vectors.shape(0)), bias, true, n_threads);
        },
        nb::arg("design"), nb::arg("bias"), nb::arg("weights").noconvert(), nb::arg("vectors").noconvert(),
        nb::arg("n_threads"));
    // A record is a feature's vector, filled up to 8 bytes, then its weight, then its scale.
    m.def(
        "score_pairs_by_records",
        [](BoundDesign<Real>& bound, double bias, Array2<const uint8_t> records, const std::string& kind, int width,
           bool cross, int n_threads) {
            PairTable table;
            table.kind = kind_of(kind);
            table.records = true;
            table.width = width;
            require(width >= 1 && width <= 1 << 20, "the width must be from 1 to 1048576");
            const int64_t at = std::max<int64_t>(bytes_of(table.kind, width), 8);
            const auto stride = static_cast<int64_t>(records.shape(1));
            require(stride >= at + 8 && stride % 4 == 0, "a record needs room for its vector, weight and scale");
            require(reinterpret_cast<uintptr_t>(records.data()) % 4 == 0, "records must start at a multiple of 4");
            table.vectors = records.data();
            table.weights = records.data() + at;
            table.scales = records.data() + at + 4;
            table.vector_stride = table.weight_stride = table.scale_stride = stride;
            return score(bound, table, static_cast<int64_t>(records.shape(0)), bias, cross, n_threads);
        },
        nb::arg("design"), nb::arg("bias"), nb::arg("records").noconvert(), nb::arg("kind"), nb::arg("width"),
        nb::arg("across"), nb::arg("n_threads"));
}

}  // namespace

void bind_pairs(nb::module_& m) {
    bind_for<float>(m);
    bind_for<double>(m);
    m.def(
        "libfm_scores",
        [](Array1<const int64_t> indptr, Array1<const int32_t> indices, Array1<const float> values, double bias,
           Array1<const double> weights, Array2<const double> factors) {
            require(factors.shape(1) == weights.size(), "factors must have a column for each weight");
            require(indptr.size() > 0, "indptr must rise from 0 to the number of non-zeros");
            std::vector<double> out(indptr.size() - 1);
            {
                nb::gil_scoped_release release;
                Team team(1, poll_signals);  // as libFM
                libfm_scores(team, {span_of(indptr), span_of(indices), span_of(values)}, bias, span_of(weights),
                             span_of(factors), out);
            }
            return own_array(std::move(out));
        },
        nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("values").noconvert(), nb::arg("bias"),
        nb::arg("weights").noconvert(), nb::arg("factors").noconvert());
}

}  // namespace bitfm
