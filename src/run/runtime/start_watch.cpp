// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/start_watch.hpp"

#include <signal.h>

#include <chrono>

namespace weft::run {

namespace {

constexpr auto kFirstLook = std::chrono::milliseconds(50);
constexpr auto kLook = std::chrono::milliseconds(200);

}  // namespace

StartWatch::StartWatch(SigtermReport& report, Rank me)
    : report_(report), node_(link::processes_of_this_node(me)) {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StartWatch::~StartWatch() {
    thread_.request_stop();
    thread_.join();
    report_.set_detail("");
}

void StartWatch::watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    for (auto pause = kFirstLook; !sleep_.wait_for(lock, stop, pause, [] { return false; });
         pause = kLook) {
        if (stop.stop_requested()) return;
        report_.set_detail(node_.missing());
    }
}

}  // namespace weft::run
