// SPDX-License-Identifier: BSD-3-Clause
// hierarchical.cpp - collectives in three parts: on each node, between leaders, on each node.
//
// Idea     The ranks of a node send their data to their leader. The leaders run the collective
//          among themselves. Each leader distributes the result on its node. Each part is an
//          algorithm of the registry on fewer ranks. This file only defines which buffers each part
//          reads and writes.
//          The leaders of a scan are the last ranks of the nodes, which have the results of their
//          nodes. An exscan of the leaders gives each node the result of all earlier nodes. Its
//          ranks combine this value with their own results, as the first operand.
//          An alltoall has no leaders. The ranks of a node exchange blocks until each has the
//          blocks for its local rank on all nodes. Then equal local ranks exchange these blocks.
// Source   Common in MPI libraries; the composition of programs is weft's own.
// Rounds   The sum of the parts. Over the network: the rounds of `net` among the nodes.
// Bytes    Over the network: the bytes of `net` among the nodes, where the block of a node has the
//          blocks of all its ranks. In an alltoall each rank of a node runs `net`.
// Memory   The slots of the parts, one after another. A leader has a scratch buffer for
//          intermediate results if it has no output for them. In scans all ranks have one, and the
//          leaders of an exscan have two.
// Good for Nodes with several ranks on a network much slower than their memory, and little
//          traffic. Except in an alltoall, only one rank of a node uses the network. For
//          large buffers, multi-object-large uses more of the network's bandwidth.
// Holds    Combines in rank order if requested; then each node must have consecutive ranks, which
//          scans always require. Results are bit-identical if `node` and `net` are. A barrier uses
//          only the signals of its parts. In a pipeline each part has a lane, so segments on the
//          node and on the network overlap. `segments` in the spec of a part applies to all parts,
//          and multiplies `segments` of the whole. An alltoall needs equal numbers of ranks on all
//          nodes: a rank of a small node would have to hold more blocks than fit into its buffer.
//          On a node, `mapped` reads and writes long buffers and blocks in place, unless the spec
//          names the part's algorithm.
#include <algorithm>
#include <span>

#include "base/units.hpp"
#include "collectives/entries.hpp"
#include "collectives/nodes/groups.hpp"
#include "collectives/notation/cursor.hpp"
#include "collectives/registry.hpp"
#include "collectives/transfer.hpp"

namespace weft::collectives {

namespace {

using plan::VectorName;

/// Ranks that call a part together. `nodes`: the ranks of each node. `leaders`: one rank of each
/// node. `equal_local_ranks`: one rank of each node, with equal local ranks. `local_step`: no call,
/// each rank copies or combines its own buffers.
enum class Callers : std::uint8_t { nodes, leaders, equal_local_ranks, local_step };

/// Parameters of a spec that name an algorithm.
enum class PartName : std::uint8_t { node, net, down };

constexpr VectorName kInput{plan::Buffer::input};
constexpr VectorName kOutput{plan::Buffer::output};
/// Scratch buffer. On leaders: data of the node. In scans, on all ranks: result of earlier nodes.
constexpr VectorName kPartial{plan::Buffer::scratch};

/// A part of a composed call, and the ranks that run it.
struct PartCall {
    Callers callers = Callers::nodes;
    PartName part = PartName::node;  ///< names the algorithm; unused by local steps
    VectorName input;
    VectorName output;
    Data data = Data::whole;
    bool combines = false;   ///< local step: combine input and output; false: copy
    bool takes_part = true;  ///< false: this rank does not run the part
};

/// A composed collective and its parts.
struct Composed {
    std::string_view collective;
    std::string_view summary;
    std::array<std::string_view, 2> node;  ///< collectives that the part `node` may use
    std::string_view node_help;
    std::string_view node_tries = "(binomial)";  ///< values that tests try
    std::string_view net_default = "binomial";
    std::string_view net_tries = "(flat)";   ///< values that tests try
    std::string_view net_variants = "flat";  ///< specs of `net` worth a prediction
    std::string_view net_fitted = "";        ///< algorithms of `net` whose parameters fit the costs
    std::string_view node_fitted = "";  ///< algorithm of `node` on large nodes, with each of these
    /// Collective that distributes the result on a node; may be empty.
    std::string_view down = "";
    std::span<const PartCall> calls = {};  ///< in their order; empty for scans
    std::string_view node_default = "flat";
    std::string_view node_large = "binomial";  ///< tried if a node has over 4 ranks
    std::string_view net_help = "algorithm between one rank of each node";
    std::string_view net_override = "";  ///< collective of the part `net`; empty: `collective`
    bool maps = true;                    ///< parts on a node may be `mapped`

