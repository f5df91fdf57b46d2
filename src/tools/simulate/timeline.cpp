// SPDX-License-Identifier: BSD-3-Clause
#include "tools/simulate/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/trace_events.hpp"
#include "plan/select/model.hpp"

namespace weft::lab {

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '<')
            result += "&lt;";
        else if (c == '&')
            result += "&amp;";
        else
            result += c;
    }
    return result;
}

namespace {

struct Look {
    const char* name;  ///< word in timeline_json()
    const char* word;  ///< word in the picture's legend
    const char* colour;
};
/// For each Span::Kind.
constexpr std::array<Look, 6> kLooks{{{"send", "sends", "#3572b0"},
                                      {"flight", "message under way", "#6a9a3f"},
                                      {"wait", "waits", "#c4c4c4"},
                                      {"receive", "receives", "#7fb2d9"},
                                      {"compute", "reduces, copies", "#d9822b"},
                                      {"noise", "noise", "#c23030"}}};

const Look& look_of(Span::Kind kind) {
    return kLooks.at(static_cast<std::size_t>(kind));
}

// ---- A picture ---------------------------------------------------------------------------------

// Lengths are in user units of SVG (pixels at 100%).
constexpr double kWidth = 1000;
constexpr double kLeft = 70;
constexpr double kTop = 58;
constexpr double kRowHeightMax = 24;
constexpr double kRowHeightMin = 1;
constexpr double kRowsHeight = 1000;  ///< all rows, unless a row would be lower than kRowHeightMin
constexpr double kLabelHeight = 13;
/// With more messages, hints are omitted and lines become fainter.
constexpr std::size_t kDistinctMessages = 600;
/// Viewers handle pictures of a few megabytes. Above these limits, only some messages are drawn,
/// and bars of one rank and kind with gaps of at most kTouching are joined.
constexpr std::size_t kMessagesMax = 10'000;
constexpr std::size_t kBarsMax = 20'000;
constexpr double kTouching = 1;

/// Returns the smallest 1, 2 or 5 times a power of ten that is not below the value.
double round_step(double value) {
    const double power = std::pow(10.0, std::floor(std::log10(value)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= value * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

struct Unit {
    const char* name;
    double ns;
};
Unit unit_for(double ns) {
    if (ns >= 1e7) return {"ms", 1e6};
    return ns >= 1e4 ? Unit{"us", 1e3} : Unit{"ns", 1};
}

class Picture {
  public:
    Picture(const std::string& title, Rank ranks, std::span<const Span> spans)
        : row_(std::clamp(kRowsHeight / ranks, kRowHeightMin, kRowHeightMax)), rows_(row_ * ranks) {
        std::array<bool, kLooks.size()> used{};
        for (const Span& span : spans) {
            end_ = std::max(end_, span.end);
            used.at(static_cast<std::size_t>(span.kind)) = true;
            messages_ += span.kind == Span::Kind::flight ? 1 : 0;
        }
        one_of_ = (messages_ + kMessagesMax - 1) / kMessagesMax;
        print(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
            "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
            "<text x=\"{2:.0f}\" y=\"20\" font-size=\"15\">{3}</text>\n",
            kLeft + kWidth + 30, kTop + rows_ + 46, kLeft, escaped(title));
        add_legend(used);
        add_axis();
        add_labels(ranks);
    }

    /// Returns the largest gap between two bars that are drawn as one.
    [[nodiscard]] Time joined_gap_max() const {
        return static_cast<Time>(static_cast<double>(end_) * kTouching / kWidth);
    }

    /// Draws a span. busy: fraction of the bar's time that is active; the bar is paler if
    /// less than 1.
    void add(const Span& span, double busy = 1) {
        if (span.kind == Span::Kind::flight) {
            if (!is_drawn(seen_++)) return;
            const bool hint = messages_ <= kDistinctMessages;
            print(
                "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
                "stroke-width=\"0.8\" stroke-opacity=\"{:.2f}\"{}",
                x(span.begin), y(span.rank), x(span.end), y(span.peer), look_of(span.kind).colour,
                opacity(), hint ? ">" : "/>\n");
            if (hint)
                print("<title>{} to {}: {} to {} ns</title></line>\n", span.rank, span.peer,
                      plan::nanoseconds(span.begin), plan::nanoseconds(span.end));
            return;
        }
        const bool waits = span.kind == Span::Kind::wait;
        const double height = std::max(waits ? 0.12 * row_ : 0.45 * row_, waits ? 0.3 : 0.8);
        print(
            "<rect x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"{}>"
            "<title>rank {} {}: {} to {} ns</title></rect>\n",
            x(span.begin), y(span.rank) - height / 2, std::max(x(span.end) - x(span.begin), 0.3),
            height, look_of(span.kind).colour,
            busy < 0.99 ? fmt::format(" fill-opacity=\"{:.2f}\"", busy) : "", span.rank,
            look_of(span.kind).word, plan::nanoseconds(span.begin), plan::nanoseconds(span.end));
    }

    std::string finish() && { return std::move(text_) + "</svg>\n"; }

  private:
    template <class... Arguments>
    void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    }

    void add_legend(const std::array<bool, kLooks.size()>& used) {
        double at = kLeft;
        for (std::size_t kind = 0; kind < kLooks.size(); ++kind) {
            if (!used.at(kind)) continue;
            const Look& look = kLooks.at(kind);
            const bool line = static_cast<Span::Kind>(kind) == Span::Kind::flight;
            const std::string word = line && one_of_ > 1
                                         ? fmt::format("{} (one of {} drawn)", look.word, one_of_)
                                         : look.word;
            const double height = line                                                ? 1
                                  : static_cast<Span::Kind>(kind) == Span::Kind::wait ? 3
                                                                                      : 9;
            print(
                "<rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"18\" height=\"{}\" fill=\"{}\"/>"
                "<text x=\"{:.0f}\" y=\"41\">{}</text>\n",
                at, 37 - height / 2, height, look.colour, at + 23, word);
            at += 23 + 7.0 * static_cast<double>(word.size()) + 14;
        }
    }
    /// Draws lines at round times across all rows.
    void add_axis() {
        const double end_ns = std::max(plan::nanoseconds(end_), 1e-3);
        const Unit unit = unit_for(end_ns);
        const double step = round_step(end_ns / unit.ns / 10);
        const double base = kTop + rows_ + 4;
        const int decimals = step < 1 ? static_cast<int>(std::ceil(-std::log10(step))) : 0;
        for (int tick = 0; tick * step <= end_ns / unit.ns * (1 + 1e-9); ++tick) {
            const double at = kLeft + kWidth * tick * step * unit.ns / end_ns;
            print(
                "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" "
                "stroke=\"#e6e6e6\"/><text x=\"{0:.1f}\" y=\"{3:.1f}\" "
                "text-anchor=\"middle\">{4:.{5}f}</text>\n",
                at, kTop, base, base + 14, tick * step, decimals);
        }
        print("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">time in {}</text>\n",
              kLeft + kWidth / 2, base + 32, unit.name);
    }
    /// Draws labels at round rank numbers, where the rows leave room.
    void add_labels(Rank ranks) {
        const auto every = static_cast<Rank>(std::max(1.0, round_step(kLabelHeight / row_)));
        for (Rank rank = 0; rank < ranks; rank += every)
            print("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">rank {}</text>\n", kLeft - 8,
                  y(rank) + 4, rank);
    }

    /// Selects messages by a hash: each n-th message could be of the same rank in every round.
    [[nodiscard]] bool is_drawn(std::uint64_t number) const {
        if (one_of_ <= 1) return true;
        return (number * 0x9e3779b97f4a7c15U >> 33U) % one_of_ == 0;
    }
    [[nodiscard]] double opacity() const {
        if (messages_ <= kDistinctMessages) return 0.8;
        const double fraction =
            static_cast<double>(kDistinctMessages * one_of_) / static_cast<double>(messages_);
        return std::max(0.06, 0.8 * std::sqrt(fraction));
    }
    [[nodiscard]] double x(Time time) const {
        return kLeft +
               kWidth * static_cast<double>(time) / static_cast<double>(std::max<Time>(end_, 1));
    }
    [[nodiscard]] double y(Rank rank) const { return kTop + row_ * rank + row_ / 2; }

    double row_;
    double rows_;
    Time end_ = 0;
    std::size_t messages_ = 0;
    std::size_t one_of_ = 1;  ///< one of this number of messages is drawn
    std::uint64_t seen_ = 0;  ///< number of messages so far, drawn or not
    std::string text_;
};

/// Spans that are drawn as one bar.
struct Bar {
    Span span;
    Time busy = 0;  ///< active time within the span
};
/// Joins bars of one rank and kind with gaps of at most `apart` (negative: joins no bars).
/// Messages are not joined.
std::vector<Bar> with_joined_bars(std::span<const Span> spans, Rank ranks, Time apart) {
    std::vector<Span> ordered(spans.begin(), spans.end());
    if (apart >= 0) std::ranges::stable_sort(ordered, {}, &Span::begin);
    constexpr std::size_t kNone = ~std::size_t{0};
    std::vector<std::size_t> last(static_cast<std::size_t>(ranks) * kLooks.size(), kNone);
    std::vector<Bar> joined;
    for (const Span& span : ordered) {
        if (span.kind != Span::Kind::flight) {
            std::size_t& before = last[static_cast<std::size_t>(span.rank) * kLooks.size() +
                                       static_cast<std::size_t>(span.kind)];
            if (apart >= 0 && before != kNone && span.begin - joined[before].span.end <= apart) {
                Bar& bar = joined[before];
                bar.busy += std::max<Time>(span.end - std::max(span.begin, bar.span.end), 0);
                bar.span.end = std::max(bar.span.end, span.end);
                continue;
            }
            before = joined.size();
        }
        joined.push_back({span, span.end - span.begin});
    }
    return joined;
}

// ---- A trace -----------------------------------------------------------------------------------

std::uint64_t whole_ns(Time time) {
    return static_cast<std::uint64_t>(std::llround(plan::nanoseconds(time)));
}

/// Assigns threads to the spans of a rank, so that overlapping spans are on different threads.
class Threads {
  public:
    int place(const Span& span) {
        std::size_t thread = 0;
        while (thread < free_.size() && free_[thread] > span.begin) ++thread;
        if (thread == free_.size()) free_.push_back(0);
        free_[thread] = span.end;
        return static_cast<int>(thread) + 1;
    }
    [[nodiscard]] int count() const { return static_cast<int>(free_.size()); }

  private:
    std::vector<Time> free_;
};

}  // namespace

std::string timeline_svg(const std::string& title, Rank ranks, std::span<const Span> spans) {
    Picture picture(title, ranks, spans);
    const auto bars = std::ranges::count_if(
        spans, [](const Span& span) { return span.kind != Span::Kind::flight; });
    const bool many = static_cast<std::size_t>(bars) > kBarsMax;
    const std::vector<Bar> all =
        with_joined_bars(spans, ranks, many ? picture.joined_gap_max() : -1);
    // Lines first, so that bars cover them.
    for (const bool lines : {true, false}) {
        for (const auto& [span, busy] : all) {
            const bool is_line = span.kind == Span::Kind::flight || span.kind == Span::Kind::wait;
            const auto time = static_cast<double>(std::max<Time>(span.end - span.begin, 1));
            if (is_line == lines)
                picture.add(span, many ? std::max(static_cast<double>(busy) / time, 0.1) : 1);
        }
    }
    return std::move(picture).finish();
}

std::string timeline_json(Rank ranks, std::span<const Span> spans) {
    std::string text = fmt::format("{{\"ranks\":{},\"spans\":[", ranks);
    const char* separator = "\n";
    for (const Span& span : spans) {
        fmt::format_to(
            std::back_inserter(text),
            "{}{{\"rank\":{},\"kind\":\"{}\",\"peer\":{},\"begin_ns\":{},\"end_ns\":{}}}",
            separator, span.rank, look_of(span.kind).name, span.peer, plan::nanoseconds(span.begin),
            plan::nanoseconds(span.end));
        separator = ",\n";
    }
    return text + "\n]}\n";
}

std::string timeline_trace(const std::string& title, Rank ranks, std::span<const Span> spans) {
    std::vector<Span> ordered(spans.begin(), spans.end());
    std::ranges::stable_sort(ordered, {}, &Span::begin);
    std::vector<Threads> threads(static_cast<std::size_t>(ranks));
    std::string text;
    {
        base::TraceEvents out([&](std::string_view block) { text += block; },
                              base::argument("clocks", "simulated: all ranks have one clock") +
                                  "," + base::argument("simulated", title) + "," +
                                  base::argument("ranks", std::int64_t{ranks}));
        for (Rank rank = 0; rank < ranks; ++rank)
            out.name_process(rank, fmt::format("rank {} (simulated)", rank));
        for (const Span& span : ordered) {
            if (span.kind == Span::Kind::flight) {
                out.arrow("message", {span.rank, 1}, whole_ns(span.begin), {span.peer, 1},
                          whole_ns(span.end));
                continue;
            }
            const int thread = threads[static_cast<std::size_t>(span.rank)].place(span);
            const std::string peer =
                span.peer == plan::kNoRank ? "" : base::argument("peer", std::int64_t{span.peer});
            out.slice({{span.rank, thread},
                       look_of(span.kind).word,
                       "step",
                       whole_ns(span.begin),
                       whole_ns(span.end),
                       peer});
        }
        for (Rank rank = 0; rank < ranks; ++rank)
            for (int thread = 1; thread <= threads[static_cast<std::size_t>(rank)].count();
                 ++thread)
                out.name_thread({rank, thread}, fmt::format("steps {}", thread));
    }
    return text;
}

}  // namespace weft::lab
