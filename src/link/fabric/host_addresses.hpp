// SPDX-License-Identifier: BSD-3-Clause
// host_addresses.hpp - the internet addresses of this host, and which of them
// leads to all others.
//
// Idea     Every rank publishes the addresses that it could be reached at. An
// address that another
//          host has, too, leads nowhere (the bridge of a container engine has
//          the same one on every host; so have virtual machines behind a
//          translating gateway); one in a network that all hosts are in leads
//          everywhere.
// Holds    choose_address() is pure and depends on what was published alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::link {

/// Travels as its bytes.
struct HostAddress {
    std::uint32_t address = 0;  ///< version 4, as a number: the first byte is the highest
    std::uint32_t prefix_bits = 0;

    [[nodiscard]] bool same_network(const HostAddress& other) const {
        const std::uint32_t mask = prefix_bits == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix_bits);
        return prefix_bits <= 32 && (address & mask) == (other.address & mask);
    }
};

/// Addresses of interfaces that are up, best first: that of the default route,
/// those of devices, others, and last those of bridges and tunnels. Without
/// loopback ones.
[[nodiscard]] std::vector<HostAddress> host_addresses();

/// Where one rank runs, as far as networks are concerned.
struct HostOnNetwork {
    std::uint64_t network = 0;  ///< equal where ranks share interfaces
    std::vector<HostAddress> addresses;
};

/// The best address of rank `me`; empty if it has none.
[[nodiscard]] std::string choose_address(std::span<const HostOnNetwork> ranks, std::size_t me);

/// Equal for processes under one kernel that share interfaces: names the network namespace.
[[nodiscard]] std::uint64_t network_identity();

/// "10.0.0.1"
[[nodiscard]] std::string to_text(const HostAddress& address);

}  // namespace weft::link
