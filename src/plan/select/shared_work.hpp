// SPDX-License-Identifier: BSD-3-Clause
// shared_work.hpp - time of a call whose ranks share processors, from waits and work.
//
// Idea     W is the time if only waits take time: latencies, and turns of other ranks. C is the
//          time if only work takes time. S is the work of all ranks, divided by the processors, or
//          that of the busiest processor. A single call takes W + max(C, S), and the time in which
//          its ranks enter and leave it. If no call waits for all ranks, the calls of a stream
//          overlap: several of them share a wait, and each adds S and the waits that a second call
//          still has.
//          Ranks of a host start on its processors in blocks (run/runtime/placement.hpp) and stay
//          there, because waiting ranks poll and never sleep.
// Next     predict.cpp for a few ranks; tools/lab/cost/cost.cpp for all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plan/select/executed_steps.hpp"
#include "plan/select/machine.hpp"

namespace weft::plan {

/// How work and waits of a class of calls add up. Parts are thousandths of the time for the bytes
/// of a local put.
struct SharedCosts {
    std::int64_t sent = 0;         ///< part of the sender
    std::int64_t sent_shared = 0;  ///< part of the sender of the same bytes to several receivers
    std::int64_t received = 0;     ///< part of the receiver
    std::int64_t fetched = 0;      ///< part of a rank that copies or combines out of put targets
    /// Calls of a stream that share a wait; 0: all calls; 1: calls do not overlap.
    std::int64_t overlapping = 1;
    /// Part of the busiest processor's time beyond the mean that a call takes, in thousandths.
    std::int64_t busiest = 1000;
};

/// Time of a single call, and of each call in a stream.
struct CallTimes {
    Time alone = 0;
    Time in_stream = 0;
};

/// Ranks of a team whose work is similar: rank 0; first and last ranks of nodes, which may lead
/// them; others of the first node and of other nodes. Low ranks may exchange with a node each.
enum class Stratum : std::uint8_t { root, borders, first_low, first_rest, low, rest };
inline constexpr std::size_t kStrata = 6;

/// A rank whose program is read, and the number of ranks that its stratum has for each rank that is
/// read in it: ranks / read.
struct CountedRank {
    Rank rank = 0;
    std::int64_t ranks = 1;
    std::int64_t read = 1;
};
/// Returns all ranks of a small team. Of a large one, returns `own`, which stand for themselves,
/// and `of_stratum` other ranks of each stratum; fewer if programs have many steps.
[[nodiscard]] std::vector<CountedRank> counted_ranks(const Machine& machine, Rank size,
                                                     std::span<const Rank> own, std::size_t steps,
                                                     std::size_t of_stratum);

class SharedWork {
  public:
    /// The arguments must outlive this object. `first`: program of rank 0. `whole`: the work of all
    /// ranks will be added.
    SharedWork(const Machine& machine, Rank size, const BufferSize& buffer, const Program& first,
               bool whole);

    /// Adds the work of a rank.
    void add(const Program& program, const CountedRank& counted);

    /// Returns true if calls overlap, so their waits in a stream matter.
    [[nodiscard]] bool overlaps() const { return costs_.overlapping != 1; }
    /// Returns true if two ranks of a node have a processor each, and data flows in one direction.
    /// The busier rank then determines the time of each call of a stream.
    [[nodiscard]] bool is_one_way_pair() const { return one_way_pair_; }
    /// Combines the times of a call's waits, of those that a second call still has, and of its
    /// work. `banks`: calls that have put targets at a time; 0: unknown.
    [[nodiscard]] CallTimes times(Time waits, Time again, Time work, std::uint32_t banks) const;
    /// Returns the times of a call that takes `simulated` if each rank has a processor.
    [[nodiscard]] CallTimes roomy_times(Time simulated, const Program& first) const;

  private:
    /// Work of one rank.
    struct RankWork {
        Time load = 0;       ///< on its processor, without `combining`
        Time moving = 0;     ///< of its messages, at both ends
        Time combining = 0;  ///< reductions and copies
        Time crossing = 0;   ///< number of local messages to ranks of other processors
        Time elsewhere = 0;  ///< number of them with bytes of their own
        Time combined = 0;   ///< number of payloads that it reduces out of put targets
    };

    void add_message(Rank rank, const ExecutedStep& step, RankWork& work);
    void add_bytes(const ExecutedStep& step, bool in_pieces, RankWork& work) const;
    [[nodiscard]] Time receipt(const PutCost& cost, bool far, std::uint64_t bytes) const;
    [[nodiscard]] bool is_far(Rank rank, Rank peer) const {
        if (peer == kNoRank || machine_.node_of.empty()) return all_far_;
        return machine_.node_of[at(rank)] != machine_.node_of[at(peer)];
    }
    [[nodiscard]] std::size_t processor_of(Rank rank) const;
    [[nodiscard]] Time local_bytes(std::uint64_t bytes, std::int64_t part) const;
    [[nodiscard]] Time unpacking(std::uint64_t bytes) const;
    [[nodiscard]] Time of_processors() const;
    [[nodiscard]] Time busiest() const;
    [[nodiscard]] Time meeting() const;
    static std::size_t at(Rank rank) { return static_cast<std::size_t>(rank); }

    const Machine& machine_;
    Rank size_;
    BufferSize buffer_;
    bool whole_;
    bool several_nodes_ = false;
    bool all_far_ = false;
    bool is_short_ = false;
    bool one_way_ = false;  ///< no call waits for all ranks
    bool puts_ = false;     ///< no buffer of a peer is used in place
    bool one_way_pair_ = false;
    SharedCosts costs_;
    MessageModel model_;
    Time sum_ = 0;             ///< work of all ranks
    Time elsewhere_ = 0;       ///< most local messages of a rank to other processors, less one
    Time combined_ = 0;        ///< most payloads that a rank combines, less one
    std::vector<Time> loads_;  ///< by rank: its work, with receipts
    std::vector<Stratum> strata_;
    std::vector<bool> counted_;
    std::vector<bool> represents_;  ///< counted, for other ranks of its stratum too
};

}  // namespace weft::plan
