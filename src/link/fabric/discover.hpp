// SPDX-License-Identifier: BSD-3-Clause
// discover.hpp - finds a libfabric endpoint that can carry puts, or the reasons against all offers.
//
// Idea     An *offer* is an fi_info that libfabric returns for the hints of a query. The hints have
//          all modes that weft handles, and request as few capabilities as possible. accept_offer()
//          accepts or rejects each offer. If libfabric returns none, it only reports "no data".
//          Then a second query with all modes finds offers, and their objections.
#pragma once

#include <string>
#include <vector>

#include "link/fabric/endpoint.hpp"
#include "link/fabric/fabric.hpp"
#include "link/fabric/grant.hpp"
#include "link/fabric/lent_environment.hpp"
#include "link/fabric/profile.hpp"

namespace weft::link {

/// Internet address of this host that a port binds to.
struct SourceAddress {
    std::string text;     ///< numeric address or host name; empty: the provider's choice
    bool forced = false;  ///< set by the user: if it cannot be used, the port fails
};

/// Returns the facts for the settings of profiles.
[[nodiscard]] inline JobFacts facts_of(const FabricOptions& options) {
    return {.ranks = options.size, .number = options.job};
}

/// The offer that a port opens.
struct Found {
    Info info;
    Grant grant;
    Profile profile;
    SourceAddress source;              ///< local address; empty text: the provider's choice
    LentEnvironment environment = {};  ///< the profile's variables, set while this object lives
};

/// Returns the best offer: of options.provider if it is named, else by the order of preference.
[[nodiscard]] base::Result<Found> discover(const FabricOptions& options);

/// Returns the best offer of the provider that `profile` names, or of any provider if
/// it names none.
[[nodiscard]] base::Result<Found> discover(const FabricOptions& options, const Profile& profile);

}  // namespace weft::link
