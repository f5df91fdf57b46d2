// SPDX-License-Identifier: BSD-3-Clause
// multi_object_small.cpp - allreduce of short buffers (`multi-object-small`) and barrier
// (`multi-object`), in which several ranks of each node use the network at the same time.
//
// Idea     The ranks of a node exchange their buffers, so each has the node's sum. Then rounds of
//          radix B combine the N nodes, as in generate/census.hpp. In a round each port sends the
//          node's partial sum to one node and receives the sum of another one, and the ranks of a
//          node exchange the received data. Long buffers are not put to local peers: the owner
//          exposes its input, or the slot with data from another node, and local peers reduce from
//          there. With node=binomial, a binomial tree of puts computes the node's sum, and its root
//          shares it. The barrier has signals in place of the data: a rank with signals from all
//          nodes knows that all ranks have entered.
// Source   Huang et al., PiP-MColl, section III-A3, with one process for each port. From B*B+B+1
//          nodes on, the paper's rounds omit some nodes, so the rounds here are Bar-Noy, Kipnis and
//          Schieber's census functions in any radix.
// Rounds   Over the network: ceil(log_B N), with B at most ports + 1. On the node: one at the start
//          (with the tree 1 + log2 of the node's ranks), and one after each round over the network.
// Bytes    A port sends the buffer once in each round over the network.
// Memory   A slot for each rank of the node. For each round over the network, a slot for the data
//          from another node and, for each port, a slot for the data that the port shares. A
//          scratch buffer for the second sum of the census if N is not a power of B. Another one
//          for the node's sum if buffers are exposed, because local peers read the input, which may
//          be the output.
// Good for Short buffers on many nodes with several ranks.
// Holds    Synchronizing. Each node adds in an order that starts with itself, so floating-point
//          results differ between nodes. Up to B nodes need only one round, which combines in the
//          order of nodes: in rank order, if nodes hold consecutive ranks. In a pipeline, piece
//          p + 2 reuses the slots of piece p. A rank starts it after piece p + 1, so all ranks have
//          entered piece p + 1 and no longer read those slots.
#include "collectives/entries.hpp"
#include "collectives/generate/census.hpp"
#include "collectives/generate/node_position.hpp"
#include "collectives/notation/cursor.hpp"
#include "plan/schedule/splice.hpp"

namespace weft::collectives {

namespace {

class NodeCensusAllreduce {
  public:
    /// Done signals use numbers from `first_done` on, two for each rank of a node.
    NodeCensusAllreduce(BlockWriter& writer, const GenerateRequest& request, LocalTransfer transfer,
                        bool binomial, std::uint32_t first_done)
        : writer_(writer),
          here_(request),
          transfer_(transfer),
          binomial_(binomial),
          inputs_(writer.builder(), here_, binomial ? LocalTransfer::put : transfer, first_done),
          slots_(writer.builder(), here_, transfer, first_done + as_u32(here_.layout.most())) {}

    void write(const std::vector<CensusRound>& rounds) {
        if (binomial_)
            combine_up_node_tree();
        else
            combine_on_node();
        auto number = as_u32(here_.layout.most());
        for (const CensusRound& round : rounds) {
            exchange(round, number);
            combine(round, number, rounds.size() == 1);
            number += 1 + as_u32(here_.ports);
        }
        const plan::Block& result = sums_.result();
        if (result.buffer != plan::Buffer::output) writer_->copy(writer_.output(0), result);
        if (transfer_ == LocalTransfer::put) return;
        slots_.signal_done();
        slots_.await_done();
    }

  private:
    /// Combines the inputs of the node's ranks.
    void combine_on_node() {
        const plan::Block own = writer_.input(0);
        if (here_.node_size == 1) return;
        inputs_.share(as_u32(here_.local), own);
        std::vector<plan::Block> operands;
        for (Rank peer = 0; peer < here_.node_size; ++peer) {
            const auto number = as_u32(peer);
            operands.push_back(peer == here_.local ? own : local_block(peer, number));
            if (peer != here_.local) inputs_.wait(here_.node_rank(peer), number);
        }
        writer_->flush();
        const bool puts = transfer_ == LocalTransfer::put;
        const plan::Block sum = puts ? writer_.output(0) : writer_.scratch(1, 0);
        writer_->reduce(sum, operands);
        sums_.start_from(sum);
        if (puts) return;
        inputs_.signal_done();
        inputs_.await_done();
    }

    /// Combines the inputs of the node's ranks in a binomial tree, whose root shares the sum.
    void combine_up_node_tree() {
        plan::Block sum = writer_.input(0);
        if (here_.node_size == 1) return;
        Rank step = 1;
        for (; step < here_.node_size && (here_.local & step) == 0; step *= 2) {
            const Rank child = here_.local + step;
            if (child >= here_.node_size) continue;
            writer_->wait(here_.node_rank(child), as_u32(child));
            writer_->reduce(writer_.output(0), {sum, writer_.slot(as_u32(child), 0)});
            sum = writer_.output(0);
        }
        if (here_.local == 0) {
            inputs_.share(0, sum);
            writer_->flush();
        } else {
            writer_->put(here_.node_rank(here_.local - step), as_u32(here_.local), sum);
            writer_->flush();
            inputs_.wait(here_.node_rank(0), 0);
            writer_->copy(writer_.output(0), writer_.slot(0, 0));
        }
        sums_.start_from(writer_.output(0));
    }

    /// Returns the data that a local peer has shared under `number`.
    [[nodiscard]] plan::Block local_block(Rank peer, std::uint32_t number) const {
        return slots_.shared(here_.node_rank(peer), writer_.slot(number, 0));
    }

