// Catalogues of codes and of vectors, and the search for the best of their items.
#include "base/large_pages.hpp"
#include "bind/bind.hpp"
#include "topn/code_catalogue.hpp"
#include "topn/code_paths.hpp"
#include "topn/rescore.hpp"
#include "topn/search.hpp"
#include "topn/vector_catalogue.hpp"
#include "topn/vector_path.hpp"

namespace bitfm {

namespace {

using Bytes = Array1<const uint8_t>;
using Words = Array1<const uint64_t>;
using Reals = Array1<const float>;
using Wholes = Array1<const int32_t>;

template <class Items>
Items with_alive(Items items, const Words& alive) {
    items.alive = span_of(alive);
    items.check();
    return items;
}

// These keep the arrays alive that a catalogue borrows.
class BoundCodeCatalogue {
  public:
    BoundCodeCatalogue(int bytes, Bytes codes, Wholes position, Reals bias, Reals gain, Reals chunk_bias,
                       Reals chunk_most, Reals chunk_least, Reals inverse_most, Reals inverse_least, Wholes chunk_first)
        : codes_(codes),
          wholes_{position, chunk_first},
          reals_{bias, gain, chunk_bias, chunk_most, chunk_least, inverse_most, inverse_least} {
        catalogue_ = {bytes,
                      span_of(codes_),
                      {},
                      span_of(wholes_[0]),
                      span_of(reals_[0]),
                      span_of(reals_[1]),
                      span_of(reals_[2]),
                      span_of(reals_[3]),
                      span_of(reals_[4]),
                      span_of(reals_[5]),
                      span_of(reals_[6]),
                      span_of(wholes_[1])};
    }

    CodeCatalogue with(const Words& alive) const { return with_alive(catalogue_, alive); }

  private:
    CodeCatalogue catalogue_;
    Bytes codes_;
    std::vector<Wholes> wholes_;
    std::vector<Reals> reals_;
};

class BoundVectorCatalogue {
  public:
    BoundVectorCatalogue(Array2<const double> turn, Array1<const int8_t> values, Array1<const int16_t> start,
                         Wholes position, Reals bias, Array2<const float> vectors, Reals chunk_bias, Reals inverse_step,
                         Reals length, Reals error, Reals rest, Wholes chunk_first, Bytes nibbles,
                         Reals nibble_inverse_step, Reals nibble_error)
        : turn_(turn),
          vectors_(vectors),
          values_(values),
          start_(start),
          nibbles_(nibbles),
          wholes_{position, chunk_first},
          reals_{bias, chunk_bias, inverse_step, length, error, rest, nibble_inverse_step, nibble_error} {
        require(vectors.shape(1) >= 1 && vectors.shape(1) <= 1 << 20 && turn.shape(0) == vectors.shape(1),
                "catalogue: the basis must have a row for each dimension of the vectors");
        catalogue_ = {static_cast<int>(vectors.shape(1)),
                      span_of(turn_),
                      span_of(values_),
                      span_of(start_),
                      {},
                      span_of(wholes_[0]),
                      span_of(reals_[0]),
                      span_of(vectors_),
                      span_of(reals_[1]),
                      span_of(reals_[2]),
                      span_of(reals_[3]),
                      span_of(reals_[4]),
                      span_of(reals_[5]),
                      span_of(wholes_[1]),
                      span_of(nibbles_),
                      span_of(reals_[6]),
                      span_of(reals_[7])};
    }

    VectorCatalogue with(const Words& alive) const { return with_alive(catalogue_, alive); }

