// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/host_addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/file_descriptor.hpp"
#include "base/random.hpp"

namespace weft::link {
namespace {

constexpr int kNetworkCookie = 71;  // SO_NETNS_COOKIE, which older headers lack

std::uint32_t number_of(const sockaddr* address) {
    sockaddr_in found{};
    std::memcpy(&found, address, sizeof found);
    return ntohl(found.sin_addr.s_addr);
}

/// Returns the local address of the default route; 0: no such route. Connecting a datagram socket
/// sends no data: the kernel only looks up the route to the address, which is of TEST-NET-1.
std::uint32_t routed_address() {
    const base::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket.open()) return 0;
    const sockaddr_in destination{
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(0xC0000201)}};
    sockaddr_in source{};
    socklen_t source_bytes = sizeof source;
    const bool known =
        ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&destination),
                  sizeof destination) == 0 &&
        ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&source), &source_bytes) == 0;
    return known ? ntohl(source.sin_addr.s_addr) : 0;
}

/// Returns true if the interface has a file or folder `property` in /sys.
bool has_property(const char* interface, const char* property) {
    struct stat ignored;
    const std::string path = std::string("/sys/class/net/") + interface + '/' + property;
    return ::stat(path.c_str(), &ignored) == 0;
}

/// Returns the preference of an interface, from 0 (best) to 3. routed: it has the default route.
int preference_of(const char* interface, bool routed) {
    if (routed) return 0;
    if (has_property(interface, "device")) return 1;
    return has_property(interface, "bridge") || has_property(interface, "tun_flags") ? 3 : 2;
}

}  // namespace

std::vector<HostAddress> host_addresses() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return {};
    const std::uint32_t routed = routed_address();
    std::vector<std::pair<int, HostAddress>> found;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
        if ((entry->ifa_flags & IFF_RUNNING) == 0 || (entry->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        HostAddress address{number_of(entry->ifa_addr), 32};
        if (entry->ifa_netmask != nullptr)
            address.prefix_bits =
                static_cast<std::uint32_t>(std::popcount(number_of(entry->ifa_netmask)));
        found.emplace_back(preference_of(entry->ifa_name, address.address == routed), address);
    }
    ::freeifaddrs(list);
    std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
    std::vector<HostAddress> addresses;
    for (const auto& [preference, address] : found) addresses.push_back(address);
    return addresses;
}

std::string choose_address(std::span<const HostOnNetwork> ranks, std::size_t me) {
    const HostOnNetwork& mine = ranks[me];
    const auto is_on_another_host = [&](const HostAddress& own) {
        return std::ranges::any_of(ranks, [&](const HostOnNetwork& rank) {
            return rank.network != mine.network &&
                   std::ranges::count(rank.addresses, own.address, &HostAddress::address) != 0;
        });
    };
    const auto is_in_network_of_all = [&](const HostAddress& own) {
        return std::ranges::all_of(ranks, [&](const HostOnNetwork& rank) {
            return rank.network == mine.network ||
                   std::ranges::any_of(rank.addresses, [&](const HostAddress& theirs) {
                       return own.same_network(theirs);
                   });
        });
    };
    const HostAddress* best = nullptr;
    for (const HostAddress& own : mine.addresses) {
        if (is_on_another_host(own)) continue;
        if (is_in_network_of_all(own)) return to_text(own);
        if (best == nullptr) best = &own;
    }
    if (best == nullptr && !mine.addresses.empty()) best = &mine.addresses.front();
    return best == nullptr ? std::string{} : to_text(*best);
}

std::uint64_t network_identity() {
    // 1 and 2: an inode or a cookie that is equal to the device's number hashes differently.
    struct stat status;
    if (::stat("/proc/self/ns/net", &status) == 0)
        return base::mix(status.st_dev) + base::mix(status.st_ino + 1);
    const base::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    std::uint64_t cookie = 0;
    socklen_t bytes = sizeof cookie;
    const bool known = socket.open() && ::getsockopt(socket.number(), SOL_SOCKET, kNetworkCookie,
                                                     &cookie, &bytes) == 0;
    return known ? base::mix(cookie + 2) : 0;
}

std::string to_text(const HostAddress& address) {
    const in_addr number{htonl(address.address)};
    std::array<char, INET_ADDRSTRLEN> text{};
    return inet_ntop(AF_INET, &number, text.data(), text.size()) != nullptr ? text.data() : "";
}

}  // namespace weft::link
