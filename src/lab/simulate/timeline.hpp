// SPDX-License-Identifier: BSD-3-Clause
// timeline.hpp - who did what when, as a picture or as data.
//
// Idea     One row for each rank; bars for what it does (send, compute, noise), a faint line while
//          it waits, and a slanted line from sender to receiver for each message under way. Rows
//          become thinner the more ranks there are, so that a picture fits a page.
// Next     base/trace_events.hpp for the form that traces of real jobs have, too.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/simulate/simulate.hpp"

namespace weft::lab {

using plan::Span;
using plan::Time;

/// Text as it has to stand in SVG and HTML.
[[nodiscard]] std::string escaped(std::string_view text);
/// title: what is shown, on one line.
[[nodiscard]] std::string timeline_svg(const std::string& title, Rank ranks,
                                       std::span<const Span> spans);
/// {"ranks":N,"spans":[{"rank","kind","peer","begin_ns","end_ns"}]}; peer is -1 where there is
/// none.
[[nodiscard]] std::string timeline_json(Rank ranks, std::span<const Span> spans);
/// In the trace-event format, as WEFT_TRACE writes it for real jobs.
[[nodiscard]] std::string timeline_trace(const std::string& title, Rank ranks,
                                         std::span<const Span> spans);

}  // namespace weft::lab
