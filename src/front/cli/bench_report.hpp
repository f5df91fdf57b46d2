// SPDX-License-Identifier: BSD-3-Clause
// bench_report.hpp - how `weft bench` shows what it has measured: table, columns, histogram,
// progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "front/cli/command.hpp"
#include "lab/measure/measuring.hpp"
#include "weft/types.hpp"

namespace weft::front {

/// What --memcpy adds for comparison.
inline constexpr std::string_view kMemcpyName = "memcpy";

/// One line of the result.
struct BenchRow {
    std::string algorithm;
    std::uint64_t bytes = 0;
    lab::Measurement measurement;
    double puts_per_call = 0;             ///< of a put bench
    std::vector<double> single_calls_us;  ///< calls timed one by one, if asked for
    bool quickest = false;                ///< of several algorithms with this size
    std::string asked = {};               ///< the spec that was asked for, such as auto
};

/// Says so of the one with the least median; copies of memory are no algorithm.
void mark_quickest(std::span<BenchRow> rows);

/// What a byte of --bytes stands for in bandwidths, as nccl-tests defines them: the algorithm's
/// counts the bytes of the whole vector once, the bus's what a link must carry at least.
struct BandwidthFactors {
    double algorithm = 0;  ///< 0: the call has no data
    double bus = 0;
};
[[nodiscard]] BandwidthFactors bandwidth_factors(std::string_view collective, Rank ranks);

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
    std::uint64_t pairs = 1;  ///< of puts
};

[[nodiscard]] Json to_json(const BenchRow& row, const BandwidthFactors& factors);

/// Prints as rows come. Two forms: a table of its own, and the two columns of the OSU
/// micro-benchmarks, size and latency, bandwidth or rate, for scripts that read those.
class BenchPrinter {
  public:
    /// widest: letters of the longest spec.
    BenchPrinter(BenchHead head, bool osu, std::size_t widest);

    [[nodiscard]] const BenchHead& head() const { return head_; }
    void print_head() const;
    void print(const BenchRow& row) const;

  private:
    void print_osu(const BenchRow& row) const;
    [[nodiscard]] bool is_of_puts() const { return head_.collective.starts_with("put-"); }

    BenchHead head_;
    bool osu_;
    std::size_t name_width_;
    BandwidthFactors factors_;
    mutable std::string shown_;  ///< the algorithm of the last row, where rows do not name it
};

/// One line on stderr that is written anew if that is a terminal; else a line a minute.
class BenchProgress {
  public:
    /// `rows` in all.
    BenchProgress(bool speaks, std::size_t rows);

    void begin(std::string_view algorithm, std::uint64_t bytes);
    /// Before anything else is printed.
    void clear() const;

  private:
    bool speaks_;
    bool shown_;
    std::uint64_t began_ns_;
    std::uint64_t next_ns_;
    std::size_t rows_;
    std::size_t begun_ = 0;
};

}  // namespace weft::front
