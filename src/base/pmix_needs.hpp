// SPDX-License-Identifier: BSD-3-Clause
// pmix_needs.hpp - workarounds for OpenPMIx that ranks and the launcher share.
//
// Why      PMIx 4 and 5 look up a home folder in PMIx_Init() and PMIx_server_init(), and crash if
//          they find none. Containers often run under a user id without an entry in the user
//          database.
//          A PMIx server alone ends a fence whose members are all its clients. When a member dies,
//          OpenPMIx 5.0 ends the fence for the waiting members, and reports success to all but one
//          of them. A fence with a rank that the server does not know, the witness, is ended by the
//          launcher, which notices dead ranks.
// Holds    The launcher announces the witness under kFenceWitnessKey. Under another launcher ranks
//          name no witness, because the fence would wait for it. With that library, such
//          fences then succeed wrongly.
// Next     tools/launch/pmix_server.cpp, which announces it; link/bootstrap/pmix_bootstrap.cpp.
#pragma once

namespace weft::base {

/// Returns true if HOME is set, or the user database has an entry for the effective user. Reads the
/// environment, which no other thread may change meanwhile.
[[nodiscard]] bool has_home_folder();

/// Key in the description of the job. Its value is the rank of the witness: the number of ranks.
inline constexpr const char* kFenceWitnessKey = "weft.fence.witness";

}  // namespace weft::base
