// SPDX-License-Identifier: BSD-3-Clause
// grant.hpp - whether an offer of libfabric will do, and what it obliges us to.
//
// Idea     One function reads the attributes of an fi_info and either returns what must be done, or
//          names the attribute that this code does not handle. It calls nothing, so recorded
//          attributes test it without hardware.
// Next     discover.hpp for where offers come from.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>

#include "base/result.hpp"
#include "link/fabric/granted.hpp"

namespace weft::link {

/// What we can handle of the modes that a provider may demand; offered in the hints.
[[nodiscard]] std::uint64_t handled_modes();
[[nodiscard]] int handled_mr_modes();

/// Every mode and every registration mode that there is; offered only to learn why nothing fits.
[[nodiscard]] std::uint64_t all_modes();
[[nodiscard]] int all_mr_modes();

/// Accepts an offer or names what stands against it.
[[nodiscard]] base::Result<Grant> accept_offer(const fi_info& offer);

}  // namespace weft::link
