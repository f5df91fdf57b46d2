// SPDX-License-Identifier: BSD-3-Clause
// hierarchical_entries.hpp - table of the composed collectives and their parts.
//
// Idea     A line is a part of the composed call: its callers, its algorithm, and the buffers that
//          it reads and writes. The lines of scans depend on the rank; see hierarchical.cpp.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "collectives/collective_traits.hpp"
#include "collectives/nodes/groups.hpp"

namespace weft::collectives {

/// Ranks that call a part together. `nodes`: the ranks of each node. `equal_local_ranks`: one rank
/// of each node, with equal local ranks. `itself`: each rank runs a local step.
enum class Callers : std::uint8_t { nodes, leaders, equal_local_ranks, itself };

/// Parameters of a spec that name an algorithm.
enum class PartName : std::uint8_t { node, net, down };

inline constexpr plan::VectorName kInput{plan::Buffer::input};
inline constexpr plan::VectorName kOutput{plan::Buffer::output};
/// Scratch buffer of a leader for data of its node.
inline constexpr plan::VectorName kPartial{plan::Buffer::scratch};

/// A part of a composed call.
struct HierarchicalLine {
    Callers callers = Callers::nodes;
    /// Parameter that names the algorithm; unused by Callers::itself.
    PartName part = PartName::node;
    plan::VectorName input;
    plan::VectorName output;
    Data data = Data::vector;
    bool combines = false;   ///< Callers::itself: combine input and output; false: copy
    bool takes_part = true;  ///< false: this rank is no caller
};

struct HierarchicalEntry {
    std::string_view collective;
    std::string_view summary;
    std::array<std::string_view, 2> node;  ///< collectives that the part `node` may use
    std::string_view node_help;
    std::string_view node_tries = "(binomial)";  ///< values that tests try
    std::string_view net_default = "binomial";
    std::string_view net_tries = "(flat)";   ///< values that tests try
    std::string_view net_variants = "flat";  ///< specs of `net` worth a prediction
    /// Collective that distributes the result on a node; may be empty.
    std::string_view down = "";
    std::span<const HierarchicalLine> lines = {};  ///< parts in their order; empty for scans
    std::string_view node_default = "flat";
    std::string_view node_large = "binomial";  ///< for nodes of more than 4 ranks
    std::string_view net_help = "algorithm between one rank of each node";
    std::string_view net_of = "";  ///< collective of the part `net`; empty: `collective`
    bool maps = true;              ///< parts on a node may be `mapped`

