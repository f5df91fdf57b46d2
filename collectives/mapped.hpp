// SPDX-License-Identifier: BSD-3-Clause
// mapped.hpp - collectives of ranks that read and write each other's vectors where they lie.
//
// Idea     A rank exposes a vector, or the block of it that is for a peer; who needs it waits for
//          that, copies from it or reduces it in place, and tells the owner that it is done, who
//          waits for that before its call ends. No byte is copied on the way: the programs have no
//          payloads, only signals, and the rank that computes an element reads its operands and
//          writes its targets itself.
// Source   Huang et al., PiP-MColl, for what ranks of a node that share their addresses do there.
// Memory   No put targets. As many cells as ranks for each of the purposes of a signal.
// Holds    Every number (slot) has one sender: purpose x n + rank. Memory is exposed for as long as
//          the call runs, and for writing only if peers write it. Input and output may be the same
//          memory, also on some ranks only: each place is read by all who need it before it is
//          written. All ranks are on one node. Vectors go as a whole: nothing limits their size, so
//          the segments of a request do not matter.
// Next     <collective>/mapped.cpp; src/base/reach.hpp for what a signal carries.
#pragma once

#include "collectives/blocks.hpp"

namespace weft::collectives {

/// What a signal between ranks of mapped memory tells.
enum class Purpose : std::uint8_t {
    input,   ///< my input (or a block of it) lies here; peers read it
    output,  ///< my output (or a block of it) lies here; peers write it
    done,    ///< I am done with what you exposed to me
};

/// Writes the program of a rank.
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
    /// The number of this rank's block or slice.
    [[nodiscard]] std::uint32_t own() const { return static_cast<std::uint32_t>(rank_); }
    plan::Builder* operator->() { return &writer_.builder(); }

    /// Calls visit(peer) for the other ranks, the next one first: not all begin with the same one.
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
    /// To all, from all: no rank ends before what it has exposed is used no more.
    void finish_with_all() {
        for_each_other([&](Rank peer) { tell_done(peer); });
        await_all(Purpose::done);
    }

    /// A block that the peer has exposed alone, or this rank's.
    [[nodiscard]] plan::Block block(Rank peer, Purpose vector, std::uint32_t first,
                                    std::uint32_t count = 1) const {
        if (peer != rank_) return plan::mapped(peer, number(vector, peer), first, count);
        return vector == Purpose::input ? plan::input(first, count) : plan::output(first, count);
    }
    /// The same block of the inputs (outputs) of all ranks, in rank order.
    [[nodiscard]] std::vector<plan::Block> blocks(Purpose vector, std::uint32_t number) const {
        std::vector<plan::Block> all;
        for (Rank peer = 0; peer < size_; ++peer) all.push_back(block(peer, vector, number));
        return all;
    }
    // Of two ranks: two units of `from`'s input go to the other's output; `from` copies the first
    // one, the other rank the second. Each exposes only what the other one uses, since what is
    // exposed counts as copied.
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

/// The entry of an algorithm whose programs `kWrite` writes. `blocks`: as in BlockCall.
struct MappedCall {
    std::string_view collective;
    std::string_view summary;
    std::string_view source = "Huang et al., PiP-MColl, section III";
    std::uint32_t blocks = 0;
    bool synchronizing = false;
    bool halves = false;  ///< of two ranks: blocks have two units, so that both ranks can copy
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
