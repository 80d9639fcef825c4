// A code and a gain by their quadratic problem: min g² b'Hb − 2 g b'a over b in {−1, 1}^k and g ≥ 0.
#pragma once

#include "kernels/lanes.hpp"

namespace bitfm::BITFM_ISA {
namespace {

// out = matrix · b for a symmetric matrix.
BITFM_INLINE void times_signs(const float* matrix, const float* b, int bits, float* out) {
    using L = Lanes<float>;
    for (int i = 0; i < bits; i += kLanes) {
        L sum = L::fill(0);
        for (int t = 0; t < bits; ++t) sum += L::load(matrix + int64_t(t) * bits + i) * b[t];
        sum.store(out + i);
    }
}

BITFM_INLINE float dot_of(const float* a, const float* b, int bits) {
    using L = Lanes<float>;
    L sum = L::fill(0);
    for (int i = 0; i < bits; i += kLanes) sum += L::load(a + i) * L::load(b + i);
    return sum.sum();
}

// The best gain for a code, up to `most`: b'a / b'Hb, or 0 where that is negative or no number.
BITFM_INLINE float best_gain(const float* b, const float* hb, const float* a, int bits, float most) {
    const float along = dot_of(b, a, bits), curve = dot_of(b, hb, bits);
    const float gain = along > 0 && curve > 0 ? along / curve : 0.0f;
    return !(gain < 3e38f) ? 0.0f : gain < most ? gain : most;
}

// Coordinate descent, bit by bit and then the gain, unless it is to be kept. On entry hb = H b; on return it is again.
// Returns the flips.
inline int descend(const float* hessian, const float* a, int bits, int passes, bool keep_gain, float most_gain,
                   float* b, float* hb, float* gain) {
    using L = Lanes<float>;
    int flips = 0;
    if (!(*gain > 0) && !keep_gain) {  // nothing to start from: the signs of a
        for (int t = 0; t < bits; ++t) {
            const float sign = a[t] < 0 ? -1.0f : 1.0f;
            flips += sign != b[t];
            b[t] = sign;
        }
        times_signs(hessian, b, bits, hb);
        *gain = best_gain(b, hb, a, bits, most_gain);
    }
    for (int pass = 0; pass < passes && *gain > 0; ++pass) {
        const float before = *gain;
        int changed = 0;
        for (int t = 0; t < bits; ++t) {
            const float* line = hessian + int64_t(t) * bits;
            const float pull = a[t] - *gain * (hb[t] - line[t] * b[t]);
            if (!(pull * b[t] < 0)) continue;
            b[t] = -b[t];
            const float step = 2 * b[t];
            for (int i = 0; i < bits; i += kLanes) (L::load(hb + i) + L::load(line + i) * step).store(hb + i);
            ++changed;
        }
        flips += changed;
        if (!keep_gain) *gain = best_gain(b, hb, a, bits, most_gain);
        if (!changed && *gain == before) break;  // another gain may call for other bits
    }
    return flips;
}

BITFM_INLINE void unpack(const uint8_t* code, int bits, float* b) {
    for (int t = 0; t < bits; ++t) b[t] = code[t / 8] >> (t % 8) & 1 ? 1.0f : -1.0f;
}

BITFM_INLINE void pack(const float* b, int bits, uint8_t* code) {
    for (int byte = 0; byte < bits / 8; ++byte) {
        unsigned value = 0;
        for (int t = 0; t < 8; ++t) value |= (b[byte * 8 + t] > 0 ? 1u : 0u) << t;
        code[byte] = uint8_t(value);
    }
}

// Columns [begin, end) of a field whose rows are compared with the teacher's; see DistilledField.
inline int64_t distill_columns(const DistilledField& field, int64_t begin, int64_t end) {
    using L = Lanes<float>;
    const int bits = field.bits;
    float a[kMostBits], b[kMostBits], hb[kMostBits], change[kMostBits];
    int64_t flips = 0;
    for (int64_t j = begin; j < end; ++j) {
        const int64_t from = field.start ? field.start[j] : j, to = field.start ? field.start[j + 1] : j + 1;
        float mass = 0;
        for (int t = 0; t < bits; t += kLanes) L::fill(0).store(a + t);
        for (int64_t p = from; p < to; ++p) {
            const int64_t row = field.row ? field.row[p] : p;
            const float x = field.value ? field.value[p] : 1.0f, weight = field.row_weight[row] * x;
            mass += weight * x;
            const float* error = field.error + row * bits;
            for (int t = 0; t < bits; t += kLanes) (L::load(a + t) + L::load(error + t) * weight).store(a + t);
        }
        uint8_t* code = field.codes + j * (bits / 8);
        float& gain = field.gains[j];
        if (!(mass > 0)) {  // it never occurs: no say
            gain = 0;
            continue;
        }
        unpack(code, bits, b);
        times_signs(field.hessian, b, bits, hb);
        const float before = gain;
        for (int t = 0; t < bits; t += kLanes) {
            const L own = L::load(hb + t) * before;
            (L::load(a + t) * (1.0f / mass) + own).store(a + t);
            own.store(change + t);
        }
        flips += descend(field.hessian, a, bits, field.passes, field.keep_gains, field.most_gain, b, hb, &gain);
        pack(b, bits, code);
        for (int t = 0; t < bits; t += kLanes) (L::load(hb + t) * gain - L::load(change + t)).store(change + t);
        for (int64_t p = from; p < to; ++p) {
            const int64_t row = field.row ? field.row[p] : p;
            const float x = field.value ? field.value[p] : 1.0f;
            float* error = field.error + row * bits;
            for (int t = 0; t < bits; t += kLanes) (L::load(error + t) - L::load(change + t) * x).store(error + t);
        }
    }
    return flips;
}

// matrix (rows × columns) += scale · left right'
BITFM_INLINE void add_outer(float scale, const float* left, int rows, const float* right, int columns, float* matrix) {
    using L = Lanes<float>;
    for (int i = 0; i < rows; ++i) {
        float* line = matrix + int64_t(i) * columns;
        const float factor = scale * left[i];
        for (int j = 0; j < columns; j += kLanes) (L::load(line + j) + L::load(right + j) * factor).store(line + j);
    }
}

// One feature against all others; see DistilledPairs.
inline int distill_feature(const DistilledPairs& pairs, int64_t i) {
    const int bits = pairs.bits, width = pairs.width;
    float a[kMostBits], b[kMostBits], hb[kMostBits];
    uint8_t* code = pairs.codes + i * (bits / 8);
    float& gain = pairs.gains[i];
    const float weight = pairs.weight[i];
    if (!(weight > 0)) {
        gain = 0;
        return 0;
    }
    const float* v = pairs.factors + i * width;
    unpack(code, bits, b);
    add_outer(-weight * gain * gain, b, bits, b, bits, pairs.gram);
    add_outer(-weight * gain, b, bits, v, width, pairs.cross);
    for (int t = 0; t < bits; ++t) a[t] = dot_of(pairs.cross + int64_t(t) * width, v, width);
    times_signs(pairs.gram, b, bits, hb);
    const int flips = descend(pairs.gram, a, bits, pairs.passes, false, 3e38f, b, hb, &gain);
    pack(b, bits, code);
    add_outer(weight * gain * gain, b, bits, b, bits, pairs.gram);
    add_outer(weight * gain, b, bits, v, width, pairs.cross);
    return flips;
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
