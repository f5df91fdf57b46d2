// SPDX-License-Identifier: BSD-3-Clause
// source_address.hpp - which of this host's internet addresses a port binds to.
#pragma once

#include <string>

namespace weft::link {

struct SourceAddress {
    std::string text;     ///< numeric address or host name; empty: the provider's choice
    bool forced = false;  ///< the user named it: failing to use it is an error
};

/// `named` if that is not empty; else a loopback address if all ranks are on this host; else the
/// address that leads to the rest of the network (the first interface in the kernel's list often
/// belongs to a container bridge and does not); else any that is up.
[[nodiscard]] SourceAddress source_address(const std::string& named, bool one_host);

}  // namespace weft::link
