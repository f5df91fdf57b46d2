// SPDX-License-Identifier: BSD-3-Clause
// survey.hpp - offers of libfabric on this machine, the choice of a job, and the reasons.
//
// Idea     Makes the same queries as opening a port, and keeps every answer. Opens no endpoint.
// Why      Users ask why a job uses a provider or a notify strategy. The answer must have the
//          reasons of the decision.
// Next     discover.hpp for the choice of an offer; notify.hpp for the choice of notify strategies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "link/fabric/fabric.hpp"
#include "link/fabric/profile.hpp"

namespace weft::link {

/// A provider that has a profile, or that libfabric offers on this machine.
struct ProviderFinding {
    std::string provider;
    bool offered = false;  ///< libfabric offers it on this machine
    bool chosen = false;
    std::string why;
};

struct NotifyFinding {
    Notify strategy = Notify::immediate;
    bool promised = false;
    std::string why;
};

struct FabricSurvey {
    std::string version;                     ///< of libfabric
    std::vector<ProviderFinding> providers;  ///< in order of preference
    std::string provider;                    ///< chosen; empty: no usable provider
    std::string reason;                      ///< of the choice, or of its absence
    std::string domain;
    Grant grant;
    std::vector<NotifyFinding> strategies;
    std::string problem;  ///< reason why no strategy is usable; the members below are then invalid
    NotifyPlan notify;
    std::string small_reason;
    std::string large_reason;
    base::RemoteCompletion completion = base::RemoteCompletion::counted;
    std::string completion_reason;
};

/// Adds the notify strategies, the choice among them, and the reasons to a survey with its grant.
/// Depends on the profile and the grant alone, so it needs no network.
void explain_notify(FabricSurvey& survey, const Profile& profile, std::optional<Notify> forced);

/// Returns the survey of a provider from the declarations in its sources, for users who do not have
/// that network yet.
[[nodiscard]] FabricSurvey survey_declared(const Profile& profile, std::optional<Notify> forced);

/// Returns the survey for a job of the shape in `options`.
[[nodiscard]] FabricSurvey survey_fabric(const FabricOptions& options);

/// Loads weft_fabric.so, as load_port() does, and calls its survey_fabric().
[[nodiscard]] base::Result<FabricSurvey> load_survey(const FabricOptions& options);

}  // namespace weft::link
