// SPDX-License-Identifier: BSD-3-Clause
// pmix_needs.hpp - workarounds for OpenPMIx that ranks and the launcher share.
//
// Why      PMIx 4 and 5 look up a home folder in PMIx_Init() and PMIx_server_init(), and crash if
//          they find none. Containers often run under a user id without an entry in the user
//          database.
//          If all members of a fence are clients of one PMIx server, the server completes the fence
//          without the launcher. When a member dies, OpenPMIx 5.0 then completes the fence and
//          reports success to all other members but one. So under `weft run`, fences have one more
//          member, the *witness*, which does not exist. The launcher then completes the fence, and
//          the launcher detects dead ranks.
// Holds    `weft run` announces the witness under kFenceWitnessKey. Under other launchers a fence
//          would wait forever for a witness, so fences have none. With OpenPMIx 5.0, fences with
//          dead members then succeed wrongly.
// Next     tools/launch/pmix_server.cpp announces the witness; link/bootstrap/pmix_bootstrap.cpp.
#pragma once

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

namespace weft::base {

/// Returns true if HOME is set, or the user database has an entry for the effective user. No other
/// thread may change the environment during the call.
[[nodiscard]] inline bool has_home_folder() {
    if (std::getenv("HOME") != nullptr) return true;
    std::vector<char> strings(1024);
    passwd entry = {};
    passwd* found = nullptr;
    while (::getpwuid_r(::geteuid(), &entry, strings.data(), strings.size(), &found) == ERANGE)
        strings.resize(2 * strings.size());
    return found != nullptr;
}

/// Key in the job's description. Its value is the rank of the witness: the number of ranks.
inline constexpr const char* kFenceWitnessKey = "weft.fence.witness";

}  // namespace weft::base
