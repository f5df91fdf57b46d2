// SPDX-License-Identifier: BSD-3-Clause
// connection_gate.hpp - lets only processes of this user, and of root, connect to the PMIx server.
//
// Idea     The library listens on a TCP port of the loopback interface, which every user of the
//          machine can reach. This file defines the accept() that the library calls: it asks the
//          kernel to which user the socket at the other end belongs, and closes connections of
//          others before the library reads a byte of them.
// Why      The library reads the first message of a connection in a blocking way, on the thread
//          that serves the ranks: a connection that stays silent would stop the whole job. It also
//          parses what it reads before it knows the sender.
// Holds    Where the kernel does not tell (it has no sock_diag), connections are let through: the
//          name of the job is then what keeps others out.
#pragma once

#include <sys/types.h>

#include <optional>

namespace weft::front {

/// What the kernel tells about the other end of a connection within this machine.
struct OtherEnd {
    bool known = false;         ///< the kernel tells at all
    std::optional<uid_t> user;  ///< of the open socket there; none: there is none (any more)
};
[[nodiscard]] OtherEnd other_end_of(int connection);

/// Whether the PMIx server may see this connection.
[[nodiscard]] bool admits(int connection);

/// Takes this file into the program: nothing of the project refers to its accept().
void keep_connection_gate();

}  // namespace weft::front
