// SPDX-License-Identifier: BSD-3-Clause
// declared.hpp - explains the choice of notify strategies, with or without the network at hand.
//
// Idea     The decision is pure: it depends on a profile and on the granted attributes. So it can
//          also be made from a provider's declarations, for users who do not have that network yet.
// Next     survey.hpp for a network on this machine.
#pragma once

#include <optional>

#include "link/fabric/profile.hpp"
#include "link/fabric/survey.hpp"

namespace weft::link {

/// Adds the notify strategies, the choice among them, and the reasons to a survey with its grant.
void explain_notify(FabricSurvey& survey, const Profile& profile, std::optional<Notify> forced);

/// Returns the survey of a provider from the declarations in its sources.
[[nodiscard]] FabricSurvey survey_declared(const Profile& profile, std::optional<Notify> forced);

}  // namespace weft::link
