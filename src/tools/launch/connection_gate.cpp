// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/connection_gate.hpp"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/file_descriptor.hpp"

namespace weft::tools {
namespace {

/// Sockets that are connecting, or closed by their process, are reported with user 0.
constexpr unsigned kEstablished = 1;  // TCP_ESTABLISHED of the kernel

/// Addresses of a connection as seen from its other end. Only for connections to the server, which
/// listens on 127.0.0.1. Other connections may end on another machine or in another network
/// namespace, where this kernel's records do not show them.
struct Ends {
    sockaddr_in there{};
    sockaddr_in here{};
};

std::optional<Ends> ends_of(int connection) {
    Ends ends;
    socklen_t bytes = sizeof ends.there;
    if (::getpeername(connection, reinterpret_cast<sockaddr*>(&ends.there), &bytes) != 0)
        return std::nullopt;
    bytes = sizeof ends.here;
    if (::getsockname(connection, reinterpret_cast<sockaddr*>(&ends.here), &bytes) != 0)
        return std::nullopt;
    const bool is_own =
        ends.there.sin_family == AF_INET && ends.here.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
    if (!is_own) return std::nullopt;
    return ends;
}

/// Returns the kernel's record of a socket; nothing if it has none.
std::optional<inet_diag_msg> ask_kernel(const Ends& ends) {
    const base::FileDescriptor netlink(
        ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!netlink.open()) return std::nullopt;
    struct {
        nlmsghdr head;
        inet_diag_req_v2 body;
    } request = {};
    request.head.nlmsg_len = sizeof request;
    request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.head.nlmsg_flags = NLM_F_REQUEST;
    request.body.sdiag_family = AF_INET;
    request.body.sdiag_protocol = IPPROTO_TCP;
    request.body.idiag_states = ~0U;
    request.body.id.idiag_sport = ends.there.sin_port;
    request.body.id.idiag_dport = ends.here.sin_port;
    request.body.id.idiag_src[0] = ends.there.sin_addr.s_addr;
    request.body.id.idiag_dst[0] = ends.here.sin_addr.s_addr;
    request.body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (::send(netlink.number(), &request, sizeof request, 0) != sizeof request)
        return std::nullopt;
    alignas(nlmsghdr) char answer[4096];
    const ssize_t bytes = ::recv(netlink.number(), answer, sizeof answer, MSG_DONTWAIT);
    nlmsghdr head;
    inet_diag_msg record;
    if (bytes < static_cast<ssize_t>(NLMSG_LENGTH(sizeof record))) return std::nullopt;
    std::memcpy(&head, answer, sizeof head);
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
    std::memcpy(&record, answer + NLMSG_HDRLEN, sizeof record);
    return record;
}

/// Answer of the kernel about the other end of a connection within this machine.
struct OtherEnd {
    bool known = false;         ///< false if the kernel cannot answer
    std::optional<uid_t> user;  ///< owner of the socket there; empty if the socket is closed
};

OtherEnd other_end_of(int connection) {
    const auto ends = ends_of(connection);
    if (!ends) return {};
    const auto record = ask_kernel(*ends);
    // A kernel that can answer at all has a record of the end on this side.
    OtherEnd end{.known = record || ask_kernel({.there = ends->here, .here = ends->there}),
                 .user = std::nullopt};
    if (record && record->idiag_state == kEstablished && record->idiag_inode != 0)
        end.user = record->idiag_uid;
    return end;
}

/// Returns true if the PMIx server may see this connection.
bool admits(int connection) {
    const OtherEnd end = other_end_of(connection);
    if (!end.known) return true;
    return end.user && (*end.user == ::geteuid() || *end.user == 0);
}

}  // namespace

void keep_connection_gate() {}

}  // namespace weft::tools

/// Replaces the C library's function in this program, where only the PMIx server accepts
/// connections. A refused connection looks to the caller as if it had not arrived.
extern "C" __attribute__((visibility("default"))) int accept(int socket, sockaddr* address,
                                                             socklen_t* bytes) {
    const auto connection =
        static_cast<int>(::syscall(SYS_accept4, socket, address, bytes, SOCK_CLOEXEC));
    if (connection < 0 || weft::tools::admits(connection)) return connection;
    ::close(connection);
    errno = EAGAIN;
    return -1;
}
