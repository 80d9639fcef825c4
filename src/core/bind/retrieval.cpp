// Catalogues of codes and of vectors, and the search for the best of their items.
#include "base/sizes.hpp"
#include "bind/bind.hpp"
#include "bind/item_sums.hpp"
#include "retrieval/check.hpp"
#include "retrieval/code_catalogue.hpp"
#include "retrieval/code_paths.hpp"
#include "retrieval/dense.hpp"
#include "retrieval/rescore.hpp"
#include "retrieval/search.hpp"
#include "retrieval/vector_catalogue.hpp"
#include "retrieval/vector_path.hpp"

namespace bitfm {

namespace {

using Words = Array1<const uint64_t>;
using Reals = Array1<const float>;
using Wholes = Array1<const int32_t>;

template <class T>
constexpr const char* kTypeName = nullptr;
template <>
constexpr const char* kTypeName<uint8_t> = "uint8";
template <>
constexpr const char* kTypeName<int8_t> = "int8";
template <>
constexpr const char* kTypeName<int16_t> = "int16";
template <>
constexpr const char* kTypeName<int32_t> = "int32";
template <>
constexpr const char* kTypeName<uint64_t> = "uint64";
template <>
constexpr const char* kTypeName<float> = "float32";
template <>
constexpr const char* kTypeName<double> = "float64";

using ArraysByName = nb::typed<nb::dict, nb::str, nb::any>;

int64_t extent(const nb::dict& arrays, const char* name, size_t axis) {
    nb::ndarray<nb::ro> array;
    const bool there = arrays.contains(name) && nb::try_cast(arrays[name], array, false) && axis < array.ndim();
    return there ? static_cast<int64_t>(array.shape(axis)) : 0;
}
int int_extent(const nb::dict& arrays, const char* name, size_t axis) {
    return static_cast<int>(std::min<int64_t>(extent(arrays, name, axis), INT32_MAX));
}

// The sizes that a catalogue's arrays have if they fit together.
void take_sizes(const nb::dict& arrays, CodeSizes& sizes) {
    sizes = {extent(arrays, "live", 0), int_extent(arrays, "codes", 1)};
}
void take_sizes(const nb::dict& arrays, VectorSizes& sizes) {
    sizes = {.chunks = extent(arrays, "live", 0),
             .dimensions = int_extent(arrays, "basis", 0),
             .leading = int_extent(arrays, "basis", 1)};
    if (extent(arrays, "nibbles", 0)) sizes.nibble_chunks = sizes.chunks;
    if (extent(arrays, "kept", 0)) sizes.sum_chunks = sizes.chunks;
    if (sizes.sum_chunks) sizes.some_vectors = extent(arrays, "vectors", 0);
}

// str(object) of Python.
std::string text_of(nb::handle object) {
    return nb::str(object).c_str();
}
std::string text_of_shape(const Shape& shape) {
    const nb::object extents = nb::cast(shape);
    return text_of(nb::tuple(nb::handle(extents)));
}
std::string text_of_array(nb::handle object) {
    if (!nb::hasattr(object, "dtype") || !nb::hasattr(object, "shape")) return text_of(object.type());
    const nb::object dtype = object.attr("dtype"), shape = object.attr("shape");
    return text_of(dtype) + " " + text_of(shape);
}

// A catalogue over arrays of Python's, each found by its name, which stay live as long as it does.
template <class Catalogue>
class BoundCatalogue {
  public:
    explicit BoundCatalogue(const ArraysByName& arrays) {
        take_sizes(arrays, catalogue_);
        catalogue_.check();
        size_t n = 0;
        Catalogue::each(catalogue_, catalogue_, [&](const char* name, auto& to, const Shape& shape) {
            using T = std::remove_cvref_t<decltype(to[0])>;
            require(arrays.contains(name), std::string("catalogue: the array '") + name + "' is missing");
            nb::ndarray<const T, nb::c_contig, nb::device::cpu> array;
            const nb::object given = arrays[name];
            bool fits = nb::try_cast(given, array, false) && array.ndim() == shape.size();
            for (size_t axis = 0; fits && axis < shape.size(); ++axis)
                fits = static_cast<int64_t>(array.shape(axis)) == shape[axis];
            if (!fits)
                throw BadInput(std::string("catalogue: '") + name + "' is " + text_of_array(given) + ", expected " +
                               kTypeName<T> + " " + text_of_shape(shape) +
                               " in C order; give the arrays as they were arranged");
            to = span_of(array);
            kept_.push_back(given);
            ++n;
        });
        require(arrays.size() == n, "catalogue: got " + std::to_string(arrays.size()) + " arrays, expected " +
                                        std::to_string(n) + "; leave out those that shapes() does not name");
    }

