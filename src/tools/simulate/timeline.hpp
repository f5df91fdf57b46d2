// SPDX-License-Identifier: BSD-3-Clause
// timeline.hpp - activities of ranks over time, as a picture or as data.
//
// Idea     Each rank has a row, with bars for its activities (send, receive, compute, noise) and a
//          faint line while it waits. A slanted line from sender to receiver shows each message in
//          flight. Rows become thinner with more ranks, so the picture fits a page.
// Next     base/trace_events.hpp for the format, which traces of real jobs also use.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/simulate/simulate.hpp"

namespace weft::lab {

using plan::Time;

/// Escapes text for SVG and HTML.
[[nodiscard]] std::string escaped(std::string_view text);
/// Draws a timeline. title: description, on one line.
[[nodiscard]] std::string timeline_svg(const std::string& title, Rank ranks,
                                       std::span<const Span> spans);
/// Returns {"ranks":N,"spans":[{"rank","kind","peer","begin_ns","end_ns"}]}; peer is -1 if the
/// activity has no peer.
[[nodiscard]] std::string timeline_json(Rank ranks, std::span<const Span> spans);
/// Returns trace events, in the format of WEFT_TRACE.
[[nodiscard]] std::string timeline_trace(const std::string& title, Rank ranks,
                                         std::span<const Span> spans);

}  // namespace weft::lab