    [[nodiscard]] constexpr const CollectiveTraits& traits() const {
        return *find_collective(collective);
    }
    [[nodiscard]] constexpr bool scans() const { return calls.empty(); }
    [[nodiscard]] constexpr bool synchronizes() const { return !traits().rooted() && !scans(); }
    [[nodiscard]] std::span<const std::string_view> node_collectives() const {
        return std::span(node).first(node.back().empty() ? 1 : 2);
    }
    [[nodiscard]] const std::string_view& net_collective() const {
        return net_override.empty() ? collective : net_override;
    }
};

// clang-format off
namespace calls {
using enum Callers;
using enum PartName;
constexpr PartCall kBarrier[] = {{nodes, node, kInput, kOutput, Data::none},
                                 {leaders, net, kInput, kOutput, Data::none},
                                 {nodes, down, kInput, kOutput, Data::none}};
constexpr PartCall kBroadcast[] = {{leaders, net, kInput, kOutput},
                                   {nodes, node, kOutput, kOutput}};
constexpr PartCall kReduce[] = {{nodes, node, kInput, kPartial},
                                {leaders, net, kPartial, kOutput}};
constexpr PartCall kAllreduce[] = {{nodes, node, kInput, kOutput},
                                   {leaders, net, kOutput, kOutput},
                                   {nodes, down, kOutput, kOutput}};
constexpr PartCall kGather[] = {{nodes, node, kInput, kPartial, Data::blocks},
                                {leaders, net, kPartial, kOutput, Data::blocks}};
constexpr PartCall kScatter[] = {{leaders, net, kInput, kPartial, Data::blocks},
                                 {nodes, node, kPartial, kOutput, Data::blocks}};
constexpr PartCall kAllgather[] = {{nodes, node, kInput, kOutput, Data::blocks},
                                   {leaders, net, kOutput, kOutput, Data::blocks},
                                   {nodes, down, kOutput, kOutput}};
constexpr PartCall kReduceScatter[] = {{nodes, node, kInput, kPartial},
                                       {leaders, net, kPartial, kPartial, Data::blocks},
                                       {nodes, down, kPartial, kOutput, Data::blocks}};
constexpr PartCall kAlltoall[] = {{nodes, node, kInput, kOutput, Data::by_local_rank},
                                  {equal_local_ranks, net, kOutput, kOutput, Data::blocks}};
}  // namespace calls
// clang-format on

constexpr Composed scan_entry(std::string_view collective, std::string_view node_help) {
    return {
        .collective = collective,
        .summary = "each node scans; its last rank receives earlier results, and all combine them",
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
        .net_override = "exscan"};
}

// lint: allow(function-length): a table
constexpr std::array<Composed, 11> kEntries{{
    {.collective = "barrier",
     .summary = "ranks signal their leader; leaders run a barrier, then signal their nodes",
     .node = {"reduce", "barrier"},
     .node_help = "a reduce, used for its signals, or a barrier",
     .node_tries = "(binomial),(central)",
     .net_default = "dissemination",
     .net_tries = "(central),(dissemination:k=2)",
     .net_variants = "dissemination:k=3,central",
     .down = "broadcast",
     .calls = calls::kBarrier,
     .maps = false},
    {.collective = "broadcast",
     .summary = "one rank of each node receives the buffer, then broadcasts it on its node",
     .node = {"broadcast"},
     .node_help = "a broadcast on the node",
     .node_tries = "(binomial),(double-tree)",
     .net_tries = "(flat),(scatter-allgather)",
     .net_variants = "flat,scatter-allgather",
     .net_fitted = "logp-optimal,circulant",
     .node_fitted = "logp-optimal",
     .calls = calls::kBroadcast},
    {.collective = "reduce",
     .summary = "each node reduces to one rank, and these ranks reduce to the root",
     .node = {"reduce"},
     .node_help = "a reduce on the node",
     .net_tries = "(flat),(kary:k=3)",
     .net_fitted = "logp-optimal,circulant",
     .calls = calls::kReduce},
    {.collective = "allreduce",
     .summary = "each node reduces to one rank; these ranks allreduce, then broadcast",
     .node = {"reduce", "allreduce"},
     .node_help = "a reduce or an allreduce on the node",
     .node_tries = "(binomial),(recursive-doubling)",
     .net_default = "recursive-doubling",
     .net_tries = "(ring),(reduce-broadcast),(double-tree)",
     .net_variants = "reduce-broadcast,ring",
     .net_fitted = "multiplying",
     .down = "broadcast",
     .calls = calls::kAllreduce},
    {.collective = "gather",
     .summary = "one rank of each node gathers, then the root gathers from these ranks",
     .node = {"gather"},
     .node_help = "a gather on the node",
     .calls = calls::kGather},
    {.collective = "scatter",
     .summary = "one rank of each node receives its node's blocks, then scatters them",
     .node = {"scatter"},
     .node_help = "a scatter on the node",
     .calls = calls::kScatter},
    {.collective = "allgather",
     .summary = "one rank of each node gathers; these ranks allgather, then broadcast",
     .node = {"gather"},
     .node_help = "a gather on the node",
     .net_default = "bruck",
     .net_tries = "(ring),(direct)",
     .net_variants = "ring,direct",
     .down = "broadcast",
     .calls = calls::kAllgather},
    {.collective = "reduce_scatter",
     .summary = "each node reduces to one rank; these ranks reduce_scatter, then scatter",
     .node = {"reduce"},
     .node_help = "a reduce on the node",
     .net_default = "pairwise",
     .net_tries = "(ring)",
     .net_variants = "ring",
     .down = "scatter",
     .calls = calls::kReduceScatter},
    {.collective = "alltoall",
     .summary = "ranks of a node sort blocks by local rank, then equal local ranks exchange them",
     .node = {"alltoall"},
     .node_help = "an alltoall on the node",
     .node_tries = "(bruck)",
     .net_default = "direct",
     .net_tries = "(bruck)",
     .net_variants = "bruck",
     .calls = calls::kAlltoall,
     .node_default = "direct",
     .node_large = "bruck",
     .net_help = "an alltoall of the ranks with equal local ranks",
     .maps = false},
    scan_entry("scan", "a scan on the node"),
    scan_entry("exscan", "an exscan on the node"),
}};

/// On the last rank of a node in an exscan: the result of the node's ranks before it.
constexpr VectorName kBefore{plan::Buffer::scratch, 1};

constexpr std::string_view kMapped = "mapped";
constexpr std::string_view kNet = "net";  // lint: allow(provider-name): the key of a parameter

struct PartSpecs {
    Named node;
    Named net;
    Named down;
    std::uint32_t segments = 1;  ///< `segments` in the specs of the parts

