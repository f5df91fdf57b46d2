// SPDX-License-Identifier: BSD-3-Clause
// fit.hpp - `weft fit`: its ranks, and its measurements.
//
// Idea     Local and remote peers are measured separately:
//          - Multicasts: rank 0 puts 8 bytes to 1 to 8 distinct peers at once, blocking and
//            non-blocking. The slope of these times is the time of a further message (the multicast
//            benchmark of Ruefenacht et al., section 5.1).
//          - Exchanges with one peer give half a round trip, messages that have already arrived the
//            time to receive one. Blocks that all ranks send to the next one at the same time give
//            the time per byte. Exchanges with a peer on the same processor give the waiting time
//            for a turn there.
//          - Copies between buffers on a node: broadcasts to one local peer, from memory that both
//            have mapped, and from fresh buffers, which the kernel copies. Reductions of mapped
//            memory give the time to combine there.
//          - Short calls with one peer, in streams and singly, and streams of a rank alone give the
//            time of a call and of its messages. Calls of up to 256 KiB with a remote peer give the
//            time per byte.
//          A flag is timed in between, which shows the mode of the machine.
// Why      A waiting rank would take processors from the timed ones. Launchers may bind each rank
//          to its own processors. Then the ranks of a host share none, and cannot be made to share
//          one.
// Holds    Ranks that take no part in a measurement sleep. Results are at rank 0.
// Next     fit_command.cpp for the costs that follow from them.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "tools/cli/command.hpp"
#include "tools/measure/line.hpp"
#include "tools/measure/statistics.hpp"
#include "weft/weft.hpp"

namespace weft::tools {

/// Ranks and processors of the host with the most ranks per processor.
struct Crowd {
    int ranks = 1;
    int processors = 1;

    [[nodiscard]] bool shares() const { return ranks > processors; }
};

class RankProcessors {
  public:
    /// Collective: asks all ranks.
    explicit RankProcessors(Team world);

    [[nodiscard]] const Crowd& crowd() const { return crowd_; }
    /// Returns a processor that both may use, if there is one.
    [[nodiscard]] std::optional<int> common(Rank a, Rank b) const;
    /// Returns a processor for `rank` that leaves another one for `other`; nothing if impossible.
    [[nodiscard]] std::optional<int> apart(Rank rank, Rank other) const;

  private:
    [[nodiscard]] const cpu_set_t& of(Rank rank) const {
        return allowed_[static_cast<std::size_t>(rank)];
    }

    std::vector<cpu_set_t> allowed_;  ///< by rank; empty set: unknown
    Crowd crowd_;
};

/// The ranks of the job, with peers of rank 0.
class FitRanks {
  public:
    explicit FitRanks(Team world);

    [[nodiscard]] Team world() const { return world_; }
    [[nodiscard]] const RankProcessors& processors() const { return processors_; }
    /// Local peers of rank 0, and ranks of other nodes, with a different node for each if possible.
    [[nodiscard]] const std::vector<Rank>& local_peers() const { return local_peers_; }
    [[nodiscard]] const std::vector<Rank>& remote_peers() const { return remote_peers_; }
    /// Count of exchanges; equal on all ranks between phases.
    [[nodiscard]] std::uint64_t& turn() { return turn_; }

    /// Runs `work` on rank 0 and these peers; the others poll for the end only from time to time.
    /// shared: the processor of both ranks.
    void while_others_sleep(const std::vector<Rank>& peers, const std::function<void()>& work,
                            std::optional<int> shared = {});
    /// Runs `work` on rank 0 and the peer, if there is one, with a team of the two.
    void with_pair(std::optional<Rank> peer, const std::function<void(Team)>& work);
    void pause(double seconds);

  private:
    void find_peers();

    Team world_;
    Memory memory_;
    std::uint64_t* wake_;  ///< of sleeping ranks
    std::uint64_t turn_ = 0;
    std::uint64_t phase_ = 0;
    RankProcessors processors_;
    std::vector<Rank> local_peers_;
    std::vector<Rank> remote_peers_;
};

/// Times of a kind of multicast, by the number of peers.
struct Multicast {
    const char* mode = "";   ///< blocking or non-blocking puts
    const char* until = "";  ///< measured until puts are issued or delivered
    std::vector<lab::Summary> by_peers;

