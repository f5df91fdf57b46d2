// SPDX-License-Identifier: BSD-3-Clause
// fabric_put.cpp - half round trip of small puts: by immediate against by polling memory.
//
// Idea     Two forked processes on this host. Four ways to and fro, interleaved round by round, so
//          that a machine whose speed changes does so for all: (1) the port: try_put and poll;
//          (2) libfabric alone, an injected write with an immediate; (3) libfabric alone, an
//          injected write without one, and the target polls memory; (4) as (3), with a completion
//          here, without which puts in flight cannot be bounded. (3) and (4) are yardsticks: no
//          provider promises that polling memory is right for more than one location.
//          Usage: perf_fabric_put [rounds]
// Holds    Prints medians over rounds and the ratios, and a cache-line ping-pong as calibrator.
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "lab/measure/statistics.hpp"
#include "link/fabric/fabric.hpp"
#include "perf/micro/bare_endpoint.hpp"

namespace {

using namespace weft;
using lab::median;
using micro::BareAddress;
using micro::BareEndpoint;
using micro::give_up;
using Clock = std::chrono::steady_clock;

constexpr int kTurns = 1000;
constexpr std::array<std::size_t, 5> kSizes{0, 8, 16, 32, 64};
constexpr std::size_t kTarget = 4096;

struct Meeting {
    alignas(64) std::atomic<std::uint32_t> arrived[2];
    alignas(64) std::atomic<std::uint32_t> ball;
    std::uint32_t card_bytes[2];
    std::byte card[2][1024];
    BareAddress bare[2];
};

void meet(Meeting& meeting, int me) {
    const std::uint32_t turn = meeting.arrived[me].fetch_add(1) + 1;
    const auto deadline = Clock::now() + std::chrono::seconds(20);
    while (meeting.arrived[1 - me].load() < turn) {
        ::sched_yield();
        if (Clock::now() > deadline) give_up("the other process is late");
    }
}

std::string provider() {
    const char* named = std::getenv("WEFT_PROVIDER");
    return named != nullptr ? named : "";
}

/// libfabric alone.
class Raw : private BareEndpoint {
  public:
    Raw(Meeting& meeting, int me) : BareEndpoint(provider(), 8192) {
        meeting.bare[me] = address();
        meet(meeting, me);
        connect(meeting.bare[1 - me]);
    }

    bool progress() {
        fi_cq_data_entry entry;
        const ssize_t got = fi_cq_read(completions_.get(), &entry, 1);
        if (got == -FI_EAGAIN) return false;
        if (got < 0) give_up("completion with an error");
        return (entry.flags & FI_REMOTE_CQ_DATA) != 0;
    }
    void put_immediate(const std::byte* data, std::size_t bytes, std::uint32_t immediate) {
        insist(
            "fi_inject_writedata",
            [&] {
                return fi_inject_writedata(endpoint_.get(), data, bytes, immediate, peer_,
                                           base_ + kTarget, key_);
            },
            [&] {
                if (progress()) give_up("an immediate too many");
            });
    }
    /// Like put_plain(), but with a completion here, so that puts in flight can be counted.
    void put_tracked(const std::byte* data, std::size_t bytes) {
        const iovec source{const_cast<std::byte*>(data), bytes};
        const fi_rma_iov target{base_ + kTarget, bytes, key_};
        void* desc = nullptr;
        const fi_msg_rma message{.msg_iov = &source,
                                 .desc = &desc,
                                 .iov_count = 1,
                                 .addr = peer_,
                                 .rma_iov = &target,
                                 .rma_iov_count = 1,
                                 .context = &contexts_[turn_++ % contexts_.size()],
                                 .data = 0};
        insist(
            "fi_writemsg",
            [&] { return fi_writemsg(endpoint_.get(), &message, FI_INJECT | FI_COMPLETION); },
            [&] { progress(); });
    }
    void put_plain(const std::byte* data, std::size_t bytes) {
        insist(
            "fi_inject_write",
            [&] {
                return fi_inject_write(endpoint_.get(), data, bytes, peer_, base_ + kTarget, key_);
            },
            [&] { progress(); });
    }
    /// The word at the end of a put of that many bytes.
    [[nodiscard]] std::uint64_t last_word(std::size_t bytes) const {
        std::uint64_t word = 0;
        __atomic_load(reinterpret_cast<const std::uint64_t*>(buffer_.data() + kTarget + bytes - 8),
                      &word, __ATOMIC_ACQUIRE);
        return word;
    }

