#include "metrics/resample.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "base/sizes.hpp"

namespace bitfm {

namespace {

constexpr int64_t kDrawsAtOnce = 4, kFlipsAtOnce = 1024;
constexpr size_t kStrip = 8;          // columns that are summed together
constexpr double kRounding = 1e-11;   // of the sum of all sizes: sums that near are equal
constexpr int64_t kUsersInWord = 64;  // a random word is a sign for each of so many users
constexpr size_t kUsersInTable = 8;   // the signs of so many users are looked up together

// 64 random bits after another (SplitMix64).
class Random {
  public:
    Random(uint64_t seed, int64_t draw) : state_(mix(mix(seed) + static_cast<uint64_t>(draw))) {}
    uint64_t next() { return mix(state_ += kStep); }
    uint64_t at(uint64_t place) const { return mix(state_ + place * kStep); }

  private:
    static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
    static uint64_t mix(uint64_t x) {
        x += kStep;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
        return x ^ (x >> 31);
    }
    uint64_t state_;
};

// Σ count × value of the columns from `first` on, at most kStrip of them.
template <size_t Width>
void weighted_sums(const UserValues& of, std::span<const uint32_t> counts, size_t first, double* sums) {
    std::array<double, Width> sum{};
    const double* row = of.values.data() + first;
    for (const uint32_t count : counts) {
        const double times = count;
        for (size_t j = 0; j < Width; ++j) sum[j] += times * row[j];
        row += of.width;
    }
    std::copy(sum.begin(), sum.end(), sums + first);
}

// The sums of eight users' values under each choice of their signs; a bit that is set is the sign as it is.
std::array<double, 256> signed_sums(const double* values, size_t n, size_t stride) {
    std::array<double, 256> sums;
    sums[0] = 0;
    for (size_t i = 0; i < n; ++i) sums[0] -= values[i * stride];
    for (size_t i = 0, size = 1; i < kUsersInTable; ++i, size *= 2)
        for (size_t s = 0; s < size; ++s) sums[size + s] = sums[s] + (i < n ? 2 * values[i * stride] : 0);
    return sums;
}

// Sums of one column under the signs of the flips from `begin` on.
class FlippedSums {
  public:
    FlippedSums(const UserValues& of, size_t column) : of_(of), column_(column) {}

    void sum(std::span<const Random> flips, std::span<double> sums) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (int64_t user = 0; user < of_.n_users; user += kUsersInWord) {
            fill_tables(user);
            const auto place = static_cast<uint64_t>(user / kUsersInWord);
            for (size_t f = 0; f < sums.size(); ++f) sums[f] += look_up(flips[f].at(place));
        }
    }

    double as_it_is() {
        double sum = 0;
        for (int64_t user = 0; user < of_.n_users; user += kUsersInWord) {
            fill_tables(user);
            sum += look_up(~uint64_t{0});
        }
        return sum;
    }

    double sizes() const {
        double sum = 0;
        for (size_t i = column_; i < of_.values.size(); i += static_cast<size_t>(of_.width))
            sum += std::abs(of_.values[i]);
        return sum;
    }

  private:
    void fill_tables(int64_t user) {
        const auto stride = static_cast<size_t>(of_.width);
        for (size_t t = 0; t < tables_.size(); ++t) {
            const auto at = static_cast<size_t>(user) + t * kUsersInTable, all = static_cast<size_t>(of_.n_users);
            const size_t n = at < all ? std::min(kUsersInTable, all - at) : 0;
            tables_[t] = signed_sums(of_.values.data() + (n ? at * stride + column_ : 0), n, stride);
        }
    }

    double look_up(uint64_t signs) const {
        double sum = 0;
        for (const auto& table : tables_) {
            sum += table[signs & 255];
            signs >>= kUsersInTable;
        }
        return sum;
    }

    const UserValues& of_;
    size_t column_;
    std::array<std::array<double, 256>, kUsersInWord / kUsersInTable> tables_;
};

}  // namespace

void UserValues::check() const {
    require(n_users >= 1 && width >= 1 && values.size() == static_cast<size_t>(n_users) * static_cast<size_t>(width),
            "values of at least one user are needed");
    require_at_most(static_cast<size_t>(n_users), kMostRows, "a bootstrap", "users");
    require(std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); }),
            "values must be finite numbers");
}

void bootstrap_means(Team& team, const UserValues& of, uint64_t seed, std::span<double> means) {
    of.check();
    const auto n = static_cast<size_t>(of.n_users), width = static_cast<size_t>(of.width);
    require(means.size() % width == 0, "room for whole draws is needed");
    using Sums = void (*)(const UserValues&, std::span<const uint32_t>, size_t, double*);
    constexpr Sums kSums[kStrip] = {weighted_sums<1>, weighted_sums<2>, weighted_sums<3>, weighted_sums<4>,
                                    weighted_sums<5>, weighted_sums<6>, weighted_sums<7>, weighted_sums<8>};
    team.run(static_cast<int64_t>(means.size() / width), kDrawsAtOnce, [&](int64_t begin, int64_t end, int) {
        std::vector<uint32_t> counts(n);
        for (int64_t draw = begin; draw < end; ++draw) {
            Random random(seed, draw);
            std::fill(counts.begin(), counts.end(), 0);
            for (size_t i = 0; i < n; ++i)
                ++counts[static_cast<size_t>(static_cast<double>(random.next() >> 11) * 0x1p-53 *
                                             static_cast<double>(n))];
            double* sums = means.data() + static_cast<size_t>(draw) * width;
            for (size_t first = 0; first < width; first += kStrip)
                kSums[std::min(kStrip, width - first) - 1](of, counts, first, sums);
            for (size_t j = 0; j < width; ++j) sums[j] /= static_cast<double>(n);
        }
    });
}

void count_far_flips(Team& team, const UserValues& of, uint64_t seed, int64_t n_flips, std::span<int64_t> far) {
    of.check();
    require(n_flips >= 0 && far.size() == static_cast<size_t>(of.width), "room for a count a column is needed");
    for (size_t column = 0; column < far.size(); ++column) {
        FlippedSums given(of, column);
        const double least = std::abs(given.as_it_is()) - kRounding * given.sizes();
        std::atomic<int64_t> count{0};
        team.run(n_flips, kFlipsAtOnce, [&](int64_t begin, int64_t end, int) {
            std::vector<Random> flips;
            for (int64_t flip = begin; flip < end; ++flip) flips.emplace_back(seed, flip);
            std::vector<double> sums(flips.size());
            FlippedSums(of, column).sum(flips, sums);
            count += std::count_if(sums.begin(), sums.end(), [&](double sum) { return std::abs(sum) >= least; });
        });
        far[column] = count;
    }
}

}  // namespace bitfm
