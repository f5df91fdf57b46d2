// SPDX-License-Identifier: BSD-3-Clause
// discover.hpp - asks libfabric for an endpoint that can carry puts; if there is none, finds out
// why.
//
// Idea     Hints offer all the modes that we handle and ask for as little as possible; the answer
//          is judged by accept_offer(). If nothing fits, a second question with wide hints finds
//          out what stood in the way, because libfabric itself only says "no data".
#pragma once

#include <string>
#include <vector>

#include "link/fabric/fabric.hpp"
#include "link/fabric/grant.hpp"
#include "link/fabric/handles.hpp"
#include "link/fabric/lent_environment.hpp"
#include "link/fabric/profile.hpp"
#include "link/fabric/source_address.hpp"

namespace weft::link {

struct Found {
    Info info;
    Grant grant;
    Profile profile;
    SourceAddress source;  ///< the local address that the offer is bound to, if we chose it
    LentEnvironment environment = {};  ///< of libfabric, until the endpoint is open
};

/// The best offer: of options.provider if one is named, else by the order of preference.
[[nodiscard]] base::Result<Found> discover(const FabricOptions& options);

/// The best offer of exactly the provider that `profile` names (any provider if it names none).
[[nodiscard]] base::Result<Found> discover(const FabricOptions& options, const Profile& profile);

/// A provider of reliable datagrams with remote writes on this machine.
struct Offered {
    std::string provider;
    std::string refusal;  ///< what stands against all of its offers; empty: nothing
};
[[nodiscard]] std::vector<Offered> offered_providers();

/// Whether a job of this shape that asks for the provider gets it, whatever libfabric offers under
/// other hints.
[[nodiscard]] bool is_usable_by_name(const FabricOptions& options, std::string_view provider);

/// Why a job of this shape cannot take the provider that `profile` names; empty: it can.
[[nodiscard]] std::string objection(const FabricOptions& options, const Profile& profile);

}  // namespace weft::link
