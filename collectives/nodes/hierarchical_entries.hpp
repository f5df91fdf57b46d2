// SPDX-License-Identifier: BSD-3-Clause
// hierarchical_entries.hpp - the collectives that are composed of parts: what their parts may be.
//
// Next     hierarchical.cpp for which part reads and writes what.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace weft::collectives {

/// What differs between the collectives.
struct HierarchicalEntry {
    std::string_view collective;
    std::string_view summary;
    std::array<std::string_view, 2> node;  ///< collectives that the node's part may be of
    std::string_view node_help;
    std::string_view node_tries;
    std::string_view net_usual;
    std::string_view net_tries;
    std::string_view net_variants;
    /// What spreads the outcome on a node; none where that is not a part.
    std::string_view down = "";
    bool combines = false;
    bool blocks = false;  ///< the vector has a block for each rank
    bool rooted = false;
    std::string_view node_usual = "flat";
    std::string_view node_large = "binomial";  ///< for nodes of many ranks
    std::string_view net_help = "what one rank of each node does";
    std::string_view net_of = "";  ///< collective of the nodes, if it is another one

    [[nodiscard]] constexpr bool scans() const { return !net_of.empty(); }
    [[nodiscard]] constexpr bool synchronizes() const { return !rooted && !scans(); }
    [[nodiscard]] std::span<const std::string_view> node_collectives() const {
        return std::span(node).first(node.back().empty() ? 1 : 2);
    }
    [[nodiscard]] const std::string_view& net_collective() const {
        return scans() ? net_of : collective;
    }
};

// lint: allow(function-length): a table
inline constexpr std::array<HierarchicalEntry, 11> kHierarchicalEntries{{
    {.collective = "barrier",
     .summary = "the ranks of each node tell one of them, which meets those of others",
     .node = {"reduce", "barrier"},
     .node_help = "a reduce, whose signals are taken, or a barrier",
     .node_tries = "(binomial),(central)",
     .net_usual = "dissemination",
     .net_tries = "(central),(dissemination:k=2)",
     .net_variants = "dissemination:k=3,central",
     .down = "broadcast"},
    {.collective = "broadcast",
     .summary = "one rank of each node gets the vector and passes it on there",
     .node = {"broadcast"},
     .node_help = "a broadcast on the node",
     .node_tries = "(binomial),(double-tree)",
     .net_usual = "binomial",
     .net_tries = "(flat),(scatter-allgather)",
     .net_variants = "flat,scatter-allgather",
     .rooted = true},
    {.collective = "reduce",
     .summary = "one rank of each node combines its ranks, then nodes are combined",
     .node = {"reduce"},
     .node_help = "a reduce on the node",
     .node_tries = "(binomial)",
     .net_usual = "binomial",
     .net_tries = "(flat),(kary:k=3)",
     .net_variants = "flat",
     .combines = true,
     .rooted = true},
    {.collective = "allreduce",
     .summary = "one rank of each node combines its ranks, nodes are combined, all learn it",
     .node = {"reduce", "allreduce"},
     .node_help = "a reduce or an allreduce on the node",
     .node_tries = "(binomial),(recursive-doubling)",
     .net_usual = "recursive-doubling",
     .net_tries = "(ring),(reduce-broadcast),(double-tree)",
     .net_variants = "reduce-broadcast,ring",
     .down = "broadcast",
     .combines = true},
    {.collective = "gather",
     .summary = "one rank of each node collects its ranks' blocks, the root those of nodes",
     .node = {"gather"},
     .node_help = "a gather on the node",
     .node_tries = "(binomial)",
     .net_usual = "binomial",
     .net_tries = "(flat)",
     .net_variants = "flat",
     .blocks = true,
     .rooted = true},
    {.collective = "scatter",
     .summary = "one rank of each node gets its ranks' blocks and gives them out",
     .node = {"scatter"},
     .node_help = "a scatter on the node",
     .node_tries = "(binomial)",
     .net_usual = "binomial",
     .net_tries = "(flat)",
     .net_variants = "flat",
     .blocks = true,
     .rooted = true},
    {.collective = "allgather",
     .summary = "nodes collect their blocks, exchange them, and all ranks learn them",
     .node = {"gather"},
     .node_help = "a gather on the node",
     .node_tries = "(binomial)",
     .net_usual = "bruck",
     .net_tries = "(ring),(direct)",
     .net_variants = "ring,direct",
     .down = "broadcast",
     .blocks = true},
    {.collective = "reduce_scatter",
     .summary = "nodes combine their ranks, exchange blocks, and give them out",
     .node = {"reduce"},
     .node_help = "a reduce on the node",
     .node_tries = "(binomial)",
     .net_usual = "pairwise",
     .net_tries = "(ring)",
     .net_variants = "ring",
     .down = "scatter",
     .combines = true,
     .blocks = true},
    {.collective = "alltoall",
     .summary = "ranks of a node sort blocks by place, then ranks at each place exchange them",
     .node = {"alltoall"},
     .node_help = "an alltoall on the node",
     .node_tries = "(bruck)",
     .net_usual = "direct",
     .net_tries = "(bruck)",
     .net_variants = "bruck",
     .blocks = true,
     .node_usual = "direct",
     .node_large = "bruck",
     .net_help = "an alltoall of the ranks at each place of their nodes"},
    {.collective = "scan",
     .summary = "ranks of a node scan, their last one learns what nodes before have, all add it",
     .node = {"scan"},
     .node_help = "a scan on the node",
     .node_tries = "(recursive-doubling)",
     .net_usual = "recursive-doubling",
     .net_tries = "(linear)",
     .net_variants = "linear",
     .down = "broadcast",
     .combines = true,
     .node_usual = "linear",
     .node_large = "recursive-doubling",
     .net_help = "an exscan of the last ranks of nodes",
     .net_of = "exscan"},
    {.collective = "exscan",
     .summary = "ranks of a node scan, their last one learns what nodes before have, all add it",
     .node = {"exscan"},
     .node_help = "an exscan on the node",
     .node_tries = "(recursive-doubling)",
     .net_usual = "recursive-doubling",
     .net_tries = "(linear)",
     .net_variants = "linear",
     .down = "broadcast",
     .combines = true,
     .node_usual = "linear",
     .node_large = "recursive-doubling",
     .net_help = "an exscan of the last ranks of nodes",
     .net_of = "exscan"},
}};

}  // namespace weft::collectives
