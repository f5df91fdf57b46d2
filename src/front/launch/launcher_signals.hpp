// SPDX-License-Identifier: BSD-3-Clause
// launcher_signals.hpp - the signals of the launcher, read from a file instead of interrupting it.
//
// Idea     Blocked and read through a signalfd: those that end the job, those that are passed on to
//          the ranks, those of a shell's job control, and that of children.
// Holds    What was ignored when the launcher was executed (nohup, background jobs of scripts)
//          stays ignored, here and in the ranks. The one exception is SIGCHLD: ignored, it would
//          keep the ends of the ranks from the launcher; the ranks still find it as it was.
#pragma once

#include <signal.h>

#include <array>

#include "front/launch/file_descriptor.hpp"

namespace weft::front {

/// What a rank starts with, where the launcher changed it for itself.
struct InheritedSignals {
    struct Action {
        int signal = 0;
        struct sigaction action = {};
    };
    sigset_t mask = {};
    std::array<Action, 3> actions = {{{SIGPIPE, {}}, {SIGXFSZ, {}}, {SIGCHLD, {}}}};

    /// Gives the calling process what it started with. Makes system calls only.
    void restore() const;
};

class LauncherSignals {
  public:
    LauncherSignals();
    /// Gives the process its former mask and actions, but for SIGPIPE: the PMIx server lives as
    /// long as the process and may still answer ranks that have gone.
    ~LauncherSignals();
    LauncherSignals(const LauncherSignals&) = delete;
    LauncherSignals& operator=(const LauncherSignals&) = delete;

    [[nodiscard]] int file() const { return file_.number(); }
    [[nodiscard]] const InheritedSignals& inherited() const { return inherited_; }
    /// The next signal that has arrived, or 0.
    [[nodiscard]] int take() const;

  private:
    InheritedSignals inherited_;
    FileDescriptor file_;
};

}  // namespace weft::front
