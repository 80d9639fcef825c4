#include "implicit/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "base/isa.hpp"
#include "base/sizes.hpp"
#include "linalg/gram.hpp"

namespace bitfm {

namespace {

constexpr int64_t kGrain = 8, kPanel = 256, kColumns = 16;

class RowSolver {
  public:
    explicit RowSolver(const RowSystem& system)
        : system_(system), width_(system.other.columns), kernels_(isa().kernels->implicit), diagonal_(width()) {}

    void solve(int64_t row, float* out, std::span<float> leverage) {
        begin(row);
        if (n_ == 0) return prior(row, out);
        for (int64_t r = 0; r < width_; ++r) {
            diagonal_[r] = system_.unobserved[r] + system_.ridge[row];
            out[r] = has_prior() ? system_.ridge[row] / diagonal_[r] * system_.prior.row(row)[r] : 0;
        }
        const bool done = n_ < width_ ? by_events(out, leverage) : by_dimensions(out, leverage);
        if (!done) std::fill(out, out + width_, std::numeric_limits<float>::quiet_NaN());
    }

    void improve(int64_t row, int steps, float* x) {
        begin(row);
        if (n_ == 0) return prior(row, x);
        const float ridge = system_.ridge[row];
        std::vector<float>&residual = left_, &direction = right_, &image = matrix_, &scaled = solved_;
        for (auto* each : {&residual, &direction, &image, &scaled}) each->assign(width(), 0.0f);
        for (int64_t r = 0; r < width_; ++r) diagonal_[r] = system_.unobserved[r] + ridge;
        std::vector<float>& scale = scale_;
        scale = diagonal_;
        const int32_t* index = system_.events.index.data() + first_;
        const float* value = system_.events.value.data() + first_;
        // What is lacking, and Jacobi's preconditioner.
        kernels_.add_lacking(system_.other.data, width_, index, value, n_, x, residual.data(), scale.data());
        for (int64_t r = 0; r < width_; ++r) {
            residual[r] -= diagonal_[r] * x[r];
            if (has_prior()) residual[r] += ridge * system_.prior.row(row)[r];
            direction[r] = scaled[r] = residual[r] / scale[r];
        }
        float size = kernels_.dot(residual.data(), scaled.data(), width_);
        for (int step = 0; step < steps && size > 0; ++step) {
            for (int64_t r = 0; r < width_; ++r) image[r] = diagonal_[r] * direction[r];
            kernels_.add_products(system_.other.data, width_, index, value, n_, direction.data(), image.data());
            const float length = size / kernels_.dot(direction.data(), image.data(), width_);
            if (!std::isfinite(length)) break;
            kernels_.add_scaled(x, length, direction.data(), width_);
            kernels_.add_scaled(residual.data(), -length, image.data(), width_);
            for (int64_t r = 0; r < width_; ++r) scaled[r] = residual[r] / scale[r];
            const float before = size;
            size = kernels_.dot(residual.data(), scaled.data(), width_);
            for (int64_t r = 0; r < width_; ++r) direction[r] = scaled[r] + size / before * direction[r];
        }
    }

  private:
    size_t width() const { return static_cast<size_t>(width_); }
    bool has_prior() const { return system_.prior.rows > 0; }
    const float* vector(int64_t s) const { return system_.other.row(system_.events.index[first_ + s]); }
    float weight(int64_t s) const { return system_.events.weight(first_ + s); }
    float target(int64_t s) const { return system_.events.target(first_ + s); }

    void begin(int64_t row) {
        first_ = system_.events.start[row];
        n_ = system_.events.start[row + 1] - first_;
    }

    void prior(int64_t row, float* out) const {
        if (has_prior())
            std::copy_n(system_.prior.row(row), width_, out);
        else
            std::fill(out, out + width_, 0.0f);
    }

