// SPDX-License-Identifier: BSD-3-Clause
// terminal_loan.hpp - gives the terminal to one child while the job runs.
//
// Why      Ranks have their own process groups. Only the foreground group may read the terminal,
//          and only this group gets the terminal's interrupt key.
// Holds    The terminal returns to the launcher's group at any end of the job.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

namespace weft::tools {

class TerminalLoan {
  public:
    TerminalLoan() = default;
    TerminalLoan(const TerminalLoan&) = delete;
    TerminalLoan& operator=(const TerminalLoan&) = delete;
    ~TerminalLoan() {
        if (lent_) give_to(::getpgrp());
    }

    /// Lends the terminal to a child that leads its process group.
    void lend(pid_t child) {
        lent_ = give_to(child);
        // The child was stopped if it read before its group was in the foreground.
        if (lent_) ::kill(-child, SIGCONT);
    }

  private:
    /// Ignores SIGTTOU meanwhile, which a process outside the foreground group gets for this call.
    static bool give_to(pid_t group) {
        struct sigaction ignore = {};
        struct sigaction before = {};
        ignore.sa_handler = SIG_IGN;
        ::sigaction(SIGTTOU, &ignore, &before);
        const bool given = ::tcsetpgrp(STDIN_FILENO, group) == 0;
        ::sigaction(SIGTTOU, &before, nullptr);
        return given;
    }

    bool lent_ = false;
};

}  // namespace weft::tools
