// SPDX-License-Identifier: BSD-3-Clause
// timeline.hpp - who did what when, as a picture or as data.
//
// Idea     One row for each rank; bars for what it does (send, compute, noise), a faint line while
//          it waits, and a slanted line from sender to receiver for each message under way.
#pragma once

#include <span>
#include <string>

#include "plan/simulate/simulate.hpp"

namespace weft::lab {

using plan::Span;
using plan::Time;

[[nodiscard]] std::string timeline_svg(Rank ranks, std::span<const Span> spans);
/// {"ranks":N,"spans":[{"rank","kind","peer","begin_ns","end_ns"}]}; peer is -1 where there is
/// none.
[[nodiscard]] std::string timeline_json(Rank ranks, std::span<const Span> spans);

}  // namespace weft::lab
