#include "retrieval/item_sums.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/isa.hpp"
#include "base/sizes.hpp"

namespace bitfm {

namespace {

void require_rising(const std::string& name, const WholeNumbers& indptr, size_t end) {
    int64_t last = 0;
    bool rises = indptr[0] == 0;
    for (size_t i = 1; i < indptr.size(); ++i) {
        const int64_t next = indptr[i];
        rises = rises && next >= last;
        last = next;
    }
    require(rises && last == static_cast<int64_t>(end), name + ": indptr must rise from 0 to the number of non-zeros");
}

void require_up_to(const std::string& name, const WholeNumbers& numbers, int64_t most) {
    for (size_t i = 0; i < numbers.size(); ++i)
        if (const int64_t number = numbers[i]; number < 0 || number > most)
            throw BadInput(name + ": " + std::to_string(number) + " is outside 0.." + std::to_string(most));
}

// visit(word, count × weight) for the words of a row, which stand for themselves as often as they occur.
template <class Visit>
void each_word(const ItemField& field, size_t begin, size_t end, Visit&& visit) {
    for (size_t next = begin; begin < end; begin = next) {
        const int64_t word = field.indices[begin];
        while (next < end && field.indices[next] == word) ++next;
        visit(word, static_cast<float>(static_cast<double>(next - begin) * field.weights[static_cast<size_t>(word)]));
    }
}

// visit(column, x) for the non-zeros of a row.
template <class Visit>
void each_entry(const ItemField& field, int64_t row, Visit&& visit) {
    const auto at = static_cast<size_t>(row);
    switch (field.form) {
        case ItemField::Form::identity:
            visit(row, 1.0f);
            return;
        case ItemField::Form::singles:
            if (const int64_t single = field.singles[at]) visit(single - 1, 1.0f);
            return;
        case ItemField::Form::dense: {
            const size_t begin = at * static_cast<size_t>(field.n_columns);
            for (int64_t column = 0; column < field.n_columns; ++column) {
                const size_t p = begin + static_cast<size_t>(column);
                const float x =
                    field.reals.empty() ? field.scale * static_cast<float>(field.wholes[p]) : field.reals[p];
                if (x != 0) visit(column, x);
            }
            return;
        }
        case ItemField::Form::words: {
            // As they were weighed: squares are rounded, and added one after the other in double precision.
            const auto begin = static_cast<size_t>(field.indptr[at]), end = static_cast<size_t>(field.indptr[at + 1]);
            double squares = 0;
            each_word(field, begin, end, [&](int64_t, float x) {
                const float square = x * x;
                squares += static_cast<double>(square);
            });
            const double length = std::sqrt(squares);
            each_word(field, begin, end,
                      [&](int64_t word, float x) { visit(word, static_cast<float>(static_cast<double>(x) / length)); });
            return;
        }
        case ItemField::Form::sparse: {
            const auto begin = static_cast<size_t>(field.indptr[at]), end = static_cast<size_t>(field.indptr[at + 1]);
            const bool told = !field.reals.empty() || !field.wholes.empty();
            const auto unit =
                told || begin == end ? 0.0f : static_cast<float>(1 / std::sqrt(static_cast<double>(end - begin)));
            for (size_t p = begin; p < end; ++p) {
                const float x = !field.reals.empty()    ? field.reals[p]
                                : !field.wholes.empty() ? static_cast<float>(field.wholes[p])
                                                        : unit;
                visit(field.indices[p], x);
            }
            return;
        }
    }
}

}  // namespace

ItemSums::ItemSums(const FactorView& factors, int64_t n_rows) : factors_(factors), n_rows_(n_rows) {
    require(factors.codes && factors.gains, "items: codes and gains are needed");
    require(std::all_of(factors.gains, factors.gains + factors.n_features, [](float g) { return std::isfinite(g); }),
            "items: gains must be finite numbers");
    require(n_rows >= 0, "items: the number of rows must be from 0 up, got " + std::to_string(n_rows));
    require_at_most(static_cast<size_t>(n_rows), kMostRows, "items", "rows");
    capacity_ = static_cast<int32_t>(std::min<int64_t>(n_rows, kMostBytes / (width() * int64_t(sizeof(float)))));
    place_ = std::vector<std::atomic<int32_t>>(static_cast<size_t>(n_rows));
    vectors_ = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(capacity_ * int64_t(width())));
}

