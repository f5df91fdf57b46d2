// SPDX-License-Identifier: BSD-3-Clause
// model.hpp - what a message costs its sender, the wire and its receiver.
//
// Idea     One formula for all models. A sender starts a message when it is free and `gap` after it
//          started the last one, and is busy for `busy`; the message arrives `latency` later. A
//          receiver takes what has arrived, in the order of arrival, is busy for `receive` each
//          time and starts `gap` after it started on the last one. The models differ in what is
//          zero.
// Why      Engines then cannot disagree about a model, only about the order of the arithmetic, and
//          the arithmetic is on whole numbers: sums and maxima, exact in any order.
// Holds    Time is in picoseconds. What depends on bytes is given in femtoseconds per byte and
//          rounded to picoseconds once for each message or reduction, in the same way everywhere.
// Next     docs/selection.md for the conventions; lab/simulate/wire_model.hpp for the models by
//          name.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

namespace weft::plan {

using Time = std::int64_t;  ///< picoseconds
inline constexpr Time kPicosecondsPerNanosecond = 1000;

/// The nearest double; exact to three digits after the point up to 2^53 picoseconds.
[[nodiscard]] constexpr double nanoseconds(Time time) {
    return static_cast<double>(time) / static_cast<double>(kPicosecondsPerNanosecond);
}

/// The largest product of bytes and femtoseconds that can be counted in.
inline constexpr double kFemtosecondsMax = 9e18;

/// Femtoseconds in picoseconds, to the nearest.
[[nodiscard]] constexpr Time to_time(std::int64_t femtoseconds) {
    return (femtoseconds + 500) / 1000;
}

struct MessageModel {
    Time busy_base = 0;  ///< without the bytes
    std::int64_t byte_fs = 0;
    Time slot = 0;  ///< more, for each message of more bytes than fit a cell
    std::uint64_t cell_bytes = std::numeric_limits<std::uint64_t>::max();
    Time latency = 0;
    bool blocking = false;  ///< the sender is busy until the message has arrived
    Time receive = 0;
    std::int64_t receive_byte_fs =
        0;  ///< taken while the message comes in, if nothing else is done
    Time gap = 0;
    Time reduce = 0;
    std::int64_t reduce_byte_fs = 0;
    Time expose = 0;  ///< for each vector of its own that a rank exposes to node-mates
    std::int64_t copy_byte_fs = 0;    ///< for each byte that it copies within its own memory,
    std::int64_t unpack_byte_fs = 0;  ///< and that it reads out of put targets of vectors
    std::uint64_t unpacked_free = 0;  ///< of more bytes than these
    /// More, for each byte that it reads or writes of vectors, as far as these are longer.
    std::int64_t cold_byte_fs = 0;
    std::uint64_t cache_bytes = std::numeric_limits<std::uint64_t>::max();
    Time mapped = 0;  ///< for each vector of a node-mate that is read or written in place, and
    std::int64_t mapped_byte_fs = 0;  ///< for each byte that is copied from there or to there
    std::int64_t mapped_reduce_byte_fs = 0;  ///< more, for each that is combined there

