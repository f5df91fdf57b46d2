// SPDX-License-Identifier: BSD-3-Clause
// launcher_signals.hpp - signals of the launcher, read from a file, and the foreground process
// group of its terminal.
//
// Idea     The launcher blocks the signals that it handles and reads them through a signalfd.
// Holds    Signals that were ignored when the launcher was executed (nohup, background jobs
//          of scripts) stay ignored, here and in the ranks. The exception is SIGCHLD: if it
//          were ignored, the launcher could not reap ranks. Ranks inherit its original action.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>

#include "base/file_descriptor.hpp"

namespace weft::tools {

/// Signal mask and actions of this process before LauncherSignals changed them.
struct InheritedSignals {
    struct Action {
        int signal = 0;
        struct sigaction action = {};
    };
    sigset_t mask = {};
    std::array<Action, 3> actions = {{{SIGPIPE, {}}, {SIGXFSZ, {}}, {SIGCHLD, {}}}};

    /// Restores this state in a new rank, between vfork and exec. Makes system calls only.
    void restore() const;
};

class LauncherSignals {
  public:
    LauncherSignals();
    /// Restores the former mask and actions. SIGPIPE stays ignored, because the PMIx server runs
    /// until the process ends and may answer ranks that have ended.
    ~LauncherSignals();

    [[nodiscard]] int file() const { return file_.number(); }
    [[nodiscard]] const InheritedSignals& inherited() const { return inherited_; }
    /// Returns the next signal that has arrived, or 0.
    [[nodiscard]] int take() const;

  private:
    InheritedSignals inherited_;
    base::FileDescriptor file_;
};

/// Makes the process group of one child the terminal's foreground group; the destructor restores
/// the launcher's group. Ranks have their own process groups, and only the foreground group may
/// read the terminal and gets the signal of its interrupt key.
class TerminalForeground {
  public:
    TerminalForeground() = default;
    TerminalForeground(const TerminalForeground&) = delete;
    TerminalForeground& operator=(const TerminalForeground&) = delete;
    ~TerminalForeground() {
        if (given_) give_to(::getpgrp());
    }

    /// child: leader of its process group.
    void give(pid_t child) {
        given_ = give_to(child);
        // The child was stopped if it read before its group was in the foreground.
        if (given_) ::kill(-child, SIGCONT);
    }

  private:
    /// Ignores SIGTTOU during tcsetpgrp(), which sends it to callers outside the foreground group.
    static bool give_to(pid_t group) {
        struct sigaction ignore = {};
        struct sigaction before = {};
        ignore.sa_handler = SIG_IGN;
        ::sigaction(SIGTTOU, &ignore, &before);
        const bool given = ::tcsetpgrp(STDIN_FILENO, group) == 0;
        ::sigaction(SIGTTOU, &before, nullptr);
        return given;
    }

    bool given_ = false;
};

}  // namespace weft::tools
