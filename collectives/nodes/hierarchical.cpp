// SPDX-License-Identifier: BSD-3-Clause
// hierarchical.cpp - barrier, broadcast, reduce and allreduce by way of one rank of each node.
//
// Idea     The ranks of a node gather at their leader, the leaders do the collective among themselves, and
//          each spreads the outcome on its node. What they do in each of the three parts is an algorithm of
//          the registry, run by fewer ranks; this file only says which part reads and writes what.
// Source   Hierarchical collectives as in many libraries; composition of programs is ours.
// Rounds   Those of the parts, one after the other. Over the network: those of `net` among the nodes.
// Bytes    Over the network as many as `net` sends among the nodes, whatever the ranks of a node.
// Memory   The slots of the parts, next to each other. A reduce has one vector of scratch on leaders.
// Good for Nodes of several ranks on a network much slower than their memory; little traffic: one rank of a
//          node drives the network, so large vectors leave most of it unused (multi-object-large).
// Holds    Rank order if asked for: every part keeps it, and nodes must hold consecutive ranks then.
//          Results are bit-identical if those of `net` are (and of `node`, where that is an allreduce).
//          Allreduce and barrier synchronize. A barrier's parts on the node are the signals of a reduce
//          and of a broadcast. In pieces, all parts go through one loop.
// Next     groups.hpp for the parts; plan/schedule/splice.hpp for how they become one program.
#include "collectives/nodes/hierarchical.hpp"

#include <algorithm>
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

/// The three parts of a collective.
struct Parts {
    Named node;
    Named net;
    Named down;
};

constexpr std::string_view kBarrierNode[] = {"reduce", "barrier"};
constexpr std::string_view kAllreduceNode[] = {"reduce", "allreduce"};
constexpr std::string_view kReduceNode[] = {"reduce"};
constexpr std::string_view kBroadcastNode[] = {"broadcast"};

std::span<const std::string_view> node_collectives(std::string_view collective) {
    if (collective == "barrier") return kBarrierNode;
    if (collective == "allreduce") return kAllreduceNode;
    return collective == "reduce" ? std::span(kReduceNode) : std::span(kBroadcastNode);
}

std::string_view usual_net(std::string_view collective) {
    if (collective == "barrier") return "dissemination";
    return collective == "allreduce" ? "recursive-doubling" : "binomial";
}

bool spreads(std::string_view collective) {
    return collective == "barrier" || collective == "allreduce";
}

base::Result<Parts> parts_of(std::string_view collective, const AlgorithmSpec& spec) {
    Parts parts;
    auto node = named_by(spec, "node", "flat", node_collectives(collective));
    if (!node) return node.failure();
    parts.node = *std::move(node);
    auto net = named_by(spec, kNet, usual_net(collective), {&collective, 1});
    if (!net) return net.failure();
    parts.net = *std::move(net);
    if (!spreads(collective)) return parts;
    auto down = named_by(spec, "down", "flat", kBroadcastNode);
    if (!down) return down.failure();
    parts.down = *std::move(down);
    return parts;
}

base::Result<plan::Program> join(plan::Program header, const Groups& groups,
                                 std::initializer_list<std::pair<bool, GroupCall>> calls) {
    std::vector<plan::Part> parts;
    for (const auto& [by_leaders, call] : calls) {
        auto part = by_leaders ? groups.of_leaders(call) : groups.on_nodes(call);
        if (!part) return part.failure();
        parts.push_back(*std::move(part));
    }
    return plan::splice(std::move(header), parts);
}

GroupCall call_of(const Named& named, VectorName input, VectorName output, bool bare = false) {
    return {.collective = named.collective,
            .spec = named.spec,
            .input = input,
            .output = output,
            .bare = bare};
}

constexpr bool kLeaders = true;
constexpr bool kNodes = false;

