// SPDX-License-Identifier: BSD-3-Clause
// file_limit.hpp - checks that the limit on open files (ulimit -n) suffices for a job.
//
// Why      A PMIx server without free files drops connections of ranks, which then wait forever.
#pragma once

#include "base/result.hpp"

namespace weft::tools {

/// Raises this process's soft limit if the job may need it. Fails if the hard limit leaves too few
/// files for the PMIx server and the ranks. Call it before the server starts.
[[nodiscard]] base::Result<void> make_room_for_files(Rank ranks, bool label);

/// Fails if there are too few files for the ranks. Call it when all other files are open, because
/// their number differs between versions of PMIx.
[[nodiscard]] base::Result<void> check_room_for_ranks(Rank ranks, bool label);

}  // namespace weft::tools
