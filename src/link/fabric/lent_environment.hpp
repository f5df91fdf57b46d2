// SPDX-License-Identifier: BSD-3-Clause
// lent_environment.hpp - variables of libraries that are set while they start, and not for longer.
//
// Why      libfabric reads its variables when it is first asked and when something is opened. The
//          process belongs to the application, which may use libfabric itself or through an MPI,
//          and hands its environment on to children.
// Holds    A value that is already there stays. Those set here are taken away by the destructor.
//          As with any change of the environment, no other thread may read it meanwhile.
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