    [[nodiscard]] const Named& by_name(PartName name) const {
        if (name == PartName::net) return net;
        return name == PartName::node ? node : down;
    }
};

/// Moves `segments` from the spec of a part to `parts`.
base::Result<void> take_segments(Named& part, PartSpecs& parts) {
    if (part.algorithm->parameter("segments") == nullptr || part.spec.find("segments") == nullptr)
        return base::Done{};
    const auto segments = WEFT_TRY(pipeline_segments({.spec = &part.spec}));
    if (segments > 1 && parts.segments > 1 && segments != parts.segments)
        return base::fail(
            Status::argument,
            "{} {} has {} segments, but another part has {}: all parts must have the same number",
            part.collective, print(part.spec), segments, parts.segments);
    parts.segments = std::max(parts.segments, segments);
    std::erase_if(part.spec.parameters,
                  [](const SpecParameter& given) { return given.key == "segments"; });
    return base::Done{};
}

/// Returns the parts that a spec names. `transfer` determines the default algorithms on a node.
base::Result<PartSpecs> parts_of(const Composed& entry, const AlgorithmSpec& spec,
                                 LocalTransfer transfer) {
    PartSpecs parts;
    const bool maps = transfer == LocalTransfer::in_place && entry.maps;
    parts.node = WEFT_TRY(
        named_by(spec, "node", maps ? kMapped : entry.node_default, entry.node_collectives()));
    parts.net = WEFT_TRY(named_by(spec, kNet, entry.net_default, {&entry.net_collective(), 1}));
    if (parts.net.algorithm->properties_of(parts.net.spec).direct)
        return base::fail(Status::argument,
                          "net=({}) accesses buffers of other nodes directly, which a part "
                          "cannot: use another algorithm, or into=slot",
                          print(parts.net.spec));
    if (!entry.down.empty())
        parts.down = WEFT_TRY(named_by(spec, "down", maps ? kMapped : "flat", {&entry.down, 1}));
    for (Named* part : {&parts.node, &parts.net, &parts.down})
        if (part->algorithm != nullptr) WEFT_TRY(take_segments(*part, parts));
    return parts;
}

/// Returns the transfer method on a node, by the bytes between local peers. `mapped` exposes whole
/// buffers. Blocks of different sizes may have gaps between them, so they are put.
base::Result<LocalTransfer> local_transfer_of(const Composed& entry, const AlgorithmSpec& spec,
                                              const GenerateRequest& request) {
    if (!entry.maps || !request.counts.empty()) return LocalTransfer::put;
    return local_transfer(spec, entry.traits().blocks() ? block_bytes(request)
                                                        : request.elements * request.element_bytes);
}

/// Fails if a part uses buffers in place whose blocks may have gaps between them.
base::Result<void> reject_gaps(const PartSpecs& parts, const GenerateRequest& request) {
    if (request.counts.empty()) return base::Done{};
    for (const Named* part : {&parts.node, &parts.down})
        if (part->algorithm != nullptr && part->algorithm->properties_of(part->spec).direct)
            return base::fail(Status::unsupported,
                              "{} {} uses buffers in place, but blocks of different sizes may "
                              "have gaps between them: use another algorithm",
                              part->collective, part->algorithm->name);
    return base::Done{};
}

/// Returns the calls of an entry. At the root of a reduce or gather, its output replaces kPartial.
std::vector<PartCall> calls_of(const Composed& entry, bool at_root) {
    std::vector<PartCall> calls(entry.calls.begin(), entry.calls.end());
    if (!at_root || entry.traits().output != VectorPart::whole_at_root) return calls;
    for (PartCall& call : calls)
        for (VectorName* name : {&call.input, &call.output})
            if (*name == kPartial) *name = kOutput;
    return calls;
}

/// Returns the calls of a scan or exscan. Ranks run different calls of the list (`takes_part`, the
/// last column). In an exscan, a leader's kPartial has its node's result until `net` replaces it.
std::vector<PartCall> calls_of_scan(const Composed& entry, const Groups& groups) {
    using enum Callers;
    using enum PartName;
    constexpr bool kCopies = false;
    constexpr bool kCombines = true;
    const bool last = groups.leads();
    const bool first = groups.local() == 0;
    const bool later = groups.node() > 0;
    if (entry.traits().contribution == Contribution::up_to_own)
        return {{nodes, node, kInput, kOutput},
                {leaders, net, kOutput, kPartial},
                {nodes, down, kPartial, kPartial, Data::whole, kCopies, later},
                {local_step, node, kPartial, kOutput, Data::whole, kCombines, later}};
    // In place, the last rank's output is its input, which is needed for the node's sum.
    const VectorName own = last ? kBefore : kOutput;
    const VectorName received = first && !last ? kOutput : kPartial;
    return {{nodes, node, kInput, own},
            {local_step, node, kInput, kPartial, Data::whole, kCopies, last},
            {local_step, node, kBefore, kPartial, Data::whole, kCombines, last && !first},
            {leaders, net, kPartial, kPartial},
            {nodes, down, kPartial, received, Data::whole, kCopies, later},
            {local_step, node, kBefore, kOutput, Data::whole, kCopies, last && !first},
            {local_step, node, kPartial, kOutput, Data::whole, kCombines, later && !first},
            {local_step, node, kPartial, kOutput, Data::whole, kCopies, later && first && last}};
}

base::Result<plan::SplicePart> part_of(const PartCall& call, const PartSpecs& parts,
                                       const Groups& groups) {
    if (call.callers == Callers::local_step)
        return groups.local_step(call.input, call.output, call.combines);
    const Named& named = parts.by_name(call.part);
    const GroupCall group_call{named.collective, named.spec, call.input, call.output, call.data};
    if (call.callers == Callers::leaders) return groups.of_leaders(group_call);
    if (call.callers == Callers::equal_local_ranks) return groups.of_equal_local_ranks(group_call);
    return groups.on_nodes(group_call);
}

base::Result<plan::Program> compose(const Composed& entry, const PartSpecs& parts,
                                    plan::Program header, const Groups& groups,
                                    bool one_at_a_time) {
    const bool at_root = header.rank == header.root;
    const auto calls = entry.scans() ? calls_of_scan(entry, groups) : calls_of(entry, at_root);
    const auto names_scratch = [](const PartCall& call) {
        return call.input.buffer == plan::Buffer::scratch ||
               call.output.buffer == plan::Buffer::scratch;
    };
    if (entry.scans())
        header.scratch =
            entry.traits().contribution == Contribution::before_own && groups.leads() ? 2 : 1;
    else if (groups.leads() && std::ranges::any_of(calls, names_scratch))
        header.scratch = 1;
    std::vector<plan::SplicePart> list;
    for (const PartCall& call : calls) {
        auto part = WEFT_TRY(part_of(call, parts, groups));
        if (!call.takes_part) part.own.reset();
        list.push_back(std::move(part));
    }
    return plan::splice(std::move(header), list,
                        one_at_a_time ? plan::Flow::one_segment : plan::Flow::parts);
}

base::Result<plan::Program> generate_hierarchical(const Composed& entry, GenerateRequest request) {
    const AlgorithmSpec& spec = *request.spec;
    const auto transfer = WEFT_TRY(local_transfer_of(entry, spec, request));
    const auto parts = WEFT_TRY(parts_of(entry, spec, transfer));
    WEFT_TRY(reject_gaps(parts, request));
    const std::uint32_t segments = WEFT_TRY(pipeline_segments(request));
    request.segments =
        as_u32(std::min<std::uint64_t>(std::uint64_t{segments} * parts.segments, kSegmentsMax));
    plan::Program header = program_header(request);
    request.root = header.root;
    if (header.units == 0) return header;
    const Groups groups(request, entry.scans() ? Leader::last : Leader::first);
    if (request.ordered && entry.traits().reduces() && !groups.layout().contiguous())
        return base::fail(Status::argument,
                          "the operation does not commute, and {} hierarchical combines in rank "
                          "order only if each node has consecutive ranks",
                          entry.collective);
    return compose(entry, parts, std::move(header), groups, request.one_at_a_time);
}

Properties default_properties(const Composed& entry) {
    return {.ordered = true,
            .bit_identical = true,
            .synchronizing = entry.synchronizes(),
            .for_nodes = true,
            .consecutive_nodes = entry.scans(),
            .even_nodes = entry.traits().contribution == Contribution::owner_own_block};
}

Properties properties_for(const Composed& entry, const AlgorithmSpec& spec) {
    Properties properties = default_properties(entry);
    const auto transfer = local_transfer(spec, 0);  // near=auto: put
    if (!transfer) return properties;
    const auto parts = parts_of(entry, spec, *transfer);
    if (!parts) return properties;
    for (const Named* named : {&parts->node, &parts->down})
        if (named->algorithm != nullptr)
            properties.direct |= named->algorithm->properties_of(named->spec).direct;
    for (const Named* named : {&parts->node, &parts->net}) {
        const Properties inner = named->algorithm->properties_of(named->spec);
        properties.ordered = properties.ordered && inner.ordered;
        properties.bit_identical = properties.bit_identical && inner.bit_identical;
    }
    return properties;
}

/// Returns the request of a call among the leaders, or of a broadcast `within` the largest node.
CandidateRequest request_of_part(CandidateRequest request, bool within) {
    request.size = within ? request.layout.most() : request.layout.nodes();
    request.ranks_per_node = 0;
    if (!within) return request;
    request.latency_ps = request.local_stage.latency;
    request.issue_ps = request.local_stage.message;
    request.send_bytes_ps = request.receive_ps = 0;
    return request;
}
/// Returns the first spec that an algorithm tries for a request, or "".
std::string first_variant(std::string_view collective, std::string_view name,
                          const CandidateRequest& request) {
    if (name.empty()) return {};
    const auto found = std::ranges::find(algorithms_of(collective), name, &Algorithm::name);
    const auto specs = found->variants(request);
    return specs.empty() ? "" : specs.front();
}

/// Returns specs with trees for large nodes, and with other algorithms for the network.
std::vector<std::string> variants_of(const Composed& entry, const CandidateRequest& request) {
    std::vector<std::string> specs;
    const auto add = [&](std::string_view node, std::string_view net) {
        specs.push_back(fmt::format("hierarchical:net=({})", net));
        if (request.layout.most() > 4 && !node.empty())
            specs.push_back(fmt::format("hierarchical:node=({}),net=({})", node, net));
    };
    for (const auto net : base::split_list(entry.net_variants)) add(entry.node_large, net);
    const auto on_node =
        first_variant(entry.collective, entry.node_fitted, request_of_part(request, true));
    const auto leaders = request_of_part(request, false);
    for (const auto net : base::split_list(entry.net_fitted))
        if (const auto fitted = first_variant(entry.net_collective(), net, leaders);
            !fitted.empty())
            add(on_node, fitted);
    return specs;
}

}  // namespace

Algorithm hierarchical(std::string_view collective) {
    const Composed& entry = *std::ranges::find(kEntries, collective, &Composed::collective);
    Algorithm algorithm{
        .collective = entry.collective,
        .name = "hierarchical",
        .summary = entry.summary,
        .source = "composed of the algorithms that node and net name",
        .parameters = {{"node", entry.node_default, entry.node_help, entry.node_tries},
                       {kNet, entry.net_default, entry.net_help, entry.net_tries}},
        .properties = default_properties(entry),
        .generate =
            [&entry](const GenerateRequest& request) {
                return generate_hierarchical(entry, request);
            },
        .variants =
            [&entry](const CandidateRequest& request) { return variants_of(entry, request); },
        .refine = [&entry](const AlgorithmSpec& spec) { return properties_for(entry, spec); },
    };
    if (!entry.down.empty())
        algorithm.parameters.push_back(
            {"down", "flat", "how the ranks of a node get the result", "(binomial)"});
    if (entry.traits().has_data()) algorithm.parameters.push_back(kSegments);
    if (entry.maps) algorithm.parameters.push_back(kNearParameter);
    return algorithm;
}

}  // namespace weft::collectives
