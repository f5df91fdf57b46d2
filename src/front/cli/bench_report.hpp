// SPDX-License-Identifier: BSD-3-Clause
// bench_report.hpp - how `weft bench` shows what it has measured: table, columns, histogram,
// progress.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "front/cli/command.hpp"
#include "lab/measure/measuring.hpp"
#include "weft/types.hpp"

namespace weft::front {

/// One line of the result.
struct BenchRow {
    std::string algorithm;
    std::uint64_t bytes = 0;
    lab::Measurement measurement;
    double puts_per_call = 0;             ///< of a put bench
    std::vector<double> single_calls_us;  ///< calls timed one by one, if asked for
};

/// What stands above all lines.
struct BenchHead {
    std::string collective;
    Rank ranks = 0;
    int nodes = 1;
    std::string provider;
    std::string loop;
    std::string buffers;
    std::string counts;
    double calibrator_ns = 0;
};

[[nodiscard]] Json to_json(const BenchRow& row);

/// Prints as rows come. Two forms: a table of its own, and the two columns of the OSU
/// micro-benchmarks, size and latency, bandwidth or rate, for scripts that read those.
class BenchPrinter {
  public:
    BenchPrinter(BenchHead head, bool osu) : head_(std::move(head)), osu_(osu) {}

    void print_head() const;
    void print(const BenchRow& row) const;

  private:
    BenchHead head_;
    bool osu_;
};

/// One line on stderr that is written anew, and only if that is a terminal.
class BenchProgress {
  public:
    /// `rows` in all.
    BenchProgress(bool speaks, std::size_t rows);

    void begin(std::string_view algorithm, std::uint64_t bytes);
    /// Before anything else is printed.
    void clear() const;

  private:
    bool shown_;
    std::size_t rows_;
    std::size_t begun_ = 0;
};

}  // namespace weft::front