    /// Exchanges with other nodes, then on the node.
    void exchange(const CensusRound& round, std::uint32_t number) {
        if (here_.local < active(round)) {
            const Rank distance = round.distances[here_.local];
            writer_->put(here_.partner(std::int64_t{here_.node} + distance), number, sums_.sent());
            writer_->wait(here_.partner(std::int64_t{here_.node} - distance), number);
            slots_.share(shared_number(number, here_.local), writer_.slot(number, 0));
        }
        for (Rank port = 0; port < active(round); ++port)
            if (port != here_.local)
                slots_.wait(here_.node_rank(port), shared_number(number, port));
        writer_->flush();
    }

    /// Adds the received data to the sums.
    void combine(const CensusRound& round, std::uint32_t number, bool is_only_round) {
        const auto received = [&](Rank port) {
            return port == here_.local ? writer_.slot(number, 0)
                                       : local_block(port, shared_number(number, port));
        };
        std::vector<plan::Block> blocks;
        for (Rank port = 0; port < active(round); ++port) blocks.push_back(received(port));
        if (is_only_round)
            sums_.add_in_order(round, blocks, here_.node, here_.nodes);
        else
            sums_.add(round, blocks);
    }

    /// Returns the number of ports that are not idle.
    [[nodiscard]] static Rank active(const CensusRound& round) {
        return static_cast<Rank>(round.distances.size());
    }
    /// Returns the number by which a port shares its data of the round that uses `number`.
    [[nodiscard]] static std::uint32_t shared_number(std::uint32_t number, Rank port) {
        return number + 1 + as_u32(port);
    }

    BlockWriter& writer_;
    NodePosition here_;
    LocalTransfer transfer_;
    bool binomial_;
    LocalPeers inputs_;                           ///< shares inputs
    LocalPeers slots_;                            ///< shares data from other nodes
    CensusSums sums_{writer_, writer_.input(0)};  ///< sums of the node
};

base::Result<plan::Program> generate_small(const GenerateRequest& request) {
    const AlgorithmSpec& spec = *request.spec;
    const plan::Layout layout = layout_of(request);
    const auto radix = static_cast<Rank>(WEFT_TRY(radix_of_nodes(spec, layout)));
    if (request.ordered && (layout.nodes() > radix || !layout.contiguous()))
        return base::fail(Status::argument,
                          "the operation does not commute, and allreduce multi-object-small with "
                          "radix {0} keeps rank order only on up to {0} nodes of consecutive ranks",
                          radix);
    const SpecParameter* const node = spec.find("node");
    const bool binomial = node != nullptr && node->value == "binomial";
    if (node != nullptr && !binomial && node->value != "direct")
        return fail_at(node->position, "node is '{}', expected direct or binomial", node->value);
    const std::vector<CensusRound> rounds = census_rounds(layout.nodes(), radix);
    const LocalTransfer transfer =
        WEFT_TRY(local_transfer(spec, request.elements * request.element_bytes));
    const auto largest_node = as_u32(layout.most());
    const auto ports = as_u32(layout.least());
    const auto slots = largest_node + as_u32(rounds.size()) * (1 + ports);
    return program_by_blocks(
        {.blocks = 1}, request, [&](BlockWriter& writer, const GenerateRequest&) {
            NodeCensusAllreduce(writer, request, transfer, binomial, slots).write(rounds);
            if (request.size == 1) return;
            writer->reserve_slots(transfer == LocalTransfer::put ? slots
                                                                 : slots + 2 * largest_node);
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
                           "nodes that combine their data in a round, at most one more than the "
                           "ranks of the smallest node",
                           "2"};

/// Returns the program of an allreduce of one element, without its data.
base::Result<plan::Program> generate_barrier(const GenerateRequest& request) {
    GenerateRequest carrying = request;
    carrying.root = plan::kNoRank;
    carrying.elements = carrying.segments = 1;
    carrying.ordered = false;
    auto program = generate_small(carrying);
    if (!program) return program;
    plan::SplicePart part{
        .shapes = {std::make_shared<const plan::Program>(*program)}, .own = *program, .bare = true};
    part.rank_of = [](Rank rank) { return rank; };
    return plan::splice(program_header(request), {part}, plan::Flow::one_segment);
}

}  // namespace

Algorithm allreduce_multi_object_small() {
    return {
        .collective = "allreduce",
        .name = "multi-object-small",
        .summary = "every rank of a node exchanges the node's sum with another node, in few rounds",
        .source = "Huang et al., PiP-MColl, section III-A3, with a census",
        .parameters = {kRadix,
                       {"node", "direct",
                        "how a node's ranks combine their buffers: direct (each combines all) or "
                        "binomial (a tree, whose root shares the sum)",
                        "binomial"},
                       kSegments,
                       kNearParameter},
        .properties = {.ordered = true, .synchronizing = true, .for_nodes = true},
        .generate = &generate_small,
        .variants =
            [](const CandidateRequest& request) { return variants("multi-object-small", request); },
        .same_bits = &is_one_round};
}

Algorithm barrier_multi_object() {
    return {.collective = "barrier",
            .name = "multi-object",
            .summary = "every rank of a node signals another node, in few rounds",
            .source = "Huang et al., PiP-MColl, section III-A3, with a census",
            .parameters = {kRadix},
            .properties = {.ordered = true,
                           .bit_identical = true,
                           .synchronizing = true,
                           .for_nodes = true},
            .generate = generate_barrier,
            .variants = [](const CandidateRequest& request) {
                return variants("multi-object", request);
            }};
}

}  // namespace weft::collectives
