// SPDX-License-Identifier: BSD-3-Clause
// source_address.hpp - selects the internet address of this host that a port binds to.
#pragma once

#include <string>

#include "link/fabric/fabric.hpp"

namespace weft::link {

struct SourceAddress {
    std::string text;     ///< numeric address or host name; empty: the provider's choice
    bool forced = false;  ///< the user named it: failing to use it is an error
};

/// Returns the address that the user named; else a loopback address if all ranks are on this host;
/// else the preferred one; else the best of this host.
[[nodiscard]] SourceAddress source_address(const FabricOptions& options);

}  // namespace weft::link
