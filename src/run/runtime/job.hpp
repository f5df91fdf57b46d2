// SPDX-License-Identifier: BSD-3-Clause
// job.hpp - from a started process to a wire: cards, mappings, network.
//
// Idea     Two collecting fences. Before the first, each rank publishes where its segment is and
//          what settings it has; before the second, whom it has mapped and how it is reached over
//          the network. Ranks that have all mapped each other are a node; the network is loaded
//          only if some rank is not near.
// Holds    Owners keep their descriptors open until the second fence is over, so everyone has
//          mapped by then. Settings that differ stop the job and are named.
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
#include "run/runtime/layout.hpp"
#include "run/runtime/sigterm_report.hpp"

namespace weft::run {

struct Job {
    std::unique_ptr<SigtermReport> sigterm_report;
    std::unique_ptr<link::Bootstrap> bootstrap;
    std::unique_ptr<link::NodeMap> node_map;
    std::unique_ptr<link::Wire> wire;
    std::vector<Rank> node_ranks;    ///< ranks that share memory with this one, ascending
    bool direct = false;             ///< all of these can copy each other's memory, and may
    bool direct_everywhere = false;  ///< likewise on all nodes; the same on all ranks
    std::string direct_problem;      ///< why not `direct`, unless the rank is alone on its node
    std::vector<int> node_of_rank;   ///< by rank: number of its node, by the cards of all
    int nodes = 1;
    int hosts = 1;                  ///< running kernels: each has one clock
    int host_ranks = 1;             ///< ranks on this host, whatever their virtual node
    int host_cpus = 1;              ///< processors that these ranks may use, quotas counted in
    bool limited_time = false;      ///< quotas give these ranks less than the processors they see
    std::string provider = "none";  ///< of the network; "none" if all ranks share memory
    bool one_host = true;           ///< a loopback address reaches all ranks
    std::string
        own_address;  ///< of this rank, that leads to all others; empty: none was looked for
    std::string notify = "none";  ///< how far ranks learn of puts, in words; likewise
    /// Ranks and processors of the host where most ranks share one; the same on all ranks.
    int crowd_ranks = 1;
    int crowd_processors = 1;

    struct Phase {
        const char* name;
        std::uint64_t ns;
    };
    std::vector<Phase> phases;  ///< of this rank's start-up, in order

    /// Whether a network joins the nodes.
    [[nodiscard]] bool nodes_linked() const { return provider != "none"; }
};

/// bootstrap: how the ranks meet; nullptr: as the launcher of this process offers it. prices: by
/// which it adopts buffers.
[[nodiscard]] base::Result<Job> join(const base::Settings& settings,
                                     std::unique_ptr<link::Bootstrap> bootstrap,
                                     const link::AdoptionPrices& prices);

}  // namespace weft::run
