// SPDX-License-Identifier: BSD-3-Clause
// pmix_bootstrap.hpp - a job of a PMIx host (weft run, mpirun, srun --mpi=pmix, prterun).
#pragma once

#include <memory>

#include "link/bootstrap/bootstrap.hpp"

namespace weft::link {

/// Returns true if a PMIx host started this process.
[[nodiscard]] bool started_by_pmix();

[[nodiscard]] base::Result<std::unique_ptr<Bootstrap>> join_pmix_job();

}  // namespace weft::link
