// SPDX-License-Identifier: BSD-3-Clause
// job.hpp - start-up of a job: cards, mappings, network.
//
// Idea     Two fences that exchange data. Before the first, each rank publishes its segment and
//          settings. Before the second, it publishes the ranks that it has mapped, and its network
//          address. Ranks that have all mapped each other are a node.
// Holds    Owners keep their descriptors open until the second fence has ended, when all ranks have
//          mapped them. Different settings end the job with an error that names them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "link/bootstrap/bootstrap.hpp"
#include "link/shared/node_map.hpp"
#include "link/wire/wire.hpp"
#include "run/job/layout.hpp"
#include "run/job/sigterm_report.hpp"

namespace weft::run {

struct Job {
    std::unique_ptr<SigtermReport> sigterm_report;
    std::unique_ptr<link::Bootstrap> bootstrap;
    std::unique_ptr<link::NodeMap> node_map;
    std::unique_ptr<link::Wire> wire;
    std::vector<Rank> node_ranks;    ///< ranks that share memory with this one, ascending
    bool direct = false;             ///< all of these can and may copy each other's memory
    bool direct_everywhere = false;  ///< the same on all nodes; equal on all ranks
    std::string direct_problem;  ///< reason if not `direct`, unless the rank is alone on its node
    std::vector<int> node_of_rank;  ///< by rank: number of its node, by the cards
    int nodes = 1;
    int hosts = 1;                  ///< running kernels, each with one clock
    int host_ranks = 1;             ///< ranks on this host, on any virtual node
    int host_cpus = 1;              ///< processors that these ranks may use, limited by quotas
    bool limited_time = false;      ///< quotas allow these ranks less than the visible processors
    std::string provider = "none";  ///< of the network; "none" if all ranks share memory
    bool one_host = true;           ///< a loopback address reaches all ranks
    std::string own_address;  ///< of this rank, reachable from all others; empty: not determined
    std::string notify = "none";  ///< notify strategies, as text; "none" without a network
    /// Ranks and processors of the most oversubscribed host; equal on all ranks.
    int crowd_ranks = 1;
    int crowd_processors = 1;

    struct Phase {
        const char* name;
        std::uint64_t ns;
    };
    std::vector<Phase> phases;  ///< of this rank's start-up, in order

    /// Ends the job on all ranks.
    void abort(int status, const std::string& why) const {
        sigterm_report->set_stage("ending the job");
        bootstrap->abort(status, why);
    }
    /// Returns true if a network joins the nodes.
    [[nodiscard]] bool nodes_linked() const { return provider != "none"; }
};

/// Joins the job. `bootstrap` exchanges the cards; nullptr: the launcher's. `prices` decide when
/// buffers are remapped.
[[nodiscard]] base::Result<Job> join(const base::Settings& settings,
                                     std::unique_ptr<link::Bootstrap> bootstrap,
                                     const link::AdoptionPrices& prices);

}  // namespace weft::run
