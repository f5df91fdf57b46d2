// SPDX-License-Identifier: BSD-3-Clause
// bench_options.hpp - options of `weft bench`, as written and as read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "collectives/collective_traits.hpp"
#include "tools/measure/measuring.hpp"
#include "weft/types.hpp"

namespace weft::tools {

struct BenchOptions {
    std::string collective;
    static constexpr const char* kSweep = "8:4M";  ///< default sizes
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
    std::uint64_t pairs = 1;    ///< for puts: pairs that put at the same time
    std::optional<Rank> ranks;  ///< ranks of a job that the bench starts itself
    std::optional<Rank> nodes;
    std::string page;  ///< file for a page with plots; empty: no page
    std::string of;    ///< for the overlap bench: the collective
    bool offload = false;
    std::uint64_t offload_budget = 0;  ///< descriptors queued at a time; 0: all of a call
    double away_ms = 20;             ///< sleep of one rank in an offloaded call; 0: no rank sleeps
    std::vector<std::string> peers;  ///< MPI libraries to compare with
    lab::MeasuringOptions measuring;

    // Read from the texts above.
    std::vector<std::uint64_t> bytes;
    Type element = Type::float64;
    Op operation = Op::sum;
};

/// The bench of calls that proceed while their ranks do other work.
inline constexpr std::string_view kOverlapBench = "overlap";

/// Returns the collective of a bench; nullptr for put benches.
[[nodiscard]] const collectives::CollectiveTraits* traits_of(const BenchOptions& options);
/// Returns the collective whose algorithms serve the call.
[[nodiscard]] std::string_view algorithms_of(const BenchOptions& options);
[[nodiscard]] bool is_rooted(const BenchOptions& options);
[[nodiscard]] bool has_operation(const BenchOptions& options);
/// Returns true if the call has only one algorithm, a direct exchange between its ranks.
[[nodiscard]] bool has_pairwise_counts(const BenchOptions& options);
[[nodiscard]] base::Result<void> check_spec(const BenchOptions& options, const std::string& given);
/// Reads the option texts, and checks all that does not depend on the job.
[[nodiscard]] base::Result<void> complete(BenchOptions& options);

}  // namespace weft::tools
