// SPDX-License-Identifier: BSD-3-Clause
// recorder.hpp - records the calls of one rank: sums for WEFT_STATS, steps for WEFT_TRACE.
//
// Idea     The recorder keeps one line of sums for each kind of call, and the last steps in a ring.
//          The step that raises a flag and the step that awaits it have the same key. So the steps
//          of all ranks can be paired, which gives the source and the flight time of each message.
// Holds    Calls that find their plan at once do not even test for a recorder (run/team/team.hpp).
// Next     reports.hpp for the use of the records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/reach.hpp"
#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::run {

enum class EventKind : std::uint8_t {
    call,     ///< a blocking call, from begin to end
    started,  ///< a started call, or a barrier inserted by the bank rule
    stage,    ///< a stage of a fused program
    // the kinds of plan::StepKind, in its order
    put,
    signal,
    expose,
    publish,
    wait,   ///< until a peer's flag has arrived
    flush,  ///< until transfers have read their sources
    reduce,
    copy,
};
inline constexpr std::size_t kEventKinds = 11;

/// A step, a stage or a call. Trivially copyable, because ranks send events to each other.
struct RecordedEvent {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t key = 0;    ///< identifies the flag that it raises or awaits; 0: none
    std::uint64_t bytes = 0;  ///< for a call: its epoch
    std::uint32_t call = 0;   ///< number of the call on this rank
    std::uint32_t step = 0;   ///< for a call: its name
    Rank peer = -1;           ///< rank in the job
    std::uint16_t lane = 0;   ///< for a call: its team
    EventKind kind = EventKind::call;
    bool far = false;  ///< over the network
};
static_assert(sizeof(RecordedEvent) == 48);

/// Returns a key of a flag, from its owner, its offset in the owner's segment, and its value.
[[nodiscard]] inline std::uint64_t key_of(Rank owner, std::uint64_t offset, base::FlagWord flag) {
    std::uint64_t key = flag * 0x9e3779b97f4a7c15ULL;
    key ^= (offset / sizeof(base::Cell)) * 0xc2b2ae3d27d4eb4fULL;
    key ^= (static_cast<std::uint64_t>(owner) + 1) * 0x165667b19e3779f9ULL;
    key ^= key >> 32;
    return key | 1;
}

/// Counts of accesses to memory of peers, by transfer method.
struct MappedBytes {
    std::array<std::uint64_t, base::kAccessMethods>
        read{};  ///< bytes of local peers, read by this rank
    std::array<std::uint64_t, base::kAccessMethods>
        written{};  ///< bytes of local peers, written by it
    std::array<std::uint64_t, base::kAccessMethods> buffers{};  ///< buffers that this rank exposed
    std::array<std::uint64_t, base::kAccessMethods> exposed{};  ///< bytes of these buffers
};

/// Kind of a call.
struct RecordedCall {
    const void* program = nullptr;  ///< identifies calls that differ only in their buffers
    std::string_view collective;
    std::string_view algorithm;
    std::string_view description;  ///< as reports print it
    std::uint64_t bytes = 0;       ///< of the buffer
};

/// Sums over the calls of one kind on one rank.
struct CallSums {
    std::string collective;
    std::string algorithm;
    std::uint64_t bytes_class = 0;  ///< bytes of the buffer, rounded down to a power of two
    std::uint64_t calls = 0;
    std::uint64_t time_ns = 0;
    std::uint64_t waited_ns = 0;
    std::uint64_t put_bytes = 0;  ///< stored in memory of local peers
    std::uint64_t far_bytes = 0;  ///< sent over the network
};

class Recorder {
  public:
    /// State of a call between begin() and end().
    struct Open {
        std::uint64_t begun_ns = 0;
        std::uint32_t number = 0;
        std::uint32_t line = 0;
        std::uint32_t name = 0;
        bool blocking = false;
    };

    /// `events_max` limits the steps and calls that are kept. With 0 they are only counted.
    Recorder(Rank ranks, std::size_t events_max);

    [[nodiscard]] static std::uint64_t now() { return base::monotonic_ns(); }
    [[nodiscard]] Open begin(const RecordedCall& call, bool blocking);
    void end(const Open& call, std::uint32_t team, std::int64_t epoch);
    /// Records a step of a call and sets `event.call`.
    void add(const Open& call, RecordedEvent event);

    /// Forgets the addresses of programs, which may have been freed.
    void forget_programs() { known_.clear(); }

    [[nodiscard]] const std::vector<CallSums>& lines() const { return lines_; }
    /// Returns the wait time by rank of the job.
    [[nodiscard]] const std::vector<std::uint64_t>& waited_ns() const { return waited_ns_; }
    /// Returns the time until transfers had read their sources. It belongs to no single rank.
    [[nodiscard]] std::uint64_t flushed_ns() const { return flushed_ns_; }
    /// Returns the events in the order of their ends.
    [[nodiscard]] std::vector<RecordedEvent> events() const;
    /// Returns the number of older events that were dropped.
    [[nodiscard]] std::uint64_t lost() const { return kept_ - ring_.size(); }
    /// Returns the names of calls, as reports print them.
    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  private:
    /// Line and name of a kind of calls.
    struct LineAndName {
        std::uint32_t line;
        std::uint32_t name;
    };
    static constexpr std::size_t kNames = 4096;  ///< later calls are named by their collective

    void keep(const RecordedEvent& event);
    LineAndName known(const RecordedCall& call);
    std::uint32_t line_of(const RecordedCall& call);
    std::uint32_t name_of(const RecordedCall& call);

    std::size_t events_max_;
    std::vector<RecordedEvent> ring_;
    std::uint64_t kept_ = 0;  ///< total number of events
    std::uint32_t calls_ = 0;
    std::vector<CallSums> lines_;
    std::vector<std::string> names_;
    std::unordered_map<std::string, std::uint32_t> numbers_of_names_;
    std::unordered_map<const void*, LineAndName> known_;  ///< by program
    std::vector<std::uint64_t> waited_ns_;
    std::uint64_t flushed_ns_ = 0;
};

}  // namespace weft::run
