// SPDX-License-Identifier: BSD-3-Clause
// lent_environment.hpp - environment variables that are set only while libraries start, and signal
// handlers that are restored afterwards.
//
// Why      libfabric reads its variables at its first call, and when objects are opened. The
//          application may also use libfabric, itself or through an MPI, and its child processes
//          inherit the environment. So variables must not stay set.
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

class LentEnvironment {
  public:
    LentEnvironment() = default;
    LentEnvironment(LentEnvironment&& other) noexcept : names_(std::exchange(other.names_, {})) {}
    LentEnvironment& operator=(LentEnvironment&& other) noexcept {
        std::swap(names_, other.names_);
        return *this;
    }
    ~LentEnvironment() {
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

/// Stores the signal handlers, and restores them in the destructor. Some libraries that libfabric
/// loads (libinfinipath 3.3 of Debian 12, in a constructor) replace handlers of SIGTERM, SIGSEGV
/// and others to print backtraces. The handlers belong to the application, or for SIGTERM, to
/// weft's report of blocked calls.
class KeptHandlers {
  public:
    KeptHandlers() {
        // With this variable, libinfinipath does not replace handlers.
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
