// SPDX-License-Identifier: BSD-3-Clause
// error.hpp - the exception of the C++ interface.
#pragma once

#include <stdexcept>
#include <string>

#include "weft/export.h"
#include "weft/types.hpp"

namespace weft {

/// Failure of a call. what() names the argument or rank and the expected value.
class WEFT_API Error : public std::runtime_error {
  public:
    /// status: not Status::ok. text: one or more sentences for users.
    Error(Status status, const std::string& text) : std::runtime_error(text), status_(status) {}
    /// Returns the kind of failure, for decisions of a program; what() is text for users.
    [[nodiscard]] Status status() const noexcept { return status_; }

  private:
    Status status_;
};

}  // namespace weft
