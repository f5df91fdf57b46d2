// SPDX-License-Identifier: BSD-3-Clause
// join_job.cpp - selects the kind of job that this process belongs to.
//
// Why      Under a launcher that only offers a protocol older than PMIx, N processes would
//          otherwise become N jobs of one rank. Their results would seem valid, but belong to
//          the wrong job.
#include <cstdlib>

#include "link/bootstrap/bootstrap.hpp"
#include "link/bootstrap/loopback_bootstrap.hpp"
#include "link/bootstrap/pmix_bootstrap.hpp"

namespace weft::link {

base::Result<std::unique_ptr<Bootstrap>> join_job() {
    if (started_by_pmix()) return join_pmix_job();
    for (const char* const name : {"PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
        const char* const value = std::getenv(name);
        if (value != nullptr && std::atoi(value) > 1) {
            return base::fail(
                Status::environment,
                "started by a launcher that does not offer PMIx ({}={}): use weft run, "
                "mpirun of Open MPI, srun --mpi=pmix or prterun",
                name, value);
        }
    }
    return join_job_of_one();
}

std::optional<Rank> rank_by_environment() {
    if (!started_by_pmix()) return std::nullopt;
    return static_cast<Rank>(std::atoi(std::getenv("PMIX_RANK")));
}

}  // namespace weft::link
