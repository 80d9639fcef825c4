#include <memory>
#include <mutex>
#include <utility>

#include "base/sizes.hpp"
#include "bind/bind.hpp"
#include "text/libfm.hpp"
#include "text/strings.hpp"
#include "text/words.hpp"

namespace bitfm {

namespace {

template <class T>
using Vector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using ConstVector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A NumPy array over the buffer's memory, which it frees in the end.
template <class T>
Vector<T> to_numpy(Buffer<T>&& buffer) {
    auto owned = std::make_unique<Buffer<T>>(std::move(buffer));
    nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<Buffer<T>*>(p); });
    Buffer<T>* kept = owned.release();
    return Vector<T>(kept->data(), {kept->size()}, owner);
}

template <class T>
std::span<const T> to_span(const ConstVector<T>& array) {
    return {array.data(), array.size()};
}

// The parser runs without the interpreter's lock, so a second thread may call it meanwhile: that one is
// refused. Chunks are `bytes`, which no thread can change under the parser.
class SharedParser {
  public:
    SharedParser(int32_t first_index, size_t n_bytes) : parser_(first_index, n_bytes) {}

    void feed(const nb::bytes& chunk) {
        std::string_view text(chunk.c_str(), chunk.size());
        alone([&] { parser_.feed(text); });
    }

    auto finish() {
        LibfmRows rows;
        alone([&] { rows = parser_.finish(); });
        return std::tuple(to_numpy(std::move(rows.y)), to_numpy(std::move(rows.indptr)),
                          to_numpy(std::move(rows.indices)), to_numpy(std::move(rows.values)));
    }

  private:
    template <class Work>
    void alone(Work work) {
        nb::gil_scoped_release unlocked;
        std::unique_lock lock(mutex_, std::try_to_lock);
        require(lock.owns_lock(), "the parser is in use by another thread; give each thread its own");
        work();
    }

    LibfmParser parser_;
    std::mutex mutex_;
};

// The indices of some texts among sorted strings; -1 where one is None, unknown or no valid Unicode.
std::vector<int32_t> find_strings(const Array1<const uint8_t>& bytes, const nb::object& offsets,
                                  const nb::typed<nb::list, std::optional<std::string>>& texts) {
    const PackedStrings strings{span_of(bytes), whole_numbers(offsets)};
    require_at_most(static_cast<size_t>(strings.size()), kMostRows, "find_strings", "strings");
    std::vector<int32_t> found;
    found.reserve(texts.size());
    for (const nb::handle text : texts) {
        if (text.is_none()) {
            found.push_back(-1);
            continue;
        }
        if (!nb::isinstance<nb::str>(text)) throw nb::type_error("find_strings: expected strings or None");
        Py_ssize_t size = 0;
        const char* utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
        if (utf8 == nullptr) PyErr_Clear();  // a lone surrogate, which no table holds
        const int64_t index = utf8 == nullptr ? -1 : strings.find({utf8, static_cast<size_t>(size)});
        found.push_back(static_cast<int32_t>(index));
    }
    return found;
}

// The words of texts, each of which is a string that is ASCII or of words and spaces only.
class SharedWords {
  public:
    void feed(const nb::typed<nb::list, std::string>& texts) {
        nb::ft_lock_guard lock(mutex_);
        for (const nb::handle text : texts) {
            if (!nb::isinstance<nb::str>(text)) throw nb::type_error("WordCounter: expected strings");
            Py_ssize_t size = 0;
            const char* utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
            if (utf8 == nullptr) throw nb::python_error();
            words_.add({utf8, static_cast<size_t>(size)});
        }
    }

    auto finish() {
        nb::ft_lock_guard lock(mutex_);
        nb::typed<nb::list, nb::str> words;
        for (const std::string& word : words_.words()) words.append(nb::str(word.data(), word.size()));
        WordCounter done;
        std::swap(done, words_);
        if (done.starts.size() == 0) done.starts.push_back(0);
        done.starts.shrink();
        done.numbers.shrink();
        done.counts.shrink();
        return std::tuple(to_numpy(std::move(done.starts)), to_numpy(std::move(done.numbers)),
                          to_numpy(std::move(done.counts)), words);
    }

  private:
    WordCounter words_;
    nb::ft_mutex mutex_;
};

}  // namespace

void bind_text(nb::module_& m) {
    nb::exception<LibfmError>(m, "LibfmError", PyExc_ValueError);

    nb::class_<SharedParser>(m, "LibfmParser", "Reads the libFM/libSVM text format piece by piece.")
        .def(nb::init<int32_t, size_t>(), nb::arg("first_index") = 0, nb::arg("n_bytes") = 0)
        .def("feed", &SharedParser::feed, nb::arg("chunk"))
        .def("finish", &SharedParser::finish, "(y, indptr, indices, values) of everything fed.");

    nb::class_<SharedWords>(m, "WordCounter", "Counts the words of texts that are ASCII, or words and spaces.")
        .def(nb::init<>())
        .def("feed", &SharedWords::feed, nb::arg("texts"))
        .def("finish", &SharedWords::finish, "(indptr, numbers of words, counts, words) of everything fed.");

    m.def(
        "format_libfm",
        [](const ConstVector<double>& y, const ConstVector<int64_t>& indptr, const ConstVector<int32_t>& indices,
           const ConstVector<double>& values, size_t begin, size_t end, int32_t first_index) {
            std::string text;
            format_libfm({to_span(y), to_span(indptr), to_span(indices), to_span(values)}, begin, end, first_index,
                         text);
            return nb::bytes(text.data(), text.size());
        },
        nb::arg("y"), nb::arg("indptr"), nb::arg("indices"), nb::arg("values"), nb::arg("begin"), nb::arg("end"),
        nb::arg("first_index"), "Rows begin to end of a CSR matrix as libFM text.");

    m.def("find_strings", &find_strings, nb::arg("bytes").noconvert(), nb::arg("offsets"), nb::arg("texts"),
          "Indices of texts among sorted strings, which lie one after another; -1 where one is unknown.");
}

}  // namespace bitfm
