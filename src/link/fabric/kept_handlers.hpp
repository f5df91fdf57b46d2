// SPDX-License-Identifier: BSD-3-Clause
// kept_handlers.hpp - signal handlers survive the loading of libraries.
//
// Why      Some libraries that libfabric brings along (libinfinipath 3.3 of Debian 12, in a
//          constructor) take the handlers of SIGTERM, SIGSEGV and others for backtraces of their
//          own. They belong to the application, and SIGTERM to the SIGTERM report.
// Holds    What was set for these signals before is set again when this object goes.
#pragma once

#include <signal.h>

#include <array>
#include <cstddef>

#include "link/fabric/lent_environment.hpp"

namespace weft::link {

class KeptHandlers {
  public:
    KeptHandlers() {
        // That library offers to leave them alone: then none is missing meanwhile either.
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
