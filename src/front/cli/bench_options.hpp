// SPDX-License-Identifier: BSD-3-Clause
// bench_options.hpp - what `weft bench` is asked for, as written and as read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "collectives/collective_traits.hpp"
#include "lab/measure/measuring.hpp"
#include "weft/types.hpp"

namespace weft::front {

struct BenchOptions {
    std::string collective;
    static constexpr const char* kSweep = "8:4M";  ///< unless sizes are given
    static constexpr const char* kSweepEnd = ":4M";

    std::string bytes_text = kSweep;
    std::string type = "double";
    std::string op = "sum";
    std::string loop = "back-to-back";
    std::vector<std::string> algorithms{"auto"};
    std::string buffers = "reused";
    std::string counts = "same";
    Rank root = 0;
    double delay_ns = 0;
    bool json = false;
    bool osu = false;
    bool histogram = false;
    bool memcpy = false;
    std::uint64_t pairs = 1;    ///< of puts: ranks that put at the same time
    std::optional<Rank> ranks;  ///< of a job that the bench starts itself
    std::optional<Rank> nodes;
    std::string page;  ///< file for a page with plots; empty: none
    std::string of;    ///< of the overlap bench: the collective
    bool offload = false;
    std::uint64_t offload_budget = 0;  ///< descriptors queued at a time; 0: all of a call
    double away_ms = 20;               ///< that a rank sleeps in an offloaded call; 0: none does
    std::vector<std::string> peers;    ///< MPI libraries to time beside
    lab::MeasuringOptions measuring;

    // Read from the texts above.
    std::vector<std::uint64_t> bytes;
    Type element = Type::float64;
    Op operation = Op::sum;
};

/// The bench of calls that go on while their ranks do something else.
inline constexpr std::string_view kOverlapBench = "overlap";

/// The collective that a bench is of; nullptr if it is one of puts.
[[nodiscard]] const collectives::CollectiveTraits* traits_of(const BenchOptions& options);
/// The one whose algorithms a call has.
[[nodiscard]] std::string_view algorithms_of(const BenchOptions& options);
[[nodiscard]] bool is_rooted(const BenchOptions& options);
[[nodiscard]] bool has_operation(const BenchOptions& options);
/// Whether the call has one way only, by which its ranks exchange what is for each other.
[[nodiscard]] bool has_pairwise_counts(const BenchOptions& options);
[[nodiscard]] base::Result<void> check_spec(const BenchOptions& options, const std::string& given);
/// Reads the option texts; what does not depend on the job is checked here.
[[nodiscard]] base::Result<void> complete(BenchOptions& options);

}  // namespace weft::front
