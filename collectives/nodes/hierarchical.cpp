// SPDX-License-Identifier: BSD-3-Clause
// hierarchical.cpp - collectives by way of one rank of each node.
//
// Idea     The ranks of a node gather at their leader, the leaders do the collective among themselves, and
//          each spreads the outcome on its node. What they do in each of the three parts is an algorithm of
//          the registry, run by fewer ranks; this file only says which part reads and writes what.
// Source   Hierarchical collectives as in many libraries; composition of programs is ours.
// Rounds   Those of the parts, one after the other. Over the network: those of `net` among the nodes.
// Bytes    Over the network as many as `net` sends among the nodes, whatever the ranks of a node.
// Memory   The slots of the parts, next to each other. Leaders have a vector of scratch where they have no output
//          for what they hold in between.
// Good for Nodes of several ranks on a network much slower than their memory; little traffic: one rank of a
//          node drives the network, so large vectors leave most of it unused (multi-object-large).
// Holds    Rank order if asked for: every part keeps it, and nodes must hold consecutive ranks then.
//          Results are bit-identical if those of `net` are (and of `node`, where that is an allreduce).
//          A barrier's parts on the node are the signals of a reduce and of a broadcast. In pieces, all parts go
//          through one loop, unless some cut the vector and others each block (allgather, reduce_scatter).
// Next     groups.hpp for the parts; plan/schedule/splice.hpp for how they become one program.
#include "collectives/nodes/hierarchical.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "collectives/nodes/groups.hpp"
#include "collectives/notation/cursor.hpp"
#include "collectives/registry.hpp"

namespace weft::collectives {

namespace {

using plan::Buffer;
using plan::VectorName;

constexpr VectorName kInput{Buffer::input};
constexpr VectorName kOutput{Buffer::output};
constexpr VectorName kPartial{Buffer::scratch};

constexpr std::string_view kNet = "net";  // lint: allow(provider-name): the key of a parameter

/// An algorithm that a parameter names, for the first of some collectives that has it.
struct Named {
    std::string_view collective;
    AlgorithmSpec spec;
    const Algorithm* algorithm = nullptr;
};

base::Result<Named> named_by(const AlgorithmSpec& spec, std::string_view key,
                             std::string_view fallback,
                             std::span<const std::string_view> collectives) {
    const SpecParameter* given = spec.find(key);
    AlgorithmSpec inner;
    if (given != nullptr && !given->nested.empty()) {
        inner = given->nested.front();
    } else {
        auto parsed = parse_spec(given == nullptr ? fallback : std::string_view(given->value));
        if (!parsed) return parsed.failure().within(key);
        inner = *std::move(parsed);
        if (given != nullptr) inner.position = given->position;
    }
    base::Failure why;
    for (const std::string_view collective : collectives) {
        const auto found = find_algorithm(collective, inner);
        if (found) return Named{collective, std::move(inner), *found};
        if (why.text.empty()) why = found.failure();
    }
    return why;
}

/// What differs between the collectives.
struct Entry {
    std::string_view collective;
    std::string_view summary;
    std::array<std::string_view, 2> node;  ///< collectives that the node's part may be of
    std::string_view node_help;
    std::string_view node_tries;
    std::string_view net_usual;
    std::string_view net_tries;
    std::string_view net_variants;
    std::string_view down;  ///< what spreads the outcome on a node; none where that is not a part
    bool combines = false;
    bool blocks = false;  ///< the vector has a block for each rank

