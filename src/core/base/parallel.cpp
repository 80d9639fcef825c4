#include "base/parallel.hpp"

#include <algorithm>
#include <utility>

namespace bitfm {

namespace {
constexpr auto kPollInterval = std::chrono::milliseconds(50);
constexpr int64_t kSumChunk = 8192;
}  // namespace

Team::Team(int n_threads, std::function<void()> poll)
    : poll_(std::move(poll)), last_poll_(std::chrono::steady_clock::now()) {
    try {
        for (int i = 1; i < std::clamp(n_threads, 1, 1024); ++i) workers_.emplace_back([this, i] { work(i); });
    } catch (const std::exception&) {
        // The system gives no more threads. Those there are will do: results do not depend on their number.
    }
}

Team::~Team() {
    quit_ = true;
    round_.fetch_add(1);
    round_.notify_all();
    for (auto& worker : workers_) worker.join();
}

void Team::work(int thread) {
    uint32_t seen = 0;
    for (;;) {
        round_.wait(seen);
        seen = round_.load();
        if (quit_) return;
        take_chunks(thread);
        if (busy_.fetch_sub(1) == 1) busy_.notify_one();
    }
}

void Team::take_chunks(int thread) {
    try {
        for (;;) {
            if (failed_.load(std::memory_order_relaxed)) return;
            int64_t begin = next_.fetch_add(grain_);
            if (begin >= n_) return;
            (*body_)(begin, std::min(begin + grain_, n_), thread);
            if (thread == 0) poll();
        }
    } catch (...) {
        std::lock_guard lock(error_mutex_);
        if (!error_) error_ = std::current_exception();
        failed_ = true;
    }
}

void Team::poll() {
    if (!poll_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_poll_ <= kPollInterval) return;
    last_poll_ = now;
    poll_();
}

void Team::run(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t, int)>& body) {
    if (n <= 0) return;
    body_ = &body;
    n_ = n;
    grain_ = std::max<int64_t>(grain, 1);
    next_ = 0;
    if (workers_.empty() || n <= grain_) {
        take_chunks(0);
    } else {
        busy_ = static_cast<int>(workers_.size());
        round_.fetch_add(1);
        round_.notify_all();
        take_chunks(0);
        for (int left; (left = busy_.load()) != 0;) busy_.wait(left);
    }
    if (failed_) {
        failed_ = false;
        std::rethrow_exception(std::exchange(error_, nullptr));
    }
}

double Team::sum(int64_t n, const std::function<double(int64_t, int64_t)>& term) {
    std::vector<double> parts(static_cast<size_t>((n + kSumChunk - 1) / kSumChunk));
    run(n, kSumChunk, [&](int64_t begin, int64_t end, int) { parts[begin / kSumChunk] = term(begin, end); });
    double total = 0;
    for (double part : parts) total += part;
    return total;
}

}  // namespace bitfm
