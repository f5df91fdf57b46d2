// SPDX-License-Identifier: BSD-3-Clause
// bench_plan.hpp - the request of `weft bench`, and the plan that is made from it.
//
// Holds    The plan contains the checked arguments that do not depend on the job. This file also
//          declares the benches that do not use the loop of bench_command.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "collectives/collective_traits.hpp"
#include "tools/cli/bench_subjects.hpp"
#include "tools/measure/measuring.hpp"
#include "weft/weft.hpp"

namespace weft::tools {

struct BenchRequest {
    static constexpr const char* kSweep = "8:4M";    ///< default of --bytes
    static constexpr const char* kSweepEnd = ":4M";  ///< its end, for a type with larger elements

    std::string collective;
    std::string bytes = kSweep;
    std::string type = "double";
    std::string op = "sum";
    std::string loop = "back-to-back";
    std::vector<std::string> algorithms{"auto"};
    std::string buffers = "reused";
    std::string counts = "same";
    Rank root = 0;
    double delay_ns = 0;  ///< added to each call
    bool json = false;
    bool osu = false;
    bool histogram = false;
    bool memcpy = false;
    bool calls_by_size = false;
    std::uint64_t pairs = 1;         ///< for puts: pairs that put at the same time
    std::optional<Rank> ranks;       ///< ranks of a job that the bench starts itself
    std::optional<Rank> nodes;       ///< virtual nodes of that job
    std::string page;                ///< file for a page with plots; empty: no page
    std::string of;                  ///< for the overlap bench: the collective
    std::vector<std::string> peers;  ///< MPI libraries to compare with
    lab::MeasuringOptions measuring;
};

/// The bench of calls that proceed while their ranks do other work.
inline constexpr std::string_view kOverlapBench = "overlap";

struct BenchPlan {
    BenchRequest request;
    std::string name;  ///< name of the collective (with v for --counts ragged) or other bench
    const collectives::CollectiveTraits* traits = nullptr;  ///< nullptr for puts
    std::string of;                                         ///< collective of the overlap bench
    std::string algorithms_of;  ///< collective whose algorithms serve the call
    std::string type;           ///< "none" for puts
    std::vector<std::uint64_t> bytes;
    CallOptions call;

    /// Returns the options for calls of one size.
    [[nodiscard]] lab::MeasuringOptions measuring_of(std::uint64_t size) const;
    [[nodiscard]] bool rooted() const { return traits != nullptr && traits->rooted(); }
    [[nodiscard]] bool reduces() const { return traits != nullptr && traits->reduces(); }
    /// Returns true if the call has only one algorithm, a direct exchange between its ranks.
    [[nodiscard]] bool pairwise() const {
        return traits != nullptr && traits->has_pairwise_counts();
    }
    /// Returns the first spec of --algorithm; empty for `auto`, the choice of weft.
    [[nodiscard]] std::string algorithm() const {
        return request.algorithms.front() == "auto" ? "" : request.algorithms.front();
    }
};

/// Throws an Error if the arguments do not fit each other.
[[nodiscard]] BenchPlan plan_bench(const BenchRequest& request);
/// Fails if the spec names no algorithm of the collective, or one without programs for `size`
/// ranks. size: 0 if it is not yet known.
[[nodiscard]] base::Result<void> check_spec(const BenchPlan& plan, const std::string& given,
                                            Rank size);
/// Checks all specs of --algorithm.
[[nodiscard]] base::Result<void> check_specs(const BenchPlan& plan, Rank size = 0);

// The benches return the exit status; rank 0 prints.

/// Times a call alone, and a started call during which the rank computes or sleeps for the same
/// time before it waits. Hidden is the fraction of the call that the work covered: (blocking + work
/// - both) / blocking.
[[nodiscard]] int bench_overlap(Runtime& runtime, const BenchPlan& plan);
[[nodiscard]] int bench_against_peers(const BenchPlan& plan);  ///< --compare

}  // namespace weft::tools
