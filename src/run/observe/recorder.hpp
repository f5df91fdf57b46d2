// SPDX-License-Identifier: BSD-3-Clause
// recorder.hpp - records the calls of a rank: sums for WEFT_STATS, steps for WEFT_TRACE.
//
// Idea     The recorder keeps sums for each kind of call, and the last steps in a ring buffer. The
//          step that raises a flag has the same key as the step that waits for it. So write_trace()
//          can pair the steps of two ranks, and show each message's source.
// Holds    Without a recorder, a repeated call executes no instruction for recording.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
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
    call,     ///< a blocking call
    started,  ///< a call that Team::start() started, or a barrier that the bank rule inserted
    stage,    ///< a stage of a fused program
    // The kinds of plan::StepKind, in the same order:
    put,
    signal,
    expose,
    publish,
    wait,   ///< wait for a peer's flag
    flush,  ///< wait until transfers have read their sources
    reduce,
    copy,
};
inline constexpr std::size_t kEventKinds = 11;

/// A step, a stage or a call. Trivially copyable, because ranks send events to each other.
struct RecordedEvent {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t key = 0;    ///< key_of() the flag that the step raises or awaits; 0: none
    std::uint64_t bytes = 0;  ///< for a call: its epoch
    std::uint32_t call = 0;   ///< number of the call on this rank
    std::uint32_t step = 0;   ///< for a call: index in Recorder::names()
    Rank peer = -1;           ///< rank of the job; -1: none
    std::uint16_t lane = 0;   ///< for a call: id of its team
    EventKind kind = EventKind::call;
    bool far = false;  ///< the peer is on another node
};
static_assert(sizeof(RecordedEvent) == 48);
[[nodiscard]] inline bool is_call(const RecordedEvent& event) {
    return event.kind == EventKind::call || event.kind == EventKind::started;
}

/// Returns a hash of a flag's owner, offset in the owner's segment, and value. Never 0.
[[nodiscard]] inline std::uint64_t key_of(Rank owner, std::uint64_t offset, base::FlagWord flag) {
    std::uint64_t key = flag * 0x9e3779b97f4a7c15ULL;
    key ^= (offset / sizeof(base::Cell)) * 0xc2b2ae3d27d4eb4fULL;
    key ^= (static_cast<std::uint64_t>(owner) + 1) * 0x165667b19e3779f9ULL;
    key ^= key >> 32;
    return key | 1;
}

/// Memory of local peers that this rank accessed, and buffers that it exposed.
struct MappedBytes {
    using ByMethod = std::array<std::uint64_t, base::kAccessMethods>;  // index: AccessMethod
    ByMethod read{};     ///< bytes of local peers that this rank read
    ByMethod written{};  ///< bytes of local peers that this rank wrote
    ByMethod buffers{};  ///< number of exposed buffers
    ByMethod exposed{};  ///< bytes of exposed buffers
};

/// Kind of a call: the properties by which calls are summed and named.
struct RecordedCall {
    const void* program = nullptr;  ///< equal for calls that differ only in their buffers
    std::string_view collective;
    std::string_view algorithm;
    std::string_view description;  ///< name of the call in the trace
    std::uint64_t bytes = 0;       ///< size of the buffer
};

/// Sums over the calls of a kind on a rank.
struct CallSums {
    std::string collective;
    std::string algorithm;
    std::uint64_t bytes_class = 0;  ///< bytes of the buffer, rounded down to a power of two
    std::uint64_t calls = 0;        ///< number of calls
    std::uint64_t time_ns = 0;      ///< time in calls
    std::uint64_t waited_ns = 0;    ///< time in waits and flushes
    std::uint64_t put_bytes = 0;    ///< bytes published, or put to local peers
    std::uint64_t far_bytes = 0;    ///< bytes put to remote ranks
};

class Recorder {
  public:
    struct Open {
        std::uint64_t begun_ns = 0;
        std::uint32_t number = 0;  ///< number of the call on this rank
        std::uint32_t kind = 0;    ///< index in sums()
        std::uint32_t name = 0;    ///< index in names()
        bool blocking = false;
    };

