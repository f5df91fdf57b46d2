// SPDX-License-Identifier: BSD-3-Clause
// discover.hpp - finds a libfabric endpoint that can carry puts, or the reasons against all offers.
//
// Idea     The hints offer all modes that weft handles and request as little as possible.
//          accept_offer() judges the answers. If it rejects all, a second query with wide hints
//          finds the objections, because libfabric itself only reports "no data".
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
    bool forced = false;  ///< the user named it: failing to use it is an error
};

/// Returns the address that the user named; else a loopback address if all ranks are on this host;
/// else the preferred one; else the best of this host.
[[nodiscard]] SourceAddress source_address(const FabricOptions& options);

struct Found {
    Info info;
    Grant grant;
    Profile profile;
    SourceAddress source;              ///< local address of the offer, if chosen here
    LentEnvironment environment = {};  ///< set for libfabric until the endpoint is open
};

/// Returns the best offer: of options.provider if it is named, else by the order of preference.
[[nodiscard]] base::Result<Found> discover(const FabricOptions& options);

/// Returns the best offer of the provider that `profile` names, or of any provider if
/// it names none.
[[nodiscard]] base::Result<Found> discover(const FabricOptions& options, const Profile& profile);

/// A provider of reliable datagrams with remote writes on this machine.
struct Offered {
    std::string provider;
    std::string refusal;  ///< objection to all of its offers, or empty
};
[[nodiscard]] std::vector<Offered> offered_providers();

/// Returns true if a job of this shape gets the provider when it asks for it by name, regardless
/// of other hints.
[[nodiscard]] bool is_usable_by_name(const FabricOptions& options, std::string_view provider);

/// Returns the reason why a job of this shape cannot use the provider of `profile`, or
/// an empty text.
[[nodiscard]] std::string objection(const FabricOptions& options, const Profile& profile);

}  // namespace weft::link
