// Stochastic gradient descent over interactions, all factors of a feature side by side.
#pragma once

#include "kernels/lanes.hpp"

namespace bitfm::BITFM_ISA {
namespace {

template <class Real>
double sgd(const SgdInput<Real>& in, Real* bias, Real* weights, Real* factors, Real* scratch, int64_t begin,
           int64_t end) {
    using L = Lanes<Real>;
    constexpr int64_t kAhead = 6;                  // interactions
    constexpr int kLine = 64 / int(sizeof(Real));  // factors in a line of the cache
    const int rank = in.rank;
    Real* total = scratch;       // Σ x v over all blocks
    Real* own = scratch + rank;  // ... of each block
    double loss = 0;

    auto each = [&](int64_t s, auto&& visit) BITFM_INLINE_LAMBDA {
        for (int f = 0; f < in.n_fields; ++f) {
            int64_t row = in.row[f][s];
            if (in.levels[f]) {
                const int8_t* line = in.levels[f] + row * in.n_columns[f];
                for (int64_t c = 0; c < in.n_columns[f]; ++c)
                    if (line[c]) visit(f, in.first[f] + c, Real(in.scale[f] * float(line[c])));
                continue;
            }
            if (!in.indptr[f]) {
                visit(f, in.first[f] + row, Real(1));
                continue;
            }
            for (int64_t p = in.indptr[f][row]; p < in.indptr[f][row + 1]; ++p)
                visit(f, in.first[f] + in.indices[f][p], in.values[f][p]);
        }
    };

    // The order is random, so neither the rows nor the factors would be in the cache.
    auto prefetch = [&](int64_t place) BITFM_INLINE_LAMBDA {
        if (place + 2 * kAhead < end) {
            const int64_t later = in.order[place + 2 * kAhead];
            __builtin_prefetch(in.target + later);
            for (int f = 0; f < in.n_fields; ++f) __builtin_prefetch(in.row[f] + later);
        }
        if (place + kAhead >= end) return;
        const int64_t soon = in.order[place + kAhead];
        for (int f = 0; f < in.n_fields; ++f) {
            if (in.indptr[f] || in.levels[f]) continue;  // of an identity one feature per row
            const int64_t i = in.first[f] + in.row[f][soon];
            __builtin_prefetch(weights + i, 1);
            for (int t = 0; t < rank; t += kLine) __builtin_prefetch(factors + i * rank + t, 1);
        }
    };

    for (int64_t place = begin; place < end; ++place) {
        const int64_t s = in.order[place];
        prefetch(place);
        for (int t = 0; t < rank * (in.n_blocks + 1); ++t) scratch[t] = 0;
        Real linear = *bias, within = 0;
        each(s, [&](int f, int64_t i, Real x) {
            linear += weights[i] * x;
            Real* q = own + in.block[f] * rank;
            L squares = L::fill(0);
            for (int t = 0; t < rank; t += kLanes) {
                L xv = L::load(factors + i * rank + t) * x;
                (L::load(q + t) + xv).store(q + t);
                squares += xv * xv;
            }
            within += squares.sum();
        });
        L all = L::fill(0), by_block = L::fill(0);
        for (int t = 0; t < rank; t += kLanes) {
            L sum = L::fill(0);
            for (int b = 0; b < in.n_blocks; ++b) {
                L q = L::load(own + b * rank + t);
                sum += q;
                by_block += q * q;
            }
            sum.store(total + t);
            all += sum * sum;
        }
        Real score = linear + Real(0.5) * (all.sum() - (in.cross ? by_block.sum() : within));
        Real error = score - in.target[s];
        Real weight = in.weight ? in.weight[s] : Real(1);
        loss += double(weight) * double(error) * double(error);
        Real rate = in.learning_rate, slope = weight * error;
        *bias -= rate * slope;
        each(s, [&](int f, int64_t i, Real x) {
            weights[i] -= rate * (slope * x + in.linear_ridge[f] * weights[i]);
            const Real* q = own + in.block[f] * rank;
            for (int t = 0; t < rank; t += kLanes) {
                L v = L::load(factors + i * rank + t);
                L h = in.cross ? (L::load(total + t) - L::load(q + t)) * x : (L::load(total + t) - v * x) * x;
                (v - (h * slope + v * in.factor_ridge[f]) * rate).store(factors + i * rank + t);
            }
        });
    }
    return loss;
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
