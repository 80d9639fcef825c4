// Codes of items for events: a level per dimension, a gain and a weight, read by one decoder.
//
// Item j stands for c_j = w_j t + g_j Σ_r q_jr D_r. The q_jr are levels: sums of signs, one per bit, times fixed
// magnitudes. Coordinate descent brings c_j near the teacher's vector v_j in the item's own metric,
//     (c_j − v_j)ᵀ A_j (c_j − v_j),   A_j = a0 PᵀP + Σ e p pᵀ over the item's events + ridge_j I,
// the rise of the teacher's objective where c_j takes the place of v_j.
#pragma once

#include <cstdint>
#include <span>

#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "implicit/rows.hpp"

namespace bitfm {

constexpr int kMostLevelBits = 4;

// The magnitudes of the signs that make up a level of so many bits. Their sums are the best levels for Gaussian numbers
// of variance 1: Lloyd and Max's of one or two bits, the best uniform ones of three or four.
std::span<const float> level_magnitudes(int bits);

struct LevelCodes {
    Matrix<float> level;
    std::span<float> gain, weight;
};

struct Encoding {
    EventRows events;                    // of items
    Matrix<const float> users, teacher;  // P, V
    // With D = [t; D_1; …]: P Dᵀ, V Dᵀ, V (a0 PᵀP) Dᵀ, D (a0 PᵀP) Dᵀ and D Dᵀ.
    Matrix<const float> decoded_users, decoded_teacher, unobserved_teacher, unobserved, gram;
    std::span<const float> ridge;   // per item
    std::span<const int32_t> bits;  // per dimension
    int rounds;                     // of levels, then gain and weight
};

// Improves the codes. `objective` gets the distance of each item, up to a constant of the item.
void encode_levels(Team& team, const Encoding& encoding, const LevelCodes& codes, std::span<double> objective);

}  // namespace bitfm
