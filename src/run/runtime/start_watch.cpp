// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/start_watch.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>

#include "base/processor_time.hpp"

namespace weft::run {

namespace {

constexpr std::chrono::nanoseconds kPauseMin = std::chrono::milliseconds(50);
constexpr std::chrono::nanoseconds kPauseMax = std::chrono::seconds(5);
constexpr int kPausePerLook = 20;  ///< ratio of pause to check

}  // namespace

StartWatch::StartWatch(SigtermReport& report, Rank me)
    : report_(report), node_(link::processes_of_this_node(me)) {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
    } catch (const std::system_error&) {  // thread limit reached: no checks
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StartWatch::~StartWatch() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
    report_.set_detail("");
}

/// Checks the ranks repeatedly. Many ranks check many processes, so each rank pauses for a multiple
/// of the time of a check.
void StartWatch::watch(const std::stop_token& stop) noexcept {
    try {
        std::unique_lock lock(mutex_);
        std::chrono::nanoseconds pause = kPauseMin;
        while (!sleep_.wait_for(lock, stop, pause, [] { return false; })) {
            if (stop.stop_requested()) return;
            const std::chrono::nanoseconds begun = base::processor_time();
            missing_ = node_.missing();
            report_.set_detail(missing_);
            pause =
                std::clamp(kPausePerLook * (base::processor_time() - begun), kPauseMin, kPauseMax);
        }
    } catch (const std::exception&) {  // no memory: no more checks
    }
}

std::string StartWatch::missing() {
    const std::lock_guard held(mutex_);
    return missing_;
}

}  // namespace weft::run
