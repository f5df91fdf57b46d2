// SPDX-License-Identifier: BSD-3-Clause
// survey.hpp - providers and notify strategies on this machine, a job's choice, and the reasons.
//
// Idea     The survey queries libfabric as open_port() does, and keeps all offers and objections.
//          It opens no endpoint.
// Why      `weft info` shows users why a job uses a provider or a notify strategy.
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
    std::string why;  ///< reason why the provider is chosen or not
};

struct FabricSurvey {
    std::string version;                     ///< version of libfabric
    std::vector<ProviderFinding> providers;  ///< in order of preference
    std::string provider;                    ///< chosen provider; empty: no usable provider
    std::string reason;                      ///< reason of the choice or of its absence
    std::string domain;                      ///< libfabric's name of the NIC
    std::vector<Nic> nics;                   ///< all NICs that ranks of this host may use
    Grant grant;
    std::vector<NotifyFinding> strategies;
    std::string problem;  ///< reason why no strategy is usable; the members below are then invalid
    NotifyPlan notify;
    std::string small_reason;  ///< reason for notify.small
    std::string large_reason;  ///< reason for notify.large
    base::RemoteCompletion completion = base::RemoteCompletion::counted;
    std::string completion_reason;
};

/// Adds the notify strategies, the choice among them, and the reasons to a survey whose grant is
/// set. Uses only the profile and the grant, so it needs no network.
void explain_notify(FabricSurvey& survey, const Profile& profile, std::optional<Notify> forced);

/// Returns the survey from Profile::declared, without a query, for users without that network.
[[nodiscard]] FabricSurvey survey_declared(const Profile& profile, std::optional<Notify> forced);

/// Returns the survey for a job with these options.
[[nodiscard]] FabricSurvey survey_fabric(const FabricOptions& options);

/// Loads weft_fabric.so, as load_port() does, and calls its survey_fabric().
base::Result<FabricSurvey> load_survey(const FabricOptions& options);

}  // namespace weft::link
