// SPDX-License-Identifier: BSD-3-Clause
// survey.hpp - what libfabric has on this machine, what a job would take of it, and why.
//
// Idea     The same questions that opening a port asks, with every answer kept. Opens no endpoint.
// Why      Users who ask why a job runs over a provider, or by a notify strategy, need the reasons
//          of the decision itself.
// Next     discover.hpp for how an offer is chosen; notify.hpp for how the notify strategies are.
#pragma once

#include <string>
#include <vector>

#include "link/fabric/fabric.hpp"
#include "link/fabric/granted.hpp"

namespace weft::link {

/// One provider: of those that there is a profile for, and of those that libfabric offers here.
struct ProviderFinding {
    std::string provider;
    bool offered = false;  ///< libfabric offers it on this machine
    bool chosen = false;
    std::string why;
};

/// One notify strategy.
struct NotifyFinding {
    Notify way = Notify::immediate;
    bool promised = false;
    std::string why;
};

struct FabricSurvey {
    std::string version;                     ///< of libfabric
    std::vector<ProviderFinding> providers;  ///< in order of preference
    std::string provider;                    ///< chosen; empty: none will do
    std::string reason;                      ///< why that one, or why none
    std::string domain;
    Grant grant;
    std::vector<NotifyFinding> ways;
    std::string problem;  ///< why none of them can be used; then what follows is not valid
    NotifyPlan notify;
    std::string small_reason;
    std::string large_reason;
    base::RemoteCompletion completion = base::RemoteCompletion::counted;
    std::string completion_reason;
};

/// For a job of the shape that `options` describe.
[[nodiscard]] FabricSurvey survey_fabric(const FabricOptions& options);

/// Loads weft_fabric.so, as load_port() does, and calls its survey_fabric().
[[nodiscard]] base::Result<FabricSurvey> load_survey(const FabricOptions& options);

}  // namespace weft::link
