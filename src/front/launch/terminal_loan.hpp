// SPDX-License-Identifier: BSD-3-Clause
// terminal_loan.hpp - the terminal, given to one child for as long as the job runs.
//
// Why      Ranks are process groups of their own; only the one in the foreground may read what is
//          typed, and only to it goes the terminal's interrupt key.
// Holds    The terminal comes back to the launcher's group, however the job ends.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

namespace weft::front {

class TerminalLoan {
  public:
    TerminalLoan() = default;
    TerminalLoan(const TerminalLoan&) = delete;
    TerminalLoan& operator=(const TerminalLoan&) = delete;
    ~TerminalLoan() {
        if (lent_) give_to(::getpgrp());
    }

    /// To a child that leads its process group.
    void lend(pid_t child) {
        lent_ = give_to(child);
        // It was stopped if it read before it was in the foreground.
        if (lent_) ::kill(-child, SIGCONT);
    }

  private:
    /// Who is not in the foreground, as the launcher is not from then on, gets SIGTTOU for it.
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

}  // namespace weft::front
