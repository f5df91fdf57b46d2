// SPDX-License-Identifier: BSD-3-Clause
// connection_gate.hpp - lets only processes of this user and of root connect to the PMIx server.
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
#pragma once

namespace weft::tools {

/// Makes the linker keep this file, because no code of the project refers to its accept().
void keep_connection_gate();

}  // namespace weft::tools
