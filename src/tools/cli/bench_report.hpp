// SPDX-License-Identifier: BSD-3-Clause
// bench_report.hpp - output of `weft bench`: table, columns, histogram, progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/command.hpp"
#include "tools/measure/measuring.hpp"
#include "weft/types.hpp"

namespace weft::tools {

/// Name of the row that --memcpy adds.
inline constexpr std::string_view kMemcpyName = "memcpy";

/// Row of the result.
struct BenchRow {
    std::string algorithm;
    std::uint64_t bytes = 0;
    lab::Measurement measurement;
    double puts_per_call = 0;             ///< in a put bench
    std::vector<double> single_calls_us;  ///< calls timed singly, if requested
    bool quickest = false;                ///< fastest of several algorithms with this size
    std::string asked = {};               ///< requested spec, such as auto
};

/// Marks the row with the least median; copies of memory are not candidates.
void mark_quickest(std::span<BenchRow> rows);

/// Factors from --bytes to bandwidths, as nccl-tests defines them. The algorithm bandwidth counts
/// the bytes of the whole buffer once, the bus bandwidth the minimum that a link must carry.
struct BandwidthFactors {
    double algorithm = 0;  ///< 0: the call has no data
    double bus = 0;
};
[[nodiscard]] BandwidthFactors bandwidth_factors(std::string_view collective, Rank ranks);

/// Facts printed above the rows.
struct BenchHead {
    std::string collective;
    Rank ranks = 0;
    int nodes = 1;
    std::string provider;
    std::string loop;
    std::string buffers;
    std::string counts;
    double calibrator_ns = 0;
    std::uint64_t pairs = 1;  ///< for puts
};

[[nodiscard]] Json to_json(const BenchRow& row, const BandwidthFactors& factors);

/// Prints rows one by one, as a table or in the two columns of the OSU micro-benchmarks (size, and
/// latency, bandwidth or rate), for scripts that read these.
class BenchPrinter {
  public:
    /// widest: length of the longest spec, in characters.
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
    mutable std::string shown_;  ///< algorithm of the last row, where rows do not name it
};

/// One line on stderr that is overwritten if that is a terminal; else one line per minute.
class BenchProgress {
  public:
    /// rows: total number.
    BenchProgress(bool speaks, std::size_t rows);

    void begin(std::string_view algorithm, std::uint64_t bytes);
    /// Clears the line. Call it before other output.
    void clear() const;

  private:
    bool speaks_;
    bool shown_;
    std::uint64_t began_ns_;
    std::uint64_t next_ns_;
    std::size_t rows_;
    std::size_t begun_ = 0;
};

}  // namespace weft::tools
