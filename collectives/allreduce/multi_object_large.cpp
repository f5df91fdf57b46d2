// SPDX-License-Identifier: BSD-3-Clause
// multi_object_large.cpp - allreduce of long buffers in which all ranks of a node use the network.
//
// Idea     The buffer has a chunk for each node. Port l of P serves the nodes l, l + P, ...: it
//          combines their chunks from the inputs of its local peers, and puts each whole chunk to
//          port l of the chunk's node. That port combines the chunk of all nodes and shares it with
//          its local peers. Then finished chunks go around the ring of nodes. Each port passes on a
//          P-th of every chunk, its block, and shares arriving blocks with its local peers at once.
//          Long inputs, chunks and blocks are exposed to local peers instead of put. A port
//          combines chunks directly from the peers' inputs, and peers copy finished chunks and
//          blocks from the port's output and slots.
//          A longer chunk has several parts, each served by another port.
// Source   Huang et al., PiP-MColl, section III-B2, with one part. Here the numbers of nodes, ports
//          and elements need not divide each other.
// Why      With one part, a single rank of the node combines the chunk of all nodes. With a part
//          for each port, the ranks share this work, but send P times the messages. One part for
//          each kPartBytes of the chunk is near the best number in between. If there are fewer
//          nodes than ports, the messages are few, and a part for each port is best.
// Rounds   Over the network N: one to combine, N-1 around the ring.
// Bytes    Over the network a node sends (N-1)/N of the buffer to combine, in N-1 messages for each
//          part. It sends as much around the ring, every port a P-th of it in N-1 messages. On the
//          node a rank sends its buffer once, and a port sends its finished parts and blocks to
//          each local peer.
// Memory   Slots for the chunks that a port serves from each local peer, for a part from each node,
//          and for the buffer.
// Good for Long buffers on nodes with several ranks, if one rank cannot saturate the network.
// Holds    Rank order if nodes hold consecutive ranks. One rank combines each part, so results are
//          bit-identical. Synchronizing: in a pipeline, the data that a rank has received shows
//          that a slot was read before the rank puts to it again. A block has the same number on
//          its whole path around the ring (kShared). Put numbers: one for each local rank (inputs),
//          one for each node (parts to combine), one for each block (finished data), done signals.
//          In place, a rank overwrites its input only after the port that combined it has exposed
//          the result.
// Next     ../generate/node_position.hpp for ports; ../transfer.hpp; ../generate/blocks.hpp.
#include <algorithm>

#include "collectives/entries.hpp"
#include "collectives/generate/node_ring.hpp"

namespace weft::collectives {

namespace {

/// Bytes that take about as long to combine as a message to send.
constexpr std::uint64_t kPartBytes = 256;

/// A part of the chunk of a node.
struct Part {
    Rank port;                ///< the port that serves it
    std::uint32_t node;       ///< the node of the chunk
    std::uint32_t count;      ///< number of its blocks
    std::uint32_t second;     ///< port of its second block, modulo the ports; then the next ports
    std::uint32_t first = 0;  ///< its first block
};

/// The blocks of the buffer, one for each chunk and port. A port serves consecutive blocks.
class Chunks {
  public:
    Chunks(std::uint32_t nodes, std::uint32_t ports, std::uint32_t parts)
        : ports_(ports), blocks_(std::size_t{nodes} * ports) {
        for (std::uint32_t node = 0; node < nodes; ++node) {
            for (std::uint32_t part = 0; part < parts; ++part) {
                const std::uint32_t begin = part * ports / parts;
                parts_.push_back({.port = static_cast<Rank>((node * parts + part) % ports),
                                  .node = node,
                                  .count = (part + 1) * ports / parts - begin,
                                  .second = node * parts + parts + begin - part});
            }
        }
        std::ranges::stable_sort(parts_, {}, &Part::port);
        std::uint32_t next = 0;
        for (Part& part : parts_) {
            part.first = next;
            largest_part_ = std::max(largest_part_, part.count);
            blocks_[index(part.node, as_u32(part.port))] = next++;
            for (std::uint32_t i = 0; i + 1 < part.count; ++i)
                blocks_[index(part.node, (part.second + i) % ports)] = next++;
        }
    }

