// SPDX-License-Identifier: BSD-3-Clause
// multi_object_small.cpp - allreduce of short vectors, and barrier (`multi-object`), in which all
// ranks of a node use the network.
//
// Idea     The ranks of a node exchange their vectors, so each has the node's sum. Then nodes are
//          combined in rounds of radix B. In a round each port receives from one other node, and
//          the ranks of the node exchange the received data. The distances follow a census
//          function. Each node keeps two sums: a over the nodes 0..x before it, b over the nodes
//          0..y. While n sums must still be combined into the result, the first one is an a and the
//          others are b. A round combines them to c = ceil(n/B). Long vectors are exposed to local
//          peers instead of put. Peers combine them in place, from the input or a port's slot. The
//          barrier has the signals without the data: a rank with all contributions knows that all
//          ranks have entered.
// Source   Huang et al., PiP-MColl, section III-A3, with a process for each port. Their rounds lose
//          remainders from B*B+B+1 nodes on. The rounds here are Bar-Noy, Kipnis and Schieber's
//          census functions in any radix.
// Rounds   Over the network ceil(log_B N) for N nodes, with B at most ports + 1. On the node as
//          many, and one before.
// Bytes    A port sends the vector once in each round.
// Memory   A slot for each rank of the node; in each round one, and one more for each port. A
//          scratch vector if N is not a power of B. Another one if vectors are exposed, because
//          local peers read the input, which may be the output.
// Good for Short vectors on many nodes with several ranks.
// Holds    Synchronizing. Each node adds in its own rotation, so floating-point results differ
//          between nodes. Up to B nodes need only one round, which combines in the order of nodes:
//          in rank order, if nodes hold consecutive ranks. In a pipeline a slot is reused only
//          after every rank has entered the piece before the last.
// Next     ../generate/node_position.hpp for ports; ../transfer.hpp.
#include <algorithm>

#include "collectives/entries.hpp"
#include "collectives/generate/node_position.hpp"
#include "plan/schedule/splice.hpp"

namespace weft::collectives {

namespace {

/// One round: distances of the ports, and the sums to which received data is added.
struct Round {
    Rank lead = 1;      ///< operands of sum a: the node's own and those of the first lead - 1 ports
    bool last = false;  ///< only sum a is needed
    std::vector<Rank> reach;  ///< distance in nodes, by port; further ports are idle

    /// Returns the number of ports that are not idle.
    [[nodiscard]] Rank active() const { return static_cast<Rank>(reach.size()); }
    /// Returns true if sum a includes the data that `port` receives.
    [[nodiscard]] bool leads(Rank port) const { return port + 1 < lead; }
};

/// Returns the rounds that combine `nodes` nodes.
std::vector<Round> census(Rank nodes, Rank radix) {
    std::vector<Round> rounds;
    for (Rank left = nodes; left > 1;) {
        const Rank each = (left - 1) / radix + 1;
        Round round{.lead = left - (each - 1) * radix, .last = each == 1};
        for (Rank j = 1; j < (round.last ? round.lead : radix); ++j)
            round.reach.push_back(
                j < round.lead ? j * each : round.lead * each + (j - round.lead) * (each - 1) - 1);
        rounds.push_back(round);
        left = each;
    }
    return rounds;
}

class Exchange {
  public:
    /// Done signals use numbers from `first_done` on, two for each rank of a node.
    Exchange(BlockWriter& writer, const GenerateRequest& request, LocalTransfer transfer,
             std::uint32_t first_done)
        : writer_(writer),
          here_(request),
          transfer_(transfer),
          inputs_(writer.builder(), here_, transfer, first_done),
          slots_(writer.builder(), here_, transfer, first_done + as_u32(here_.layout.most())) {}

    void write(const std::vector<Round>& rounds) {
        on_node();
        auto number = as_u32(here_.layout.most());
        for (const Round& round : rounds) {
            exchange(round, number);
            combine(round, number, rounds.size() == 1);
            number += 1 + as_u32(here_.ports);
        }
        if (lead_.buffer != plan::Buffer::output) writer_->copy(writer_.output(0), lead_);
        if (transfer_ == LocalTransfer::put) return;
        slots_.signal_done();
        slots_.await_done();
    }

