// SPDX-License-Identifier: BSD-3-Clause
// describe.hpp - facts about a job and its machine, for users and programs, and the log lines of a
// job's start and end.
//
// Next     link/fabric/survey.hpp for the network; base/log.hpp for the destination of the lines;
//          `weft info` prints all facts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "link/fabric/profile.hpp"
#include "link/fabric/survey.hpp"
#include "run/job/job.hpp"
#include "run/observe/recorder.hpp"
#include "run/observe/reports.hpp"
#include "run/reduce/reduce.hpp"

namespace weft::run {

/// Facts about a job that its first rank derives.
struct Description {
    const Job& job;
    std::vector<Rank> ranks_per_node;
    std::string_view waiting;      ///< of ranks on the first rank's host: "spin" or "yield"
    std::string_view addresses;    ///< of mappings on its node: "equal" or "offset"
    std::string adoption_off;      ///< reason why pages are never remapped, if they could be
    std::string mapping_problems;  ///< empty: none

    /// Network of the job, or the one that it would have on several nodes.
    std::optional<link::FabricSurvey> survey;
    std::string survey_problem;             ///< reason why `survey` is missing
    std::optional<link::FabricFacts> port;  ///< of the open port; nothing if all ranks share memory
};

/// Behaviour of a job over a provider that this machine may not have.
struct ProviderDescription {
    link::FabricSurvey survey;
    const link::Profile* profile = nullptr;
};
/// Describes a provider. Fails, with the names of known ones, if it has no profile.
[[nodiscard]] base::Result<ProviderDescription> describe_provider(const base::Settings& settings,
                                                                  std::string_view provider);

/// `asks_network` adds the survey, which takes a third of a second.
[[nodiscard]] Description describe(const Job& job, const base::Settings& settings,
                                   bool asks_network);

/// Logs unknown settings, the facts of the job and their reasons: at most ten lines with
/// WEFT_LOG=info. If a network joins the nodes, this takes a third of a second, because the network
/// is asked for its reasons.
void log_start(const base::Log& log, const Job& job, const base::Settings& settings,
               const ReduceTable& kernels);

/// Logs the data that this rank moved between its memory and local peers' memory.
void log_end(const base::Log& log, const Job& job, const MappedBytes& moved);

/// Returns the counts of this rank for the table of WEFT_STATS=1.
[[nodiscard]] std::vector<MemoryCount> memory_counts(const MappedBytes& moved,
                                                     const link::DirectMemory* direct);

}  // namespace weft::run
