// SPDX-License-Identifier: BSD-3-Clause
// kept_handlers.hpp - preserves signal handlers while libraries are loaded.
//
// Why      Some libraries that libfabric loads (libinfinipath 3.3 of Debian 12, in a constructor)
//          replace the handlers of SIGTERM, SIGSEGV and others to print backtraces. The handlers
//          belong to the application, and SIGTERM to the SIGTERM report.
// Holds    The destructor restores the handlers of these signals.
#pragma once

#include <signal.h>

#include <array>
#include <cstddef>

#include "link/fabric/lent_environment.hpp"

namespace weft::link {

class KeptHandlers {
  public:
    KeptHandlers() {
        // With this variable, that library leaves the handlers alone, so they stay
        // in effect meanwhile.
        environment_.set("IPATH_NO_BACKTRACE", "1");
        for (std::size_t i = 0; i < kSignals.size(); ++i)
            ::sigaction(kSignals[i], nullptr, &actions_[i]);
    }
    ~KeptHandlers() {
        for (std::size_t i = 0; i < kSignals.size(); ++i)
            ::sigaction(kSignals[i], &actions_[i], nullptr);
    }
    KeptHandlers(const KeptHandlers&) = delete;
    KeptHandlers& operator=(const KeptHandlers&) = delete;

  private:
    static constexpr std::array kSignals{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGABRT,
                                         SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    std::array<struct sigaction, kSignals.size()> actions_{};
    LentEnvironment environment_;
};

}  // namespace weft::link