  private:
    VectorCatalogue catalogue_;
    Array2<const double> turn_;
    Array2<const float> vectors_;
    Array1<const int8_t> values_;
    Array1<const int16_t> start_;
    Bytes nibbles_;
    std::vector<Wholes> wholes_;
    std::vector<Reals> reals_;
};

template <class Path>
auto find_best(const typename Path::Items& catalogue, const typename Path::Queries& queries,
               const std::optional<Array1<const int64_t>>& start, const std::optional<Wholes>& excluded, int64_t n,
               int n_threads) {
    require(start.has_value() == excluded.has_value(), "give starts and positions of what to exclude, or neither");
    require(!start || start->size() > 0, "exclude: starts must have one entry a query and one more");
    require(n >= 0 && n <= catalogue.n_chunks() * kChunkItems, "n must be from 0 up to the number of places");
    const size_t size = queries.constants.size() * static_cast<size_t>(n);
    UnsetVector<int64_t> position(size);
    UnsetVector<float> score(size);
    {
        nb::gil_scoped_release release;
        Team team(n_threads, poll_signals);
        search<Path>(team, catalogue, queries, {span_of(start), span_of(excluded)}, {n, position, score});
    }
    return std::pair(own_array(std::move(position)), own_array(std::move(score)));
}

nb::typed<nb::tuple, nb::any, nb::ellipsis> arrange_codes(Array2<const uint8_t> codes, Reals gains, Reals biases,
                                                          Wholes positions, double weight) {
    const int bytes = static_cast<int>(codes.shape(1));
    const size_t chunks = (gains.size() + kChunkItems - 1) / kChunkItems, places = chunks * kChunkItems;
    LargeVector<uint8_t> new_codes(places * codes.shape(1));
    std::vector<uint64_t> alive(chunks);
    std::vector<int32_t> position(places), chunk_first(chunks);
    std::vector<float> bias(places), gain(places);
    std::vector<float> chunk_bias(chunks), chunk_most(chunks), chunk_least(chunks), inverse_most(chunks),
        inverse_least(chunks);
    {
        nb::gil_scoped_release release;
        arrange(span_of(codes), span_of(gains), span_of(biases), span_of(positions), weight,
                {bytes, new_codes, alive, position, bias, gain, chunk_bias, chunk_most, chunk_least, inverse_most,
                 inverse_least, chunk_first});
    }
    return nb::make_tuple(own_array(std::move(new_codes)), own_array(std::move(alive)), own_array(std::move(position)),
                          own_array(std::move(bias)), own_array(std::move(gain)), own_array(std::move(chunk_bias)),
                          own_array(std::move(chunk_most)), own_array(std::move(chunk_least)),
                          own_array(std::move(inverse_most)), own_array(std::move(inverse_least)),
                          own_array(std::move(chunk_first)));
}

nb::typed<nb::tuple, nb::any, nb::ellipsis> arrange_vectors(Array2<const float> vectors, Reals biases, Wholes positions,
                                                            Array2<const double> turn, double weight, bool halve) {
    require(vectors.shape(1) >= 1 && vectors.shape(1) <= 1 << 20 && turn.shape(0) == vectors.shape(1),
            "catalogue: the basis must have a row for each dimension of the vectors");
    const size_t chunks = (biases.size() + kChunkItems - 1) / kChunkItems, places = chunks * kChunkItems;
    LargeVector<int8_t> values(places * turn.shape(1));
    LargeVector<uint8_t> nibbles(halve ? values.size() / 2 : 0);
    std::vector<float> nibble_inverse_step(halve ? chunks : 0), nibble_error(halve ? chunks : 0);
    std::vector<int16_t> start(places);
    std::vector<uint64_t> alive(chunks);
    std::vector<int32_t> position(places), chunk_first(chunks);
    std::vector<float> bias(places);
    LargeVector<float> new_vectors(places * vectors.shape(1));
    std::vector<float> chunk_bias(chunks), inverse_step(chunks), length(chunks), error(chunks), rest(chunks);
    {
        nb::gil_scoped_release release;
        arrange(
            span_of(vectors), span_of(biases), span_of(positions), weight,
            {static_cast<int>(vectors.shape(1)), span_of(turn), values, start, alive, position, bias, new_vectors,
             chunk_bias, inverse_step, length, error, rest, chunk_first, nibbles, nibble_inverse_step, nibble_error});
    }
    return nb::make_tuple(own_array(std::move(values)), own_array(std::move(start)), own_array(std::move(alive)),
                          own_array(std::move(position)), own_array(std::move(bias)), own_array(std::move(new_vectors)),
                          own_array(std::move(chunk_bias)), own_array(std::move(inverse_step)),
                          own_array(std::move(length)), own_array(std::move(error)), own_array(std::move(rest)),
                          own_array(std::move(chunk_first)), own_array(std::move(nibbles)),
                          own_array(std::move(nibble_inverse_step)), own_array(std::move(nibble_error)));
}

}  // namespace

void bind_topn(nb::module_& m) {
    m.def("arrange_codes", &arrange_codes, nb::arg("codes").noconvert(), nb::arg("gains").noconvert(),
          nb::arg("biases").noconvert(), nb::arg("positions").noconvert(), nb::arg("weight"));
    nb::class_<BoundCodeCatalogue>(m, "CodeCatalogue")
        .def(nb::init<int, Bytes, Wholes, Reals, Reals, Reals, Reals, Reals, Reals, Reals, Wholes>(), nb::arg("bytes"),
             nb::arg("codes").noconvert(), nb::arg("position").noconvert(), nb::arg("bias").noconvert(),
             nb::arg("gain").noconvert(), nb::arg("chunk_bias").noconvert(), nb::arg("chunk_most").noconvert(),
             nb::arg("chunk_least").noconvert(), nb::arg("inverse_most").noconvert(),
             nb::arg("inverse_least").noconvert(), nb::arg("chunk_first").noconvert())
        .def(
            "search_codes",
            [](const BoundCodeCatalogue& self, Words alive, Array2<const uint8_t> codes, Reals gains,
               Array1<const double> constants, std::optional<Array1<const int64_t>> start,
               std::optional<Wholes> excluded, int64_t n, int n_threads) {
                const CodeQueries queries{span_of(codes), span_of(gains), span_of(constants)};
                return find_best<CodeByCode>(self.with(alive), queries, start, excluded, n, n_threads);
            },
            nb::arg("alive").noconvert(), nb::arg("codes").noconvert(), nb::arg("gains").noconvert(),
            nb::arg("constants").noconvert(), nb::arg("start").noconvert().none(),
            nb::arg("excluded").noconvert().none(), nb::arg("n"), nb::arg("n_threads"))
        .def(
            "search_vectors",
            [](const BoundCodeCatalogue& self, Words alive, Array2<const float> vectors, Array1<const double> constants,
               std::optional<Array1<const int64_t>> start, std::optional<Wholes> excluded, int64_t n, int n_threads) {
                const RealQueries queries{span_of(vectors), span_of(constants)};
                return find_best<CodeByVector>(self.with(alive), queries, start, excluded, n, n_threads);
            },
            nb::arg("alive").noconvert(), nb::arg("vectors").noconvert(), nb::arg("constants").noconvert(),
            nb::arg("start").noconvert().none(), nb::arg("excluded").noconvert().none(), nb::arg("n"),
            nb::arg("n_threads"));
    m.def("arrange_vectors", &arrange_vectors, nb::arg("vectors").noconvert(), nb::arg("biases").noconvert(),
          nb::arg("positions").noconvert(), nb::arg("turn").noconvert(), nb::arg("weight"), nb::arg("halve"));
    nb::class_<BoundVectorCatalogue>(m, "VectorCatalogue")
        .def(nb::init<Array2<const double>, Array1<const int8_t>, Array1<const int16_t>, Wholes, Reals,
                      Array2<const float>, Reals, Reals, Reals, Reals, Reals, Wholes, Bytes, Reals, Reals>(),
             nb::arg("turn").noconvert(), nb::arg("values").noconvert(), nb::arg("start").noconvert(),
             nb::arg("position").noconvert(), nb::arg("bias").noconvert(), nb::arg("vectors").noconvert(),
             nb::arg("chunk_bias").noconvert(), nb::arg("inverse_step").noconvert(), nb::arg("length").noconvert(),
             nb::arg("error").noconvert(), nb::arg("rest").noconvert(), nb::arg("chunk_first").noconvert(),
             nb::arg("nibbles").noconvert(), nb::arg("nibble_inverse_step").noconvert(),
             nb::arg("nibble_error").noconvert())
        .def(
            "search",
            [](const BoundVectorCatalogue& self, Words alive, Array2<const float> vectors,
               Array1<const double> constants, std::optional<Array1<const int64_t>> start,
               std::optional<Wholes> excluded, int64_t n, int n_threads) {
                const RealQueries queries{span_of(vectors), span_of(constants)};
                return find_best<VectorPath>(self.with(alive), queries, start, excluded, n, n_threads);
            },
            nb::arg("alive").noconvert(), nb::arg("vectors").noconvert(), nb::arg("constants").noconvert(),
            nb::arg("start").noconvert().none(), nb::arg("excluded").noconvert().none(), nb::arg("n"),
            nb::arg("n_threads"));
    m.def(
        "rescore",
        [](Wholes positions, Reals biases, Array2<const float> vectors, Array2<const float> queries,
           Array1<const double> constants, Array2<const int64_t> candidates, int64_t n, int n_threads) {
            require(queries.shape(1) == vectors.shape(1), "queries and items need vectors of the same width");
            require(candidates.shape(0) == constants.size(), "one row of candidates a query is needed");
            require(n >= 0 && n <= static_cast<int64_t>(candidates.shape(1)), "n must be at most that of candidates");
            const size_t size = constants.size() * static_cast<size_t>(n);
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
