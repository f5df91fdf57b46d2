// SPDX-License-Identifier: BSD-3-Clause
// join_job.cpp - selects the kind of job that this process belongs to.
//
// Why      A launcher may offer only a protocol older than PMIx. Its N processes must not become N
//          jobs of one rank: their results would seem valid, but be those of smaller jobs. So
//          join_job() detects such launchers and fails.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "link/bootstrap/bootstrap.hpp"

namespace weft::link {
namespace {

/// A process without a launcher: a job of one rank.
class LoopbackBootstrap final : public Bootstrap {
  public:
    [[nodiscard]] Rank rank() const override { return 0; }
    [[nodiscard]] Rank size() const override { return 1; }

    base::Result<void> publish(std::string_view key, std::span<const std::byte> card) override {
        cards_.insert_or_assign(std::string(key), std::vector(card.begin(), card.end()));
        return {};
    }

    base::Result<std::vector<std::byte>> card(std::string_view key, Rank rank) override {
        WEFT_CHECK(rank == 0, rank);
        const auto found = cards_.find(key);
        if (found == cards_.end()) {
            return base::fail(Status::environment, "no card was published under the key {}", key);
        }
        return found->second;
    }

    base::Result<void> start_fence() override { return {}; }
    [[nodiscard]] bool fence_ended() override { return true; }

    [[noreturn]] void abort(int status, std::string_view text) override {
        fmt::print(stderr, "weft: {}\n", text);
        std::_Exit(exit_status_of_abort(status));
    }

    base::Result<void> finalize() override { return {}; }

  private:
    std::map<std::string, std::vector<std::byte>, std::less<>> cards_;
};

}  // namespace

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
    return std::unique_ptr<Bootstrap>(std::make_unique<LoopbackBootstrap>());
}

std::optional<Rank> rank_by_environment() {
    if (!started_by_pmix()) return std::nullopt;
    return static_cast<Rank>(std::atoi(std::getenv("PMIX_RANK")));
}

}  // namespace weft::link