  private:
    std::array<fi_context2, 64> contexts_{};
    std::size_t turn_ = 0;
};

struct Deadline {
    Clock::time_point end = Clock::now() + std::chrono::seconds(30);
    std::uint32_t polls = 0;
    void check() {
        if ((++polls & 0xFFFF) == 0 && Clock::now() > end) give_up("a put did not arrive");
    }
};

/// `turns` times to and fro; returns microseconds of half a round trip.
template <class Send, class Receive>
double to_and_fro(int me, int turns, Send&& send, Receive&& receive) {
    const auto start = Clock::now();
    for (int turn = 0; turn < turns; ++turn) {
        if (me == 0) send();
        receive();
        if (me == 1) send();
    }
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / turns / 2;
}

double calibrate(Meeting& meeting, int me) {
    meet(meeting, me);
    if (me == 0) meeting.ball.store(0);
    meet(meeting, me);
    std::uint32_t throws = 0;  // of both: odd ones are rank 0's
    return 1e3 * to_and_fro(
                     me, 20000, [&] { meeting.ball.store(++throws); },
                     [&] {
                         Deadline deadline;
                         while (meeting.ball.load() != throws + 1) deadline.check();
                         ++throws;
                     });
}

std::unique_ptr<link::FabricPort> connect_port(Meeting& meeting, int me,
                                               std::span<std::byte> memory) {
    auto opened =
        link::open_port({memory.data(), memory.size()},
                        {.provider = provider(), .rank = me, .size = 2, .one_host = true});
    if (!opened) give_up(opened.failure().text);
    auto port = std::move(opened).value();
    const auto card = port->address();
    std::memcpy(meeting.card[me], card.data(), card.size());
    meeting.card_bytes[me] = static_cast<std::uint32_t>(card.size());
    meet(meeting, me);
    port->set_peer(1 - me, {meeting.card[1 - me], meeting.card_bytes[1 - me]});
    return port;
}

/// The four ways, each as microseconds of half a round trip.
class Ways {
  public:
    Ways(Meeting& meeting, int me)
        : me_(me), memory_(8192), port_(connect_port(meeting, me, memory_)), raw_(meeting, me) {}

    [[nodiscard]] const link::FabricFacts& facts() const { return port_->facts(); }

    double port(std::size_t bytes) {
        std::array<std::uint64_t, 16> immediates;
        const auto send = [&] {
            const link::FabricPut put{.peer = 1 - me_,
                                      .data = payload_.data(),
                                      .bytes = bytes,
                                      .target = kTarget,
                                      .immediate = 1};
            while (port_->try_put(put) != base::Post::posted) {
                if (port_->poll(immediates) != 0) give_up("an immediate too many");
            }
        };
        const auto receive = [&] {
            Deadline deadline;
            while (port_->poll(immediates) == 0) deadline.check();
        };
        return to_and_fro(me_, kTurns, send, receive);
    }
    double raw_immediate(std::size_t bytes) {
        const auto send = [&] { raw_.put_immediate(payload_.data(), bytes, 1); };
        const auto receive = [&] {
            Deadline deadline;
            while (!raw_.progress()) deadline.check();
        };
        return to_and_fro(me_, kTurns, send, receive);
    }
    double raw_memory(std::size_t bytes, bool tracked) {
        const auto send = [&] {
            const std::uint64_t word = me_ == 0 ? ++number_ : number_;
            std::memcpy(payload_.data() + bytes - 8, &word, 8);
            tracked ? raw_.put_tracked(payload_.data(), bytes)
                    : raw_.put_plain(payload_.data(), bytes);
        };
        const auto receive = [&] {
            Deadline deadline;
            const std::uint64_t want = me_ == 0 ? number_ : ++number_;
            while (raw_.last_word(bytes) != want) {
                static_cast<void>(raw_.progress());
                deadline.check();
            }
        };
        return to_and_fro(me_, kTurns, send, receive);
    }

  private:
    int me_;
    std::vector<std::byte> memory_;
    std::unique_ptr<link::FabricPort> port_;
    Raw raw_;
    std::array<std::byte, 64> payload_{};
    std::uint64_t number_ = 0;
};

void compare(Meeting& meeting, int me, Ways& ways, std::size_t bytes, int rounds) {
    std::vector<double> by_port, by_raw, by_memory, by_tracked, line;
    const std::size_t with_word = std::max<std::size_t>(bytes, 8);
    for (int round = 0; round < rounds; ++round) {
        line.push_back(calibrate(meeting, me));
        meet(meeting, me);
        by_port.push_back(ways.port(bytes));
        meet(meeting, me);
        by_raw.push_back(ways.raw_immediate(bytes));
        meet(meeting, me);
        by_memory.push_back(ways.raw_memory(with_word, false));
        meet(meeting, me);
        by_tracked.push_back(ways.raw_memory(with_word, true));
    }
    if (me != 0) return;
    const double p = median(by_port), r = median(by_raw), m = median(by_memory);
    fmt::print("{:>6} {:>8.2f} {:>14.2f} {:>11.2f} {:>15.2f} {:>9.3f} {:>12.3f} {:>14.0f}\n", bytes,
               p, r, m, median(by_tracked), p / r, p / m, median(line));
    std::fflush(stdout);
}

void run(Meeting& meeting, int me, int rounds) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET(me, &cpu);
    ::sched_setaffinity(0, sizeof cpu, &cpu);
    Ways ways(meeting, me);
    if (me == 0) {
        fmt::print("{} {}: half round trip in us, medians of {} rounds of {}\n",
                   ways.facts().provider, ways.facts().version, rounds, kTurns);
        fmt::print("{:>6} {:>8} {:>14} {:>11} {:>15} {:>9} {:>12} {:>14}\n", "bytes", "port",
                   "raw immediate", "raw memory", "tracked memory", "port/raw", "port/memory",
                   "calibrator_ns");
    }
    for (const std::size_t bytes : kSizes) compare(meeting, me, ways, bytes, rounds);
    meet(meeting, me);
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
    void* shared =
        ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) give_up("no shared mapping");
    auto& meeting = *new (shared) Meeting{};
    const pid_t child = ::fork();
    run(meeting, child == 0 ? 1 : 0, rounds);
    if (child == 0) std::_Exit(0);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
