// SPDX-License-Identifier: BSD-3-Clause
// lent_environment.hpp - sets variables of libraries while they start.
//
// Why      libfabric reads its variables at its first call, and when objects are opened. The
//          process belongs to the application. It may use libfabric itself or through an MPI, and
//          its children inherit the environment.
// Holds    An existing value stays. The destructor removes the variables that were set. As with any
//          change of the environment, no other thread may read it meanwhile.
#pragma once

#include <stdlib.h>

#include <algorithm>
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

    [[nodiscard]] bool holds(std::string_view name) const {
        return std::find(names_.begin(), names_.end(), name) != names_.end();
    }
    void set(const char* name, const char* value) {
        if (::getenv(name) != nullptr) return;
        if (::setenv(name, value, 0) == 0) names_.emplace_back(name);
    }

  private:
    std::vector<std::string> names_;
};

}  // namespace weft::link