    [[nodiscard]] lab::Line line(double lab::Summary::*statistic) const;
};

/// Times of short calls of two ranks, in microseconds. The first four are per call in streams for
/// local peers; all others are of single calls.
struct Calls {
    double alone_us = 0;      ///< a rank alone: enters and leaves
    double broadcast_us = 0;  ///< 8 bytes
    double cell_us = 0;       ///< exchange of bytes that fit a cell
    double slot_us = 0;       ///< exchange of a few more bytes
    double one_way_us = 0;    ///< a reduction after a barrier, at its root
    double exchange_us = 0;   ///< an exchange after a barrier
    lab::Line received;       ///< remote: a broadcast that rank 0 receives, over bytes
    double both_ways_us = 0;  ///< additional time per byte of an alltoall
};

/// Results with the peers of one kind.
struct PeerTimes {
    const char* name = "";  ///< "near" (local) or "far" (remote)
    std::vector<Rank> peers;
    std::vector<Multicast> multicasts;
    lab::Line turns;                   ///< half round trips over bytes
    lab::Line blocks;                  ///< time over bytes, for one rank per processor
    std::optional<double> receive_us;  ///< remote: reception of a message that has arrived
    Calls calls;                       ///< with the first peer
    double flag_us = 0;  ///< local: half a round trip of a flag between two spinning ranks
    /// Half a round trip of two ranks on one processor, where ranks share processors.
    std::optional<double> shared_us;
    bool bound = false;  ///< the two ranks are bound to different processors
};

/// Broadcasts in which each of two ranks copies one half, and reductions of equal amounts:
/// times over bytes.
struct NearCopies {
    lab::Points of_job;  ///< in place, in the job's own memory
    lab::Points in_place;
    lab::Points by_kernel;
    lab::Points reduced;              ///< in place
    std::optional<double> expose_us;  ///< time of the owner to expose a remapped buffer
};

struct OwnMemory {
    std::size_t cache_bytes = std::size_t{1}
                              << 20;  ///< cache of its processor; this default if unknown
    double copy_ns_per_byte = 0;      ///< within the cache
    double cold_ns_per_byte =
        0;  ///< additional time for each byte read or written beyond the cache
    double unpack_ns_per_byte = 0;  ///< neither end is in any cache
    double reduce_ns_per_byte = 0;  ///< of doubles added to others in a cache
};

struct Adoption {
    lab::Points adopt;
    lab::Points window;
};

struct FitPass {
    std::vector<PeerTimes> ways;
    std::optional<NearCopies> copies;  ///< if rank 0 can access a local peer's buffers
    OwnMemory memory;
    std::optional<Adoption> adoption;  ///< if buffers are remapped
    /// Half round trips of a flag to the local peer, if it has its own processor.
    std::vector<double> flags_us;
};

/// Percentile for times with few disturbances.
inline constexpr double kQuick = 10;

[[nodiscard]] inline double elapsed_us(std::uint64_t begin_ns) {
    return static_cast<double>(base::monotonic_ns() - begin_ns) * 1e-3;
}

/// Returns the times of repeated calls of `work`. `prepare` runs before each and is not timed.
template <class Work, class Prepare>
[[nodiscard]] std::vector<double> times_us(int repetitions, Work work, Prepare prepare) {
    std::vector<double> times;
    for (int i = 0; i < repetitions; ++i) {
        prepare();
        const std::uint64_t begin = base::monotonic_ns();
        work();
        times.push_back(elapsed_us(begin));
    }
    return times;
}
template <class Work>
[[nodiscard]] double median_us(int repetitions, Work work) {
    return lab::median(times_us(repetitions, work, [] {}));
}

class PutMeasure {
  public:
    PutMeasure(FitRanks& ranks, int repetitions);

    /// Measures with these peers, which are not empty.
    [[nodiscard]] PeerTimes measure(const char* name, const std::vector<Rank>& peers);
    /// Times a flag to the local peer, if it has its own processor.
    void time_flag();
    /// Returns the times of flags since the last call.
    [[nodiscard]] std::vector<double> take_flags() { return std::exchange(flags_us_, {}); }

  private:
    /// Method of waiting: as the job does, or as ranks with (spinning) or without (yielding)
    /// their own processor.
    enum class Waits : std::uint8_t { usual, spinning, yielding };

    void multicast(PeerTimes& way, bool blocking);
    void put(Rank peer, bool blocking);
    [[nodiscard]] lab::Line measure_turns(Rank peer);
    [[nodiscard]] std::optional<double> measure_shared(PeerTimes& way);
    [[nodiscard]] double measure_receptions(const PeerTimes& way);
    [[nodiscard]] lab::Line measure_blocks(const std::vector<Rank>& peers, bool near);
    [[nodiscard]] Waits waits_apart() const;
    void turn(Rank peer, std::size_t bytes, Waits waits = Waits::usual);
    [[nodiscard]] double half_turn_us(Rank peer, std::size_t bytes, Waits waits);
    void send(Rank peer, std::size_t bytes);
    [[nodiscard]] double call_us(Team team, const std::function<void()>& call, int calls) const;
    [[nodiscard]] Calls calls_of(Team pair, bool near);
    void time_long_calls(Team pair, Calls& found);
    [[nodiscard]] std::byte* data();

    FitRanks& ranks_;
    Team world_;
    std::uint64_t& turn_;
    int repetitions_;
    Memory memory_;
    std::uint64_t* flag_;            ///< of exchanges
    std::vector<std::byte> source_;  ///< two blocks, for exchanges
    std::vector<std::byte> copy_;    ///< two blocks
    std::vector<double> flags_us_;
};

/// Measures a rank's own memory, and buffers that two ranks of a node copy from each other.
class MemoryMeasure {
  public:
    MemoryMeasure(FitRanks& ranks, int repetitions) : ranks_(ranks), repetitions_(repetitions) {}

    /// Returns nothing if rank 0 cannot access a local peer's buffers.
    [[nodiscard]] std::optional<NearCopies> copies();
    [[nodiscard]] OwnMemory own_memory();
    /// Returns nothing if buffers are not remapped.
    [[nodiscard]] std::optional<Adoption> adoption();

  private:
    [[nodiscard]] std::optional<NearCopies> copies_of(Team pair);
    [[nodiscard]] std::optional<double> expose_us(std::size_t bytes);
    [[nodiscard]] lab::Points measure_copies(
        Team pair, const std::function<std::byte*(std::size_t)>& next,
        const std::function<void(std::byte*, std::size_t)>& call) const;

    FitRanks& ranks_;
    int repetitions_;
    /// Kept over all passes, because memory that was remapped and freed is not remapped again.
    std::vector<std::byte> own_;
    std::vector<std::byte> exposed_;
};

}  // namespace weft::tools