    [[nodiscard]] constexpr bool rooted() const { return down.empty(); }
    [[nodiscard]] std::span<const std::string_view> node_collectives() const {
        return std::span(node).first(node.back().empty() ? 1 : 2);
    }
};

// lint: allow(function-length): a table
constexpr std::array<Entry, 8> kEntries{{
    {"barrier",
     "the ranks of each node tell one of them, which meets those of others",
     {"reduce", "barrier"},
     "a reduce, whose signals are taken, or a barrier",
     "(binomial),(central)",
     "dissemination",
     "(central),(dissemination:k=2)",
     "dissemination:k=3,central",
     "broadcast"},
    {"broadcast",
     "one rank of each node gets the vector and passes it on there",
     {"broadcast"},
     "a broadcast on the node",
     "(binomial),(double-tree)",
     "binomial",
     "(flat),(scatter-allgather)",
     "flat,scatter-allgather",
     ""},
    {"reduce",
     "one rank of each node combines its ranks, then nodes are combined",
     {"reduce"},
     "a reduce on the node",
     "(binomial)",
     "binomial",
     "(flat),(kary:k=3)",
     "flat",
     "",
     true},
    {"allreduce",
     "one rank of each node combines its ranks, nodes are combined, all learn it",
     {"reduce", "allreduce"},
     "a reduce or an allreduce on the node",
     "(binomial),(recursive-doubling)",
     "recursive-doubling",
     "(ring),(reduce-broadcast),(double-tree)",
     "reduce-broadcast,ring",
     "broadcast",
     true},
    {"gather",
     "one rank of each node collects its ranks' blocks, the root those of nodes",
     {"gather"},
     "a gather on the node",
     "(binomial)",
     "binomial",
     "(flat)",
     "flat",
     "",
     false,
     true},
    {"scatter",
     "one rank of each node gets its ranks' blocks and gives them out",
     {"scatter"},
     "a scatter on the node",
     "(binomial)",
     "binomial",
     "(flat)",
     "flat",
     "",
     false,
     true},
    {"allgather",
     "nodes collect their blocks, exchange them, and all ranks learn them",
     {"gather"},
     "a gather on the node",
     "(binomial)",
     "bruck",
     "(ring),(direct)",
     "ring,direct",
     "broadcast",
     false,
     true},
    {"reduce_scatter",
     "nodes combine their ranks, exchange blocks, and give them out",
     {"reduce"},
     "a reduce on the node",
     "(binomial)",
     "pairwise",
     "(ring)",
     "ring",
     "scatter",
     true,
     true},
}};

/// The three parts of a collective.
struct Parts {
    Named node;
    Named net;
    Named down;
};

base::Result<Parts> parts_of(const Entry& entry, const AlgorithmSpec& spec) {
    Parts parts;
    auto node = named_by(spec, "node", "flat", entry.node_collectives());
    if (!node) return node.failure();
    parts.node = *std::move(node);
    auto net = named_by(spec, kNet, entry.net_usual, {&entry.collective, 1});
    if (!net) return net.failure();
    parts.net = *std::move(net);
    if (entry.rooted()) return parts;
    auto down = named_by(spec, "down", "flat", {&entry.down, 1});
    if (!down) return down.failure();
    parts.down = *std::move(down);
    return parts;
}

enum class Whose : std::uint8_t { nodes, leaders };
enum class Data : std::uint8_t { vector, blocks, none };

/// One part: by whom, by which algorithm, from where to where, and what of it.
struct Line {
    Whose whose;
    const Named* named;
    VectorName input;
    VectorName output;
    Data data;
};

/// What the parts read and write, one after the other. `partial` is where leaders hold what is not their own
/// result.
std::vector<Line> lines_of(const Entry& entry, const Parts& parts, VectorName partial) {
    using enum Whose;
    const std::string_view name = entry.collective;
    const Named* const node = &parts.node;
    const Named* const net = &parts.net;
    const Named* const down = &parts.down;
    if (name == "barrier")
        return {{nodes, node, kInput, kOutput, Data::none},
                {leaders, net, kInput, kOutput, Data::none},
                {nodes, down, kInput, kOutput, Data::none}};
    if (name == "broadcast")
        return {{leaders, net, kInput, kOutput, Data::vector},
                {nodes, node, kOutput, kOutput, Data::vector}};
    if (name == "scatter")
        return {{leaders, net, kInput, kPartial, Data::blocks},
                {nodes, node, kPartial, kOutput, Data::blocks}};
    if (name == "reduce" || name == "gather") {
        const Data data = entry.blocks ? Data::blocks : Data::vector;
        return {{nodes, node, kInput, partial, data}, {leaders, net, partial, kOutput, data}};
    }
    if (name == "allgather")
        return {{nodes, node, kInput, kOutput, Data::blocks},
                {leaders, net, kOutput, kOutput, Data::blocks},
                {nodes, down, kOutput, kOutput, Data::vector}};
    if (name == "reduce_scatter")
        return {{nodes, node, kInput, kPartial, Data::vector},
                {leaders, net, kPartial, kPartial, Data::blocks},
                {nodes, down, kPartial, kOutput, Data::blocks}};
    return {{nodes, node, kInput, kOutput, Data::vector},
            {leaders, net, kOutput, kOutput, Data::vector},
            {nodes, down, kOutput, kOutput, Data::vector}};
}

base::Result<plan::Program> compose(const Entry& entry, const Parts& parts, plan::Program header,
                                    const Groups& groups) {
    // Of collectives with a root only that has an output for everything.
    const bool at_root = header.rank == header.root;
    const auto lines = lines_of(entry, parts, at_root ? kOutput : kPartial);
    const auto names_partial = [](const Line& line) {
        return line.input == kPartial || line.output == kPartial;
    };
    if (groups.leads() && std::ranges::any_of(lines, names_partial)) header.scratch = 1;
    std::vector<plan::Part> list;
    for (const Line& line : lines) {
        const GroupCall call{.collective = line.named->collective,
                             .spec = line.named->spec,
                             .input = line.input,
                             .output = line.output,
                             .bare = line.data == Data::none,
                             .by_blocks = line.data == Data::blocks};
        auto part = line.whose == Whose::leaders ? groups.of_leaders(call) : groups.on_nodes(call);
        if (!part) return part.failure();
        list.push_back(*std::move(part));
    }
    return plan::splice(std::move(header), list);
}

base::Result<plan::Program> generate_hierarchical(const Entry& entry, const AlgorithmSpec& spec,
                                                  const GenerateRequest& asked) {
    GenerateRequest request = asked;
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    request.segments = *segments;
    const auto parts = parts_of(entry, spec);
    if (!parts) return parts.failure();
    plan::Program header = program_header(entry.collective, spec, request);
    if (!entry.rooted()) request.root = header.root = plan::kNoRank;
    if (entry.collective != "barrier" && request.elements == 0) {
        header.units = 0;
        return header;
    }
    const Groups groups(request);
    if (request.ordered && entry.combines && !groups.layout().contiguous())
        return base::fail(Status::argument,
                          "{} hierarchical combines the ranks of a node first: nodes that do not "
                          "hold consecutive ranks put them out of order, and the operation does "
                          "not commute",
                          entry.collective);
    header.synchronizing = !entry.rooted();
    return compose(entry, *parts, std::move(header), groups);
}

Properties usual(const Entry& entry) {
    return {.ordered = true,
            .bit_identical = true,
            .synchronizing = !entry.rooted(),
            .rooted = entry.rooted(),
            .for_nodes = true};
}

/// What the parts promise.
Properties refined(const Entry& entry, const AlgorithmSpec& spec) {
    Properties properties = usual(entry);
    const auto parts = parts_of(entry, spec);
    if (!parts) return properties;
    for (const Named* named : {&parts->node, &parts->net}) {
        const Properties inner = named->algorithm->properties_of(named->spec);
        properties.ordered = properties.ordered && inner.ordered;
        properties.bit_identical = properties.bit_identical && inner.bit_identical;
    }
    return properties;
}

/// Trees on large nodes, and what the network may like.
std::vector<std::string> variants_of(const Entry& entry, const CandidateRequest& request) {
    std::vector<std::string> specs;
    const std::string_view nets = entry.net_variants;
    for (std::size_t at = 0; at < nets.size();) {
        const std::size_t end = std::min(nets.find(',', at), nets.size());
        const std::string_view net = nets.substr(at, end - at);
        specs.push_back(fmt::format("hierarchical:net=({})", net));
        if (request.layout.most() > 4)
            specs.push_back(fmt::format("hierarchical:node=(binomial),net=({})", net));
        at = end + 1;
    }
    return specs;
}

template <std::size_t kEntry>
Algorithm algorithm_of() {
    const Entry& entry = kEntries[kEntry];
    Algorithm algorithm{
        .collective = entry.collective,
        .name = "hierarchical",
        .summary = entry.summary,
        .source = "composed of the algorithms that node and net name",
        .parameters = {{"node", "flat", entry.node_help, entry.node_tries},
                       {kNet, entry.net_usual, "what one rank of each node does", entry.net_tries}},
        .properties = usual(entry),
    };
    if (!entry.rooted())
        algorithm.parameters.push_back(
            {"down", "flat", "how the ranks of a node learn the outcome", "(binomial)"});
    if (entry.collective != "barrier")
        algorithm.parameters.push_back({"segments", "1", kSegmentsHelp});
    algorithm.generate = [](const AlgorithmSpec& spec, const GenerateRequest& request) {
        return generate_hierarchical(kEntries[kEntry], spec, request);
    };
    algorithm.variants = [](const CandidateRequest& request) {
        return variants_of(kEntries[kEntry], request);
    };
    algorithm.refine = [](const AlgorithmSpec& spec) { return refined(kEntries[kEntry], spec); };
    return algorithm;
}

}  // namespace

Algorithm barrier_hierarchical() {
    return algorithm_of<0>();
}
Algorithm broadcast_hierarchical() {
    return algorithm_of<1>();
}
Algorithm reduce_hierarchical() {
    return algorithm_of<2>();
}
Algorithm allreduce_hierarchical() {
    return algorithm_of<3>();
}
Algorithm gather_hierarchical() {
    return algorithm_of<4>();
}
Algorithm scatter_hierarchical() {
    return algorithm_of<5>();
}
Algorithm allgather_hierarchical() {
    return algorithm_of<6>();
}
Algorithm reduce_scatter_hierarchical() {
    return algorithm_of<7>();
}

}  // namespace weft::collectives
