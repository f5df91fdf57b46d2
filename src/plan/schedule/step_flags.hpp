// SPDX-License-Identifier: BSD-3-Clause
// step_flags.hpp - properties of a step besides its kind.
#pragma once

#include <cstdint>

namespace weft::plan {

enum StepFlags : std::uint8_t {
    /// `put`, `signal`: all puts of this rank under this number (and segment) have one payload, and
    /// the receivers know this. Local peers may read it in place from one published cell. `wait`:
    /// the sender's puts are shared.
    kShared = 1,
    kFromPublished = 2,  ///< wait: for the published cell of `peer`, not for a signal raised here
    kWritten = 4,        ///< expose: the peer may also write the block
};

}  // namespace weft::plan
