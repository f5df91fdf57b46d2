// SPDX-License-Identifier: BSD-3-Clause
// mapped.hpp - collectives of ranks that read and write each other's buffers in place.
//
// Idea     A rank exposes a buffer, or the block of it that a peer needs. The peer waits for
//          that, copies or reduces the data in place, and signals that it is done. The owner
//          waits for this signal before its call ends. Programs have signals but no payloads, so
//          no byte is copied in between. The rank that computes an element reads all operands and
//          writes all results itself.
// Source   Huang et al., PiP-MColl, for ranks of a node that share an address space.
// Memory   No put targets. One cell for each rank and each purpose of a signal.
// Holds    Every number (slot) has one sender: purpose x n + rank. Memory is exposed until the end
//          of the call, and for writing only if peers write to it. Input and output may be the same
//          memory, also on some ranks only: all readers of a place finish before it is written. All
//          ranks are on one node. No size limit applies, so the segments of a request are ignored.
// Next     <collective>/mapped.cpp; src/base/reach.hpp for the contents of a signal.
#pragma once

#include "collectives/blocks.hpp"

namespace weft::collectives {

/// Meaning of a signal between ranks, from its sender's view.
enum class Purpose : std::uint8_t {
    input,   ///< the sender's input, or a block of it, is exposed for reading
    output,  ///< the sender's output, or a block of it, is exposed for writing
    done,    ///< the sender has finished with the memory that the receiver exposed to it
};

/// Writes the program of one rank.
class MappedWriter {
  public:
    MappedWriter(BlockWriter& writer, const GenerateRequest& request)
        : writer_(writer),
          rank_(request.rank),
          size_(request.size),
          root_(request.root),
          bytes_(request.elements * request.element_bytes) {}

    [[nodiscard]] Rank rank() const { return rank_; }
    [[nodiscard]] Rank size() const { return size_; }
    [[nodiscard]] Rank root() const { return root_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  ///< of the vector
    [[nodiscard]] bool is_root() const { return rank_ == root_; }
    /// Returns the number of this rank's block or slice.
    [[nodiscard]] std::uint32_t own() const { return static_cast<std::uint32_t>(rank_); }
    plan::Builder* operator->() { return &writer_.builder(); }

    /// Calls visit(peer) for all other ranks, from the next rank on, so that ranks start
    /// with different peers.
    template <class Visit>
    void for_each_other(Visit visit) const {
        for (Rank ahead = 1; ahead < size_; ++ahead) visit((rank_ + ahead) % size_);
    }

    void expose_input(Rank to, plan::Block block) {
        writer_->expose(to, number(Purpose::input, rank_), block);
    }
    void expose_output(Rank to, plan::Block block) {
        writer_->expose(to, number(Purpose::output, rank_), block, plan::kWritten);
    }
    void tell_done(Rank to) { writer_->signal(to, number(Purpose::done, rank_)); }
    void await(Rank from, Purpose purpose) { writer_->wait(from, number(purpose, from)); }
    void await_all(Purpose purpose) {
        for_each_other([&](Rank peer) { await(peer, purpose); });
    }
    /// Signals to all ranks and waits for all, so that exposed memory is unused when the call ends.
    void finish_with_all() {
        for_each_other([&](Rank peer) { tell_done(peer); });
        await_all(Purpose::done);
    }

    /// Returns a block that the peer has exposed separately, or a block of this rank's own buffer.
    [[nodiscard]] plan::Block block(Rank peer, Purpose vector, std::uint32_t first,
                                    std::uint32_t count = 1) const {
        if (peer != rank_) return plan::mapped(peer, number(vector, peer), first, count);
        return vector == Purpose::input ? plan::input(first, count) : plan::output(first, count);
    }
    /// Returns the block `number` of the inputs (or outputs) of all ranks, in rank order.
    [[nodiscard]] std::vector<plan::Block> blocks(Purpose vector, std::uint32_t number) const {
        std::vector<plan::Block> all;
        for (Rank peer = 0; peer < size_; ++peer) all.push_back(block(peer, vector, number));
        return all;
    }
    // For two ranks: two units of `from`'s input are copied to the other's output. `from` copies
    // the first unit, the other rank the second. Each rank exposes only the unit that its peer
    // uses, because exposed data counts as copied.
    void expose_halves(Rank from, std::uint32_t first) {
        if (rank_ == from)
            expose_input(1 - rank_, plan::input(first + 1));
        else
            expose_output(1 - rank_, plan::output(first));
    }
    void copy_half(Rank from, std::uint32_t first) {
        const Rank other = 1 - rank_;
        await(other, rank_ == from ? Purpose::output : Purpose::input);
        if (rank_ == from)
            writer_->copy(block(other, Purpose::output, first), plan::input(first));
        else
            writer_->copy(plan::output(first + 1), block(other, Purpose::input, first + 1));
        finish_with_all();
    }
    void reserve() {
        if (size_ > 1)
            writer_->reserve_slots((static_cast<std::uint32_t>(Purpose::done) + 1) *
                                   static_cast<std::uint32_t>(size_));
    }

  private:
    [[nodiscard]] std::uint32_t number(Purpose purpose, Rank sender) const {
        return static_cast<std::uint32_t>(purpose) * static_cast<std::uint32_t>(size_) +
               static_cast<std::uint32_t>(sender);
    }

    BlockWriter& writer_;
    Rank rank_;
    Rank size_;
    Rank root_;
    std::uint64_t bytes_;
};

/// Describes the algorithm whose programs `kWrite` writes. `blocks` has the meaning it
/// has in BlockCall.
struct MappedCall {
    std::string_view collective;
    std::string_view summary;
    std::string_view source = "Huang et al., PiP-MColl, section III";
    std::uint32_t blocks = 0;
    bool synchronizing = false;
    bool halves = false;  ///< with two ranks, blocks have two units so that both ranks can copy
};
template <const MappedCall& kCall, void (*kWrite)(MappedWriter&)>
[[nodiscard]] Algorithm mapped_algorithm() {
    return {
        .collective = kCall.collective,
        .name = "mapped",
        .summary = kCall.summary,
        .source = kCall.source,
        .properties = {.ordered = true,
                       .bit_identical = true,
                       .synchronizing = kCall.synchronizing,
                       .one_node = true,
                       .direct = true},
        .generate =
            [](const AlgorithmSpec& spec, const GenerateRequest& asked) {
                GenerateRequest request = asked;
                request.segments = 1;
                const std::uint32_t blocks =
                    kCall.blocks == 0 ? static_cast<std::uint32_t>(request.size) : kCall.blocks;
                const auto write = [](BlockWriter& into, const GenerateRequest& call) {
                    MappedWriter writer(into, call);
                    kWrite(writer);
                    writer.reserve();
                };
                return program_by_blocks(
                    {.collective = kCall.collective,
                     .blocks = kCall.halves && request.size == 2 ? 2 * blocks : blocks,
                     .synchronizing = kCall.synchronizing},
                    spec, request, write);
            },
    };
}

}  // namespace weft::collectives
