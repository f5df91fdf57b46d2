// SPDX-License-Identifier: BSD-3-Clause
// settings.hpp - variables that several profiles set, and values that depend on the job.
#pragma once

#include <string>

#include "link/fabric/profile.hpp"

namespace weft::providers {

/// Returns a universally unique identifier of the job, or an empty text outside a job. It has 32
/// digits; `separator` is after digits 8, 12, 16 and 20.
[[nodiscard]] std::string identifier_of(const link::JobFacts& job, std::string_view separator);

// Reasons for variables of psm2 and psm3. Both have the same variables, with different prefixes.
inline constexpr std::string_view kOwnIdentifier =
    "two jobs with the same identifier on a node disturb each other";
inline constexpr std::string_view kNoNameServer =
    "weft exchanges addresses by PMIx; the name server is a thread of each process";
inline constexpr std::string_view kLazyConnections =
    "a connection is made at the first put to a peer, not to all peers at the start";

/// Returns the value of FI_UNIVERSE_SIZE, for providers with the layer rxm.
[[nodiscard]] std::string peers_of_rxm(const link::JobFacts& job);
inline constexpr link::Setting kRxmSettings[] = {
    {"FI_OFI_RXM_BUFFER_SIZE", "256", nullptr,
     "puts do not use these buffers for messages; a connection has 128 of them, by default of "
     "16 KiB (fi_rxm(7))"},
    {"FI_OFI_RXM_USE_SRX", "1", nullptr,
     "connections share receive buffers, whose memory then does not grow with the number of peers "
     "(fi_rxm(7))"},
    {"FI_UNIVERSE_SIZE", nullptr, peers_of_rxm,
     "the ranks of the job, at least the default of 1024; with more peers, a completion queue can "
     "overflow (fi_rxm(7))"},
};

}  // namespace weft::providers
