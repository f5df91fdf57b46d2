// SPDX-License-Identifier: BSD-3-Clause
// step_flags.hpp - what a generator may say of a step besides its kind.
#pragma once

#include <cstdint>

namespace weft::plan {

enum StepFlags : std::uint8_t {
    kShared = 1,  ///< put, signal: every put of this rank under this number (and segment) has
                  ///< the same payload, and each receiver knows so: near peers may read it in
                  ///< place from one published cell. wait: the sender's puts are shared
    kFromPublished = 2,  ///< wait: for the published cell of `peer`, not for a signal raised here
    kWritten = 4,        ///< expose: the peer may write the block, too
};

}  // namespace weft::plan
