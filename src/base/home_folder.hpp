// SPDX-License-Identifier: BSD-3-Clause
// home_folder.hpp - whether a home folder can be found for this process.
//
// Why      PMIx 4 and 5 look one up in PMIx_Init() and PMIx_server_init(), and crash if they
//          find none. Containers often run under a user id without an entry in the user database.
#pragma once

namespace weft::base {

/// Returns true if HOME is set, or the user database has an entry for the effective user. Reads the
/// environment, which no other thread may change meanwhile.
[[nodiscard]] bool has_home_folder();

}  // namespace weft::base
