// SPDX-License-Identifier: BSD-3-Clause
// stream.hpp - generated programs straight into an image, step by step.
//
// Idea     The generator says what a rank does; the image takes each step for what it costs. That
//          is the program of the rank, without its steps and blocks ever being laid out.
// Holds    The same image as adding program_of() each rank.
#pragma once

#include <functional>

#include "plan/schedule/stages.hpp"
#include "plan/simulate/image.hpp"

namespace weft::lab {

/// The ranks first .. last-1. Reports now and then which rank it is at.
[[nodiscard]] base::Result<void> add_programs(plan::ImagePart& part, const plan::Stages& stages,
                                              Rank first, Rank last,
                                              const std::function<void(Rank)>& progress = {});

}  // namespace weft::lab
