// SPDX-License-Identifier: BSD-3-Clause
// stream.hpp - converts generated programs to an image, step by step.
//
// Idea     The generator emits a rank's steps, and the image records the cost of each. No program
//          with steps and blocks is stored.
// Holds    The image equals the one made by adding program_of() of each rank.
#pragma once

#include <functional>

#include "plan/schedule/stages.hpp"
#include "tools/simulate/image.hpp"

namespace weft::lab {

/// Adds the ranks first .. last-1. Calls `progress` repeatedly with the current rank.
[[nodiscard]] base::Result<void> add_programs(ImagePart& part, const plan::Stages& stages,
                                              Rank first, Rank last,
                                              const std::function<void(Rank)>& progress = {});

}  // namespace weft::lab
