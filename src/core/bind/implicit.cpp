#include "bind/bind.hpp"
#include "implicit/levels.hpp"
#include "implicit/listed.hpp"
#include "implicit/neighbors.hpp"
#include "implicit/rows.hpp"

namespace bitfm {

namespace {

using Starts = Array1<const int64_t>;
using Indices = Array1<const int32_t>;
using Floats = Array1<const float>;
using Vectors = Array2<const float>;

EventRows events_of(const Starts& start, const Indices& index, const Floats& value) {
    require(start.shape(0) > 0, "the rows' starts must rise from 0 to the number of events, one per row and one more");
    return {span_of(start), span_of(index), span_of(value)};
}

Sets sets_of(const Starts& start, const Indices& member) {
    require(start.shape(0) > 0, "the starts must rise from 0 to the number of members, one per set and one more");
    return {span_of(start), span_of(member)};
}

RowSystem system_of(const EventRows& events, const Vectors& other, const Floats& unobserved, const Floats& ridge,
                    const std::optional<Vectors>& prior) {
    const Matrix<const float> priors = prior ? matrix_of(*prior) : Matrix<const float>{};
    return {events, matrix_of(other), span_of(unobserved), span_of(ridge), priors};
}

}  // namespace

void bind_implicit(nb::module_& m) {
    m.def(
        "solve_rows",
        [](Starts start, Indices index, Floats value, Vectors other, Floats unobserved, Floats ridge,
           std::optional<Vectors> prior, Array2<float> out, std::optional<Array1<float>> leverage, int n_threads) {
            const RowSystem system = system_of(events_of(start, index, value), other, unobserved, ridge, prior);
            require(!leverage || leverage->shape(0) == index.shape(0), "one leverage per event is needed");
            nb::gil_scoped_release release;
            Team team(n_threads, poll_signals);
            solve_rows(team, system, matrix_of(out), span_of(leverage));
        },
        nb::arg("start").noconvert(), nb::arg("index").noconvert(), nb::arg("value").noconvert(),
        nb::arg("other").noconvert(), nb::arg("unobserved").noconvert(), nb::arg("ridge").noconvert(),
        nb::arg("prior").noconvert().none(), nb::arg("out").noconvert(), nb::arg("leverage").noconvert().none(),
        nb::arg("n_threads"));
    m.def(
        "improve_rows",
        [](Starts start, Indices index, Floats value, Vectors other, Floats unobserved, Floats ridge,
           std::optional<Vectors> prior, int steps, Array2<float> out, int n_threads) {
            const RowSystem system = system_of(events_of(start, index, value), other, unobserved, ridge, prior);
            nb::gil_scoped_release release;
            Team team(n_threads, poll_signals);
            improve_rows(team, system, steps, matrix_of(out));
        },
        nb::arg("start").noconvert(), nb::arg("index").noconvert(), nb::arg("value").noconvert(),
        nb::arg("other").noconvert(), nb::arg("unobserved").noconvert(), nb::arg("ridge").noconvert(),
        nb::arg("prior").noconvert().none(), nb::arg("steps"), nb::arg("out").noconvert(), nb::arg("n_threads"));
    m.def(
        "score_events",
        [](Starts start, Indices index, Floats value, Vectors rows, Vectors other, Array1<float> out, int n_threads) {
            const EventRows events = events_of(start, index, value);
            nb::gil_scoped_release release;
            Team team(n_threads, poll_signals);
            score_events(team, events, matrix_of(rows), matrix_of(other), span_of(out));
        },
        nb::arg("start").noconvert(), nb::arg("index").noconvert(), nb::arg("value").noconvert(),
        nb::arg("rows").noconvert(), nb::arg("other").noconvert(), nb::arg("out").noconvert(), nb::arg("n_threads"));
    m.def(
        "sum_vectors",
        [](Starts start, Indices index, Floats value, Vectors vectors, Array2<float> out, int n_threads) {
            const EventRows entries = events_of(start, index, value);
            nb::gil_scoped_release release;
            Team team(n_threads, poll_signals);
            sum_vectors(team, entries, matrix_of(vectors), matrix_of(out));
        },
        nb::arg("start").noconvert(), nb::arg("index").noconvert(), nb::arg("value").noconvert(),
        nb::arg("vectors").noconvert(), nb::arg("out").noconvert(), nb::arg("n_threads"));
    m.def(
        "score_listed",
        [](Array2<const uint8_t> codes, Floats gains, Floats weights, Vectors queries, Array1<const double> scales,
           Starts start, Indices listed, Floats added, Array1<float> out, int n_threads) {
            const ListedItems lists{sets_of(start, listed), span_of(added)};
            nb::gil_scoped_release release;
            Team team(n_threads, poll_signals);
            score_listed(team, {matrix_of(codes), span_of(gains), span_of(weights)}, matrix_of(queries),
                         span_of(scales), lists, span_of(out));
        },
        nb::arg("codes").noconvert(), nb::arg("gains").noconvert(), nb::arg("weights").noconvert(),
        nb::arg("queries").noconvert(), nb::arg("scales").noconvert(), nb::arg("start").noconvert(),
        nb::arg("listed").noconvert(), nb::arg("added").noconvert(), nb::arg("out").noconvert(), nb::arg("n_threads"));
    m.def("level_magnitudes", [](int bits) {
        const auto magnitudes = level_magnitudes(bits);
        return std::vector<float>(magnitudes.begin(), magnitudes.end());
    });
    m.def(
        "encode_levels",
        [](Starts start, Indices index, Floats value, Vectors users, Vectors teacher, Vectors decoded_users,
           Vectors decoded_teacher, Vectors unobserved_teacher, Vectors unobserved, Vectors gram, Floats ridge,
           Indices bits, int rounds, Array2<float> levels, Array1<float> gains, Array1<float> weights,
           Array1<double> objective, int n_threads) {
            const Encoding encoding{.events = events_of(start, index, value),
                                    .users = matrix_of(users),
                                    .teacher = matrix_of(teacher),
                                    .decoded_users = matrix_of(decoded_users),
                                    .decoded_teacher = matrix_of(decoded_teacher),
                                    .unobserved_teacher = matrix_of(unobserved_teacher),
                                    .unobserved = matrix_of(unobserved),
                                    .gram = matrix_of(gram),
                                    .ridge = span_of(ridge),
                                    .bits = span_of(bits),
                                    .rounds = rounds};
            nb::gil_scoped_release release;
            Team team(n_threads, poll_signals);
            encode_levels(team, encoding, {matrix_of(levels), span_of(gains), span_of(weights)}, span_of(objective));
        },
        nb::arg("start").noconvert(), nb::arg("index").noconvert(), nb::arg("value").noconvert(),
        nb::arg("users").noconvert(), nb::arg("teacher").noconvert(), nb::arg("decoded_users").noconvert(),
        nb::arg("decoded_teacher").noconvert(), nb::arg("unobserved_teacher").noconvert(),
        nb::arg("unobserved").noconvert(), nb::arg("gram").noconvert(), nb::arg("ridge").noconvert(),
        nb::arg("bits").noconvert(), nb::arg("rounds"), nb::arg("levels").noconvert(), nb::arg("gains").noconvert(),
        nb::arg("weights").noconvert(), nb::arg("objective").noconvert(), nb::arg("n_threads"));
    m.def(
        "find_neighbors",
        [](Starts start, Indices index, Floats value, Floats held_out, Floats plain, Starts history_start,
           Indices history, Starts holder_start, Indices holder, Vectors items, Vectors sums, float unobserved,
           float ridge, float beta, int candidates, Array2<int32_t> neighbors, Array2<float> values, int n_threads) {
            const NeighborSearch search{.events = events_of(start, index, value),
                                        .held_out = span_of(held_out),
                                        .plain = span_of(plain),
                                        .histories = sets_of(history_start, history),
                                        .holders = sets_of(holder_start, holder),
                                        .items = matrix_of(items),
                                        .sums = matrix_of(sums),
                                        .unobserved = unobserved,
                                        .ridge = ridge,
                                        .beta = beta,
                                        .candidates = candidates};
            nb::gil_scoped_release release;
            Team team(n_threads, poll_signals);
            find_neighbors(team, search, matrix_of(neighbors), matrix_of(values));
        },
        nb::arg("start").noconvert(), nb::arg("index").noconvert(), nb::arg("value").noconvert(),
        nb::arg("held_out").noconvert(), nb::arg("plain").noconvert(), nb::arg("history_start").noconvert(),
        nb::arg("history").noconvert(), nb::arg("holder_start").noconvert(), nb::arg("holder").noconvert(),
        nb::arg("items").noconvert(), nb::arg("sums").noconvert(), nb::arg("unobserved"), nb::arg("ridge"),
        nb::arg("beta"), nb::arg("candidates"), nb::arg("neighbors").noconvert(), nb::arg("values").noconvert(),
        nb::arg("n_threads"));
}

}  // namespace bitfm
