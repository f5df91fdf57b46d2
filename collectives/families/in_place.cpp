// SPDX-License-Identifier: BSD-3-Clause
// in_place.cpp - `mapped`: ranks of one node read and write each other's buffers in place.
//
// Idea     A rank exposes a buffer, or the block of it that a peer needs. The peer then copies or
//          reduces the data in place, and signals that it is done. The owner waits for this signal
//          before its call ends. The traits of the collective (collective_traits.hpp)
//          determine whether a rank exposes its input for reading or its output for writing.
//          Copies: each reader copies from the owner; in a gather each rank copies to the root.
//          With two ranks the root of a broadcast copies one half for the other.
//          Reductions: the buffer has a slice for each rank. A rank reduces its slice of all inputs
//          and writes it to all outputs. In a scan it visits all ranks in order with its slice.
//          In an allreduce of a short buffer, two ranks each reduce the whole buffer, so that
//          neither reads results that the other has written.
//          Alltoall: if input and output are one buffer, the two blocks of a pair of ranks are
//          swapped. So one rank of the pair copies both blocks, with a temporary copy of one. It is
//          the rank whose peer is at most n/2 ranks ahead. With two ranks, each copies one half of
//          both blocks.
// Source   Huang et al., PiP-MColl, section III. Writing an allreduce's results to all outputs, the
//          scans and the alltoall are ours.
// Rounds   2, without messages.  Signals            Bytes, for blocks or buffers of m
//            broadcast      2 (n - 1); 4 for n = 2  copied (n - 1) m
//            gather         2 (n - 1)               copied n m; at the root (n - 1) m in place
//            scatter        2 (n - 1)               copied n m; at the root (n - 1) m in place
//            allgather      2 n (n - 1)             copied n (n - 1) m, and the own blocks
//            alltoall       3 n (n - 1) / 2; 6      each block is copied once; in place, one of
//                           for n = 2               each pair once more, within the cache
//            reduce         (2n + 1) (n - 1)        read n m, written m
//            allreduce      3 n (n - 1); 4 for two  read n m, written n m
//                           short buffers
//            reduce_scatter 2 n (n - 1)             a rank reads n blocks and writes one
//            scan           3 n (n - 1)             read (2n - 1) m, written n m
//            exscan         (3n - 1) (n - 1)        n > 2: read 3 (n - 2) m, written 2 (n - 2) m
// Memory   No put targets. One cell for each purpose of a signal and each other rank, or for all
//          other ranks together if only the root exposes memory. An exscan has two slices of
//          scratch (four ranks: one; fewer: none). An allreduce of a short buffer on two ranks has
//          a scratch buffer.
// Good for Long buffers and blocks on one node. In scans no rank waits for another rank's result.
// Holds    Combines in rank order; one rank computes each element, or two ranks in one order. Not
//          synchronizing: broadcast, gather, scatter. The number (slot) of a signal is the distance
//          from its sender, after the numbers of other purposes. Memory is exposed until the end of
//          the call, and for writing only if peers write to it. Input and output may be the same
//          memory, also on some ranks only: all reads of a unit are before its write. Put targets
//          do not limit the size, so the segments of a request are ignored, except in a part of a
//          composed program (hierarchical): its parts are in one loop over the segments.
#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"

namespace weft::collectives {

namespace {

constexpr std::string_view kPaper = "Huang et al., PiP-MColl, section III";
constexpr std::string_view kOurs = "ours";

struct InPlaceEntry {
    std::string_view collective;
    std::string_view summary;
    std::string_view source = kPaper;
};

constexpr InPlaceEntry kEntries[] = {
    {"broadcast", "all ranks copy from the root's buffer"},
    {"gather", "each rank copies its block into the root's buffer"},
    {"scatter", "each rank copies its block from the root's buffer"},
    {"allgather", "each rank copies all blocks from their owners"},
    {"alltoall", "one rank of each pair copies the blocks of both", kOurs},
    {"reduce", "each rank reduces its slice of all inputs into the root's output"},
    {"allreduce", "each rank reduces its slice of all inputs into all outputs"},
    {"reduce_scatter", "each rank reduces its block of all inputs"},
    {"scan", "each rank scans its slice of all inputs into all outputs", kOurs},
    {"exscan", "each rank scans its slice of all inputs into all outputs", kOurs},
};

/// Bytes up to which two ranks each reduce the whole buffer of an allreduce: a second read of the
/// inputs then takes less time than writing results into the peer's memory.
constexpr std::uint64_t kReduceTwiceBytes = 64 * 1024;

/// Meaning of a signal between ranks, from its sender's view.
enum class Purpose : std::uint8_t {
    input,   ///< the sender's input, or a block of it, is exposed for reading
    output,  ///< the sender's output, or a block of it, is exposed for writing
    done,    ///< the sender has finished with the memory that the receiver exposed to it
};

class InPlaceWriter {
  public:
    InPlaceWriter(BlockWriter& writer, const CollectiveTraits& traits,
                  const GenerateRequest& request)
        : writer_(writer), traits_(traits), request_(request) {}

