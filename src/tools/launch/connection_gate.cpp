// SPDX-License-Identifier: BSD-3-Clause
// connection_gate.cpp - lets only processes of this user and of root connect to the PMIx server.
//
// Idea     The PMIx library listens on a TCP port of the loopback interface, which every user of
//          the machine can reach. This file defines the accept() that the library calls. It queries
//          the kernel for the user of the client's socket, and closes connections of other users
//          before the library reads from them.
// Why      The library reads the first message of a connection with blocking calls, on the thread
//          that serves the ranks: a client that sends nothing would stop the whole job. It also
//          parses this message before it checks the sender.
// Holds    If the kernel cannot identify users (without sock_diag), all connections are admitted.
//          Then only the secret name of the job keeps other users out.
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
#include "tools/launch/pmix_server.hpp"

namespace weft::tools {
namespace {

/// TCP_ESTABLISHED of the kernel. In other states the kernel reports user 0.
constexpr unsigned kEstablished = 1;

/// Addresses of the two sockets of a connection.
struct Connection {
    sockaddr_in client{};
    sockaddr_in server{};
};

/// Returns nothing unless the connection is to 127.0.0.1. The client of another connection may be
/// on another machine or in another network namespace, whose sockets this kernel does not list.
std::optional<Connection> addresses_of(int connection) {
    Connection addresses;
    socklen_t bytes = sizeof addresses.client;
    if (::getpeername(connection, reinterpret_cast<sockaddr*>(&addresses.client), &bytes) != 0)
        return std::nullopt;
    bytes = sizeof addresses.server;
    if (::getsockname(connection, reinterpret_cast<sockaddr*>(&addresses.server), &bytes) != 0)
        return std::nullopt;
    const bool is_local = addresses.client.sin_family == AF_INET &&
                          addresses.server.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
    if (!is_local) return std::nullopt;
    return addresses;
}

/// Returns the kernel's record of the client's socket; nothing if the kernel has none.
std::optional<inet_diag_msg> socket_record(const Connection& addresses) {
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
    request.body.id.idiag_sport = addresses.client.sin_port;
    request.body.id.idiag_dport = addresses.server.sin_port;
    request.body.id.idiag_src[0] = addresses.client.sin_addr.s_addr;
    request.body.id.idiag_dst[0] = addresses.server.sin_addr.s_addr;
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

/// Returns true if the PMIx server may get this connection.
bool admits(int connection) {
    const auto addresses = addresses_of(connection);
    if (!addresses) return true;
    const auto record = socket_record(*addresses);
    // If the client has closed its socket, a kernel with sock_diag still has the server's socket.
    if (!record) return !socket_record({.client = addresses->server, .server = addresses->client});
    const bool is_open = record->idiag_state == kEstablished && record->idiag_inode != 0;
    return is_open && (record->idiag_uid == ::geteuid() || record->idiag_uid == 0);
}

}  // namespace

void keep_connection_gate() {}

}  // namespace weft::tools

/// Replaces the C library's function in this program, where only the PMIx server accepts
/// connections. After a refusal returns EAGAIN, as if no connection had arrived.
extern "C" __attribute__((visibility("default"))) int accept(int socket, sockaddr* address,
                                                             socklen_t* bytes) {
    const auto connection =
        static_cast<int>(::syscall(SYS_accept4, socket, address, bytes, SOCK_CLOEXEC));
    if (connection < 0 || weft::tools::admits(connection)) return connection;
    ::close(connection);
    errno = EAGAIN;
    return -1;
}
