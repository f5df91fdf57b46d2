// SPDX-License-Identifier: BSD-3-Clause
// shared_work.hpp - time of a call whose ranks share processors, from waits and work.
//
// Idea     W is the time if only waits take time: latencies, and turns of other ranks. C is the
//          time if only work takes time. S is the work of all ranks, divided by the processors, or
//          the work of the busiest processor. A single call takes W + max(C, S), and the time in
//          which its ranks enter and leave it. If no call waits for all ranks, the calls of a
//          stream overlap: several of them share a wait, and each adds S and the waits that a
//          second call still has. Consecutive ranks of a host are assumed to share a processor.
// Next     predict.cpp for a few ranks; tools/lab/cost/cost.cpp for all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plan/select/executed_steps.hpp"
#include "plan/select/machine.hpp"

namespace weft::plan {

/// Rules by which work and waits of a class of calls add up. The first four members are thousandths
/// of the time for the bytes of a local put.
struct SharedCosts {
    std::int64_t sent = 0;         ///< time of the sender
    std::int64_t sent_shared = 0;  ///< time of the sender of the same bytes to several receivers
    std::int64_t received = 0;     ///< time of the receiver
    std::int64_t fetched = 0;      ///< time of a rank that copies or combines out of put targets
    /// Number of calls of a stream that share a wait; 0: all calls; 1: calls do not overlap.
    std::int64_t overlapping = 1;
    /// Share of the busiest processor's time beyond the mean that a call takes, in thousandths.
    std::int64_t busiest = 1000;
};

/// Time of a single call, and of each call in a stream.
struct CallTimes {
    Time alone = 0;
    Time in_stream = 0;
};

/// Class of ranks whose work is similar: rank 0; the first and last ranks of nodes, which may be
/// leaders; other ranks of the first node; other ranks of other nodes. `low`: the local rank is
/// below the number of nodes, so the rank may exchange data with a node.
enum class Stratum : std::uint8_t { root, borders, first_low, first_rest, low, rest };
inline constexpr std::size_t kStrata = 6;

/// A rank whose program is read. It represents ranks / read ranks.
struct CountedRank {
    Rank rank = 0;
    std::int64_t ranks = 1;  ///< number of ranks of its stratum
    std::int64_t read = 1;   ///< number of ranks of its stratum whose programs are read
};
/// Returns all ranks of a small team. Of a large team, returns the ranks `own`, which represent
/// only themselves, and `of_stratum` other ranks of each stratum, or fewer if programs are long.
/// `steps`: number of steps of a program.
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

    /// Returns true if the calls of a stream overlap.
    [[nodiscard]] bool overlaps() const { return costs_.overlapping != 1; }
    /// Returns true if two ranks of a node have a processor each, and data flows in one direction.
    /// The busier rank then determines the time of each call of a stream.
    [[nodiscard]] bool is_one_way_pair() const { return one_way_pair_; }
    /// Combines the times of a call's waits, of the waits that a second call still has, and of the
    /// call's work. `banks`: number of calls that have put targets at the same time; 0: unknown.
    [[nodiscard]] CallTimes times(Time waits, Time again, Time work, std::uint32_t banks) const;
    /// Returns the times of a call that takes `simulated` if each rank has a processor.
    [[nodiscard]] CallTimes unshared_times(Time simulated, const Program& first) const;

  private:
    /// Work of one rank.
    struct RankWork {
        Time load = 0;       ///< time on the rank's processor, without `combining`
        Time moving = 0;     ///< time of its messages, at both ends
        Time combining = 0;  ///< time of its reductions and copies
        Time crossing = 0;   ///< number of local messages to ranks of other processors
        Time elsewhere = 0;  ///< number of them whose bytes go to one receiver only
        Time combined = 0;   ///< number of payloads that it reduces out of put targets
    };

    void add_message(Rank rank, const ExecutedStep& step, RankWork& work);
    void add_bytes(const ExecutedStep& step, bool in_pieces, RankWork& work) const;
    [[nodiscard]] Time receive_time(const PutCost& cost, bool far, std::uint64_t bytes) const;
    [[nodiscard]] bool is_far(Rank rank, Rank peer) const {
        if (peer == kNoRank || machine_.node_of.empty()) return all_far_;
        return machine_.node_of[at(rank)] != machine_.node_of[at(peer)];
    }
    [[nodiscard]] std::size_t processor_of(Rank rank) const;
    /// Returns `part` thousandths of the time for the bytes of a local put.
    [[nodiscard]] Time local_bytes(std::uint64_t bytes, std::int64_t part) const;
    [[nodiscard]] Time unpack_time(std::uint64_t bytes) const;
    [[nodiscard]] Time processor_work() const;
    [[nodiscard]] Time busiest() const;
    [[nodiscard]] Time synchronization_time() const;
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
    Time sum_ = 0;                  ///< work of all ranks
    Time elsewhere_ = 0;            ///< largest RankWork::elsewhere, less one
    Time combined_ = 0;             ///< largest RankWork::combined, less one
    std::vector<Time> loads_;       ///< by rank: its work, including received messages
    std::vector<Stratum> strata_;   ///< by rank
    std::vector<bool> counted_;     ///< by rank: its program was read
    std::vector<bool> represents_;  ///< by rank: its program represents further ranks
};

}  // namespace weft::plan
