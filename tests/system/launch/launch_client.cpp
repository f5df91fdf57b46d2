// SPDX-License-Identifier: BSD-3-Clause
// launch_client.cpp - a rank for tests of the launcher. Its mode selects what it does in the job.
//
// Usage: launch_client cards | stray | cpus | MODE RANK [NUMBER]. Rank RANK executes the MODE of
// misbehave(), or ends without joining (never-join). All other ranks wait in a fence.
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "link/bootstrap/bootstrap.hpp"

namespace {

using weft::Rank;
using weft::link::Bootstrap;

constexpr int kWrongAnswer = 90;  ///< exit status: a card is wrong
constexpr int kFailed = 91;       ///< exit status: another failure

/// Returns a card whose contents and length depend on rank and `bytes`.
std::vector<std::byte> card_of(Rank rank, std::size_t bytes) {
    std::vector<std::byte> card(bytes + static_cast<std::size_t>(rank));
    for (std::size_t i = 0; i < card.size(); ++i) {
        card[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(rank) * 31 + bytes);
    }
    return card;
}

/// Ends the process if a call has failed.
void require(const weft::base::Result<void>& result) {
    if (result) return;
    fmt::print(stderr, "client: {}\n", result.failure().text);
    std::exit(kFailed);
}

/// Publishes cards under two keys, checks all ranks' cards, and fences twice without blocking.
void exchange_cards(Bootstrap& job) {
    for (const auto& [key, bytes] : {std::pair{"first", 1}, std::pair{"second", 3000}}) {
        const auto size = static_cast<std::size_t>(bytes);
        require(job.publish(key, card_of(job.rank(), size)));
        for (Rank rank = 0; rank < job.size(); ++rank) {
            const auto card = job.card(key, rank);
            if (!card || *card != card_of(rank, size)) {
                fmt::print(stderr, "client: rank {} got a wrong card {} of rank {}\n", job.rank(),
                           key, rank);
                std::exit(kWrongAnswer);
            }
        }
    }
    for (int fence = 0; fence < 2; ++fence) {
        require(job.start_fence());
        while (!job.fence_ended()) std::this_thread::yield();
    }
    require(job.finalize());
    fmt::print("rank {} of {} has all cards\n", job.rank(), job.size());
}

[[noreturn]] void wait_forever() {
    fmt::print("waiting\n");
    std::fflush(stdout);
    while (true) ::pause();
}

/// Returns the processors that this process may use, separated by commas.
std::string cpus() {
    cpu_set_t set;
    ::sched_getaffinity(0, sizeof set, &set);
    std::string text;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) text += (text.empty() ? "" : ",") + std::to_string(cpu);
    }
    return text;
}

/// Ends or blocks this rank as `mode` requires, while the other ranks are in a fence.
void misbehave(Bootstrap& job, std::string_view mode, int number) {
    if (mode == "exit") std::_Exit(number);
    if (mode == "kill") ::kill(::getpid(), number);
    if (mode == "abort") job.abort(number, "the test wants it");
    if (mode == "wait") wait_forever();
    if (mode == "ignore-sigterm") {
        ::signal(SIGTERM, SIG_IGN);
        wait_forever();
    }
    std::_Exit(kFailed);
}

/// Starts a process in another group and session, which does not end with the rank.
void start_stray_child() {
    if (::fork() != 0) return;
    ::setsid();
    if (::fork() != 0) std::_Exit(0);
    while (true) ::pause();
}

int run(const std::vector<std::string>& words) {
    const std::string mode = words.at(0);
    const int number = words.size() > 2 ? std::atoi(words[2].c_str()) : 0;
    const char* const rank_text = std::getenv("PMIX_RANK");
    if (mode == "never-join" && rank_text != nullptr && words.at(1) == rank_text) return 0;
    if (mode == "cpus") {
        fmt::print("{} {}\n", rank_text, cpus());
        return 0;
    }
    auto joined = weft::link::join_job();
    if (!joined) {
        fmt::print(stderr, "client: {}\n", joined.failure().text);
        return kFailed;
    }
    Bootstrap& job = **joined;
    if (mode == "cards") {
        exchange_cards(job);
        return 0;
    }
    if (mode == "stray") {
        start_stray_child();
        require(job.finalize());
        return 0;
    }
    require(job.publish("ready", {}));
    if (job.rank() == std::atoi(words.at(1).c_str())) misbehave(job, mode, number);
    require(job.start_fence());
    while (!job.fence_ended()) std::this_thread::yield();
    if (job.start_fence()) fmt::print("passed a fence that rank {} never entered\n", words.at(1));
    return kFailed;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    return run(std::vector<std::string>(argv + 1, argv + argc));
}
