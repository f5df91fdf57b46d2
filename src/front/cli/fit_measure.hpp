// SPDX-License-Identifier: BSD-3-Clause
// fit_measure.hpp - what `weft fit` measures on the ranks of a job.
//
// Idea     Rank 0 puts 8 bytes to 1, 2, ... 8 distinct peers at once, blocking and non-blocking:
//          the line through these times has the time of a further message as its slope (the
//          multicast benchmark of Ruefenacht et al., section 5.1). Turns with one peer give half a
//          round trip; messages that are there already, what it takes to receive one; blocks that
//          all send to the next one at the same time, the time per byte; turns with a peer on the
//          same processor, how long a rank waits for its turn there. Near and far peers are
//          measured apart. What it takes to copy between the buffers of two ranks of a node comes
//          from broadcasts to one near peer: of memory that both have mapped, and of buffers that
//          never come again, which the kernel copies; reductions of the former, what it takes to
//          combine there. Short calls with one peer, in streams and one by one, and streams of a
//          rank alone give what a call takes beyond its messages, and what a message of a call
//          takes; calls of up to 256 KiB with a far peer, what each byte takes there.
//          Between all that a flag is timed, which tells in which mode the machine is.
// Holds    Ranks that take no part in a measurement sleep. Results are at rank 0.
// Next     fit_command.cpp for what is made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "front/cli/fit_processors.hpp"
#include "lab/measure/line.hpp"
#include "lab/measure/statistics.hpp"
#include "weft/weft.hpp"

namespace weft::front {

/// Times of one kind of multicast, by the number of peers.
struct Multicast {
    const char* mode = "";   ///< blocking or non-blocking puts
    const char* until = "";  ///< they are issued, or have landed
    std::vector<lab::Summary> by_peers;

    [[nodiscard]] lab::Line line(double lab::Summary::*statistic) const;
};

/// Short calls of two ranks, us; near, each of a stream of them, but for the last two.
struct Calls {
    double alone_us = 0;      ///< of a rank alone: it enters and leaves
    double broadcast_us = 0;  ///< of 8 bytes
    double cell_us = 0;       ///< exchanges of bytes that fit a cell,
    double slot_us = 0;       ///< and of a few more
    double one_way_us = 0;    ///< a reduction after a barrier, at its root,
    double exchange_us = 0;   ///< and an exchange
    lab::Line received;       ///< far: over bytes, a broadcast that rank 0 receives,
    double both_ways_us = 0;  ///< and what a byte of an alltoall takes more
};

/// What is measured with the peers of one kind.
struct Way {
    const char* name = "";  ///< near or far
    std::vector<Rank> peers;
    std::vector<Multicast> multicasts;
    lab::Line turns;   ///< half a round trip over bytes
    lab::Line blocks;  ///< by processors: time over the bytes that each sends and receives
    std::optional<double> receive_us;  ///< far: a message that is there
    Calls calls;                       ///< with the first of the peers
    double flag_us = 0;                ///< near: half a round trip of a flag between two that spin
    /// Half a round trip of two that share a processor, where ranks do,
    std::optional<double> shared_us;
    bool bound = false;  ///< unless they are bound to different ones
};

/// Broadcasts in which two ranks copy one half each, and reductions of as much each: times over
/// bytes.
struct NearCopies {
    lab::Points of_job;  ///< in place, of the job's own memory
    lab::Points in_place;
    lab::Points by_kernel;
    lab::Points reduced;              ///< in place
    std::optional<double> expose_us;  ///< by its owner, of a buffer that is adopted
};

/// A rank's copies between vectors of its own.
struct OwnMemory {
    std::size_t cache_bytes = std::size_t{1} << 20;  ///< of its processor, if that is not known
    double copy_ns_per_byte = 0;                     ///< there
    double cold_ns_per_byte = 0;    ///< more, for each byte read or written beyond these
    double unpack_ns_per_byte = 0;  ///< where neither end lies in any cache
    double reduce_ns_per_byte = 0;  ///< of doubles that are added to others, in a cache
};

/// Times over pages.
struct Adoption {
    lab::Points adopt;
    lab::Points window;
};

/// All that is measured once.
struct FitPass {
    std::vector<Way> ways;
    std::optional<NearCopies> copies;  ///< if rank 0 has a near peer whose buffers it reaches
    OwnMemory memory;
    std::optional<Adoption> adoption;  ///< where buffers are adopted
    /// Half round trips of a flag to the near peer, if it has a processor of its own.
    std::vector<double> flags_us;
};

/// Since then.
[[nodiscard]] double elapsed_us(std::uint64_t begin_ns);
/// Where little else than the work itself counts: per cent of the times that are less.
inline constexpr double kQuick = 10;

class FitMeasure {
  public:
    FitMeasure(Runtime& runtime, int repetitions);

    [[nodiscard]] FitPass pass();
    /// All ranks sleep.
    void pause(double seconds);

  private:
    [[nodiscard]] Way measure_way(Way way);
    [[nodiscard]] std::optional<NearCopies> copies();
    [[nodiscard]] OwnMemory own_memory();
    [[nodiscard]] std::optional<Adoption> adoption();
    void time_flag();
    void while_others_sleep(const std::vector<Rank>& peers, const std::function<void()>& work,
                            std::optional<int> shared = {});
    void agree_on_turns();
    void find_peers();
    void multicast(Way& way, bool blocking);
    void put(Rank peer, bool blocking);
    [[nodiscard]] lab::Line measure_turns(Rank peer);
    [[nodiscard]] std::optional<double> measure_shared(Way& way);
    [[nodiscard]] double measure_receptions(const Way& way);
    [[nodiscard]] lab::Line measure_blocks(const std::vector<Rank>& peers, bool near);
    /// Spinning or yielding by themselves, as ranks do that have a processor each, or share one.
    enum class Waits : std::uint8_t { usual, spinning, yielding };
    [[nodiscard]] Waits waits_apart() const;
    void turn(Rank peer, std::size_t bytes, Waits waits = Waits::usual);
    [[nodiscard]] double half_turn_us(Rank peer, std::size_t bytes, Waits waits);
    void send(Rank peer, std::size_t bytes);
    void with_pair(std::optional<Rank> peer, const std::function<void(Team)>& work);
    [[nodiscard]] double call_us(Team team, const std::function<void()>& call, int calls) const;
    [[nodiscard]] Calls calls_of(Team pair, bool near);
    void time_long_calls(Team pair, Calls& found);
    [[nodiscard]] std::optional<NearCopies> copies_of(Team pair);
    [[nodiscard]] std::optional<double> expose_us(std::size_t bytes);
    [[nodiscard]] lab::Points measure_copies(
        Team pair, const std::function<std::byte*(std::size_t)>& next,
        const std::function<void(std::byte*, std::size_t)>& call);
    [[nodiscard]] std::byte* data();

    Team world_;
    int repetitions_;
    Memory memory_;
    std::uint64_t* flag_;            ///< of turns,
    std::uint64_t* wake_;            ///< and of sleepers
    std::vector<std::byte> source_;  ///< two blocks, for exchanges,
    std::vector<std::byte> copy_;    ///< likewise
    /// The same in all passes: memory of one that was adopted and freed is not adopted again.
    std::vector<std::byte> own_;
    std::vector<std::byte> exposed_;
    std::uint64_t turn_ = 0;
    std::uint64_t phase_ = 0;
    RankProcessors processors_;
    Way near_;  ///< the peers alone
    Way far_;
    std::vector<double> flags_us_;
};

}  // namespace weft::front