  private:
    /// Combines the inputs of the node's ranks.
    void on_node() {
        lead_ = regular_ = writer_.input(0);
        if (here_.count == 1) return;
        inputs_.share(as_u32(here_.local), lead_);
        std::vector<plan::Block> operands;
        for (Rank peer = 0; peer < here_.count; ++peer) {
            const auto number = as_u32(peer);
            operands.push_back(peer == here_.local ? lead_ : given(peer, number));
            if (peer != here_.local) inputs_.wait(here_.node_rank(peer), number);
        }
        writer_->flush();
        if (transfer_ == LocalTransfer::put) {
            lead_ = regular_ = writer_.output(0);
            return writer_->reduce(lead_, operands);
        }
        lead_ = regular_ = writer_.scratch(1, 0);
        writer_->reduce(lead_, operands);
        inputs_.signal_done();
        inputs_.await_done();
    }

    /// Returns the data that a local peer has shared under `number`.
    [[nodiscard]] plan::Block given(Rank peer, std::uint32_t number) const {
        return slots_.shared(here_.node_rank(peer), writer_.slot(number, 0));
    }

    /// Exchanges with other nodes, then on the node.
    void exchange(const Round& round, std::uint32_t number) {
        if (here_.local < round.active()) {
            const Rank reach = round.reach[here_.local];
            writer_->put(here_.partner(std::int64_t{here_.node} + reach), number, regular_);
            writer_->wait(here_.partner(std::int64_t{here_.node} - reach), number);
            slots_.share(shared(number, here_.local), writer_.slot(number, 0));
        }
        for (Rank port = 0; port < round.active(); ++port)
            if (port != here_.local) slots_.wait(here_.node_rank(port), shared(number, port));
        writer_->flush();
    }

    /// Adds the received data to the sums. `only`: there is no other round.
    void combine(const Round& round, std::uint32_t number, bool only) {
        const auto received = [&](Rank port) {
            return port == here_.local ? writer_.slot(number, 0)
                                       : given(port, shared(number, port));
        };
        std::vector<plan::Block> lead;
        std::vector<plan::Block> all;
        for (Rank port = 0; port < round.active(); ++port) {
            all.push_back(received(port));
            if (round.leads(port)) lead.push_back(received(port));
        }
        if (only) {
            in_node_order(round, lead);
            return;
        }
        const bool differ = !(lead_ == regular_);
        lead.insert(lead.begin(), lead_);
        all.insert(all.begin(), regular_);
        if (!round.last && (differ || lead.size() < all.size())) {
            regular_ = writer_.scratch(0, 0);
            writer_->reduce(regular_, all);
            lead_ = add(lead);
        } else {
            lead_ = add(lead);
            if (!differ) regular_ = lead_;
        }
    }

    /// Adds operands into the output. A single operand is returned unchanged.
    plan::Block add(const std::vector<plan::Block>& operands) {
        if (operands.size() == 1) return operands.front();
        writer_->reduce(writer_.output(0), operands);
        return writer_.output(0);
    }

    /// Combines in the only round, where each node contributes once.
    void in_node_order(const Round& round, const std::vector<plan::Block>& received) {
        std::vector<std::pair<Rank, plan::Block>> nodes{{here_.node, lead_}};
        for (std::size_t port = 0; port < received.size(); ++port) {
            const Rank from = (here_.node - round.reach[port] + here_.nodes) % here_.nodes;
            nodes.emplace_back(from, received[port]);
        }
        std::ranges::sort(nodes, {}, &std::pair<Rank, plan::Block>::first);
        std::vector<plan::Block> operands;
        for (const auto& [node, block] : nodes) operands.push_back(block);
        lead_ = add(operands);
    }

    /// Returns the number by which a port shares the data of a round.
    [[nodiscard]] static std::uint32_t shared(std::uint32_t number, Rank port) {
        return number + 1 + as_u32(port);
    }