    // With A0 the diagonal part, p0 the row without its events and r = y − C p0 what these lack:
    // p = p0 + A0⁻¹ Cᵀ z, (C A0⁻¹ Cᵀ + E⁻¹) z = r.
    bool by_events(float* p, std::span<float> leverage) {
        const size_t size = static_cast<size_t>(n_ * width_);
        left_.resize(size), right_.resize(size), solved_.resize(static_cast<size_t>(n_));
        for (int64_t s = 0; s < n_; ++s) {
            const float* c = vector(s);
            std::copy_n(c, width_, right_.data() + s * width_);
            for (int64_t r = 0; r < width_; ++r) left_[s * width_ + r] = c[r] / diagonal_[r];
            solved_[s] = target(s) - (has_prior() ? kernels_.dot(c, p, width_) : 0.0f);
        }
        matrix_.assign(static_cast<size_t>(n_ * n_), 0.0f);
        work_.add_products({left_.data(), width_, n_, 1, width_}, {right_.data(), width_, n_, 1, width_}, 1.0f,
                           matrix_.data(), n_);
        for (int64_t s = 0; s < n_; ++s) matrix_[s * n_ + s] += 1 / weight(s);
        if (!work_.factor(matrix_.data(), n_)) return false;
        work_.solve(matrix_.data(), n_, solved_.data());
        for (int64_t s = 0; s < n_; ++s) kernels_.add_scaled(p, solved_[s], left_.data() + s * width_, width_);
        if (leverage.empty()) return true;
        columns_of(n_, [&](int64_t first, int64_t count, float* columns) {
            for (int64_t i = 0; i < count; ++i) columns[(first + i) * kColumns + i] = 1;
            kernels_.solve_forward(matrix_.data(), n_, columns, kColumns);
            for (int64_t i = 0; i < count; ++i)
                leverage[first_ + first + i] = 1 - squares(columns + i, n_) / weight(first + i);
        });
        return true;
    }

    // (A0 + Cᵀ E C) (p − p0) = Cᵀ E r.
    bool by_dimensions(float* p, std::span<float> leverage) {
        left_.resize(static_cast<size_t>(kPanel * width_)), right_.resize(static_cast<size_t>(kPanel * width_));
        matrix_.assign(width() * width(), 0.0f);
        solved_.assign(width(), 0.0f);
        for (int64_t first = 0; first < n_; first += kPanel) {
            const int64_t count = std::min(kPanel, n_ - first);
            for (int64_t i = 0; i < count; ++i) {
                const float *c = vector(first + i), e = weight(first + i);
                const float lacking = target(first + i) - (has_prior() ? kernels_.dot(c, p, width_) : 0.0f);
                for (int64_t r = 0; r < width_; ++r) {
                    right_[i * width_ + r] = c[r];
                    left_[i * width_ + r] = e * c[r];
                }
                kernels_.add_scaled(solved_.data(), lacking, left_.data() + i * width_, width_);
            }
            work_.add_products({left_.data(), count, width_, width_, 1}, {right_.data(), count, width_, width_, 1},
                               1.0f, matrix_.data(), width_);
        }
        for (int64_t r = 0; r < width_; ++r) matrix_[r * width_ + r] += diagonal_[r];
        if (!work_.factor(matrix_.data(), width_)) return false;
        work_.solve(matrix_.data(), width_, solved_.data());
        for (int64_t r = 0; r < width_; ++r) p[r] += solved_[r];
        if (leverage.empty()) return true;
        columns_of(width_, [&](int64_t first, int64_t count, float* columns) {
            for (int64_t i = 0; i < count; ++i)
                for (int64_t r = 0; r < width_; ++r) columns[r * kColumns + i] = vector(first + i)[r];
            kernels_.solve_forward(matrix_.data(), width_, columns, kColumns);
            for (int64_t i = 0; i < count; ++i)
                leverage[first_ + first + i] = weight(first + i) * squares(columns + i, width_);
        });
        return true;
    }

    // Calls fill(first event, number of events, columns) for the events by sixteens; each has a column of so many rows.
    template <class Fill>
    void columns_of(int64_t n_rows, Fill&& fill) {
        for (int64_t first = 0; first < n_; first += kColumns) {
            columns_.assign(static_cast<size_t>(n_rows * kColumns), 0.0f);
            fill(first, std::min(kColumns, n_ - first), columns_.data());
        }
    }

    static float squares(const float* column, int64_t n) {
        float sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += column[i * kColumns] * column[i * kColumns];
        return sum;
    }

