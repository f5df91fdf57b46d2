// SPDX-License-Identifier: BSD-3-Clause
// fit.hpp - `weft fit`: its ranks, and its measurements.
//
// Idea     Local and remote peers are measured separately: puts to a growing number of peers
//          (Ruefenacht et al., section 5.1), round trips, receptions, rings of blocks, copies, and
//          short calls. In between, a flag is timed, which shows the mode of the machine.
// Holds    Ranks that take no part in a measurement sleep: waiting ranks would take processors from
//          the timed ones. Results are at rank 0.
// Next     fit_command.cpp computes costs from the results; tools/measure/passes.hpp.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "tools/cli/command.hpp"
#include "tools/measure/line.hpp"
#include "tools/measure/statistics.hpp"
#include "weft/weft.hpp"

namespace weft::tools {

/// Ranks and processors of the host with the most ranks per processor.
struct HostLoad {
    int ranks = 1;
    int processors = 1;

    [[nodiscard]] bool is_oversubscribed() const { return ranks > processors; }
};

/// The processors that each rank may use. The launcher may have bound ranks to separate ones.
class RankProcessors {
  public:
    explicit RankProcessors(Team world);  ///< collective

    [[nodiscard]] const HostLoad& host_load() const { return host_load_; }
    /// Returns a processor that both ranks may use, if there is one.
    [[nodiscard]] std::optional<int> common(Rank a, Rank b) const;
    /// Returns a processor for `rank` that leaves another one for `other`; nothing if impossible.
    [[nodiscard]] std::optional<int> separate(Rank rank, Rank other) const;

  private:
    [[nodiscard]] const cpu_set_t& of(Rank rank) const {
        return allowed_[static_cast<std::size_t>(rank)];
    }

    std::vector<cpu_set_t> allowed_;  ///< by rank; empty set: unknown
    HostLoad host_load_;
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
    /// Number of the last exchange, the value of its flag. Equal on all ranks while none measures.
    [[nodiscard]] std::uint64_t& exchange() { return exchange_; }

    /// Runs `work` on rank 0 and `peers`; other ranks sleep, and poll for the end every 2 ms.
    /// shared: processor to which rank 0 and the peers are bound meanwhile. Collective.
    void while_others_sleep(const std::vector<Rank>& peers, const std::function<void()>& work,
                            std::optional<int> shared = {});
    /// Runs `work` on rank 0 and `peer`, if there is one, with a team of the two. Collective.
    void with_pair(std::optional<Rank> peer, const std::function<void(Team)>& work);
    void pause(double seconds);

  private:
    void find_peers();

    Team world_;
    Memory memory_;
    std::uint64_t* wake_;  ///< in `memory_`: the phase whose end rank 0 has signaled
    std::uint64_t exchange_ = 0;
    std::uint64_t phase_ = 0;  ///< number of calls of while_others_sleep()
    RankProcessors processors_;
    std::vector<Rank> local_peers_;
    std::vector<Rank> remote_peers_;
};

/// Times of one kind of multicast of 8 bytes, in us. The slope over the peers is the time of a
/// further message.
struct Multicast {
    const char* mode = "";               ///< "blocking" or "non-blocking" puts
    const char* until = "";              ///< end of the time: "issued", or "landed" (delivered)
    std::vector<lab::Summary> by_peers;  ///< element i: to i + 1 peers

    /// Returns the line through a statistic (such as the median) over the number of peers.
    [[nodiscard]] lab::Line line(double lab::Summary::*statistic) const;
};

/// Times of calls of rank 0 and one peer. A barrier precedes each call; for a local peer, the first
/// four times are means of 100 calls after a barrier.
struct Calls {
    double alone_us = 0;      ///< broadcast of a team of one rank: only the cost of a call
    double broadcast_us = 0;  ///< 8 bytes
    double cell_us = 0;       ///< allreduce of data that fits a cell
    double slot_us = 0;       ///< allreduce of data that needs a slot
    double one_way_us = 0;    ///< reduction, at its root
    double exchange_us = 0;   ///< allreduce
    lab::Line received;       ///< remote: a broadcast that rank 0 receives, us over bytes
    double both_ways_us = 0;  ///< remote: additional time per byte if both ranks send (alltoall)
};

/// Results with the peers of one kind.
struct PeerTimes {
    const char* name = "";  ///< "near" (local) or "far" (remote)
    std::vector<Rank> peers;
    std::vector<Multicast> multicasts;
    lab::Line round_trips;             ///< half round trips, us over bytes
    lab::Line blocks;                  ///< ring, us over bytes, divided by ranks per processor
    std::optional<double> receive_us;  ///< remote: reception of a message that has arrived
    Calls calls;                       ///< with the first peer
    double flag_us = 0;  ///< local: half a round trip of a flag between two spinning ranks
    /// Half a round trip of two ranks on one processor, if the host is oversubscribed.
    std::optional<double> shared_us;
    bool bound = false;  ///< `shared_us` is missing: the ranks are bound to different processors

