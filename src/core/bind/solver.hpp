// How a solver becomes a method of Python's trainer: without the interpreter's lock, on a team of threads, arrays as
// they are.
#pragma once

#include "base/matrix.hpp"
#include "bind/bind.hpp"
#include "solvers/residuals.hpp"

namespace bitfm {

// What Python passes for a parameter of the core's, and how the argument is called.
template <class T>
struct Argument {
    using Python = T;
    static T core(const Python& value) { return value; }
    static auto named(const char* name) { return nb::arg(name); }
};
template <class T>
struct Argument<std::span<T>> {
    using Python = Array1<T>;
    static std::span<T> core(const Python& array) { return span_of(array); }
    static auto named(const char* name) { return nb::arg(name).noconvert(); }
};
template <class T>
struct Argument<Matrix<T>> {
    using Python = Array2<T>;
    static Matrix<T> core(const Python& array) { return matrix_of(array); }
    static auto named(const char* name) { return nb::arg(name).noconvert(); }
};
template <class T>
struct Argument<std::optional<T>> {
    using Python = std::optional<typename Argument<T>::Python>;
    static std::optional<T> core(const Python& value) {
        return value ? std::optional<T>(Argument<T>::core(*value)) : std::nullopt;
    }
    static auto named(const char* name) { return Argument<T>::named(name).none(); }
};

// Look for Ctrl-C, which Python hands to its main thread alone, and for what that thread has to say.
template <class Real>
std::function<void()> poll_of(const Residuals<Real>& residuals) {
    return [&residuals] {
        poll_signals();
        require(!residuals.cancelled(), "the fit was cancelled");
    };
}

// A solver, or a method of the residuals, under a name; `names` are those of its parameters after the first two.
template <class Real, class Result, class... Args, class... Names>
void bind_solver(nb::class_<Residuals<Real>>& trainer, const char* name,
                 Result (*solver)(Team&, Residuals<Real>&, Args...), Names... names) {
    static_assert(sizeof...(Args) == sizeof...(Names), "each parameter needs a name");
    trainer.def(
        name,
        [solver](Residuals<Real>& self, typename Argument<Args>::Python... args, int n_threads) {
            nb::gil_scoped_release release;
            Team team(n_threads, poll_of(self));
            return solver(team, self, Argument<Args>::core(args)...);
        },
        Argument<Args>::named(names)..., nb::arg("n_threads"));
}

// ... that runs on one thread.
template <class Real, class Result, class... Args, class... Names>
void bind_serial_solver(nb::class_<Residuals<Real>>& trainer, const char* name,
                        Result (*solver)(Team&, Residuals<Real>&, Args...), Names... names) {
    static_assert(sizeof...(Args) == sizeof...(Names), "each parameter needs a name");
    trainer.def(
        name,
        [solver](Residuals<Real>& self, typename Argument<Args>::Python... args) {
            nb::gil_scoped_release release;
            Team team(1, poll_of(self));
            return solver(team, self, Argument<Args>::core(args)...);
        },
        Argument<Args>::named(names)...);
}

}  // namespace bitfm
