// SPDX-License-Identifier: BSD-3-Clause
// fence_witness.hpp - a member of every fence that no process represents.
//
// Why      A PMIx server alone ends a fence whose members are all its clients. When a member dies,
//          OpenPMIx 5.0 ends the fence for the waiting members, and reports success to all but one
//          of them. A fence with a rank that the server does not know is ended by the launcher,
//          which notices dead ranks.
// Holds    The launcher announces the witness under this key. Under another launcher ranks
//          name no witness, because the fence would wait for it. With that library, such
//          fences then succeed wrongly.
// Next     tools/launch/pmix_server.cpp, which announces it; link/bootstrap/pmix_bootstrap.cpp.
#pragma once

namespace weft::base {

/// Key in the description of the job. Its value is the rank of the witness: the number of ranks.
inline constexpr const char* kFenceWitnessKey = "weft.fence.witness";

}  // namespace weft::base