base::Result<plan::Program> compose(std::string_view collective, const Parts& parts,
                                    plan::Program header, const Groups& groups) {
    if (collective == "barrier")
        return join(std::move(header), groups,
                    {{kNodes, call_of(parts.node, kInput, kOutput, true)},
                     {kLeaders, call_of(parts.net, kInput, kOutput, true)},
                     {kNodes, call_of(parts.down, kInput, kOutput, true)}});
    if (collective == "broadcast")
        return join(std::move(header), groups,
                    {{kLeaders, call_of(parts.net, kInput, kOutput)},
                     {kNodes, call_of(parts.node, kOutput, kOutput)}});
    if (collective == "reduce") {
        // Only the root has an output.
        const bool at_root = header.rank == header.root;
        if (!at_root && groups.leads()) header.scratch = 1;
        const VectorName partial = at_root ? kOutput : kPartial;
        return join(std::move(header), groups,
                    {{kNodes, call_of(parts.node, kInput, partial)},
                     {kLeaders, call_of(parts.net, partial, kOutput)}});
    }
    return join(std::move(header), groups,
                {{kNodes, call_of(parts.node, kInput, kOutput)},
                 {kLeaders, call_of(parts.net, kOutput, kOutput)},
                 {kNodes, call_of(parts.down, kOutput, kOutput)}});
}

base::Result<plan::Program> generate_hierarchical(std::string_view collective,
                                                  const AlgorithmSpec& spec,
                                                  const GenerateRequest& asked) {
    GenerateRequest request = asked;
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    request.segments = *segments;
    const auto parts = parts_of(collective, spec);
    if (!parts) return parts.failure();
    plan::Program header = program_header(collective, spec, request);
    if (!is_rooted(collective)) request.root = header.root = plan::kNoRank;
    if (collective != "barrier" && request.elements == 0) {
        header.units = 0;
        return header;
    }
    const Groups groups(request);
    if (request.ordered && !groups.layout().contiguous())
        return base::fail(Status::argument,
                          "{} hierarchical combines the ranks of a node first: nodes that do not "
                          "hold consecutive ranks put them out of order, and the operation does "
                          "not commute",
                          collective);
    header.synchronizing = spreads(collective);
    return compose(collective, *parts, std::move(header), groups);
}

Properties refined(std::string_view collective, const AlgorithmSpec& spec) {
    Properties properties{.ordered = true,
                          .bit_identical = true,
                          .synchronizing = spreads(collective),
                          .rooted = !spreads(collective),
                          .for_nodes = true};
    const auto parts = parts_of(collective, spec);
    if (!parts) return properties;
    for (const Named* named : {&parts->node, &parts->net}) {
        const Properties inner = named->algorithm->properties_of(named->spec);
        properties.ordered = properties.ordered && inner.ordered;
        properties.bit_identical = properties.bit_identical && inner.bit_identical;
    }
    return properties;
}

/// Trees and flat exchanges on the node, and what the network may like, where nodes hold several ranks.
std::vector<std::string> variants_of(std::string_view node, std::string_view net,
                                     const CandidateRequest& request) {
    std::vector<std::string> specs;
    for (std::size_t at = 0; at < net.size();) {
        const std::size_t end = std::min(net.find(',', at), net.size());
        specs.push_back(fmt::format("hierarchical:net=({})", net.substr(at, end - at)));
        if (request.layout.most() > 4)
            specs.push_back(
                fmt::format("hierarchical:node=({}),net=({})", node, net.substr(at, end - at)));
        at = end + 1;
    }
    return specs;
}

/// What differs between the four entries.
struct Entry {
    std::string_view collective;
    std::string_view summary;
    std::string_view node_help;
    std::string_view node_tries;
    std::string_view net;
    std::string_view net_tries;
};

