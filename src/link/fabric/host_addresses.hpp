// SPDX-License-Identifier: BSD-3-Clause
// host_addresses.hpp - internet addresses of this host, and the one that all others can reach.
//
// Idea     Every rank publishes its addresses. An address that another host also has is useless.
//          Examples are the bridge of a container engine, and virtual machines behind a translating
//          gateway. An address in a network that all hosts share reaches everywhere.
// Holds    choose_address() is pure and depends on the published addresses alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::link {

/// Sent as bytes.
struct HostAddress {
    std::uint32_t address = 0;  ///< version 4, as a number: the first byte is the highest
    std::uint32_t prefix_bits = 0;

    [[nodiscard]] bool same_network(const HostAddress& other) const {
        const std::uint32_t mask = prefix_bits == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix_bits);
        return prefix_bits <= 32 && (address & mask) == (other.address & mask);
    }
};

/// Returns the addresses of running interfaces, except loopback, best first: the default route's,
/// those of devices, others, and those of bridges and tunnels.
[[nodiscard]] std::vector<HostAddress> host_addresses();

struct HostOnNetwork {
    std::uint64_t network = 0;  ///< equal if ranks share interfaces
    std::vector<HostAddress> addresses;
};

/// Returns the best address of rank `me`, or an empty text if it has none.
[[nodiscard]] std::string choose_address(std::span<const HostOnNetwork> ranks, std::size_t me);

/// Identifies the network namespace. Equal for processes of one kernel that share interfaces.
[[nodiscard]] std::uint64_t network_identity();

/// Returns a text such as "10.0.0.1".
[[nodiscard]] std::string to_text(const HostAddress& address);

}  // namespace weft::link