    /// Returns the parts that a port serves, in the order of nodes.
    [[nodiscard]] std::span<const Part> served_by(Rank port) const {
        const auto range = std::ranges::equal_range(parts_, port, {}, &Part::port);
        return {range.begin(), range.end()};
    }
    /// Returns the part of a chunk that a port serves, or null.
    [[nodiscard]] const Part* part_of(std::uint32_t node, Rank port) const {
        const std::span<const Part> served = served_by(port);
        const auto found = std::ranges::lower_bound(served, node, {}, &Part::node);
        return found == served.end() || found->node != node ? nullptr : &*found;
    }
    /// Returns the first of the blocks that a port serves, and their number.
    [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> range_of(Rank port) const {
        const std::span<const Part> served = served_by(port);
        if (served.empty()) return {0, 0};
        return {served.front().first, served.back().first + served.back().count - served[0].first};
    }
    [[nodiscard]] std::uint32_t largest_part() const { return largest_part_; }

    /// Returns the block of a chunk that a port passes around the ring.
    [[nodiscard]] std::uint32_t block(std::uint32_t node, Rank port) const {
        return blocks_[index(node, as_u32(port))];
    }
    /// Returns the port that serves a block.
    [[nodiscard]] Rank server_of(std::uint32_t block) const {
        return std::prev(std::ranges::upper_bound(parts_, block, {}, &Part::first))->port;
    }

  private:
    [[nodiscard]] std::size_t index(std::uint32_t node, std::uint32_t port) const {
        return std::size_t{node} * ports_ + port;
    }

    std::uint32_t ports_;
    std::vector<Part> parts_;            ///< in the order of their blocks
    std::vector<std::uint32_t> blocks_;  ///< block of each chunk and port
    std::uint32_t largest_part_ = 0;     ///< blocks of the largest part
};

class NodeChunksAllreduce {
  public:
    /// `inputs` and `results` say how local peers get a rank's input, and finished data.
    NodeChunksAllreduce(BlockWriter& writer, const GenerateRequest& request, const Chunks& chunks,
                        LocalTransfer inputs, LocalTransfer results)
        : writer_(writer), here_(request), chunks_(chunks), inputs_(inputs), results_(results) {}

    void write() {
        // A second lane of a port copies the blocks of other ports while its ring continues.
        const bool two_lanes = in_place_ && here_.is_port() && here_.ports > 1;
        share_input();
        if (here_.is_port()) {
            combine_inputs();
            combine_nodes();
            start_ring();
            writer_->flush();  // before received blocks replace sent data
            if (two_lanes && ordered_lanes()) writer_->signal(here_.rank, sent_signal());
            for (std::uint32_t k = 1; k < nodes_; ++k)
                ring_.pass(chunks_.block(node_before(k), here_.local), k + 1 < nodes_);
            if (in_place_) {
                writer_->flush();
                peers_.await_done();
            }
        }
        if (two_lanes) {
            writer_->wait(here_.rank, lanes_signal());
            writer_.begin_lane();
            if (ordered_lanes()) writer_->wait(here_.rank, sent_signal());
        }
        for (Rank port = 0; port < here_.ports; ++port)
            if (port != here_.local) receive_from(port);
        if (two_lanes) writer_->signal(here_.rank, lanes_signal());
        reserve();
    }

  private:
    /// Puts to each port the blocks that it serves of this rank's input, or exposes the input.
    void share_input() {
        for (Rank k = 1; k <= here_.ports; ++k) {
            const Rank port = (here_.local + k) % here_.ports;
            const auto [first, count] = chunks_.range_of(port);
            if (port == here_.local || count == 0) continue;
            const auto number = as_u32(here_.local);
            if (exposes_input_)
                writer_->expose(here_.node_rank(port), number, writer_.input(0, ports_ * nodes_));
            else
                writer_->put(here_.node_rank(port), number, writer_.input(first, count));
        }
    }

    /// Combines the blocks that this port serves of all inputs of the node.
    void combine_inputs() {
        const auto [first, count] = chunks_.range_of(here_.local);
        if (count == 0) return;
        std::vector<plan::Block> operands;
        for (Rank peer = 0; peer < here_.node_size; ++peer) {
            const auto number = as_u32(peer);
            if (peer != here_.local) writer_->wait(here_.node_rank(peer), number);
            plan::Block part = writer_.input(first, count);
            if (peer != here_.local && exposes_input_) {
                part = at_peer(here_.node_rank(peer), part);
                part.index = number;
            } else if (peer != here_.local) {
                part = writer_.slot(number, first, count);
            }
            operands.push_back(part);
        }
        writer_.combine(writer_.output(first, count), operands);
    }

