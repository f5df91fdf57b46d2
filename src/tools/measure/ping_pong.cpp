// SPDX-License-Identifier: BSD-3-Clause
#include "tools/measure/ping_pong.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "tools/measure/statistics.hpp"

namespace weft::lab {
namespace {

constexpr std::uint32_t kTripsPerBatch = 1000;
constexpr std::uint32_t kBatchesMax = 4096;
constexpr std::uint64_t kDeadlineNs = 10'000'000'000;  // after the end of the requested duration

/// Memory that the children and their parent share.
struct Shared {
    // Number of writes so far. An odd number means that the second child must answer. Both children
    // write `turn`. With two_words, the first child writes `turn` and the second `turn_back`.
    alignas(256) std::atomic<std::uint64_t> turn{0};
    alignas(256) std::atomic<std::uint64_t> turn_back{0};
    /// One process has ended, with or without an error.
    alignas(64) std::atomic<bool> stopped{false};
    std::uint64_t deadline_ns = 0;
    std::uint32_t batches = 0;
    double half_trip_ns[kBatchesMax] = {};
    bool two_words = false;

    [[nodiscard]] std::atomic<std::uint64_t>& back() { return two_words ? turn_back : turn; }
};

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/// Waits until `word` is `expected`. Returns false if a process has ended or the deadline passed.
bool await_turn(Shared& shared, const std::atomic<std::uint64_t>& word, std::uint64_t expected) {
    for (std::uint32_t polls = 1;; ++polls) {
        // Acquire: pairs with the release store of the other process.
        if (word.load(std::memory_order_acquire) == expected) return true;
        if (polls % (1U << 10) == 0 &&  // reading the clock takes longer than a poll
            (shared.stopped.load() || base::monotonic_ns() > shared.deadline_ns))
            return false;
        relax();
    }
}

bool pin_to(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(processor), &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

/// Body of the first child: starts all round trips, and times them in batches. Returns false if
/// the other child has ended or the deadline has passed.
bool run_trips(Shared& shared, std::uint64_t duration_ns) {
    const std::atomic<std::uint64_t>& back = shared.back();
    std::uint64_t turn = 0;
    std::uint64_t end_ns = 0;
    for (std::uint32_t batch = 0; batch <= kBatchesMax; ++batch) {
        const std::uint64_t begin = base::monotonic_ns();
        for (std::uint32_t trip = 0; trip < kTripsPerBatch; ++trip, turn += 2) {
            shared.turn.store(turn + 1, std::memory_order_release);
            if (!await_turn(shared, back, turn + 2)) return false;
        }
        const std::uint64_t now = base::monotonic_ns();
        // Batch 0 includes the start of the other child and does not count.
        if (batch == 0) {
            end_ns = now + duration_ns;
            continue;
        }
        shared.half_trip_ns[shared.batches++] =
            static_cast<double>(now - begin) / (2.0 * kTripsPerBatch);
        if (now >= end_ns) break;
    }
    return true;
}

/// Body of the second child: answers until the first child ends. Returns false at the deadline.
bool answer(Shared& shared) {
    std::atomic<std::uint64_t>& back = shared.back();
    for (std::uint64_t turn = 0; await_turn(shared, shared.turn, turn + 1); turn += 2)
        back.store(turn + 2, std::memory_order_release);
    return shared.stopped.load();
}

template <class Body>
pid_t start_child(Shared& shared, int processor, const Body& body) {
    const pid_t child = fork();
    if (child != 0) return child;
    const bool succeeded = pin_to(processor) && body();
    shared.stopped.store(true);
    _exit(succeeded ? 0 : 1);
}

/// Waits for the child, and returns true if its exit status is 0.
bool succeeded(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Sets the processors of the result: those of the options, or the first two usable ones if the
/// options leave one or both open.
base::Result<void> choose_processors(PingPong& result, const PingPongOptions& options) {
    result.first_processor = options.first_processor;
    result.second_processor = options.second_processor;
    if (result.first_processor >= 0 && result.second_processor >= 0) return base::Done{};
    std::vector<int> usable;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (unsigned i = 0; i < CPU_SETSIZE; ++i)
            if (CPU_ISSET(i, &set)) usable.push_back(static_cast<int>(i));
    if (usable.size() < 2)
        return base::fail(Status::environment,
                          "the ping-pong calibrator needs two processors; this process may use {}",
                          usable.size());
    result.first_processor = usable[0];
    result.second_processor = usable[1];
    return base::Done{};
}

/// Starts the children on their processors and waits for both.
base::Result<void> run_children(Shared& shared, const PingPong& on, std::uint64_t duration_ns) {
    const auto cannot_start = [](int error) {
        return base::fail(Status::environment,
                          "the ping-pong calibrator cannot start a process: {}",
                          std::strerror(error));
    };
    shared.deadline_ns = base::monotonic_ns() + duration_ns + kDeadlineNs;
    ::signal(SIGCHLD, SIG_DFL);  // if ignored, as by some supervisors, waitpid() fails
    const pid_t second = start_child(shared, on.second_processor, [&] { return answer(shared); });
    if (second < 0) return cannot_start(errno);
    const pid_t first =
        start_child(shared, on.first_processor, [&] { return run_trips(shared, duration_ns); });
    const int first_error = errno;
    if (first < 0) kill(second, SIGKILL);
    const bool first_succeeded = first > 0 && succeeded(first);
    const bool second_succeeded = succeeded(second);
    if (first < 0) return cannot_start(first_error);
    if (!first_succeeded || !second_succeeded || shared.batches == 0)
        return base::fail(
            Status::environment,
            "the ping-pong calibrator did not finish on processors {} and {}: this process cannot "
            "use them, or other processes kept them busy for 10 s",
            on.first_processor, on.second_processor);
    return base::Done{};
}

}  // namespace

base::Result<PingPong> measure_ping_pong(const PingPongOptions& options) {
    PingPong result;
    WEFT_TRY(choose_processors(result, options));
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return base::fail(Status::memory, "no shared memory for the ping-pong calibrator: {}",
                          std::strerror(errno));
    auto* shared = new (memory) Shared;
    shared->two_words = options.two_words;
    const auto duration_ns = static_cast<std::uint64_t>(std::max(options.seconds, 0.0) * 1e9);
    const base::Result<void> ran = run_children(*shared, result, duration_ns);
    if (ran) {
        const Summary summary = summarize(std::span(shared->half_trip_ns, shared->batches));
        result.median_ns = summary.median;
        result.min_ns = summary.min;
    }
    munmap(memory, sizeof(Shared));
    if (!ran) return ran.failure();
    return result;
}

}  // namespace weft::lab
