// A team of threads that lives for one call into the core.
//
// Not OpenMP: its runtime keeps threads between calls, and a process forked after the first parallel region
// hangs. Work is handed out in chunks, and a chunk's result must not depend on who runs it or when, so
// results are the same at any number of threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace bitfm {

class Team {
  public:
    // `poll` is called now and then on the calling thread, and throws to stop the work.
    explicit Team(int n_threads, std::function<void()> poll = {});
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int size() const { return static_cast<int>(workers_.size()) + 1; }

    // body(begin, end, thread) over [0, n) in chunks of `grain`.
    void run(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t, int)>& body);

    // For long work between runs, on the calling thread: polls if it is time to.
    void poll();

    // Σ term(begin, end) over fixed chunks, added up in order: the same sum at any number of threads.
    double sum(int64_t n, const std::function<double(int64_t, int64_t)>& term);

  private:
    void work(int thread);
    void take_chunks(int thread);

    std::vector<std::thread> workers_;
    std::function<void()> poll_;
    std::chrono::steady_clock::time_point last_poll_;
    const std::function<void(int64_t, int64_t, int)>* body_ = nullptr;
    int64_t n_ = 0, grain_ = 1;
    std::atomic<int64_t> next_{0};
    std::atomic<uint32_t> round_{0};
    std::atomic<int> busy_{0};
    std::atomic<bool> quit_{false}, failed_{false};
    std::exception_ptr error_;
    std::mutex error_mutex_;
};

}  // namespace bitfm