    /// Puts each part to the node of its chunk. Combines this node's part of all nodes.
    void combine_nodes() {
        for (std::uint32_t k = 1; k < nodes_; ++k) {
            const std::uint32_t node = (own_node_ + k) % nodes_;
            if (const Part* part = chunks_.part_of(node, here_.local); part != nullptr)
                writer_->put(here_.partner(node), most_ + own_node_, output(*part));
        }
        const Part* own = chunks_.part_of(own_node_, here_.local);
        if (own == nullptr) return;
        std::vector<plan::Block> operands;
        for (std::uint32_t node = 0; node < nodes_; ++node) {
            if (node == own_node_) {
                operands.push_back(output(*own));
                continue;
            }
            writer_->wait(here_.partner(node), most_ + node);
            operands.push_back(writer_.slot(most_ + node, own->first, own->count));
        }
        if (nodes_ > 1) writer_->reduce(output(*own), operands);
    }

    /// Shares this port's finished part, and puts its block of the node's chunk to the next node.
    void start_ring() {
        const std::uint32_t block = chunks_.block(own_node_, here_.local);
        const Rank server = chunks_.server_of(block);
        if (server != here_.local) {
            if (!exposes_input_) writer_->flush();  // in place, the part replaces put data
            take_part(server);
        }
        if (nodes_ > 1) ring_.put_to_next_node(block, writer_.output(block));
        if (const Part* own = chunks_.part_of(own_node_, here_.local); own != nullptr)
            peers_.share(part_number(*own), output(*own));
    }

    /// Copies the finished part of the node's chunk that a port has shared.
    void take_part(Rank port) {
        const Part& part = *chunks_.part_of(own_node_, port);
        const std::uint32_t number = part_number(part);
        const Rank from = here_.node_rank(port);
        peers_.wait(from, number);
        writer_->copy(output(part),
                      peers_.shared(from, writer_.slot(number, part.first, part.count)));
    }

    /// Receives the finished part of a port, unless start_ring() has taken it, then its blocks.
    void receive_from(Rank port) {
        // In place, results replace the blocks that share_input() has put.
        if (!exposes_input_ && !here_.is_port() && port == 0) writer_->flush();
        const Rank from = here_.node_rank(port);
        const bool is_taken =
            here_.is_port() && port == chunks_.server_of(chunks_.block(own_node_, here_.local));
        if (!is_taken && chunks_.part_of(own_node_, port) != nullptr) take_part(port);
        for (std::uint32_t k = 1; k < nodes_; ++k)
            ring_.take(from, chunks_.block(node_before(k), port));
        if (in_place_) peers_.signal_done(from);
    }

    void reserve() {
        if (here_.layout.size() == 1) return;
        std::uint32_t served = 0;
        for (Rank port = 0; port < here_.ports; ++port)
            served = std::max(served, chunks_.range_of(port).second);
        writer_->reserve_capacities(0, most_, most_ > 1 && !exposes_input_ ? served : 0);
        writer_->reserve_capacities(most_, nodes_, nodes_ > 1 ? chunks_.largest_part() : 0);
        writer_->reserve_capacities(first_block_, ports_ * nodes_, nodes_ > 1 ? 1 : 0);
        if (most_ > 1 && !in_place_)
            for (Rank port = 0; port < here_.ports; ++port)
                for (const Part& part : chunks_.served_by(port))
                    writer_->reserve_capacity(part_number(part), part.count);
        if (in_place_) writer_->reserve_slots(sent_signal() + (ordered_lanes() ? 1 : 0));
    }

    [[nodiscard]] plan::Block output(const Part& part) const {
        return writer_.output(part.first, part.count);
    }
    /// Returns the node `k` before this one in the ring.
    [[nodiscard]] std::uint32_t node_before(std::uint32_t k) const {
        return (own_node_ + nodes_ - k) % nodes_;
    }
    /// Returns the number by which a port shares its part: the ring's number for the part's last
    /// block, which the ring does not bring back to the node of the chunk.
    [[nodiscard]] std::uint32_t part_number(const Part& part) const {
        return first_block_ + part.first + part.count - 1;
    }
    /// Returns true if the second lane replaces data that the first has put or copied.
    [[nodiscard]] bool ordered_lanes() const { return chunks_.largest_part() > 1; }
    // Numbers of signals between the lanes of a port: the second has ended, the first has sent the
    // parts and the first block.
    [[nodiscard]] std::uint32_t lanes_signal() const { return first_done_ + most_; }
    [[nodiscard]] std::uint32_t sent_signal() const { return lanes_signal() + 1; }

