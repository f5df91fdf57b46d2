// SPDX-License-Identifier: BSD-3-Clause
// bench_report.hpp - results of `weft bench`: JSON, a table, an HTML page, and progress.
//
// Holds    The HTML page is one file and loads nothing, so it can be mailed or archived.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/bench_plan.hpp"
#include "tools/cli/table.hpp"
#include "tools/measure/measuring.hpp"

namespace weft::tools {

/// Name of the row that --memcpy adds.
inline constexpr std::string_view kMemcpyName = "memcpy";

struct Timed {
    std::string algorithm;
    std::uint64_t bytes = 0;
    bool is_put_bench = false;  ///< times and iterations are of a put, not of a call
    lab::Measurement measurement;
    std::vector<double> single_calls_us;  ///< timed one by one; empty without --histogram
};

struct BenchRow {
    std::string asked;  ///< requested spec, such as auto
    Json facts;         ///< object of this row in the array `results` of the JSON report
};

/// Marks the row with the least median. Call it without the rows of --memcpy.
void mark_quickest(std::span<BenchRow> rows);

/// Prints rows as a JSON object or as a table. With --osu the table has the two columns of the OSU
/// micro-benchmarks (size, and latency, bandwidth or rate), for scripts that read their output.
class BenchReport {
  public:
    /// widest: length of the longest spec, in characters.
    BenchReport(const BenchPlan& plan, Runtime& runtime, double calibrator_ns, std::size_t widest);

    [[nodiscard]] Json facts_of(const Timed& timed) const;
    void add(const BenchRow& row);
    /// With --json prints the object. Returns the exit status: kAnswerIsNo if a result is wrong.
    [[nodiscard]] int finish() const { return rows_.finish(); }
    /// Returns an HTML page with plots and a table of the rows.
    [[nodiscard]] std::string html_page(std::span<const BenchRow> rows) const;

  private:
    [[nodiscard]] bool is_put_bench() const { return plan_.traits == nullptr; }

    const BenchPlan& plan_;
    Json head_;  ///< members of the object before `results`
    std::vector<Column> columns_;
    RowReport rows_;
    std::string shown_;  ///< algorithm of the last row, for --osu, where rows do not name it
};

/// Progress on stderr: one line that is overwritten if stderr is a terminal, else one per minute.
class BenchProgress {
  public:
    /// prints: true on rank 0. rows: expected number.
    BenchProgress(bool prints, std::size_t rows);

    void begin(std::string_view algorithm, std::uint64_t bytes);
    /// Clears the line. Call it before other output.
    void clear() const;

  private:
    bool prints_;
    bool overwrites_;
    std::uint64_t began_ns_;
    std::uint64_t next_ns_;
    std::size_t rows_;
    std::size_t begun_ = 0;
};

}  // namespace weft::tools