void ItemSums::add(ItemField field) {
    const std::string name = "field " + std::to_string(fields_.size());
    const auto n = static_cast<size_t>(n_rows_);
    require(field.n_columns >= 0, name + ": the number of columns must be from 0 up");
    require_at_most(static_cast<size_t>(field.n_columns), kMostRows, name, "columns");
    const size_t n_values = field.reals.size() + field.wholes.size();
    require(std::all_of(field.reals.begin(), field.reals.end(), [](float x) { return std::isfinite(x); }) &&
                std::isfinite(field.scale * 128),
            name + ": values must be finite, found NaN or infinity");
    switch (field.form) {
        case ItemField::Form::identity:
            require(field.n_columns == n_rows_, name + ": an identity needs as many columns as rows");
            break;
        case ItemField::Form::singles:
            require(field.singles.size() == n, name + ": one number per row is needed");
            require_up_to(name, field.singles, field.n_columns);
            break;
        case ItemField::Form::dense:
            require(n_values == numbers_of(n, static_cast<size_t>(field.n_columns)),
                    name + ": rows × columns of values are needed");
            break;
        case ItemField::Form::words:
            require(static_cast<int64_t>(field.weights.size()) == field.n_columns &&
                        std::all_of(field.weights.begin(), field.weights.end(),
                                    [](double weight) { return weight > 0 && std::isfinite(weight); }),
                    name + ": one weight per word is needed, a finite number above 0");
            [[fallthrough]];
        case ItemField::Form::sparse:
            require(field.indptr.size() == n + 1, name + ": indptr must have rows + 1 entries");
            require(n_values == 0 || n_values == field.indices.size(), name + ": one value per index is needed");
            require_rising(name, field.indptr, field.indices.size());
            require_up_to(name, field.indices, field.n_columns - 1);
            break;
    }
    field.first = n_features_;
    n_features_ += field.n_columns;
    fields_.push_back(std::move(field));
}

void ItemSums::check() const {
    require(n_features_ == factors_.n_features, "items: the fields have " + std::to_string(n_features_) +
                                                    " columns, but there are " + std::to_string(factors_.n_features) +
                                                    " codes");
}

int64_t ItemSums::n_terms(int64_t row) const {
    require(row >= 0 && row < n_rows_, "items: there is no row " + std::to_string(row));
    int64_t n = 0;
    for (const ItemField& field : fields_) each_entry(field, row, [&](int64_t, float) { ++n; });
    return n;
}

const float* ItemSums::vector(int64_t row, Terms& terms) const {
    const auto n = static_cast<size_t>(width());
    const auto sum_aside = [&] {
        terms.vector.resize(n);
        sum(row, terms, terms.vector);
        return terms.vector.data();
    };
    if (row < 0 || row >= n_rows_) return sum_aside();
    std::atomic<int32_t>& place = place_[static_cast<size_t>(row)];
    int32_t found = place.load(std::memory_order_acquire);
    if (found > 0) return remembered(found);
    if (n_remembered_.load(std::memory_order_relaxed) >= capacity_) return sum_aside();
    if (found != kNone || !place.compare_exchange_strong(found, kBeingWritten)) return sum_aside();  // another does
    const int32_t next = n_remembered_.fetch_add(1, std::memory_order_relaxed);
    if (next >= capacity_) return sum_aside();
    sum(row, terms, {vectors_.get() + int64_t(next) * width(), n});
    place.store(next + 1, std::memory_order_release);
    return remembered(next + 1);
}

void ItemSums::sum(int64_t row, Terms& terms, std::span<float> out) const {
    terms.feature.clear();
    terms.amount.clear();
    terms.sums.assign(out.size(), 0.0);
    if (row >= 0 && row < n_rows_)
        for (const ItemField& field : fields_)
            each_entry(field, row, [&](int64_t column, float x) {
                const int64_t feature = field.first + column;
                const double amount = static_cast<double>(x) * static_cast<double>(factors_.gains[feature]);
                if (amount == 0) return;  // it changes no sum
                terms.feature.push_back(feature);
                terms.amount.push_back(amount);
            });
    const CodeRow all{terms.feature.data(), terms.amount.data(), static_cast<int64_t>(terms.feature.size())};
    isa().kernels->pairs.add_codes(factors_.codes, factors_.width / 8, all, terms.sums.data());
    for (size_t t = 0; t < out.size(); ++t) out[t] = static_cast<float>(terms.sums[t]);
}

}  // namespace bitfm
