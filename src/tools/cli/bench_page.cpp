// SPDX-License-Identifier: BSD-3-Clause
// bench_page.cpp - results of `weft bench` as an HTML page: plots and a table.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

#include "base/units.hpp"
#include "tools/cli/bench_report.hpp"
#include "tools/simulate/timeline.hpp"

namespace weft::tools {

namespace {

constexpr std::array kColours{"#3572b0", "#d9822b", "#4f9a3a", "#c23030",
                              "#8064a2", "#7a5b44", "#d16ba5", "#2a9d9d"};
constexpr const char* kGrey = "#c9c9c9";
constexpr double kWidth = 640;  ///< of a plot, in pixels
constexpr double kHeight = 380;
constexpr double kLeft = 62;  ///< margins
constexpr double kTop = 34;

struct Series {
    std::string name;  ///< the requested spec
    std::vector<const Json*> rows;
    bool wins = false;  ///< fastest for some size
    std::string colour;
};

std::vector<Series> series_of(std::span<const BenchRow> rows) {
    std::vector<Series> all;
    for (const BenchRow& row : rows) {
        const std::string name = row.asked == "auto" ? "chosen by weft" : row.asked;
        auto found = std::ranges::find(all, name, &Series::name);
        if (found == all.end()) found = all.insert(all.end(), {name, {}, false, {}});
        found->rows.push_back(&row.facts);
        found->wins = found->wins || row.facts.contains("quickest");
    }
    // If there are more lines than colours, lines that are never the fastest are grey.
    std::ranges::stable_sort(all, std::greater<>(), &Series::wins);
    const bool all_coloured = all.size() <= kColours.size();
    std::size_t used = 0;
    for (Series& one : all) {
        const bool coloured = (all_coloured || one.wins) && used < kColours.size();
        one.colour = coloured ? kColours.at(used++) : kGrey;
    }
    return all;
}

double number(const Json& row, const char* key) {
    return row.value(key, 0.0);
}

class Plot {
  public:
    /// Plots the member `key` of the rows, multiplied by `scale`, over bytes.
    Plot(std::string title, const std::vector<Series>& series, const char* key, double scale)
        : title_(std::move(title)), series_(series), key_(key), scale_(scale) {
        for (const Series& one : series)
            for (const Json* row : one.rows) extend_axes(*row);
    }

    /// Returns the SVG text; empty if there is nothing to show.
    [[nodiscard]] std::string text() {
        if (x_max_ == 0 || !(y_min_ < std::numeric_limits<double>::infinity())) return "";
        print(
            "<svg viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
            "font-family=\"sans-serif\" font-size=\"11\">"
            "<text x=\"{2:.0f}\" y=\"18\" font-size=\"14\">{3}</text>\n",
            kLeft + kWidth + 20, kTop + kHeight + 44, kLeft, lab::escaped(title_));
        add_grid();
        // Grey lines first, so that coloured lines cover them.
        for (auto one = series_.rbegin(); one != series_.rend(); ++one) add_line(*one);
        return std::move(text_) + "</svg>\n";
    }

  private:
    template <class... Arguments>
    void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    }
    [[nodiscard]] double value_of(const Json& row) const { return number(row, key_) * scale_; }
    void extend_axes(const Json& row) {
        const double value = value_of(row);
        const double bytes = number(row, "bytes");
        if (bytes == 0 || !(value > 0)) return;
        x_min_ = std::min(x_min_, bytes);
        x_max_ = std::max(x_max_, bytes);
        y_min_ = std::min(y_min_, std::pow(10, std::floor(std::log10(value))));
        y_max_ = std::max(y_max_, std::pow(10, std::ceil(std::log10(value))));
    }
    [[nodiscard]] double x(double bytes) const {
        if (x_max_ <= x_min_) return kLeft + kWidth / 2;
        return kLeft + kWidth * std::log(bytes / x_min_) / std::log(x_max_ / x_min_);
    }
    [[nodiscard]] double y(double value) const {
        if (y_max_ <= y_min_) return kTop + kHeight / 2;
        return kTop + kHeight * (1 - std::log(value / y_min_) / std::log(y_max_ / y_min_));
    }

