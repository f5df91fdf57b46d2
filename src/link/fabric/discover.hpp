// SPDX-License-Identifier: BSD-3-Clause
// discover.hpp - finds a libfabric endpoint that can carry puts, or explains why no offer fits.
//
// Idea     An *offer* is an fi_info that libfabric returns for the hints of a query. The hints have
//          all modes that weft handles, and request as few capabilities as possible. If libfabric
//          returns no offer, it gives no reason. Then a second query, with all modes, finds offers
//          and the reasons to reject them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "link/fabric/endpoint.hpp"
#include "link/fabric/fabric.hpp"
#include "link/fabric/profile.hpp"
#include "link/fabric/scoped_environment.hpp"

namespace weft::link {

struct Modes {
    std::uint64_t modes;
    int mr_modes;  ///< modes of memory registration
};
/// Returns the modes that weft handles if a provider demands them. For the hints.
[[nodiscard]] Modes handled_modes();
/// Returns all modes that libfabric defines. Used only to find objections.
[[nodiscard]] Modes all_modes();

struct AcceptedOffer {
    const fi_info* offer = nullptr;
    Grant grant;
};

/// Returns the attributes of an acceptable offer. Otherwise fails with the objection.
base::Result<Grant> accept_offer(const fi_info& offer);

/// Internet address of this host that a port binds to.
struct SourceAddress {
    std::string text;     ///< numeric address or host name; empty: the provider's choice
    bool forced = false;  ///< set by the user: opening a port fails if the address is unusable
};

[[nodiscard]] inline JobFacts facts_of(const FabricOptions& options) {
    return {.ranks = options.size, .number = options.job};
}

/// The offer that a port opens.
struct Found {
    Info info;
    Grant grant;
    Profile profile;
    SourceAddress source;                ///< local address
    std::vector<Nic> nics = {};          ///< all usable NICs of the provider; one is chosen
    std::vector<Info> other_nics = {};   ///< offers of other NICs, nearest first, for long puts
    ScopedEnvironment environment = {};  ///< the profile's variables, set while this object lives
};

// NICs among the offers of one query. `names`: NICs that the user requires; empty: no requirement.

/// Returns true if the offer's NIC is among `names`, or `names` is empty.
[[nodiscard]] bool is_among(std::span<const std::string> names, const fi_info& offer);
/// Returns an error that lists the provider's NICs if it lacks a named one. Empty provider: any.
base::Result<void> check_nics(const fi_info* list, std::span<const std::string> names,
                              std::string_view provider);
/// Replaces the offer in `found` by the offer of the NIC that this rank should use: the nearest of
/// the named NICs or, without names, of the equivalent NICs. `list` has all offers. Also sets
/// found.nics and found.other_nics. If no memory is left, found.info is nullptr.
void choose_nic(Found& found, const fi_info* list, const FabricOptions& options,
                std::span<const std::string> names);

/// Returns the best offer of options.provider or, if that is empty, of the preferred providers.
base::Result<Found> discover(const FabricOptions& options);

/// Returns the best offer of the provider that `profile` names; empty: of any provider.
base::Result<Found> discover(const FabricOptions& options, const Profile& profile);

}  // namespace weft::link
