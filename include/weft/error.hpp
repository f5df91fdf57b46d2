// SPDX-License-Identifier: BSD-3-Clause
// error.hpp - what the C++ interface throws.
#pragma once

#include <stdexcept>
#include <string>

#include "weft/export.h"
#include "weft/types.hpp"

namespace weft {

/// A call that could not be done. what() names the argument or the rank and what was expected.
class WEFT_API Error : public std::runtime_error {
  public:
    /// status: not Status::ok. text: a sentence or more, for a person.
    Error(Status status, const std::string& text) : std::runtime_error(text), status_(status) {}
    /// What kind of failure it is, to act on; what() is for people.
    [[nodiscard]] Status status() const noexcept { return status_; }

  private:
    Status status_;
};

}  // namespace weft