    [[nodiscard]] Time busy(std::uint64_t bytes) const {
        return busy_base + to_time(static_cast<std::int64_t>(bytes) * byte_fs) +
               (bytes > cell_bytes ? slot : 0);
    }
    /// in_place: operands or results lie in vectors of node-mates.
    [[nodiscard]] Time combine(std::uint64_t bytes, std::uint32_t operands,
                               bool in_place = false) const {
        if (operands < 2) return 0;
        const std::int64_t each_fs = reduce_byte_fs + (in_place ? mapped_reduce_byte_fs : 0);
        return static_cast<Time>(operands - 1) *
               (reduce + to_time(static_cast<std::int64_t>(bytes) * each_fs));
    }
    /// Memory of node-mates in place, besides what is combined.
    [[nodiscard]] Time touch(std::uint32_t vectors, std::uint64_t bytes) const {
        return static_cast<Time>(vectors) * mapped +
               to_time(static_cast<std::int64_t>(bytes) * mapped_byte_fs);
    }
    [[nodiscard]] Time copy(std::uint64_t own_bytes) const {
        return to_time(static_cast<std::int64_t>(own_bytes) * copy_byte_fs);
    }
    [[nodiscard]] Time unpack(std::uint64_t bytes) const {
        return to_time(static_cast<std::int64_t>(bytes) * unpack_byte_fs);
    }
    [[nodiscard]] bool unpacks(std::uint64_t vector_bytes) const {
        return unpack_byte_fs > 0 && vector_bytes > unpacked_free;
    }
    /// Whether a call's vectors may be longer than the cache: it uses two of them, as a rule.
    [[nodiscard]] bool is_cold(std::uint64_t vector_bytes) const {
        return cold_byte_fs > 0 && 2 * vector_bytes > cache_bytes;
    }
    /// Of each byte that is touched, if the rank's vectors are so long: what the cache has is free.
    [[nodiscard]] std::int64_t cold_fs_of(std::uint64_t vector_bytes) const {
        if (vector_bytes <= cache_bytes) return 0;
        const auto share =
            static_cast<double>(vector_bytes - cache_bytes) / static_cast<double>(vector_bytes);
        return static_cast<std::int64_t>(static_cast<double>(cold_byte_fs) * share);
    }
    /// What the bytes of a message take its receiver.
    [[nodiscard]] Time take_in(std::uint64_t bytes) const {
        return to_time(static_cast<std::int64_t>(bytes) * receive_byte_fs);
    }
    /// Whether something is counted that stages do not show.
    [[nodiscard]] bool needs_steps(std::uint64_t vector_bytes) const {
        return copy_byte_fs > 0 || unpacks(vector_bytes) || receive_byte_fs > 0 ||
               is_cold(vector_bytes);
    }
    /// Receptions do nothing but wait: their order does not matter.
    [[nodiscard]] bool takes_no_time_to_receive() const { return receive == 0 && gap == 0; }
};

/// A message that is there at some time, at the earliest, and what its bytes take its receiver.
struct Arrival {
    Time time = 0;
    Time work = 0;

    friend auto operator<=>(const Arrival&, const Arrival&) = default;
};

/// Where a lane stands in time.
struct Clock {
    Time now = 0;
    Time send_free = 0;     ///< no send starts before
    Time receive_free = 0;  ///< no reception starts before

    friend bool operator==(const Clock&, const Clock&) = default;

    /// Sends one message; returns when it arrives.
    Time send(const MessageModel& model, Time busy, Time latency) {
        const Time start = std::max(now, send_free);
        send_free = start + model.gap;
        now = start + busy;
        if (model.blocking) return now += latency;
        return now + latency;
    }
    /// Receives one message; returns when all of it had come in. Who waits for it takes its bytes
    /// in as they come; who has done something else until then begins to when that is over.
    Time receive(const MessageModel& model, Arrival arrival) {
        const Time start = std::max(std::max(now, receive_free) + arrival.work, arrival.time);
        receive_free = start + model.gap;
        now = start + model.receive;
        return start;
    }
    Time receive(const MessageModel& model, Time arrival) {
        return receive(model, Arrival{arrival});
    }
    /// Receives them all, first come first; leaves them sorted. each: is told when each reception
    /// began.
    template <class Any, class Each>
    void receive_all(const MessageModel& model, std::vector<Any>& arrivals, const Each& each) {
        if (arrivals.size() > 1) std::sort(arrivals.begin(), arrivals.end());
        for (const Any& arrival : arrivals) each(receive(model, arrival));
    }
    template <class Any>
    void receive_all(const MessageModel& model, std::vector<Any>& arrivals) {
        receive_all(model, arrivals, [](Time) {});
    }
};

}  // namespace weft::plan
