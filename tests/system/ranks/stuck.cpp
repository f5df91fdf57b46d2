// SPDX-License-Identifier: BSD-3-Clause
// stuck.cpp - a job in which one rank gets stuck between two series of calls. Each rank prints when
// it gets stuck and when it has finalized.
//
// usage: weft_stuck [MODE [RANK [SECONDS]]]
//
//   (none)               no rank gets stuck
//   loop                 all ranks make calls forever
//   sleep RANK SECONDS   RANK sleeps between its calls while the others wait for it
//   stop RANK SECONDS    RANK is stopped by SIGSTOP until its child process sends SIGCONT
//   handler RANK         RANK sleeps for an hour; all ranks install a handler of SIGTERM
//   finalized RANK       RANK sleeps for an hour after it has finalized; the others end normally
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "weft/weft.hpp"

namespace {

constexpr int kWrongResult = 9;

void print_line(const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
}

void sleep_for(double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::this_thread::sleep_until(end);  // continues after a signal, unlike sleep()
}

void stop_for(double seconds) {
    const pid_t self = ::getpid();
    if (::fork() == 0) {
        sleep_for(seconds);
        ::kill(self, SIGCONT);
        ::_exit(0);
    }
    std::raise(SIGSTOP);
}

/// Makes five allreduces and a barrier. Returns false if a sum is wrong.
bool make_calls(weft::Team& world) {
    const double size = world.size();
    for (int i = 0; i < 5; ++i) {
        const double sum = world.allreduce(world.rank() + 1.0, weft::Op::sum);
        if (sum != size * (size + 1) / 2) return false;
    }
    world.barrier();
    return true;
}

void get_stuck(const std::string& mode, double seconds) {
    if (mode != "stop") sleep_for(0.3);  // until the other ranks are waiting
    print_line("stuck");
    mode == "stop" ? stop_for(seconds) : sleep_for(seconds);
}

int run(const std::string& mode, int rank, double seconds) {
    if (mode == "handler") std::signal(SIGTERM, [](int) { ::_exit(7); });
    weft::Runtime runtime;
    weft::Team world = runtime.world();
    while (mode == "loop") {
        if (!make_calls(world)) return kWrongResult;
    }
    if (!make_calls(world)) return kWrongResult;
    if (mode != "finalized" && world.rank() == rank) get_stuck(mode, seconds);
    if (!make_calls(world)) return kWrongResult;
    const int my_rank = world.rank();
    runtime.finalize();
    if (mode == "finalized" && my_rank == rank) get_stuck(mode, seconds);
    print_line(fmt::format("rank {} has ended", my_rank));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    try {
        return run(mode, argc > 2 ? std::atoi(argv[2]) : -1, argc > 3 ? std::atof(argv[3]) : 3600);
    } catch (const weft::Error& error) {
        fmt::print(stderr, "failed: {}\n", error.what());
        return 3;
    }
}
