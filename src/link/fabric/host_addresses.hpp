// SPDX-License-Identifier: BSD-3-Clause
// host_addresses.hpp - IP addresses of this host, and the choice of one that other hosts can reach.
//
// Idea     Every rank publishes its addresses. Other hosts cannot use an address that two hosts
//          have, such as the address of a container bridge or of a virtual machine behind NAT. An
//          address in a network to which all hosts are attached is best.
// Holds    choose_address() is pure and depends on the published addresses alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::link {

/// An IPv4 address. Plain data, sent as bytes.
struct HostAddress {
    std::uint32_t address = 0;      ///< in host byte order: 10.0.0.1 is 0x0a000001
    std::uint32_t prefix_bits = 0;  ///< number of high bits that identify the network

    [[nodiscard]] bool same_network(const HostAddress& other) const {
        const std::uint32_t mask = prefix_bits == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix_bits);
        return prefix_bits <= 32 && (address & mask) == (other.address & mask);
    }
};

/// Returns the addresses of running interfaces, except loopback, best first: of the default route,
/// hardware devices, other interfaces, bridges and tunnels.
[[nodiscard]] std::vector<HostAddress> host_addresses();

/// Network of a rank's host, published for the other ranks.
struct HostOnNetwork {
    std::uint64_t network = 0;           ///< network_identity()
    std::vector<HostAddress> addresses;  ///< host_addresses()
};

/// Returns the best address of rank `me`, or an empty text if it has none.
[[nodiscard]] std::string choose_address(std::span<const HostOnNetwork> ranks, std::size_t me);

/// Returns a hash of the network namespace, equal for processes that share interfaces; 0: unknown.
[[nodiscard]] std::uint64_t network_identity();

[[nodiscard]] std::string to_text(const HostAddress& address);  ///< such as "10.0.0.1"

}  // namespace weft::link
