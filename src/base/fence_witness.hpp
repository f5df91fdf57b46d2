// SPDX-License-Identifier: BSD-3-Clause
// fence_witness.hpp - the member of every fence that no process is.
//
// Why      A fence whose members are all clients of one PMIx server is ended by that server alone.
//          When a member dies, OpenPMIx 5.0 ends it so for those that wait, and tells all but one
//          of them that it went well. A fence that names a rank which the server does not know is
//          the launcher's to end, and the launcher sees who is dead.
// Holds    The launcher announces the witness under this key. Under another one ranks name none,
//          because it would be waited for; so there, with that library, such fences do pass.
// Next     front/launch/pmix_server.cpp, which announces it; link/bootstrap/pmix_bootstrap.cpp.
#pragma once

namespace weft::base {

/// In the description of the job: the rank of the witness, which is the number of ranks.
inline constexpr const char* kFenceWitnessKey = "weft.fence.witness";

}  // namespace weft::base