    void write() {
        const bool two = size_ == 2;
        const bool is_short = bytes_ <= kReduceTwiceBytes;
        const bool twice = two && is_short && traits_.collective == Collective::allreduce;
        const bool halves = two && traits_.collective == Collective::broadcast;
        if (traits_.contribution == Contribution::owner_own_block)
            two ? swap_halves() : swap_blocks();
        else if (traits_.reduces())
            twice ? reduce_twice() : reduce_slices();
        else
            halves ? copy_halves() : copy_blocks();
        std::uint32_t numbers = 0;
        for (const Purpose purpose : {Purpose::input, Purpose::output, Purpose::done})
            numbers += signal_count(purpose);
        if (size_ > 1) builder_.reserve_slots(numbers);
    }

  private:
    // --- copies --------------------------------------------------------------------------------

    /// Broadcast, scatter: the root exposes its input to the readers. Allgather: all ranks do. In a
    /// gather the root exposes its output to the writers.
    void copy_blocks() {
        const bool gathers = traits_.output == VectorPart::whole_at_root;
        const auto exposes = [&](Rank rank) { return !traits_.rooted() || rank == root_; };
        const auto block_of = [&](Rank exposing, Rank other) {
            if (traits_.contribution == Contribution::root && !traits_.blocks()) return 0U;
            return as_u32(traits_.rooted() ? other : exposing);
        };
        if (exposes(rank_)) {
            for_each_other([&](Rank peer) {
                const std::uint32_t number = block_of(rank_, peer);
                if (gathers)
                    expose_output(peer, number);
                else
                    expose_input(peer, number);
            });
            const std::uint32_t own = block_of(rank_, rank_);
            builder_.copy(writer_.output(own), writer_.input(own));
        }
        for_each_other([&](Rank peer) {
            if (!exposes(peer)) return;
            const std::uint32_t number = block_of(peer, rank_);
            await(peer, gathers ? Purpose::output : Purpose::input);
            if (gathers)
                builder_.copy(output(peer, number), writer_.input(number));
            else
                builder_.copy(writer_.output(number), input(peer, number));
            signal_done(peer);
        });
        if (exposes(rank_)) await_all(Purpose::done);
    }

    /// The root copies the first half to the other's output, and the other rank the second half
    /// from the root's input. Each rank exposes only the half that its peer uses, because the
    /// runtime may copy exposed data.
    void copy_halves() {
        const Rank other = 1 - rank_;
        if (rank_ == root_) {
            expose_input(other, 1);
            builder_.copy(writer_.output(0, 2), writer_.input(0, 2));
            await(other, Purpose::output);
            builder_.copy(output(other, 0), writer_.input(0));
        } else {
            expose_output(other, 0);
            await(other, Purpose::input);
            builder_.copy(writer_.output(1), input(other, 1));
        }
        finish_with_all();
    }

    // --- exchanges of pairs --------------------------------------------------------------------

    /// Returns true if this rank copies both blocks of its pair with `peer`.
    [[nodiscard]] bool copies_for(Rank peer) const {
        const Rank ahead = (peer - rank_ + size_) % size_;
        return 2 * ahead < size_ || (2 * ahead == size_ && rank_ < peer);
    }

