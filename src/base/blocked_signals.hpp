// SPDX-License-Identifier: BSD-3-Clause
// blocked_signals.hpp - a scope in which this thread starts other threads.
//
// Why      Threads inherit the signal mask. A thread of weft, PMIx or libfabric without blocked
//          signals could take a signal from the program's sigwait(), or run the program's handlers.
#pragma once

#include <signal.h>

namespace weft::base {

/// Blocks all signals of this thread, except signals of faults: a blocked fault would end the
/// process without running the program's handler. The destructor restores the mask.
class BlockedSignals {
  public:
    BlockedSignals() noexcept {
        sigset_t blocked;
        ::sigfillset(&blocked);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
            ::sigdelset(&blocked, fault);
        ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
    }
    ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

  private:
    sigset_t before_;
};

}  // namespace weft::base
