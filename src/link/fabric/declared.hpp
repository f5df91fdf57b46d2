// SPDX-License-Identifier: BSD-3-Clause
// declared.hpp - why far ranks learn of puts as they do, with or without the network at hand.
//
// Idea     The decision is pure: it follows from a profile and from what is granted. So it can be
//          made of what a provider declares, too, for people who do not have that network yet.
// Next     survey.hpp for a network that is here.
#pragma once

#include <optional>

#include "link/fabric/profile.hpp"
#include "link/fabric/survey.hpp"

namespace weft::link {

/// Adds the ways to notify, what is chosen of them, and why, to a survey with its grant.
void explain_notify(FabricSurvey& survey, const Profile& profile, std::optional<Notify> forced);

/// What would be done over a provider, by what its sources declare.
[[nodiscard]] FabricSurvey survey_declared(const Profile& profile, std::optional<Notify> forced);

}  // namespace weft::link