    void swap_blocks() {
        for_each_other([&](Rank peer) {
            if (copies_for(peer)) return;
            expose_input(peer, as_u32(peer));
            expose_output(peer, as_u32(peer));
        });
        builder_.copy(writer_.output(own_), writer_.input(own_));
        for_each_other([&](Rank peer) {
            if (!copies_for(peer)) return;
            swap_with(peer, as_u32(peer), own_);
            signal_done(peer);
        });
        for_each_other([&](Rank peer) {
            if (!copies_for(peer)) await(peer, Purpose::done);
        });
    }
    /// For two ranks: each swaps the half with its own number.
    void swap_halves() {
        const Rank other = 1 - rank_;
        const std::uint32_t own = 2 * own_;
        const std::uint32_t theirs = 2 * as_u32(other);
        expose_input(other, theirs + 1 - own_);
        expose_output(other, theirs + 1 - own_);
        builder_.copy(writer_.output(own, 2), writer_.input(own, 2));
        swap_with(other, theirs + own_, own + own_);
        finish_with_all();
    }
    /// Swaps this rank's unit for the peer with the peer's unit for this rank.
    void swap_with(Rank peer, std::uint32_t mine, std::uint32_t theirs) {
        await(peer, Purpose::input);
        await(peer, Purpose::output);
        const plan::Block to[] = {writer_.output(mine), output(peer, theirs)};
        const plan::Block from[] = {input(peer, theirs), writer_.input(mine)};
        builder_.copy(to, from);
    }

    // --- reductions ----------------------------------------------------------------------------

    /// Returns true if all ranks write their slices of the output of `rank`.
    [[nodiscard]] bool is_written(Rank rank) const {
        return traits_.output == VectorPart::whole ||
               (traits_.output == VectorPart::whole_at_root && rank == root_) ||
               (traits_.output == VectorPart::whole_after_first && rank > 0);
    }

    void reduce_slices() {
        if (size_ == 1) {
            if (is_written(rank_) || traits_.blocks())
                builder_.copy(writer_.output(0), writer_.input(0));
            return;
        }
        for_each_other([&](Rank peer) {
            expose_input(peer, as_u32(peer));
            if (is_written(rank_)) expose_output(peer, as_u32(peer));
        });
        await_all(Purpose::input);
        for_each_other([&](Rank peer) {
            if (is_written(peer)) await(peer, Purpose::output);
        });
        if (traits_.contribution == Contribution::up_to_own)
            scan();
        else if (traits_.contribution == Contribution::before_own)
            exscan();
        else
            reduce_to_outputs();
        finish_with_all();
    }
    void reduce_to_outputs() {
        std::vector<plan::Block> inputs;
        std::vector<plan::Block> outputs;
        for (Rank rank = 0; rank < size_; ++rank) {
            inputs.push_back(input(rank, own_));
            if (is_written(rank) || (traits_.blocks() && rank == rank_))
                outputs.push_back(output(rank, own_));
        }
        builder_.reduce(outputs, inputs);
    }
    void scan() {
        builder_.copy(output(0, own_), input(0, own_));
        for (Rank rank = 1; rank < size_; ++rank)
            builder_.reduce(output(rank, own_), {output(rank - 1, own_), input(rank, own_)});
    }
    /// Adds a rank's input to a new sum before it writes the previous sum to the rank's output,
    /// which may be the same memory. So sums are computed in scratch, not in the outputs.
    void exscan() {
        const Rank last = size_ - 1;
        plan::Block sum = input(0, own_);  // over the ranks before `rank`
        for (Rank rank = 1; rank < last; ++rank) {
            const plan::Block next =
                rank + 1 == last ? output(last, own_) : writer_.scratch(as_u32(rank - 1) % 2, own_);
            builder_.reduce(next, {sum, input(rank, own_)});
            builder_.copy(output(rank, own_), sum);
            sum = next;
        }
        if (last == 1) builder_.copy(output(1, own_), sum);
    }
    /// For two ranks: both reduce the whole buffer into scratch, and copy the result to the output
    /// when both have read the inputs.
    void reduce_twice() {
        expose_input(1 - rank_, 0, 2);
        await(1 - rank_, Purpose::input);
        builder_.reduce(writer_.scratch(0, 0, 2), {input(0, 0, 2), input(1, 0, 2)});
        finish_with_all();
        builder_.copy(writer_.output(0, 2), writer_.scratch(0, 0, 2));
    }

    // --- signals and blocks --------------------------------------------------------------------