    // Of vectors that are not all kept.
    void use(BoundItemSums& sums, nb::object given) {
        catalogue_.sums = &sums.ready();
        require(catalogue_.sums->width() == catalogue_.dimensions, "catalogue: vectors and sums have other widths");
        kept_.push_back(std::move(given));
    }
    const Catalogue& catalogue() const { return catalogue_; }

    void check(int64_t n_positions) const { check_items(catalogue_, n_positions); }

    Catalogue with(const Words& live) const {
        require(static_cast<int64_t>(live.size()) == catalogue_.chunks, "live has " + std::to_string(live.size()) +
                                                                            " words, expected one per chunk, " +
                                                                            std::to_string(catalogue_.chunks));
        Catalogue out = catalogue_;
        out.live = span_of(live);
        return out;
    }

    // (name, dtype, shape) of each array of a catalogue of these sizes.
    static auto shapes(const typename Catalogue::Sizes& sizes) {
        sizes.check();
        std::vector<std::tuple<std::string, std::string, Shape>> out;
        Catalogue any;
        Catalogue::each(any, sizes, [&](const char* name, auto& array, const Shape& shape) {
            out.emplace_back(name, kTypeName<std::remove_cvref_t<decltype(array[0])>>, shape);
        });
        return out;
    }

  private:
    Catalogue catalogue_;
    std::vector<nb::object> kept_;
};

// What was arranged, by name.
template <class Catalogue, class Arrays>
ArraysByName by_name(Arrays&& arrays, const typename Catalogue::Sizes& sizes) {
    nb::dict out;
    Catalogue::each(arrays, sizes, [&](const char* name, auto& array, const Shape& shape) {
        out[name] = own_array(std::move(array), shape);
    });
    return nb::borrow<ArraysByName>(out);
}

template <class Path>
auto find_best(const typename Path::Items& catalogue, const typename Path::Queries& queries,
               const std::optional<Array1<const int64_t>>& start, const std::optional<Wholes>& excluded,
               const Scored& scored, int64_t n, int n_threads) {
    require(start.has_value() == excluded.has_value(), "give starts and positions of what to exclude, or neither");
    require(!start || start->size() > 0, "exclude: starts must have one entry per query and one more");
    require(n >= 0 && n <= catalogue.slots(), "n must be from 0 up to the number of slots");
    const size_t size = numbers_of(queries.constants.size(), static_cast<size_t>(n));
    UnsetVector<int64_t> position(size);
    UnsetVector<float> score(size);
    {
        nb::gil_scoped_release release;
        Team team(n_threads, poll_signals);
        search<Path>(team, catalogue, queries, {span_of(start), span_of(excluded)}, scored, {n, position, score});
    }
    return std::pair(own_array(std::move(position)), own_array(std::move(score)));
}

// A search of a catalogue's for queries that consist of these arrays.
template <class Path, class... Arrays, class... Names>
void bind_search(nb::class_<BoundCatalogue<typename Path::Items>>& catalogue, const char* name, Names... names) {
    catalogue.def(
        name,
        [](const BoundCatalogue<typename Path::Items>& self, Words live, Arrays... arrays,
           std::optional<Array1<const int64_t>> start, std::optional<Wholes> excluded, int64_t n, int n_threads) {
            const typename Path::Queries queries{span_of(arrays)...};
            return find_best<Path>(self.with(live), queries, start, excluded, {}, n, n_threads);
        },
        nb::arg("live").noconvert(), nb::arg(names).noconvert()..., nb::arg("start").noconvert().none(),
        nb::arg("excluded").noconvert().none(), nb::arg("n"), nb::arg("n_threads"));
}

auto arrange_codes(Array2<const uint8_t> codes, Reals gains, Reals biases, Wholes positions, double weight) {
    CodeArrays<Owned> arrays;
    {
        nb::gil_scoped_release release;
        arrays = arrange(matrix_of(codes), span_of(gains), span_of(biases), span_of(positions), weight);
    }
    const CodeSizes sizes{static_cast<int64_t>(arrays.live.size()), static_cast<int>(codes.shape(1))};
    return by_name<CodeCatalogue>(std::move(arrays), sizes);
}

auto arrange_vectors(Array2<const float> vectors, Reals biases, Wholes positions, Array2<const double> basis,
                     double weight, bool nibbles) {
    VectorArrays<Owned> arrays;
    {
        nb::gil_scoped_release release;
        arrays = arrange(matrix_of(vectors), span_of(biases), span_of(positions), matrix_of(basis), weight, nibbles);
    }
    const auto chunks = static_cast<int64_t>(arrays.live.size());
    const VectorSizes sizes{.chunks = chunks,
                            .dimensions = static_cast<int>(vectors.shape(1)),
                            .leading = static_cast<int>(basis.shape(1)),
                            .nibble_chunks = nibbles ? chunks : 0};
    return by_name<VectorCatalogue>(std::move(arrays), sizes);
}

}  // namespace

void bind_retrieval(nb::module_& m) {
    m.def("arrange_codes", &arrange_codes, nb::arg("codes").noconvert(), nb::arg("gains").noconvert(),
          nb::arg("biases").noconvert(), nb::arg("positions").noconvert(), nb::arg("weight"));
    nb::class_<BoundCatalogue<CodeCatalogue>> codes(m, "CodeCatalogue");
    codes.def(nb::init<const ArraysByName&>(), nb::arg("arrays"))
        .def("check", &BoundCatalogue<CodeCatalogue>::check, nb::arg("n_positions"),
             nb::call_guard<nb::gil_scoped_release>())
        .def_static(
            "shapes", [](int64_t chunks, int bytes) { return BoundCatalogue<CodeCatalogue>::shapes({chunks, bytes}); },
            nb::arg("chunks"), nb::arg("bytes"));
    using Codes = Array2<const uint8_t>;
    using Vectors = Array2<const float>;
    using Constants = Array1<const double>;
    bind_search<CodeByCode, Codes, Reals, Constants>(codes, "search_codes", "codes", "gains", "constants");
    bind_search<CodeByVector, Vectors, Constants>(codes, "search_vectors", "vectors", "constants");
    codes.def(
        "search_with_scored",
        [](const BoundCatalogue<CodeCatalogue>& self, Words live, Vectors vectors, Constants constants,
           std::optional<Array1<const int64_t>> start, std::optional<Wholes> excluded,
           Array1<const int64_t> scored_start, Wholes scored, Reals scores, Wholes slot_of, int64_t n, int n_threads) {
            require(scored_start.size() > 0, "scored: starts must have one entry per query and one more");
            return find_best<CodeByVector>(self.with(live), {span_of(vectors), span_of(constants)}, start, excluded,
                                           {span_of(scored_start), span_of(scored), span_of(scores), span_of(slot_of)},
                                           n, n_threads);
        },
        nb::arg("live").noconvert(), nb::arg("vectors").noconvert(), nb::arg("constants").noconvert(),
        nb::arg("start").noconvert().none(), nb::arg("excluded").noconvert().none(),
        nb::arg("scored_start").noconvert(), nb::arg("scored").noconvert(), nb::arg("scores").noconvert(),
        nb::arg("slot_of").noconvert(), nb::arg("n"), nb::arg("n_threads"));

    m.def("arrange_vectors", &arrange_vectors, nb::arg("vectors").noconvert(), nb::arg("biases").noconvert(),
          nb::arg("positions").noconvert(), nb::arg("basis").noconvert(), nb::arg("weight"), nb::arg("nibbles"));
    m.def(
        "vector_starts",
        [](Array1<const int8_t> values, int64_t chunks) { return own_array(starts_of(span_of(values), chunks)); },
        nb::arg("values").noconvert(), nb::arg("chunks"));
    nb::class_<BoundCatalogue<VectorCatalogue>> vectors(m, "VectorCatalogue");
    vectors
        .def(
            "__init__",
            [](BoundCatalogue<VectorCatalogue>* self, const ArraysByName& arrays, const nb::object& sums) {
                BoundCatalogue<VectorCatalogue> made(arrays);
                if (!sums.is_none()) made.use(nb::cast<BoundItemSums&>(sums), sums);
                require(made.catalogue().sums || !made.catalogue().sum_chunks,
                        "catalogue: not all vectors are kept; give the sums that the others are");
                new (self) BoundCatalogue<VectorCatalogue>(std::move(made));
            },
            nb::arg("arrays"), nb::arg("sums").none() = nb::none())
        .def("check", &BoundCatalogue<VectorCatalogue>::check, nb::arg("n_positions"),
             nb::call_guard<nb::gil_scoped_release>())
        .def_static(
            "shapes",
            [](int64_t chunks, int dimensions, int leading, int64_t nibble_chunks, std::optional<int64_t> vectors) {
                VectorSizes sizes{chunks, dimensions, leading, nibble_chunks};
                if (vectors) {
                    sizes.sum_chunks = chunks;
                    sizes.some_vectors = *vectors;
                }
                return BoundCatalogue<VectorCatalogue>::shapes(sizes);
            },
            nb::arg("chunks"), nb::arg("dimensions"), nb::arg("leading"), nb::arg("nibble_chunks"),
            nb::arg("vectors").none() = nb::none());
    bind_search<VectorPath, Vectors, Constants>(vectors, "search", "vectors", "constants");

    m.def(
        "best_of_scores",
        [](Array2<const float> scores, std::optional<Array1<const int64_t>> start, std::optional<Wholes> excluded,
           int64_t n, int n_threads) {
            require(start.has_value() == excluded.has_value(), "give starts and positions to exclude, or neither");
            require(!start || start->size() > 0, "exclude: starts must have one entry per query and one more");
            require(n >= 0 && n <= static_cast<int64_t>(scores.shape(1)), "n must be at most the number of items");
            const size_t size = numbers_of(scores.shape(0), static_cast<size_t>(n));
            UnsetVector<int64_t> position(size);
            UnsetVector<float> score(size);
            {
                nb::gil_scoped_release release;
                Team team(n_threads, poll_signals);
                best_of_scores(team, matrix_of(scores), {span_of(start), span_of(excluded)}, {n, position, score});
            }
            return std::pair(own_array(std::move(position), {static_cast<int64_t>(scores.shape(0)), n}),
                             own_array(std::move(score), {static_cast<int64_t>(scores.shape(0)), n}));
        },
        nb::arg("scores").noconvert(), nb::arg("start").noconvert().none(), nb::arg("excluded").noconvert().none(),
        nb::arg("n"), nb::arg("n_threads"));
    m.def(
        "rescore",
        [](Wholes positions, Reals biases, Array2<const float> vectors, Array2<const float> queries,
           Array1<const double> constants, Array2<const int64_t> candidates, int64_t n, int n_threads) {
            require(queries.shape(1) == vectors.shape(1), "queries and items need vectors of the same width");
            require(vectors.shape(0) == positions.size() && queries.shape(0) == constants.size(),
                    "one vector per item and one per query are needed");
            require(candidates.shape(0) == constants.size(), "one row of candidates per query is needed");
            require(n >= 0 && n <= static_cast<int64_t>(candidates.shape(1)), "n must be at most that of candidates");
            const size_t size = numbers_of(constants.size(), static_cast<size_t>(n));
            std::vector<int64_t> position(size);
            std::vector<float> score(size);
            {
                nb::gil_scoped_release release;
                Team team(n_threads, poll_signals);
                const ItemRows items{static_cast<int64_t>(vectors.shape(1)), span_of(positions), span_of(biases),
                                     span_of(vectors)};
                rescore(team, items, {span_of(queries), span_of(constants)}, span_of(candidates), {n, position, score});
            }
            return std::pair(own_array(std::move(position)), own_array(std::move(score)));
        },
        nb::arg("positions").noconvert(), nb::arg("biases").noconvert(), nb::arg("vectors").noconvert(),
        nb::arg("queries").noconvert(), nb::arg("constants").noconvert(), nb::arg("candidates").noconvert(),
        nb::arg("n"), nb::arg("n_threads"));
}

}  // namespace bitfm
