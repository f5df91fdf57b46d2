// SPDX-License-Identifier: BSD-3-Clause
// describe.hpp - what a job got, and what this machine has for others: values for people and
// programs.
//
// Next     link/fabric/survey.hpp for the network; `weft info` prints all of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "link/fabric/profile.hpp"
#include "link/fabric/survey.hpp"
#include "run/runtime/layout.hpp"
#include "run/runtime/runtime.hpp"

namespace weft::run {

struct Description {
    std::string pmix_version;
    bool launched = false;  ///< by a PMIx host; else a job of one rank
    Rank ranks = 1;
    std::vector<Rank> ranks_per_node;
    int host_ranks = 1;  ///< on the host of the first rank
    int host_cpus = 1;   ///< that these may use
    bool spins = true;   ///< how waits of the first rank's host pass the time; else they yield

    bool equal_addresses = true;   ///< on the first rank's node
    bool direct = false;           ///< they read and write each other's buffers where they lie
    std::string direct_problem;    ///< why not; empty: they do, or the first rank is alone there
    std::string adoption_off;      ///< if they do: why pages are never adopted; empty: they may be
    std::string mapping_problems;  ///< of the first rank; empty: none

    std::string isa;
    std::vector<std::string_view> runnable_isas;

    /// What the network is, or would be if the ranks were on several nodes.
    std::optional<link::FabricSurvey> survey;
    std::string survey_problem;             ///< why there is no survey
    std::optional<link::FabricFacts> port;  ///< of the open port; nothing if all share memory
};

/// What a job would do over a provider that need not be here.
struct ProviderDescription {
    link::FabricSurvey survey;
    const link::Profile* profile = nullptr;
};
/// Fails with the names that there are profiles for.
[[nodiscard]] base::Result<ProviderDescription> describe_provider(const base::Settings& settings,
                                                                  std::string_view provider);

/// asks_network: with the survey, which takes a third of a second.
[[nodiscard]] Description describe(const Runtime& runtime, bool asks_network);

}  // namespace weft::run