    [[nodiscard]] bool is_near() const { return name == std::string_view("near"); }
};

/// Broadcasts in which each of two local ranks copies one half, and reductions: us over bytes.
struct NearCopies {
    lab::Points of_job;               ///< broadcast of symmetric memory, which is always mapped
    lab::Points in_place;             ///< broadcast of a mapped buffer
    lab::Points by_kernel;            ///< broadcast of a buffer that the kernel copies
    lab::Points reduced;              ///< reduction of mapped buffers
    std::optional<double> expose_us;  ///< time of the owner to expose a remapped buffer
};

/// Costs of rank 0's own memory.
struct OwnMemory {
    std::size_t cache_bytes = std::size_t{1} << 20;  ///< second-level cache; default if unknown
    double copy_ns_per_byte = 0;                     ///< both buffers are in this cache
    double cold_ns_per_byte = 0;    ///< additional time per byte read or written beyond the cache
    double unpack_ns_per_byte = 0;  ///< neither buffer is in any cache
    double reduce_ns_per_byte = 0;  ///< sum of doubles that are in a cache
};

/// Remapping a buffer ("adopt") and mapping it in a peer ("window"): us over pages.
struct Adoption {
    lab::Points adopt;
    lab::Points window;
};

struct FitPass {
    std::optional<PeerTimes> near;     ///< local peers, if there are any
    std::optional<PeerTimes> far;      ///< remote peers, if there are any
    std::optional<NearCopies> copies;  ///< if rank 0 can access a local peer's buffers
    OwnMemory memory;
    std::optional<Adoption> adoption;  ///< if buffers are remapped
    std::vector<double> flags_us;      ///< see PutMeasure::time_flag()
};

/// Percentile of times that represents undisturbed calls.
inline constexpr double kUndisturbed = 10;

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

    /// name: "near" or "far". There must be at least one peer.
    [[nodiscard]] PeerTimes measure(const char* name, const std::vector<Rank>& peers);
    /// Times half a round trip of a flag with a local peer, if the host has several processors.
    void time_flag();
    /// Returns the times of time_flag() since the last call of take_flags().
    [[nodiscard]] std::vector<double> take_flags() { return std::exchange(flags_us_, {}); }

  private:
    /// How a rank waits for a flag: by wait_until(), or in a loop without or with sched_yield().
    enum class Waits : std::uint8_t { usual, spinning, yielding };

    void multicast(PeerTimes& kind, bool blocking);
    void put(Rank peer, bool blocking);
    [[nodiscard]] lab::Line measure_round_trips(Rank peer);
    [[nodiscard]] std::optional<double> measure_shared(PeerTimes& kind);
    [[nodiscard]] double measure_receptions(const PeerTimes& kind);
    [[nodiscard]] lab::Line measure_blocks(const std::vector<Rank>& peers, bool near);
    [[nodiscard]] Waits fastest_waits() const;
    void round_trip(Rank peer, std::size_t bytes, Waits waits = Waits::usual);
    [[nodiscard]] double half_trip_us(Rank peer, std::size_t bytes, Waits waits);
    void send(Rank peer, std::size_t bytes);
    [[nodiscard]] double call_us(Team team, const std::function<void()>& call, int calls) const;
    [[nodiscard]] Calls calls_of(Team pair, bool near);
    void time_long_calls(Team pair, Calls& found);
    [[nodiscard]] std::byte* data();

    FitRanks& ranks_;
    Team world_;
    std::uint64_t& exchange_;
    int repetitions_;
    Memory memory_;
    std::uint64_t* flag_;            ///< in `memory_`: number of the last message
    std::vector<std::byte> source_;  ///< two blocks, for alltoall
    std::vector<std::byte> copy_;    ///< two blocks, for alltoall
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
    // Kept over all passes, because memory that was remapped and freed is not remapped again.
    std::vector<std::byte> own_;
    std::vector<std::byte> exposed_;
};

}  // namespace weft::tools
