// SPDX-License-Identifier: BSD-3-Clause
// grant.hpp - accepts or rejects an offer of libfabric.
//
// Idea     accept_offer() returns the attributes of an fi_info that weft uses, or names an
//          attribute that weft does not handle. It does not call libfabric, so tests can use
//          recorded attributes without hardware.
// Next     discover.hpp, which queries libfabric for offers.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>

#include "base/result.hpp"
#include "link/fabric/profile.hpp"

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
[[nodiscard]] base::Result<Grant> accept_offer(const fi_info& offer);

}  // namespace weft::link
