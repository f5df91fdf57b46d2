// SPDX-License-Identifier: BSD-3-Clause
// grant.hpp - whether an offer of libfabric will do, and what it obliges us to.
//
// Idea     One function reads the attributes of an fi_info and either returns what must be done, or
//          names the attribute that this code does not handle. It calls nothing, so recorded
//          attributes test it without hardware.
// Next     discover.hpp for where offers come from.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"

namespace weft::link {

struct Grant {
    bool virtual_addresses = false;      ///< FI_MR_VIRT_ADDR: peers add our base address
    bool provider_keys = false;          ///< FI_MR_PROV_KEY: the key is chosen at registration
    bool local_registration = false;     ///< FI_MR_LOCAL: sources must be registered
    bool endpoint_registration = false;  ///< FI_MR_ENDPOINT: regions are bound to the endpoint
    bool consumes_receives = false;      ///< FI_RX_CQ_DATA: an immediate takes a posted receive
    bool internet_address = false;       ///< endpoint addresses are internet addresses
    std::size_t inject_bytes = 0;
    std::size_t message_bytes_max = 0;
    std::size_t immediate_bytes = 0;  ///< less than 4: no immediates
    std::size_t ordered_bytes = 0;    ///< writes up to this size keep their order at one location
    bool fence = false;               ///< FI_FENCE is among the capabilities
    bool delivery = false;            ///< FI_DELIVERY_COMPLETE is accepted for operations
};

/// What we can handle of the modes that a provider may demand; offered in the hints.
[[nodiscard]] std::uint64_t handled_modes();
[[nodiscard]] int handled_mr_modes();

/// Every mode and every registration mode that there is; offered only to learn why nothing fits.
[[nodiscard]] std::uint64_t all_modes();
[[nodiscard]] int all_mr_modes();

/// Accepts an offer or names what stands against it.
[[nodiscard]] base::Result<Grant> accept_offer(const fi_info& offer);

}  // namespace weft::link
