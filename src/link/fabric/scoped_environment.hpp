// SPDX-License-Identifier: BSD-3-Clause
// scoped_environment.hpp - sets environment variables while libraries start, and restores signal
// handlers afterwards.
//
// Why      libfabric reads its variables at its first call, and when objects are opened. The
//          application may also use libfabric, directly or through an MPI library, and its child
//          processes inherit the environment. So variables must not stay set.
// Holds    A variable that the user has set keeps its value. The destructor removes the variables
//          that this object has set. No other thread may read the environment while it changes.
#pragma once

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::link {

class ScopedEnvironment {
  public:
    ScopedEnvironment() = default;
    ScopedEnvironment(ScopedEnvironment&& other) noexcept
        : names_(std::exchange(other.names_, {})) {}
    ScopedEnvironment& operator=(ScopedEnvironment&& other) noexcept {
        std::swap(names_, other.names_);
        return *this;
    }
    ~ScopedEnvironment() {
        for (const std::string& name : names_) ::unsetenv(name.c_str());
    }

    /// Returns true if this object has set the variable.
    [[nodiscard]] bool has_set(std::string_view name) const {
        return std::find(names_.begin(), names_.end(), name) != names_.end();
    }
    void set(const char* name, const char* value) {
        if (::getenv(name) != nullptr) return;
        if (::setenv(name, value, 0) == 0) names_.emplace_back(name);
    }

  private:
    std::vector<std::string> names_;
};

/// Saves the signal handlers, and restores them in the destructor. Libraries that libfabric loads
/// may replace handlers of SIGTERM, SIGSEGV and others to print backtraces (libinfinipath 3.3 of
/// Debian 12 does). The application, or weft itself (SIGTERM), has set the handlers.
class SavedHandlers {
  public:
    SavedHandlers() {
        // With this variable, libinfinipath does not replace handlers.
        environment_.set("IPATH_NO_BACKTRACE", "1");
        for (std::size_t i = 0; i < kSignals.size(); ++i)
            ::sigaction(kSignals[i], nullptr, &actions_[i]);
    }
    ~SavedHandlers() {
        for (std::size_t i = 0; i < kSignals.size(); ++i)
            ::sigaction(kSignals[i], &actions_[i], nullptr);
    }
    SavedHandlers(const SavedHandlers&) = delete;
    SavedHandlers& operator=(const SavedHandlers&) = delete;

  private:
    static constexpr std::array kSignals{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGABRT,
                                         SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    std::array<struct sigaction, kSignals.size()> actions_{};
    ScopedEnvironment environment_;
};

}  // namespace weft::link
