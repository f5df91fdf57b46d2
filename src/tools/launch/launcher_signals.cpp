// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/launcher_signals.hpp"

#include <sys/signalfd.h>

namespace weft::tools {
namespace {

bool is_ignored(int signal) {
    struct sigaction found = {};
    return ::sigaction(signal, nullptr, &found) == 0 && (found.sa_flags & SA_SIGINFO) == 0 &&
           found.sa_handler == SIG_IGN;
}

void set_handler(int signal, void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    ::sigaction(signal, &action, nullptr);
}

}  // namespace

void InheritedSignals::restore() const {
    for (const auto& [signal, action] : actions) ::sigaction(signal, &action, nullptr);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

LauncherSignals::LauncherSignals() {
    for (auto& [signal, action] : inherited_.actions) ::sigaction(signal, nullptr, &action);
    sigset_t taken;
    ::sigemptyset(&taken);
    for (const int signal :
         {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
        if (!is_ignored(signal)) ::sigaddset(&taken, signal);
    }
    ::sigaddset(&taken, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &taken, &inherited_.mask);
    set_handler(SIGCHLD, SIG_DFL);
    // A write to a pipe without a reader, or beyond a file size limit, then returns an error.
    set_handler(SIGPIPE, SIG_IGN);
    set_handler(SIGXFSZ, SIG_IGN);
    file_ = base::FileDescriptor(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
}

LauncherSignals::~LauncherSignals() {
    inherited_.restore();
    set_handler(SIGPIPE, SIG_IGN);
}

int LauncherSignals::take() const {
    signalfd_siginfo info = {};
    if (::read(file_.number(), &info, sizeof info) != sizeof info) return 0;
    return static_cast<int>(info.ssi_signo);
}

}  // namespace weft::tools
