// Exponentials and logarithms from sums and products alone: a C library's differ in the last bit between processors.
// Within two units in the last place.
#pragma once

namespace bitfm {

double exponential(double x);
double logarithm(double x);  // of a positive, normal number

double logistic(double x);  // 1 / (1 + e^−x)
double softplus(double x);  // ln(1 + e^x)

}  // namespace bitfm