    void add_grid() {
        for (double value = y_min_; value <= y_max_ * 1.001; value *= 10)
            print(
                "<line x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" "
                "stroke=\"#e3e3e3\"/><text x=\"{3:.0f}\" y=\"{4:.1f}\" "
                "text-anchor=\"end\">{5}</text>\n",
                kLeft, kLeft + kWidth, y(value), kLeft - 7, y(value) + 4,
                value < 1 ? fmt::format("{:g}", value) : fmt::format("{:.0f}", value));
        const double powers = std::log2(x_max_ / x_min_);  // at most 13 labels
        const double every = std::exp2(std::max(1.0, std::ceil(powers / 12)));
        for (double bytes = x_min_; bytes <= x_max_ * 1.001; bytes *= every)
            print(
                "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\" "
                "stroke=\"#e3e3e3\"/><text x=\"{0:.1f}\" y=\"{3:.0f}\" "
                "text-anchor=\"middle\">{4}</text>\n",
                x(bytes), kTop, kTop + kHeight, kTop + kHeight + 16,
                base::format_bytes(static_cast<std::uint64_t>(bytes)));
        print("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">bytes</text>\n",
              kLeft + kWidth / 2, kTop + kHeight + 34);
    }
    void add_line(const Series& one) {
        std::string points;
        for (const Json* row : one.rows) {
            const double value = value_of(*row);
            const double bytes = number(*row, "bytes");
            if (bytes == 0 || !(value > 0)) continue;
            const double at = x(bytes);
            points += fmt::format("{:.1f},{:.1f} ", at, y(value));
            print(
                "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"{}\"><title>{}, {} bytes: "
                "{:.4g}</title></circle>",
                at, y(value), one.colour, lab::escaped(json_text((*row)["algorithm"])), bytes,
                value);
        }
        print("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>\n",
              points, one.colour);
    }

    std::string title_;
    const std::vector<Series>& series_;
    const char* key_;
    double scale_;
    double x_min_ = std::numeric_limits<double>::infinity();
    double x_max_ = 0;
    double y_min_ = std::numeric_limits<double>::infinity();
    double y_max_ = 0;
    std::string text_;
};

std::string legend(const std::vector<Series>& series) {
    std::string text = "<p class=\"legend\">";
    std::size_t grey = 0;
    for (const Series& one : series) {
        grey += one.colour == kGrey ? 1 : 0;
        if (one.colour != kGrey)
            text += fmt::format("<span><i style=\"background:{}\"></i>{}</span> ", one.colour,
                                lab::escaped(one.name));
    }
    if (grey != 0)
        text += fmt::format(
            "<span><i style=\"background:{}\"></i>{} others, never the "
            "quickest</span>",
            kGrey, grey);
    return text + "</p>\n";
}

std::string table(std::span<const BenchRow> rows, std::span<const Column> columns) {
    std::string text = "<table><tr>";
    for (const Column& column : columns) text += "<th>" + column.title;
    for (const BenchRow& row : rows) {
        text += row.facts.contains("quickest") ? "</tr>\n<tr class=\"quickest\">" : "</tr>\n<tr>";
        for (const Column& column : columns)
            text += "<td>" + lab::escaped(cell_of(column, row.facts));
    }
    return text + "</tr>\n</table>\n";
}

constexpr const char* kStyle =
    "body{font:14px sans-serif;margin:24px;max-width:1500px}svg{margin-right:16px}"
    "table{border-collapse:collapse}td,th{padding:2px 10px;text-align:right;"
    "border-bottom:1px solid #eee}tr.quickest{background:#eef6e8;font-weight:bold}"
    ".legend span{margin-right:14px;white-space:nowrap}"
    ".legend i{display:inline-block;width:18px;height:4px;margin-right:5px;vertical-align:middle}";

}  // namespace

std::string BenchReport::html_page(std::span<const BenchRow> rows) const {
    const std::string title =
        fmt::format("{} on {}, {}", plan_.name, counted(head_["ranks"].get<Rank>(), "rank"),
                    counted(head_["nodes"].get<int>(), "node"));
    const char* const timed = is_put_bench() ? "put" : "call";
    std::string text = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>weft bench: {0}"
        "</title><style>{1}</style></head><body>\n<h1>{0}</h1>\n<p>Provider {2}, {3} loop, {4} "
        "buffers; a cache line between two processors takes {5:.0f} ns. Times are those of one {6} "
        "on the slowest rank, the median over batches; min, avg and max are over ranks. Every "
        "result was checked.</p>\n",
        lab::escaped(title), kStyle, lab::escaped(json_text(head_["provider"])), plan_.request.loop,
        plan_.request.buffers, head_["calibrator_ns"].get<double>(), timed);
    const std::vector<Series> series = series_of(rows);
    text += legend(series);
    text +=
        Plot(fmt::format("{}: time of a {} in us", title, timed), series, "median_us", 1).text();
    text += is_put_bench()
                ? Plot(title + ": bandwidth in GB/s", series, "bandwidth_bytes_per_s", 1e-9).text()
                : Plot(title + ": bus bandwidth in GB/s", series, "bus_bandwidth_bytes_per_s", 1e-9)
                      .text();
    return text + table(rows, columns_) + "</body></html>\n";
}

}  // namespace weft::tools