    BlockWriter& writer_;
    NodePosition here_;
    const Chunks& chunks_;
    LocalTransfer inputs_;
    LocalTransfer results_;
    bool exposes_input_ = inputs_ == LocalTransfer::in_place;
    bool in_place_ = results_ == LocalTransfer::in_place;  ///< finished data is exposed
    std::uint32_t nodes_ = as_u32(here_.nodes);
    std::uint32_t own_node_ = as_u32(here_.node);
    std::uint32_t ports_ = as_u32(here_.ports);
    std::uint32_t most_ = as_u32(here_.layout.most());  ///< ranks of the largest node
    std::uint32_t first_block_ = most_ + nodes_;        ///< put number of block 0 in the ring
    std::uint32_t first_done_ = first_block_ + ports_ * nodes_;  ///< first number of done signals
    NodeRing ring_{writer_, here_, results_, first_block_};
    LocalPeers peers_{writer_.builder(), here_, results_, first_done_};
};

/// Returns the methods by which local peers get inputs and finished data.
base::Result<std::pair<LocalTransfer, LocalTransfer>> transfers(const AlgorithmSpec& spec,
                                                                const GenerateRequest& request,
                                                                const Chunks& chunks,
                                                                const plan::Layout& layout) {
    const plan::Partition blocks(request.elements, as_u32(layout.nodes() * layout.least()));
    std::uint64_t served = 0;
    for (Rank port = 0; port < layout.least(); ++port) {
        const auto [first, count] = chunks.range_of(port);
        served = std::max(served, blocks.size(first, count));
    }
    const std::uint64_t part = chunks.largest_part() * blocks.unit_max();
    return std::pair{WEFT_TRY(local_transfer(spec, served * request.element_bytes)),
                     WEFT_TRY(local_transfer(spec, part * request.element_bytes))};
}

base::Result<plan::Program> generate_large(const GenerateRequest& request) {
    const AlgorithmSpec& spec = *request.spec;
    const plan::Layout layout = layout_of(request);
    if (request.ordered && !layout.contiguous())
        return base::fail(Status::argument,
                          "the operation does not commute, and allreduce multi-object-large "
                          "combines in rank order only if each node has consecutive ranks");
    const std::int64_t ports = layout.least();
    const std::int64_t fewest = layout.nodes() < ports ? ports : 1;
    const std::uint64_t chunk_bytes =
        request.elements / as_u32(layout.nodes()) * request.element_bytes;
    const auto fitting = static_cast<std::int64_t>(chunk_bytes / kPartBytes);
    const std::int64_t given =
        WEFT_TRY(number_parameter(spec, "parts",
                                  {.fallback = std::clamp(fitting, fewest, ports),
                                   .least = 1,
                                   .most = std::numeric_limits<Rank>::max()}));
    const auto parts = std::min(given, ports);
    const Chunks chunks(as_u32(layout.nodes()), as_u32(ports), as_u32(parts));
    const auto [inputs, results] = WEFT_TRY(transfers(spec, request, chunks, layout));
    return program_by_blocks(
        {.blocks = as_u32(layout.nodes() * layout.least()), .lane_depth = 1}, request,
        [&, inputs = inputs, results = results](BlockWriter& writer, const GenerateRequest&) {
            NodeChunksAllreduce(writer, request, chunks, inputs, results).write();
        });
}

}  // namespace

Algorithm allreduce_multi_object_large() {
    return {
        .collective = "allreduce",
        .name = "multi-object-large",
        .summary = "every rank of a node combines and sends the chunks of some other nodes",
        .source = "Huang et al., PiP-MColl, section III-B2",
        .parameters = {{"parts", "by size",
                        "parts of a node's chunk, each served by another rank of the node; "
                        "default: one for each 256 bytes, or for each rank if the nodes are fewer",
                        "2"},
                       kTriedSegments,
                       kNearParameter},
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = true,
                       .for_nodes = true},
        .generate = &generate_large};
}

}  // namespace weft::collectives