    /// Calls visit(peer) for all other ranks, starting with the next rank, so that ranks start with
    /// different peers.
    template <class Visit>
    void for_each_other(Visit visit) const {
        for (Rank ahead = 1; ahead < size_; ++ahead) visit((rank_ + ahead) % size_);
    }
    void expose_input(Rank to, std::uint32_t first, std::uint32_t count = 1) {
        builder_.expose(to, signal_of(Purpose::input, rank_, to), writer_.input(first, count));
    }
    void expose_output(Rank to, std::uint32_t first) {
        builder_.expose(to, signal_of(Purpose::output, rank_, to), writer_.output(first),
                        plan::kWritten);
    }
    void signal_done(Rank to) { builder_.signal(to, signal_of(Purpose::done, rank_, to)); }
    void await(Rank from, Purpose purpose) { builder_.wait(from, signal_of(purpose, from, rank_)); }
    void await_all(Purpose purpose) {
        for_each_other([&](Rank peer) { await(peer, purpose); });
    }
    /// Signals to all ranks and waits for all, so that exposed memory is unused when the call ends.
    void finish_with_all() {
        for_each_other([&](Rank peer) { signal_done(peer); });
        await_all(Purpose::done);
    }
    /// Returns units of a rank's input, which a peer has exposed.
    [[nodiscard]] plan::Block input(Rank rank, std::uint32_t first, std::uint32_t count = 1) const {
        if (rank == rank_) return writer_.input(first, count);
        return writer_.mapped(rank, signal_of(Purpose::input, rank, rank_), first, count);
    }
    [[nodiscard]] plan::Block output(Rank rank, std::uint32_t first) const {
        if (rank == rank_) return writer_.output(first);
        return writer_.mapped(rank, signal_of(Purpose::output, rank, rank_), first);
    }
    /// Returns the number of signals of a purpose that a rank may receive: one from each other
    /// rank, or only one because only the root (or, of two ranks, the other one) exposes memory.
    [[nodiscard]] std::uint32_t signal_count(Purpose purpose) const {
        const bool all_expose =
            !traits_.rooted() || (traits_.reduces() && purpose == Purpose::input);
        return purpose == Purpose::done || all_expose ? as_u32(size_ - 1) : 1;
    }
    /// Returns the number of a signal. Each receiver has its own signals, so numbers of a purpose
    /// count the distance from the sender.
    [[nodiscard]] std::uint32_t signal_of(Purpose purpose, Rank sender, Rank receiver) const {
        const auto before = as_u32((receiver - sender + size_) % size_ - 1);
        std::uint32_t number = signal_count(purpose) == 1 ? 0 : before;
        for (const Purpose other : {Purpose::input, Purpose::output})
            if (other < purpose) number += signal_count(other);
        return number;
    }

    BlockWriter& writer_;
    const CollectiveTraits& traits_;
    const GenerateRequest& request_;
    plan::Builder& builder_ = writer_.builder();
    Rank rank_ = request_.rank;
    Rank size_ = request_.size;
    Rank root_ = request_.root;
    std::uint32_t own_ = as_u32(rank_);
    std::uint64_t bytes_ = request_.elements * request_.element_bytes;  ///< bytes of the buffer
};

}  // namespace

Algorithm in_place(std::string_view collective) {
    const InPlaceEntry& entry = *std::ranges::find(kEntries, collective, &InPlaceEntry::collective);
    const CollectiveTraits& traits = *find_collective(collective);
    const bool synchronizing = !traits.rooted() || traits.reduces();
    return {.collective = collective,
            .name = "mapped",
            .summary = entry.summary,
            .source = entry.source,
            .properties = {.ordered = true,
                           .bit_identical = true,
                           .synchronizing = synchronizing,
                           .one_node = true,
                           .direct = true},
            .generate = [&traits](GenerateRequest request) {
                if (!request.is_part) request.segments = 1;
                const auto ranks = as_u32(request.size);
                const bool one_block = traits.name == "broadcast";
                const bool halves = ranks == 2 && (one_block || traits.name == "alltoall");
                return program_by_blocks(
                    {.blocks = (halves ? 2 : 1) * (one_block ? 1 : ranks), .depth = 1}, request,
                    [&](BlockWriter& writer, const GenerateRequest&) {
                        InPlaceWriter(writer, traits, request).write();
                    });
            }};
}

}  // namespace weft::collectives
