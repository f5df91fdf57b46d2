// SPDX-License-Identifier: BSD-3-Clause
// granted.hpp - relevant attributes of an accepted libfabric offer, as plain values.
//
// Next     grant.hpp for reading them; notify.hpp for their consequences.
#pragma once

#include <cstddef>

namespace weft::link {

struct Grant {
    bool virtual_addresses = false;      ///< FI_MR_VIRT_ADDR: peers add the base address
    bool provider_keys = false;          ///< FI_MR_PROV_KEY: the provider chooses the key
    bool local_registration = false;     ///< FI_MR_LOCAL: sources must be registered
    bool endpoint_registration = false;  ///< FI_MR_ENDPOINT: regions are bound to the endpoint
    bool consumes_receives = false;      ///< FI_RX_CQ_DATA: an immediate consumes a posted receive
    bool internet_address = false;       ///< endpoint addresses are internet addresses
    std::size_t key_bytes = 0;           ///< of a registration key that weft chooses
    std::size_t inject_bytes = 0;
    std::size_t message_bytes_max = 0;
    std::size_t source_parts_max = 1;  ///< most sources of one write
    std::size_t target_parts_max = 1;  ///< most targets of one write
    std::size_t immediate_bytes = 0;   ///< less than 4: no immediates
    std::size_t ordered_bytes = 0;     ///< writes up to this size keep their order at one location
    bool fence = false;                ///< FI_FENCE is among the capabilities
    bool counters = false;             ///< FI_RMA_EVENT is among the capabilities
    bool delivery = false;             ///< operations accept FI_DELIVERY_COMPLETE
};

}  // namespace weft::link
