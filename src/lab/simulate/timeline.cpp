// SPDX-License-Identifier: BSD-3-Clause
#include "lab/simulate/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "plan/simulate/model.hpp"

namespace weft::lab {

namespace {

/// In the order of Span::Kind.
constexpr std::array<const char*, 5> kKindNames{"send", "flight", "receive", "compute", "noise"};
constexpr std::array<const char*, 5> kKindColours{"#3572b0", "#bbbbbb", "#bbbbbb", "#d9822b",
                                                  "#c23030"};

const char* name_of(Span::Kind kind) {
    return kKindNames.at(static_cast<std::size_t>(kind));
}

const char* colour_of(Span::Kind kind) {
    return kKindColours.at(static_cast<std::size_t>(kind));
}

constexpr double kWidth = 1000;
constexpr double kRow = 24;
constexpr double kLeft = 60;
constexpr double kTop = 20;

class Picture {
  public:
    Picture(Rank ranks, Time end) : ranks_(ranks), end_(std::max<Time>(end, 1)) {
        print(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n",
            kLeft + kWidth + 20, kTop + ranks * kRow + 40);
        for (Rank rank = 0; rank < ranks; ++rank)
            print("<text x=\"4\" y=\"{:.1f}\">rank {}</text>\n", y(rank) + 4, rank);
    }

    void add(const Span& span) {
        if (span.kind == Span::Kind::flight) {
            print(
                "<line x1=\"{:.2f}\" y1=\"{:.1f}\" x2=\"{:.2f}\" y2=\"{:.1f}\" "
                "stroke=\"#88aa66\" stroke-width=\"0.7\"><title>{} to {}: {} to {} ns</title>"
                "</line>\n",
                x(span.begin), y(span.rank), x(span.end), y(span.peer), span.rank, span.peer,
                plan::nanoseconds(span.begin), plan::nanoseconds(span.end));
            return;
        }
        const double height = span.kind == Span::Kind::receive ? 2 : 10;
        print(
            "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\">"
            "<title>rank {} {}: {} to {} ns</title></rect>\n",
            x(span.begin), y(span.rank) - height / 2, x(span.end) - x(span.begin), height,
            colour_of(span.kind), span.rank, name_of(span.kind), plan::nanoseconds(span.begin),
            plan::nanoseconds(span.end));
    }

    std::string finish() && {
        const double base = kTop + ranks_ * kRow + 6;
        print("<line x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" y2=\"{1}\" stroke=\"#333333\"/>\n", kLeft,
              base, kLeft + kWidth);
        for (int tick = 0; tick <= 10; ++tick)
            print("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.1f}</text>\n",
                  kLeft + kWidth * tick / 10, base + 14, plan::nanoseconds(end_) * tick / 10);
        print("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">ns</text>\n</svg>\n",
              kLeft + kWidth / 2, base + 28);
        return std::move(text_);
    }

  private:
    template <class... Arguments>
    void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    }
    [[nodiscard]] double x(Time time) const {
        return kLeft + kWidth * static_cast<double>(time) / static_cast<double>(end_);
    }
    [[nodiscard]] static double y(Rank rank) { return kTop + kRow * rank + kRow / 2; }

    Rank ranks_;
    Time end_;
    std::string text_;
};

}  // namespace

std::string timeline_svg(Rank ranks, std::span<const Span> spans) {
    Time end = 0;
    for (const Span& span : spans) end = std::max(end, span.end);
    Picture picture(ranks, end);
    // Lines first, so that bars lie on top of them.
    for (const Span& span : spans)
        if (span.kind == Span::Kind::flight || span.kind == Span::Kind::receive) picture.add(span);
    for (const Span& span : spans)
        if (span.kind != Span::Kind::flight && span.kind != Span::Kind::receive) picture.add(span);
    return std::move(picture).finish();
}

std::string timeline_json(Rank ranks, std::span<const Span> spans) {
    std::string text = fmt::format("{{\"ranks\":{},\"spans\":[", ranks);
    const char* separator = "\n";
    for (const Span& span : spans) {
        fmt::format_to(
            std::back_inserter(text),
            "{}{{\"rank\":{},\"kind\":\"{}\",\"peer\":{},\"begin_ns\":{},\"end_ns\":{}}}",
            separator, span.rank, name_of(span.kind), span.peer, plan::nanoseconds(span.begin),
            plan::nanoseconds(span.end));
        separator = ",\n";
    }
    return text + "\n]}\n";
}

}  // namespace weft::lab
