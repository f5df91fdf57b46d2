// SPDX-License-Identifier: BSD-3-Clause
// granted.hpp - the attributes of an accepted offer of libfabric that matter here, as plain values.
//
// Next     grant.hpp for how they are read; notify.hpp for what follows from them.
#pragma once

#include <cstddef>

namespace weft::link {

struct Grant {
    bool virtual_addresses = false;      ///< FI_MR_VIRT_ADDR: peers add our base address
    bool provider_keys = false;          ///< FI_MR_PROV_KEY: the key is chosen at registration
    bool local_registration = false;     ///< FI_MR_LOCAL: sources must be registered
    bool endpoint_registration = false;  ///< FI_MR_ENDPOINT: regions are bound to the endpoint
    bool consumes_receives = false;      ///< FI_RX_CQ_DATA: an immediate takes a posted receive
    bool internet_address = false;       ///< endpoint addresses are internet addresses
    std::size_t key_bytes = 0;           ///< of a registration key that is chosen here
    std::size_t inject_bytes = 0;
    std::size_t message_bytes_max = 0;
    std::size_t source_parts_max = 1;  ///< sources that one write takes together
    std::size_t target_parts_max = 1;  ///< places that one write goes to
    std::size_t immediate_bytes = 0;   ///< less than 4: no immediates
    std::size_t ordered_bytes = 0;     ///< writes up to this size keep their order at one location
    bool fence = false;                ///< FI_FENCE is among the capabilities
    bool counters = false;             ///< FI_RMA_EVENT is among the capabilities
    bool delivery = false;             ///< FI_DELIVERY_COMPLETE is accepted for operations
};

}  // namespace weft::link
