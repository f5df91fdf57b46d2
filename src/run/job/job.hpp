// SPDX-License-Identifier: BSD-3-Clause
// job.hpp - start-up of a job: exchange of cards, mappings, network.
//
// Idea     Ranks exchange two cards. The first has a rank's segment and settings, the second the
//          ranks that it has mapped, and its network address. Ranks that have all mapped each other
//          are a node. Networks may need further fences.
// Holds    Each rank keeps the descriptor of its segment open until the second exchange has ended:
//          by then all local peers have mapped the segment. Different settings end the job.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "link/bootstrap/bootstrap.hpp"
#include "link/shared/node_map.hpp"
#include "link/shared/process_ends.hpp"
#include "link/wire/wire.hpp"
#include "run/job/layout.hpp"
#include "run/job/sigterm_report.hpp"

namespace weft::run {

struct Job {
    std::unique_ptr<SigtermReport> sigterm_report;
    std::unique_ptr<link::Bootstrap> bootstrap;
    std::unique_ptr<link::NodeMap> node_map;
    std::unique_ptr<link::Wire> wire;
    link::ProcessEnds ends;          ///< watches other ranks, if the job continues after deaths
    std::vector<Rank> node_ranks;    ///< ranks of this node, including this rank, ascending
    bool direct = false;             ///< `node_ranks` may access each other's buffers
    bool direct_everywhere = false;  ///< ranks of each node may do so; equal on all ranks
    std::string direct_problem;      ///< reason if not `direct`; empty if the node has one rank
    std::vector<int> node_of_rank;   ///< number of each rank's node, from the cards
    std::vector<Rank> ranks_per_node;
    int nodes = 1;
    int hosts = 1;                    ///< number of running kernels, each with its own clock
    int host_ranks = 1;               ///< ranks on this host, on any virtual node
    link::HostRanks rank_processors;  ///< processors that each of `host_ranks` may use
    int host_cpus = 1;                ///< processors that `host_ranks` may use, after quotas
    bool limited_time = false;        ///< quotas reduced `host_cpus`
    std::string provider = "none";    ///< network provider; "none" if all ranks share memory
    std::string notify = "none";      ///< notify strategies, as text; "none" without a network
    /// Ranks and processors of the host with the most ranks for each processor; equal on all ranks.
    int busiest_host_ranks = 1;
    int busiest_host_processors = 1;

    struct Phase {
        const char* name;
        std::uint64_t ns;
    };
    std::vector<Phase> phases;  ///< phases of this rank's start-up, in order, with durations

    /// Ends the job on all ranks, with this exit status.
    void abort(int status, const std::string& why) const {
        sigterm_report->set_stage("ending the job");
        bootstrap->abort(status, why);
    }
    /// Returns true if a network joins the nodes.
    [[nodiscard]] bool nodes_linked() const { return provider != "none"; }
};

/// Joins the job. `bootstrap` exchanges the cards; nullptr: over the launcher's PMIx. `prices` are
/// the costs that decide when buffers are remapped.
[[nodiscard]] base::Result<Job> join(const base::Settings& settings,
                                     std::unique_ptr<link::Bootstrap> bootstrap,
                                     const link::AdoptionPrices& prices);

}  // namespace weft::run