    const RowSystem& system_;
    const int64_t width_;
    const ImplicitKernels& kernels_;
    SymmetricWork work_;
    std::vector<float> diagonal_, left_, right_, matrix_, solved_, columns_, scale_;
    int64_t first_ = 0, n_ = 0;
};

}  // namespace

void EventRows::check(int64_t n, int64_t n_other) const {
    check_layout(n, n_other);
    require(std::all_of(value.begin(), value.end(), [](float v) { return std::isfinite(v) && v != 0; }),
            "values of events must be finite numbers other than 0");
}

void EventRows::check_layout(int64_t n, int64_t n_other) const {
    require_at_most(static_cast<size_t>(n), kMostRows, "a table of events", "rows");
    require_at_most(static_cast<size_t>(n_other), kMostRows, "a table of events", "columns");
    require_at_most(index.size(), kMostRows, "a table of events", "events");
    require(n_rows() == n && start.front() == 0 && start.back() == static_cast<int64_t>(index.size()) &&
                std::is_sorted(start.begin(), start.end()),
            "the rows' starts must rise from 0 to the number of events, one per row and one more");
    require(value.size() == index.size(), "one value per event is needed");
    for (int32_t i : index) require(i >= 0 && i < n_other, "an event names a row that there is not");
}

void RowSystem::check(const Matrix<float>& out) const {
    const int64_t width = other.columns;
    require(width >= 1 && width <= 4096, "vectors must have from 1 to 4096 dimensions");
    require(out.columns == width && static_cast<int64_t>(unobserved.size()) == width,
            "all vectors must have as many dimensions");
    require(static_cast<int64_t>(ridge.size()) == out.rows && (prior.rows == 0 || prior.has_shape(out.rows, width)),
            "one ridge and one prior per row are needed");
    events.check(out.rows, other.rows);
    const auto at_least = [](std::span<const float> values, float least) {
        return std::all_of(values.begin(), values.end(), [least](float x) { return std::isfinite(x) && x >= least; });
    };
    require(at_least(unobserved, 0), "what unobserved pairs cost must be finite numbers from 0 up");
    require(at_least(ridge, std::numeric_limits<float>::min()), "ridges must be finite numbers above 0");
}

void solve_rows(Team& team, const RowSystem& system, Matrix<float> out, std::span<float> leverage) {
    system.check(out);
    require(leverage.empty() || leverage.size() == system.events.index.size(), "one leverage per event is needed");
    team.run(out.rows, kGrain, [&](int64_t begin, int64_t end, int) {
        RowSolver solver(system);
        for (int64_t row = begin; row < end; ++row) solver.solve(row, out.row(row), leverage);
    });
}

void improve_rows(Team& team, const RowSystem& system, int steps, Matrix<float> out) {
    system.check(out);
    team.run(out.rows, kGrain, [&](int64_t begin, int64_t end, int) {
        RowSolver solver(system);
        for (int64_t row = begin; row < end; ++row) solver.improve(row, steps, out.row(row));
    });
}

void score_events(Team& team, const EventRows& events, Matrix<const float> rows, Matrix<const float> other,
                  std::span<float> out) {
    events.check_layout(rows.rows, other.rows);
    require(rows.columns == other.columns, "all vectors must have as many dimensions");
    require(out.size() == events.index.size(), "one score per event is needed");
    const auto dot = isa().kernels->implicit.dot;
    team.run(rows.rows, kGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t row = begin; row < end; ++row)
            for (int64_t s = events.start[row]; s < events.start[row + 1]; ++s)
                out[s] = dot(rows.row(row), other.row(events.index[s]), rows.columns);
    });
}

void sum_vectors(Team& team, const EventRows& entries, Matrix<const float> vectors, Matrix<float> out) {
    entries.check_layout(out.rows, vectors.rows);
    require(out.columns == vectors.columns, "all vectors must have as many dimensions");
    const auto add_scaled = isa().kernels->implicit.add_scaled;
    team.run(out.rows, kGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t row = begin; row < end; ++row) {
            std::fill_n(out.row(row), out.columns, 0.0f);
            for (int64_t s = entries.start[row]; s < entries.start[row + 1]; ++s)
                add_scaled(out.row(row), entries.value[s], vectors.row(entries.index[s]), out.columns);
        }
    });
}

}  // namespace bitfm
