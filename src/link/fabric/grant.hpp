// SPDX-License-Identifier: BSD-3-Clause
// grant.hpp - judges an offer of libfabric, and derives its obligations.
//
// Idea     One function reads the attributes of an fi_info. It returns the obligations, or names
//          an attribute that weft does not handle. It calls nothing, so recorded attributes test
//          it without hardware.
// Next     discover.hpp for the source of offers.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>

#include "base/result.hpp"
#include "link/fabric/profile.hpp"

namespace weft::link {

/// Returns the modes that weft handles if a provider demands them. Used in the hints.
[[nodiscard]] std::uint64_t handled_modes();
[[nodiscard]] int handled_mr_modes();

/// Returns all modes and registration modes. Used only to find objections.
[[nodiscard]] std::uint64_t all_modes();
[[nodiscard]] int all_mr_modes();

/// Accepts an offer, or names the objection.
[[nodiscard]] base::Result<Grant> accept_offer(const fi_info& offer);

}  // namespace weft::link
