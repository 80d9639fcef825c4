#include "base/error.hpp"
#include "bind/bind.hpp"

namespace bitfm {

namespace {
constexpr const char* kNoMemory = "there is not enough memory for what was asked; ask for less at a time";
}

void poll_signals() {
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw Interrupted();  // Python's exception is set
}

}  // namespace bitfm

NB_MODULE(_core, m) {
    using namespace bitfm;
    m.doc() = "bitfm's native core. Private: use the classes and functions that `bitfm` exports.";
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const BadInput& e) {
            PyErr_SetString(PyExc_ValueError, e.what());
        } catch (const std::bad_alloc&) {
            PyErr_SetString(PyExc_MemoryError, kNoMemory);
        } catch (const std::length_error&) {  // of a vector: more than can be addressed
            PyErr_SetString(PyExc_MemoryError, kNoMemory);
        } catch (const Interrupted&) {
        }
    });
    bind_distillation(m);
    bind_delegate(m);
    bind_metrics(m);
    bind_fold_in(m);
    bind_functions(m);
    bind_implicit(m);
    bind_isa(m);
    bind_item_sums(m);  // before the catalogues, whose signatures name it
    bind_linalg(m);
    bind_normal(m);
    bind_pairs(m);
    bind_sides(m);
    bind_trainer(m);
    bind_transpose(m);
    bind_text(m);
    bind_retrieval(m);
}
