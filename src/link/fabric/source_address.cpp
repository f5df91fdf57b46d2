// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/source_address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace weft::link {
namespace {

std::string text_of(const in_addr& address) {
    std::array<char, INET_ADDRSTRLEN> text{};
    return inet_ntop(AF_INET, &address, text.data(), text.size()) != nullptr ? text.data() : "";
}

/// The local address of the default route. Connecting a datagram socket sends nothing: the kernel
/// only looks up the route. The destination is an address set aside for documentation (TEST-NET-1).
std::string routed_address() {
    const int socket_fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_fd < 0) return {};
    sockaddr_in far{};
    far.sin_family = AF_INET;
    far.sin_port = htons(9);
    far.sin_addr.s_addr = htonl(0xC0000201);
    sockaddr_in near{};
    socklen_t near_bytes = sizeof near;
    const bool known =
        ::connect(socket_fd, reinterpret_cast<const sockaddr*>(&far), sizeof far) == 0 &&
        ::getsockname(socket_fd, reinterpret_cast<sockaddr*>(&near), &near_bytes) == 0;
    ::close(socket_fd);
    return known ? text_of(near.sin_addr) : std::string{};
}

/// The first address of an interface that is up and not a loopback.
std::string any_address() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return {};
    std::string found;
    for (const ifaddrs* entry = list; entry != nullptr && found.empty(); entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
        if ((entry->ifa_flags & IFF_RUNNING) == 0 || (entry->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        sockaddr_in address{};
        std::memcpy(&address, entry->ifa_addr, sizeof address);
        found = text_of(address.sin_addr);
    }
    ::freeifaddrs(list);
    return found;
}

}  // namespace

SourceAddress source_address(const std::string& named, bool one_host) {
    if (!named.empty()) return {named, true};
    if (one_host) return {"127.0.0.1", false};
    std::string routed = routed_address();
    return {routed.empty() ? any_address() : routed, false};
}

}  // namespace weft::link
