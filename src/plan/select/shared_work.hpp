// SPDX-License-Identifier: BSD-3-Clause
// shared_work.hpp - time of a call whose ranks share processors, from waits and work.
//
// Idea     W is the time if only waits take time: latencies, and times in which other ranks have
//          the processor. C is the time if only work takes time. S is the mean work of a processor
//          and, unless calls synchronize, a part of the excess of the busiest processor. A call
//          takes W + max(C, S) + Machine::calls(). Calls that do not synchronize may overlap in a
//          stream: several calls share the wait W, and each call takes S and the wait that a second
//          call adds. Consecutive ranks of a host are assumed to share a processor.
// Next     prediction.hpp for a few ranks; tools/lab/cost/cost.cpp for all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/select/executed_steps.hpp"
#include "plan/select/machine.hpp"

namespace weft::plan {

/// Coefficients of the model for one class of calls. The first four members are times per byte, in
/// thousandths of the time per byte of a local put.
struct SharedCosts {
    std::int64_t sent = 0;         ///< time of the sender
    std::int64_t sent_shared = 0;  ///< time of the sender of the same bytes to several receivers
    std::int64_t received = 0;     ///< time of the receiver
    std::int64_t fetched = 0;      ///< time of a rank that copies or combines out of put targets
    /// Number of calls of a stream that share a wait; 0: all calls; 1: calls do not overlap.
    std::int64_t overlapping = 1;
    /// Thousandths of the busiest processor's work beyond the mean that are added to S.
    std::int64_t busiest = 1000;
};

/// Class of ranks whose work is similar: rank 0; the first and last ranks of nodes, which may be
/// leaders; other ranks of the first node; other ranks of other nodes. `low`: the local rank is
/// below the number of nodes, so the rank may exchange data with another node. If one rank
/// represents the last four strata, counted_ranks() uses first_low for all, so first_low must be
/// their first.
enum class Stratum : std::uint8_t { root, borders, first_low, first_rest, low, rest };
inline constexpr std::size_t kStrata = 6;

/// A rank whose program is analyzed. Its work counts (stratum_ranks / analyzed_ranks) times.
struct CountedRank {
    Rank rank = 0;
    std::int64_t stratum_ranks = 1;   ///< number of ranks of its stratum
    std::int64_t analyzed_ranks = 1;  ///< number of these ranks whose programs are analyzed
};
/// Returns all ranks if size <= per_stratum. Else returns rank 0 and the ranks `sampled`, which
/// represent only themselves, and up to `per_stratum` others of each stratum, fewer if programs are
/// long. `steps`: number of steps of a program.
[[nodiscard]] std::vector<CountedRank> counted_ranks(const Machine& machine, Rank size,
                                                     std::span<const Rank> sampled,
                                                     std::size_t steps, std::size_t per_stratum);

class SharedWork {
  public:
    /// `machine` must outlive this object. `first`: program of rank 0. `whole`: add() will be
    /// called for every rank.
    SharedWork(const Machine& machine, Rank size, const BufferSize& buffer, const Program& first,
               bool whole);

    /// Adds the work of a rank.
    void add(const Program& program, const CountedRank& counted);

    /// Returns true if the calls of a stream overlap.
    [[nodiscard]] bool overlaps() const { return costs_.overlapping != 1; }
    /// Returns true for unsynchronized calls of two ranks on one node, each with a processor, whose
    /// data goes through short puts. The busier rank then determines each call's time in a stream.
    [[nodiscard]] bool is_one_way_pair() const { return one_way_pair_; }
    /// Combines the simulated times of a call's waits and work. `added_wait`: waiting time that a
    /// second overlapping call adds. `banks`: largest number of calls in flight; 0: unknown.
    [[nodiscard]] CallTimes times(Time waits, Time added_wait, Time work,
                                  std::uint32_t banks) const;
    /// Returns the times of a call if each rank has a processor. `simulated`: time of the
    /// simulation.
    [[nodiscard]] CallTimes unshared_times(Time simulated, const Program& first) const;

  private:
    /// Work of one rank.
    struct RankWork {
        Time load = 0;                       ///< time on the rank's processor, without `combining`
        Time moving = 0;                     ///< time of its messages, at both ends
        Time combining = 0;                  ///< time of its reductions and copies
        std::int64_t crossing_messages = 0;  ///< number of local messages to other processors
        std::int64_t unshared_messages = 0;  ///< number of crossing messages without kShared
        std::int64_t combined_payloads = 0;  ///< number of payloads reduced out of put targets
    };

    void add_message(Rank rank, const ExecutedStep& step, RankWork& work);
    void add_bytes(const ExecutedStep& step, bool in_pieces, RankWork& work) const;
    [[nodiscard]] Time receive_time(const PutCost& cost, bool far, std::uint64_t bytes) const;
    [[nodiscard]] bool is_far(Rank rank, Rank peer) const {
        return peer == kNoRank ? all_far_ : machine_.is_far(rank, peer);
    }
    [[nodiscard]] std::size_t processor_of(Rank rank) const;
    /// Returns `permille` thousandths of the time for the bytes of a local put.
    [[nodiscard]] Time local_put_time(std::uint64_t bytes, std::int64_t permille) const;
    [[nodiscard]] Time unpack_time(std::uint64_t bytes) const;
    [[nodiscard]] Time processor_work() const;
    [[nodiscard]] Time busiest_processor_work() const;
    [[nodiscard]] Time synchronization_time() const;
    static std::size_t at(Rank rank) { return static_cast<std::size_t>(rank); }

    const Machine& machine_;
    Rank size_;
    BufferSize buffer_;
    bool adds_all_ranks_;  ///< add() will be called for every rank
    bool several_nodes_ = false;
    bool all_far_ = false;
    bool is_short_ = false;
    bool unsynchronized_ = false;
    bool only_puts_ = false;  ///< no buffer is used in place
    bool one_way_pair_ = false;
    SharedCosts costs_;
    MessageModel model_;
    Time sum_ = 0;                        ///< work of all ranks
    std::int64_t unshared_messages_ = 0;  ///< largest RankWork::unshared_messages, less one
    std::int64_t combined_payloads_ = 0;  ///< largest RankWork::combined_payloads, less one
    std::vector<Time> loads_;             ///< by rank: its work, including received messages
    std::vector<Stratum> strata_;         ///< by rank
    std::vector<bool> counted_;           ///< by rank: its program was analyzed
    std::vector<bool> represents_;        ///< by rank: its program represents further ranks
};

}  // namespace weft::plan