    [[nodiscard]] constexpr const CollectiveTraits& traits() const {
        return *find_collective(collective);
    }
    [[nodiscard]] constexpr bool scans() const { return lines.empty(); }
    [[nodiscard]] constexpr bool synchronizes() const { return !traits().rooted() && !scans(); }
    [[nodiscard]] std::span<const std::string_view> node_collectives() const {
        return std::span(node).first(node.back().empty() ? 1 : 2);
    }
    [[nodiscard]] const std::string_view& net_collective() const {
        return net_of.empty() ? collective : net_of;
    }
};

// clang-format off
namespace lines {
using enum Callers;
using enum PartName;
using Line = HierarchicalLine;
inline constexpr Line kBarrier[] = {{nodes, node, kInput, kOutput, Data::none},
                                    {leaders, net, kInput, kOutput, Data::none},
                                    {nodes, down, kInput, kOutput, Data::none}};
inline constexpr Line kBroadcast[] = {{leaders, net, kInput, kOutput},
                                      {nodes, node, kOutput, kOutput}};
inline constexpr Line kReduce[] = {{nodes, node, kInput, kPartial},
                                   {leaders, net, kPartial, kOutput}};
inline constexpr Line kAllreduce[] = {{nodes, node, kInput, kOutput},
                                      {leaders, net, kOutput, kOutput},
                                      {nodes, down, kOutput, kOutput}};
inline constexpr Line kGather[] = {{nodes, node, kInput, kPartial, Data::blocks},
                                   {leaders, net, kPartial, kOutput, Data::blocks}};
inline constexpr Line kScatter[] = {{leaders, net, kInput, kPartial, Data::blocks},
                                    {nodes, node, kPartial, kOutput, Data::blocks}};
inline constexpr Line kAllgather[] = {{nodes, node, kInput, kOutput, Data::blocks},
                                      {leaders, net, kOutput, kOutput, Data::blocks},
                                      {nodes, down, kOutput, kOutput}};
inline constexpr Line kReduceScatter[] = {{nodes, node, kInput, kPartial},
                                          {leaders, net, kPartial, kPartial, Data::blocks},
                                          {nodes, down, kPartial, kOutput, Data::blocks}};
inline constexpr Line kAlltoall[] = {{nodes, node, kInput, kOutput, Data::by_local_rank},
                                     {equal_local_ranks, net, kOutput, kOutput, Data::blocks}};
}  // namespace lines
// clang-format on

constexpr HierarchicalEntry scan_entry(std::string_view collective, std::string_view node_help) {
    return {.collective = collective,
            .summary = "ranks of a node scan, the last one gets earlier nodes' result, all add it",
            .node = {collective},
            .node_help = node_help,
            .node_tries = "(recursive-doubling)",
            .net_default = "recursive-doubling",
            .net_tries = "(linear)",
            .net_variants = "linear",
            .down = "broadcast",
            .node_default = "linear",
            .node_large = "recursive-doubling",
            .net_help = "an exscan of the last ranks of nodes",
            .net_of = "exscan"};
}

// lint: allow(function-length): a table
inline constexpr std::array<HierarchicalEntry, 11> kHierarchicalEntries{{
    {.collective = "barrier",
     .summary = "the ranks of each node signal one of them, and these run a barrier",
     .node = {"reduce", "barrier"},
     .node_help = "a reduce, used for its signals, or a barrier",
     .node_tries = "(binomial),(central)",
     .net_default = "dissemination",
     .net_tries = "(central),(dissemination:k=2)",
     .net_variants = "dissemination:k=3,central",
     .down = "broadcast",
     .lines = lines::kBarrier,
     .maps = false},
    {.collective = "broadcast",
     .summary = "one rank of each node gets the vector and passes it on there",
     .node = {"broadcast"},
     .node_help = "a broadcast on the node",
     .node_tries = "(binomial),(double-tree)",
     .net_tries = "(flat),(scatter-allgather)",
     .net_variants = "flat,scatter-allgather",
     .lines = lines::kBroadcast},
    {.collective = "reduce",
     .summary = "one rank of each node combines its ranks, then nodes are combined",
     .node = {"reduce"},
     .node_help = "a reduce on the node",
     .net_tries = "(flat),(kary:k=3)",
     .lines = lines::kReduce},
    {.collective = "allreduce",
     .summary = "one rank of each node combines its ranks, nodes are combined, all get the result",
     .node = {"reduce", "allreduce"},
     .node_help = "a reduce or an allreduce on the node",
     .node_tries = "(binomial),(recursive-doubling)",
     .net_default = "recursive-doubling",
     .net_tries = "(ring),(reduce-broadcast),(double-tree)",
     .net_variants = "reduce-broadcast,ring",
     .down = "broadcast",
     .lines = lines::kAllreduce},
    {.collective = "gather",
     .summary = "one rank of each node collects its blocks, the root collects nodes' blocks",
     .node = {"gather"},
     .node_help = "a gather on the node",
     .lines = lines::kGather},
    {.collective = "scatter",
     .summary = "one rank of each node gets its ranks' blocks and gives them out",
     .node = {"scatter"},
     .node_help = "a scatter on the node",
     .lines = lines::kScatter},
    {.collective = "allgather",
     .summary = "nodes collect their blocks, exchange them, and give them to all ranks",
     .node = {"gather"},
     .node_help = "a gather on the node",
     .net_default = "bruck",
     .net_tries = "(ring),(direct)",
     .net_variants = "ring,direct",
     .down = "broadcast",
     .lines = lines::kAllgather},
    {.collective = "reduce_scatter",
     .summary = "nodes combine their ranks, exchange blocks, and give them out",
     .node = {"reduce"},
     .node_help = "a reduce on the node",
     .net_default = "pairwise",
     .net_tries = "(ring)",
     .net_variants = "ring",
     .down = "scatter",
     .lines = lines::kReduceScatter},
    {.collective = "alltoall",
     .summary = "ranks of a node sort blocks by local rank, then equal local ranks exchange them",
     .node = {"alltoall"},
     .node_help = "an alltoall on the node",
     .node_tries = "(bruck)",
     .net_default = "direct",
     .net_tries = "(bruck)",
     .net_variants = "bruck",
     .lines = lines::kAlltoall,
     .node_default = "direct",
     .node_large = "bruck",
     .net_help = "an alltoall of the ranks with equal local ranks",
     .maps = false},
    scan_entry("scan", "a scan on the node"),
    scan_entry("exscan", "an exscan on the node"),
}};

}  // namespace weft::collectives
