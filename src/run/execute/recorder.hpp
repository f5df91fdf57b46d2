// SPDX-License-Identifier: BSD-3-Clause
// recorder.hpp - what the calls of one rank did: counted for WEFT_STATS, kept for WEFT_TRACE.
//
// Idea     An engine that has a recorder tells it when a call begins and ends and what each step
//          did. Of calls of one kind the recorder keeps one line of sums; of single steps the last
//          ones, in a ring that is as long as its owner wants.
// Why      What raises a flag and what awaits it have the same key, so that who gathers the steps
//          of all ranks can pair them: where a message came from, and how long its flight was.
// Holds    An engine without a recorder does nothing of this; calls that find their plan at once
//          are not even asked (run/runtime/team.hpp). A step costs about two looks at the clock.
// Next     run/runtime/trace.hpp and run/runtime/statistics.hpp for what becomes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/region.hpp"
#include "run/bind/bound_program.hpp"

namespace weft::run {

enum class Deed : std::uint8_t {
    call,     ///< a blocking call, from its begin to its end
    started,  ///< one that was started, or inserted by the bank rule
    stage,    ///< of the fused form of a program
    put,
    signal,
    publish,
    expose,
    wait,   ///< for a flag of a peer
    flush,  ///< until transfers have read their sources
    reduce,
    copy,
};
inline constexpr std::size_t kDeeds = 11;

/// A step, a stage or a call. Plain words: ranks send them to each other.
struct Event {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t key = 0;    ///< of the flag that it raises or awaits; 0: none
    std::uint64_t bytes = 0;  ///< of a call: its epoch
    std::uint32_t call = 0;   ///< number of the call on this rank
    std::uint32_t step = 0;   ///< of a call: its name
    Rank peer = -1;           ///< in the job
    std::uint16_t lane = 0;   ///< of a call: its team
    Deed deed = Deed::call;
    bool far = false;  ///< over the network
};
static_assert(sizeof(Event) == 48);

/// Which flag: where in whose segment, and its value.
[[nodiscard]] inline std::uint64_t key_of(Rank owner, std::uint64_t offset, base::FlagWord flag) {
    std::uint64_t key = flag * 0x9e3779b97f4a7c15ULL;
    key ^= (offset / sizeof(base::Cell)) * 0xc2b2ae3d27d4eb4fULL;
    key ^= (static_cast<std::uint64_t>(owner) + 1) * 0x165667b19e3779f9ULL;
    key ^= key >> 32;
    return key | 1;
}

/// Sums over the calls of one kind on one rank.
struct CallSums {
    std::string collective;
    std::string algorithm;
    std::uint64_t bytes_class = 0;  ///< power of two at or below the bytes of the vector
    std::uint64_t calls = 0;
    std::uint64_t time_ns = 0;
    std::uint64_t waited_ns = 0;
    std::uint64_t put_bytes = 0;  ///< stored in memory of node-mates
    std::uint64_t far_bytes = 0;  ///< given to the network
};

class Recorder {
  public:
    /// What the engine keeps of a call that it was told to begin.
    struct Open {
        std::uint64_t begun_ns = 0;
        std::uint32_t number = 0;
        std::uint32_t line = 0;
        std::uint32_t name = 0;
        bool blocking = false;
    };

    /// events_max: of steps and calls together; 0: they are counted only.
    Recorder(Rank ranks, std::size_t events_max);

    [[nodiscard]] static std::uint64_t now() { return base::monotonic_ns(); }
    [[nodiscard]] Open begin(const BoundProgram& program, bool blocking);
    void end(const Open& call, std::uint32_t team, std::int64_t epoch);
    /// A step of a call; `event.call` is set here.
    void add(const Open& call, Event event);

    /// Programs may have been dropped: their addresses mean nothing any more.
    void forget_programs() { known_.clear(); }

    [[nodiscard]] const std::vector<CallSums>& lines() const { return lines_; }
    /// By rank of the job.
    [[nodiscard]] const std::vector<std::uint64_t>& waited_ns() const { return waited_ns_; }
    /// For no single rank: until transfers had read their sources.
    [[nodiscard]] std::uint64_t flushed_ns() const { return flushed_ns_; }
    /// In the order of their ends.
    [[nodiscard]] std::vector<Event> events() const;
    /// Older ones, for which there was no room.
    [[nodiscard]] std::uint64_t lost() const { return kept_ - ring_.size(); }
    /// Of calls, as reports write them.
    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  private:
    /// Of calls that differ in nothing but their memory.
    struct Known {
        std::uint32_t line;
        std::uint32_t name;
    };
    static constexpr std::size_t kNames = 4096;  ///< later ones are called by their collective

    void keep(const Event& event);
    Known known(const BoundProgram& program);
    std::uint32_t line_of(const BoundProgram& program);
    std::uint32_t name_of(const BoundProgram& program);

    std::size_t events_max_;
    std::vector<Event> ring_;
    std::uint64_t kept_ = 0;  ///< events in all
    std::uint32_t calls_ = 0;
    std::vector<CallSums> lines_;
    std::vector<std::string> names_;
    std::unordered_map<std::string, std::uint32_t> numbers_of_names_;
    std::map<std::tuple<std::string, std::string, std::uint64_t>, std::uint32_t> lines_by_name_;
    std::unordered_map<const BoundProgram*, Known> known_;
    std::vector<std::uint64_t> waited_ns_;
    std::uint64_t flushed_ns_ = 0;
};

}  // namespace weft::run
