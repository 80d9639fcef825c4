// Metrics, and what chance does to them.
#include "base/sizes.hpp"
#include "bind/bind.hpp"
#include "metrics/auc.hpp"
#include "metrics/ndcg.hpp"
#include "metrics/rank_metrics.hpp"
#include "metrics/resample.hpp"

namespace bitfm {

namespace {

using Starts = Array1<const int64_t>;
using Items = Array1<const int32_t>;
using Wholes = Array1<const int64_t>;

UserValues values_of(const Array2<const double>& values) {
    return {span_of(values), static_cast<int64_t>(values.shape(0)), static_cast<int64_t>(values.shape(1))};
}

template <class T>
auto filled(size_t size, int n_threads, const std::function<void(Team&, std::span<T>)>& fill) {
    std::vector<T> out(size);
    {
        nb::gil_scoped_release release;
        Team team(n_threads, poll_signals);
        fill(team, out);
    }
    return own_array(std::move(out));
}

template <class Real>
void bind_auc(nb::module_& m) {
    m.def(
        "auc",
        [](Array2<const Real> scores, Starts start, Items relevant, std::optional<Starts> exclude_start,
           std::optional<Items> excluded, int n_threads) {
            require(exclude_start.has_value() == excluded.has_value(),
                    "give starts and items of what to exclude, or neither");
            require(!exclude_start || exclude_start->size() > 0,
                    "exclude: starts must have one entry per user and one more");
            const ItemLists wanted{span_of(start), span_of(relevant)};
            const ItemLists left_out{span_of(exclude_start), span_of(excluded)};
            return filled<double>(scores.shape(0), n_threads, [&](Team& team, std::span<double> out) {
                auc<Real>(team, span_of(scores), static_cast<int64_t>(scores.shape(1)), wanted, left_out, out);
            });
        },
        nb::arg("scores").noconvert(), nb::arg("start").noconvert(), nb::arg("relevant").noconvert(),
        nb::arg("exclude_start").noconvert().none(), nb::arg("excluded").noconvert().none(), nb::arg("n_threads"));
}

}  // namespace

void bind_metrics(nb::module_& m) {
    m.def(
        "ndcg",
        [](Items users, Array1<const double> ratings, Array1<const double> scores, int64_t n_users, Wholes ks,
           int n_threads) {
            const RatedItems rated{span_of(users), span_of(ratings), span_of(scores), n_users};
            require(n_users >= 0 && static_cast<size_t>(n_users) <= users.size(), "every user needs an item");
            const size_t size = numbers_of(static_cast<size_t>(n_users), ks.size());
            return filled<double>(size, n_threads,
                                  [&](Team& team, std::span<double> out) { ndcg(team, rated, span_of(ks), out); });
        },
        nb::arg("users").noconvert(), nb::arg("ratings").noconvert(), nb::arg("scores").noconvert(), nb::arg("n_users"),
        nb::arg("ks").noconvert(), nb::arg("n_threads"));
    m.def(
        "rank_metrics",
        [](Array2<const int64_t> found, Starts start, Items relevant, int64_t n_items, Wholes ks, int n_threads) {
            const FoundItems items{span_of(found), static_cast<int64_t>(found.shape(0)),
                                   static_cast<int64_t>(found.shape(1))};
            const size_t size = kRankMetrics * numbers_of(found.shape(0), ks.size());
            return filled<double>(size, n_threads, [&](Team& team, std::span<double> out) {
                rank_metrics(team, items, {span_of(start), span_of(relevant)}, n_items, span_of(ks), out);
            });
        },
        nb::arg("found").noconvert(), nb::arg("start").noconvert(), nb::arg("relevant").noconvert(), nb::arg("n_items"),
        nb::arg("ks").noconvert(), nb::arg("n_threads"));
    bind_auc<float>(m);
    bind_auc<double>(m);
    m.def(
        "bootstrap_means",
        [](Array2<const double> values, uint64_t seed, int64_t n_draws, int n_threads) {
            require(n_draws >= 0 && n_draws <= int64_t{1} << 32, "the number of draws must be from 0 to 4294967296");
            const size_t size = numbers_of(static_cast<size_t>(n_draws), values.shape(1));
            return filled<double>(size, n_threads, [&](Team& team, std::span<double> out) {
                bootstrap_means(team, values_of(values), seed, out);
            });
        },
        nb::arg("values").noconvert(), nb::arg("seed"), nb::arg("n_draws"), nb::arg("n_threads"));
    m.def(
        "count_far_flips",
        [](Array2<const double> values, uint64_t seed, int64_t n_flips, int n_threads) {
            return filled<int64_t>(values.shape(1), n_threads, [&](Team& team, std::span<int64_t> out) {
                count_far_flips(team, values_of(values), seed, n_flips, out);
            });
        },
        nb::arg("values").noconvert(), nb::arg("seed"), nb::arg("n_flips"), nb::arg("n_threads"));
}

}  // namespace bitfm
