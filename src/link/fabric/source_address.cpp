// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/source_address.hpp"

#include "link/fabric/host_addresses.hpp"

namespace weft::link {

SourceAddress source_address(const FabricOptions& options) {
    if (!options.address.empty()) return {options.address, true};
    if (options.one_host) return {"127.0.0.1", false};
    if (!options.source.empty()) return {options.source, false};
    const auto addresses = host_addresses();
    return {addresses.empty() ? std::string{} : to_text(addresses.front()), false};
}

}  // namespace weft::link