Algorithm entry_of(const Entry& entry) {
    Algorithm algorithm{
        .collective = entry.collective,
        .name = "hierarchical",
        .summary = entry.summary,
        .source = "composed of the algorithms that node and net name",
        .parameters = {{"node", "(flat)", entry.node_help, entry.node_tries},
                       {kNet, entry.net, "what one rank of each node does", entry.net_tries}},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = spreads(entry.collective),
                       .rooted = !spreads(entry.collective),
                       .for_nodes = true},
    };
    if (spreads(entry.collective))
        algorithm.parameters.push_back(
            {"down", "(flat)", "a broadcast, by which the ranks of a node learn the outcome",
             "(binomial)"});
    if (entry.collective != "barrier")
        algorithm.parameters.push_back({"segments", "1", kSegmentsHelp, "3"});
    return algorithm;
}

}  // namespace

Algorithm barrier_hierarchical() {
    Algorithm algorithm =
        entry_of({.collective = "barrier",
                  .summary = "the ranks of each node tell one of them, which meets those of others",
                  .node_help = "a reduce, whose signals are taken, or a barrier",
                  .node_tries = "(binomial),(central)",
                  .net = "(dissemination)",
                  .net_tries = "(central),(dissemination:k=2)"});
    algorithm.generate = [](const AlgorithmSpec& spec, const GenerateRequest& request) {
        return generate_hierarchical("barrier", spec, request);
    };
    algorithm.variants = [](const CandidateRequest& request) {
        return variants_of("binomial", "dissemination:k=3,central", request);
    };
    algorithm.refine = [](const AlgorithmSpec& spec) { return refined("barrier", spec); };
    return algorithm;
}

Algorithm broadcast_hierarchical() {
    Algorithm algorithm =
        entry_of({.collective = "broadcast",
                  .summary = "one rank of each node gets the vector and passes it on there",
                  .node_help = "a broadcast on the node",
                  .node_tries = "(binomial),(double-tree)",
                  .net = "(binomial)",
                  .net_tries = "(flat),(scatter-allgather)"});
    algorithm.generate = [](const AlgorithmSpec& spec, const GenerateRequest& request) {
        return generate_hierarchical("broadcast", spec, request);
    };
    algorithm.variants = [](const CandidateRequest& request) {
        return variants_of("binomial", "flat,scatter-allgather", request);
    };
    algorithm.refine = [](const AlgorithmSpec& spec) { return refined("broadcast", spec); };
    return algorithm;
}

Algorithm reduce_hierarchical() {
    Algorithm algorithm =
        entry_of({.collective = "reduce",
                  .summary = "one rank of each node combines its ranks, then nodes are combined",
                  .node_help = "a reduce on the node",
                  .node_tries = "(binomial)",
                  .net = "(binomial)",
                  .net_tries = "(flat),(kary:k=3)"});
    algorithm.generate = [](const AlgorithmSpec& spec, const GenerateRequest& request) {
        return generate_hierarchical("reduce", spec, request);
    };
    algorithm.variants = [](const CandidateRequest& request) {
        return variants_of("binomial", "flat", request);
    };
    algorithm.refine = [](const AlgorithmSpec& spec) { return refined("reduce", spec); };
    return algorithm;
}

Algorithm allreduce_hierarchical() {
    Algorithm algorithm = entry_of(
        {.collective = "allreduce",
         .summary = "one rank of each node combines its ranks, nodes are combined, all learn it",
         .node_help = "a reduce or an allreduce on the node",
         .node_tries = "(binomial),(recursive-doubling)",
         .net = "(recursive-doubling)",
         .net_tries = "(ring),(reduce-broadcast),(double-tree)"});
    algorithm.generate = [](const AlgorithmSpec& spec, const GenerateRequest& request) {
        return generate_hierarchical("allreduce", spec, request);
    };
    algorithm.variants = [](const CandidateRequest& request) {
        return variants_of("binomial", "reduce-broadcast,ring", request);
    };
    algorithm.refine = [](const AlgorithmSpec& spec) { return refined("allreduce", spec); };
    return algorithm;
}

}  // namespace weft::collectives