    BlockWriter& writer_;
    NodePosition here_;
    LocalTransfer transfer_;
    LocalPeers inputs_;    ///< shares inputs
    LocalPeers slots_;     ///< shares data from other nodes
    plan::Block lead_;     ///< sum a
    plan::Block regular_;  ///< sum b
};

base::Result<plan::Program> generate_small(const AlgorithmSpec& spec,
                                           const GenerateRequest& request) {
    const plan::Layout layout = layout_of(request);
    const base::Result<std::int64_t> given = radix_of_nodes(spec, layout);
    if (!given) return given.failure();
    const auto radix = static_cast<Rank>(*given);
    if (request.ordered && (layout.nodes() > radix || !layout.contiguous()))
        return base::fail(Status::argument,
                          "allreduce multi-object-small keeps rank order for up to {} nodes of "
                          "consecutive ranks here, and the operation does not commute",
                          radix);
    const std::vector<Round> rounds = census(layout.nodes(), radix);
    const auto transfer = local_transfer(spec, request.elements * request.element_bytes);
    if (!transfer) return transfer.failure();
    const auto most = as_u32(layout.most());
    const auto ports = as_u32(layout.least());
    const auto slots = most + as_u32(rounds.size()) * (1 + ports);
    return program_by_blocks(
        {.collective = "allreduce", .blocks = 1, .synchronizing = true}, spec, request,
        [&](BlockWriter& writer, const GenerateRequest&) {
            Exchange(writer, request, *transfer, slots).write(rounds);
            if (request.size == 1) return;
            writer->reserve_slots(*transfer == LocalTransfer::put ? slots : slots + 2 * most);
            writer->reserve_slot_units(1);
        });
}

/// Returns true if one round combines all nodes. It combines them in the order of nodes.
bool is_one_round(const AlgorithmSpec& spec, const plan::Layout& layout) {
    const base::Result<std::int64_t> radix = radix_of_nodes(spec, layout);
    return radix.ok() && layout.nodes() <= *radix;
}

std::vector<std::string> variants(std::string_view name, const CandidateRequest& request) {
    if (request.layout.least() <= 2) return {};
    return {fmt::format("{}:radix=3", name)};
}

constexpr Parameter kRadix{"radix", "ports + 1",
                           "nodes that become one in a round, at most one more than the ranks of "
                           "the smallest node",
                           "2"};

/// Removes the data from an allreduce of one element.
base::Result<plan::Program> generate_barrier(const AlgorithmSpec& spec,
                                             const GenerateRequest& request) {
    GenerateRequest carrying = request;
    carrying.root = plan::kNoRank;
    carrying.elements = carrying.segments = 1;
    carrying.ordered = false;
    auto program = generate_small(spec, carrying);
    if (!program) return program;
    plan::SplicePart part{
        .shapes = {std::make_shared<const plan::Program>(*program)}, .own = *program, .bare = true};
    part.rank_of = [](Rank rank) { return rank; };
    return plan::splice(program_header("barrier", spec, request), {part});
}

}  // namespace

Algorithm allreduce_multi_object_small() {
    return {
        .collective = "allreduce",
        .name = "multi-object-small",
        .summary = "every rank of a node exchanges the node's sum with another node, in few rounds",
        .source = "Huang et al., PiP-MColl, section III-A3, with a census",
        .parameters = {kRadix, {"segments", "1", kSegmentsHelp}, kNearParameter},
        .properties = {.ordered = true, .synchronizing = true, .for_nodes = true},
        .generate = &generate_small,
        .variants =
            [](const CandidateRequest& request) { return variants("multi-object-small", request); },
        .same_bits = &is_one_round,
    };
}

Algorithm barrier_multi_object() {
    return {
        .collective = "barrier",
        .name = "multi-object",
        .summary = "every rank of a node signals another node, in few rounds",
        .source = "Huang et al., PiP-MColl, section III-A3, with a census",
        .parameters = {kRadix},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .for_nodes = true},
        .generate = generate_barrier,
        .variants =
            [](const CandidateRequest& request) { return variants("multi-object", request); },
    };
}

}  // namespace weft::collectives
