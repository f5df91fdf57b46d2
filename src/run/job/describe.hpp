// SPDX-License-Identifier: BSD-3-Clause
// describe.hpp - facts about a job and its machine; log lines of a job's start and end.
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

/// Facts about a job, its host and its node, as this rank knows them.
struct Description {
    const Job& job;
    std::string_view waiting;      ///< how ranks of this host wait: "spin" or "yield"
    std::string_view addresses;    ///< addresses of mappings on this node: "equal" or "offset"
    std::string adoption_off;      ///< reason why buffers are never remapped; empty: they may be
    std::string mapping_problems;  ///< failed mappings of peers; empty: none

    /// Network that the job uses, or would use if it had several nodes. See describe().
    std::optional<base::Result<link::FabricSurvey>> survey;
    std::optional<link::FabricFacts> port;  ///< empty if all ranks share memory
};

/// Network choices for a provider that this machine may not have.
struct ProviderDescription {
    link::FabricSurvey survey;
    const link::Profile* profile = nullptr;  ///< never null in a result
};
/// Describes a provider. If it has no profile, fails with the names of providers that have one.
[[nodiscard]] base::Result<ProviderDescription> describe_provider(const base::Settings& settings,
                                                                  std::string_view provider);

/// Returns the facts. `with_survey` adds the survey of networks, which queries every provider.
[[nodiscard]] Description describe(const Job& job, const base::Settings& settings,
                                   bool with_survey);

/// Logs unknown settings, the facts of the job and their reasons: about ten lines with
/// WEFT_LOG=info. Surveys the networks if one joins the nodes.
void log_start(const base::Log& log, const Job& job, const base::Settings& settings,
               const ReduceTable& kernels);

/// Logs the data that this rank moved between its memory and local peers' memory.
void log_end(const base::Log& log, const Job& job, const MappedBytes& moved);

/// Returns the counts of this rank for the table of WEFT_STATS=1.
[[nodiscard]] std::vector<MemoryCount> memory_counts(const MappedBytes& moved,
                                                     const link::DirectMemory* direct);

}  // namespace weft::run