    /// `events_max` limits the number of events that are kept. 0: only sums are kept.
    Recorder(Rank ranks, std::size_t events_max)
        : events_max_(events_max), waited_ns_(static_cast<std::size_t>(ranks)) {
        ring_.reserve(events_max);
    }
    [[nodiscard]] Open begin(const RecordedCall& call, bool blocking) {
        const auto [kind, name] = known(call);
        return {base::monotonic_ns(), calls_++, kind, name, blocking};
    }
    void end(const Open& call, std::uint32_t team, std::int64_t epoch) {
        const std::uint64_t end_ns = base::monotonic_ns();
        CallSums& sums = sums_[call.kind];
        ++sums.calls;
        sums.time_ns += end_ns - call.begun_ns;
        keep({.begin_ns = call.begun_ns,
              .end_ns = end_ns,
              .bytes = static_cast<std::uint64_t>(epoch),
              .call = call.number,
              .step = call.name,
              .lane = static_cast<std::uint16_t>(team),
              .kind = call.blocking ? EventKind::call : EventKind::started});
    }
    void add(const Open& call, RecordedEvent event) {
        event.call = call.number;
        CallSums& sums = sums_[call.kind];
        const std::uint64_t took_ns = event.end_ns - event.begin_ns;
        switch (event.kind) {
            case EventKind::wait:
                sums.waited_ns += took_ns;
                if (event.peer >= 0) waited_ns_[event.peer] += took_ns;
                break;
            case EventKind::flush:
                sums.waited_ns += took_ns;
                flushed_ns_ += took_ns;
                break;
            case EventKind::put:
            case EventKind::publish:
                (event.far ? sums.far_bytes : sums.put_bytes) += event.bytes;
                break;
            default:
                break;
        }
        keep(event);
    }

    /// Forgets the addresses of programs, which may have been freed.
    void forget_programs() { known_.clear(); }

    [[nodiscard]] const std::vector<CallSums>& sums() const { return sums_; }
    [[nodiscard]] const std::vector<std::uint64_t>& waited_ns() const { return waited_ns_; }
    /// Returns the time of flushes, which wait for no particular rank.
    [[nodiscard]] std::uint64_t flushed_ns() const { return flushed_ns_; }
    /// Returns the kept events in the order of their ends.
    [[nodiscard]] std::vector<RecordedEvent> events() const {
        std::vector<RecordedEvent> ordered = ring_;
        if (kept_ > ring_.size())
            std::ranges::rotate(ordered,
                                ordered.begin() + static_cast<std::ptrdiff_t>(kept_ % events_max_));
        return ordered;
    }
    /// Returns the number of older events that were dropped.
    [[nodiscard]] std::uint64_t lost() const { return kept_ - ring_.size(); }
    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  private:
    /// Indices in sums() and names() of a kind of call.
    struct KindAndName {
        std::uint32_t kind;
        std::uint32_t name;
    };
    /// Largest number of names(). Further kinds of calls are named by their collective.
    static constexpr std::size_t kNames = 4096;

    void keep(const RecordedEvent& event) {
        if (events_max_ == 0) return;
        if (ring_.size() < events_max_)
            ring_.push_back(event);
        else
            ring_[kept_ % events_max_] = event;
        ++kept_;
    }
    KindAndName known(const RecordedCall& call) {
        const auto [at, is_new] = known_.try_emplace(call.program);
        if (is_new) at->second = {kind_of(call), name_of(call)};
        return at->second;
    }
    std::uint32_t kind_of(const RecordedCall& call) {
        const std::uint64_t bytes_class = call.bytes == 0 ? 0 : std::bit_floor(call.bytes);
        const auto found = std::ranges::find_if(sums_, [&](const CallSums& sums) {
            return sums.collective == call.collective && sums.algorithm == call.algorithm &&
                   sums.bytes_class == bytes_class;
        });
        const auto number = static_cast<std::uint32_t>(found - sums_.begin());
        if (found == sums_.end())
            sums_.push_back(
                {std::string(call.collective), std::string(call.algorithm), bytes_class});
        return number;
    }
    std::uint32_t name_of(const RecordedCall& call) {
        const std::string name(names_.size() < kNames ? call.description : call.collective);
        const auto [at, is_new] =
            numbers_of_names_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
        if (is_new) names_.push_back(name);
        return at->second;
    }

    std::size_t events_max_;
    std::vector<RecordedEvent> ring_;
    std::uint64_t kept_ = 0;  ///< number of events so far, including dropped events
    std::uint32_t calls_ = 0;
    std::vector<CallSums> sums_;
    std::vector<std::string> names_;
    std::unordered_map<std::string, std::uint32_t> numbers_of_names_;
    std::unordered_map<const void*, KindAndName> known_;  ///< key: RecordedCall::program
    std::vector<std::uint64_t> waited_ns_;
    std::uint64_t flushed_ns_ = 0;
};

}  // namespace weft::run
