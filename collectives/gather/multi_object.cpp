// SPDX-License-Identifier: BSD-3-Clause
// multi_object.cpp - gather in which all ranks of a node take in blocks of other nodes.
//
// Idea     Up the tree of nodes (../node_tree.hpp), the reverse of a scatter: on each node one rank collects the
//          blocks of its mates and of the parts that come in by the ports, and puts them to the same port of the
//          node before.
// Source   Huang et al., PiP-MColl, section III-A1, turned round: the paper gathers on nodes only.
// Rounds   Over the network ceil(log_B N) for N nodes, B = ports + 1; on the node one first and one after each.
// Bytes    Over the network the root's node receives the blocks of all others, each port a part of them.
// Memory   Slots for the parts of each level; one vector of scratch on ranks that hold other nodes' blocks.
// Good for Many nodes of several ranks.
// Holds    Not synchronizing: in pieces there is a credit for each slot.
// Next     ../node_tree.hpp; ../scatter/multi_object.cpp.
#include <ranges>

#include "collectives/blocks.hpp"
#include "collectives/gather/gather.hpp"
#include "collectives/node_tree.hpp"

namespace weft::collectives {

namespace {

class Writer {
  public:
    Writer(BlockWriter& writer, const GenerateRequest& request, Rank radix)
        : writer_(writer),
          here_(request),
          tree_(here_, request.root, radix),
          sizes_(part_sizes(here_.nodes, radix)),
          numbers_{static_cast<std::uint32_t>(sizes_.size()),
                   static_cast<std::uint32_t>(here_.ports),
                   static_cast<std::uint32_t>(here_.layout.most())},
          own_(static_cast<std::uint32_t>(request.rank)) {}

    void write() {
        if (here_.local == tree_.holder) {
            collect_mates();
            for (const NodePart& part : tree_.given | std::views::reverse) collect(part);
            send();
        } else {
            give_own();
            for (const NodePart& part : tree_.given | std::views::reverse)
                if (part.port == here_.local) pass(part);
        }
        reserve();
    }

  private:
    void collect_mates() {
        writer_->copy(held(own_, 1), writer_.input(own_));
        for (Rank k = 1; k < here_.count; ++k) {
            const Rank local = (here_.local + k) % here_.count;
            const Rank mate = here_.node_rank(local);
            const std::uint32_t slot = numbers_.node_rank(local);
            const auto block = static_cast<std::uint32_t>(mate);
            writer_->wait(mate, slot);
            writer_->copy(held(block, 1), writer_.slot(slot, block));
            writer_.give_credit(mate, numbers_.credit(slot));
        }
    }

    void give_own() {
        const Rank holder = here_.node_rank(tree_.holder);
        const std::uint32_t slot = numbers_.node_rank(here_.local);
        writer_.await_credit(holder, numbers_.credit(slot));
        writer_->put(holder, slot, writer_.input(own_));
    }

    /// As holder: from another node by this port, or from the port that took it in.
    void collect(const NodePart& part) {
        const bool mine = part.port == here_.local;
        const std::uint32_t slot =
            mine ? numbers_.far(part.level) : numbers_.near(part.level, part.port);
        const Rank from = mine ? here_.partner(part.nodes.first) : here_.node_rank(part.port);
        writer_->wait(from, slot);
        writer_->copy(held(part.nodes), in_slot(slot, part.nodes));
        writer_.give_credit(from, numbers_.credit(slot));
    }

    /// As port for the holder.
    void pass(const NodePart& part) {
        const Rank holder = here_.node_rank(tree_.holder);
        const std::uint32_t far = numbers_.far(part.level);
        const std::uint32_t slot = numbers_.near(part.level, part.port);
        const Rank from = here_.partner(part.nodes.first);
        writer_->wait(from, far);
        writer_.await_credit(holder, numbers_.credit(slot));
        writer_->put(holder, slot, in_slot(far, part.nodes));
        writer_->flush();
        writer_.give_credit(from, numbers_.credit(far));
    }

    void send() {
        if (tree_.from == plan::kNoRank) return;
        const Rank to = here_.partner(tree_.from);
        const std::uint32_t slot = numbers_.far(tree_.got.level);
        writer_.await_credit(to, numbers_.credit(slot));
        writer_->put(to, slot, held(tree_.got.nodes));
    }

    /// Where this rank keeps blocks: the root in its output.
    [[nodiscard]] plan::Block held(std::uint32_t first, std::uint32_t count) const {
        return tree_.from == plan::kNoRank ? writer_.output(first, count)
                                           : writer_.scratch(0, first, count);
    }
    [[nodiscard]] std::vector<plan::Block> held(NodeWindow nodes) const {
        return blocks_of_nodes(here_.layout, nodes, [&](std::uint32_t first, std::uint32_t count) {
            return held(first, count);
        });
    }
    [[nodiscard]] std::vector<plan::Block> in_slot(std::uint32_t slot, NodeWindow nodes) const {
        return blocks_of_nodes(here_.layout, nodes, [&](std::uint32_t first, std::uint32_t count) {
            return writer_.slot(slot, first, count);
        });
    }

    void reserve() {
        if (here_.layout.size() == 1) return;
        for (std::uint32_t level = 0; level < numbers_.levels; ++level) {
            const std::uint32_t units = ranks_at_most(here_.layout, sizes_[level]);
            writer_->reserve_capacity(numbers_.far(level), units);
            // Nodes of a part that is smaller than the radix have idle ports.
            const Rank nodes = level == 0 ? here_.nodes : sizes_[level - 1];
            for (Rank port = 0; port < here_.ports; ++port)
                writer_->reserve_capacity(numbers_.near(level, port),
                                          here_.layout.most() > 1 && port + 1 < nodes ? units : 0);
        }
        for (Rank local = 0; local < here_.layout.most(); ++local)
            writer_->reserve_capacity(numbers_.node_rank(local), here_.layout.most() > 1 ? 1 : 0);
        writer_.reserve_credits(numbers_.slots(), numbers_.slots());
    }

    BlockWriter& writer_;
    NodePosition here_;
    NodeTree tree_;
    std::vector<Rank> sizes_;
    NodeTreeNumbers numbers_;
    std::uint32_t own_;
};

base::Result<plan::Program> generate_multi_object(const AlgorithmSpec& spec,
                                                  const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("gather", spec, request);
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    BlockWriter writer(std::move(header), static_cast<std::uint32_t>(request.size), *segments,
                       Cut::blocks);
    Writer(writer, request, layout_of(request).least() + 1).write();
    return std::move(writer).finish();
}

}  // namespace

Algorithm gather_multi_object() {
    return {
        .collective = "gather",
        .name = "multi-object",
        .summary = "every rank of a node takes in the blocks of some other nodes",
        .source = "Huang et al., PiP-MColl, section III-A1, turned round",
        .parameters = {{"segments", "1", kSegmentsHelp}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true, .for_nodes = true},
        .generate = &generate_multi_object,
    };
}

}  // namespace weft::collectives
