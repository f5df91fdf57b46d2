// SPDX-License-Identifier: BSD-3-Clause
// model.hpp - costs of a message for its sender, the wire and its receiver.
//
// Idea     One formula serves all models; they differ in the parameters that are zero. A sender
//          starts a message when it is free, at the earliest `gap` after the start of the preceding
//          message, and is busy for busy(). The message arrives `latency` later. A receiver takes
//          messages in order of arrival. It is busy for `receive` each time, and starts at the
//          earliest `gap` after the start of the preceding reception.
// Why      Engines can differ only in the order of the arithmetic. That order does not matter,
//          because sums and maxima of whole numbers are exact.
// Holds    Time is in picoseconds. Costs of bytes are in femtoseconds for each byte. They are
//          rounded to picoseconds once for each message or reduction, in the same way everywhere.
// Next     docs/selection.md for the conventions; tools/simulate/wire_model.hpp for the
//          models by name.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>

namespace weft::plan {

using Time = std::int64_t;  ///< picoseconds
inline constexpr Time kPicosecondsPerNanosecond = 1000;

/// Returns the nearest double; exact to three digits after the point up to 2^53 picoseconds.
[[nodiscard]] constexpr double nanoseconds(Time time) {
    return static_cast<double>(time) / static_cast<double>(kPicosecondsPerNanosecond);
}

/// Largest product of bytes and femtoseconds that fits the arithmetic.
inline constexpr double kFemtosecondsMax = 9e18;

/// Converts femtoseconds to picoseconds, rounded to the nearest.
[[nodiscard]] constexpr Time to_time(std::int64_t femtoseconds) {
    return (femtoseconds + 500) / 1000;
}

struct MessageModel {
    Time busy_base = 0;  ///< time of the sender, without the bytes
    std::int64_t byte_fs = 0;
    Time slot = 0;  ///< extra time for each message that fits no cell
    std::uint64_t cell_bytes = std::numeric_limits<std::uint64_t>::max();
    Time latency = 0;
    bool blocking = false;  ///< the sender is busy until the message has arrived
    Time receive = 0;
    std::int64_t receive_byte_fs = 0;  ///< extra time for each byte as it arrives
    Time gap = 0;
    Time reduce = 0;
    std::int64_t reduce_byte_fs = 0;
    Time expose = 0;                  ///< time for each buffer that a rank exposes to local peers
    std::int64_t copy_byte_fs = 0;    ///< time for each byte copied within the rank's own memory
    std::int64_t unpack_byte_fs = 0;  ///< time for each byte read out of put targets
    std::uint64_t unpacked_free = 0;  ///< unpacking buffers up to this size takes no time
    /// Extra time for each byte read or written of buffers, beyond `cache_bytes`.
    std::int64_t cold_byte_fs = 0;
    std::uint64_t cache_bytes = std::numeric_limits<std::uint64_t>::max();
    /// Extra time of a message whose receiver has a message in flight, too, and for each byte.
    Time two_way = 0;
    std::int64_t two_way_byte_fs = 0;
    std::uint32_t free_messages = 1;  ///< LogfP: number of consecutive messages that no gap delays
    Time pipeline = 0;                ///< LoP: see burst_time()
    Time saturation = 0;              ///< LoP: see burst_time()
    bool free_signals = false;        ///< messages without data take no time of the sender
    Time mapped = 0;  ///< time for each local peer's buffer that is read or written in place
    std::int64_t mapped_byte_fs = 0;         ///< time for each byte copied from or to it
    std::int64_t mapped_reduce_byte_fs = 0;  ///< extra time for each byte combined there

    [[nodiscard]] Time busy(std::uint64_t bytes) const {
        if (free_signals && bytes == 0) return 0;
        return busy_base + to_time(static_cast<std::int64_t>(bytes) * byte_fs) +
               (bytes > cell_bytes ? slot : 0);
    }
    [[nodiscard]] bool has_two_way() const { return two_way > 0 || two_way_byte_fs > 0; }
    /// Returns the extra time of a message if its receiver has a message in flight, too.
    [[nodiscard]] Time two_way_time(std::uint64_t bytes) const {
        return two_way + to_time(static_cast<std::int64_t>(bytes) * two_way_byte_fs);
    }
    /// Returns true if the cost of a message depends on the messages before it.
    [[nodiscard]] bool has_bursts() const {
        return (gap > 0 && free_messages > 1) || pipeline > 0 || saturation > 0;
    }
    /// Returns the time by which messages may start before the gap permits it.
    [[nodiscard]] Time slack() const { return static_cast<Time>(free_messages - 1) * gap; }
    /// Returns the extra time of the sender for its message number n = 1, 2, ... since its last
    /// reception: pipeline / n + saturation x (1 - 2^(1 - n)).
    [[nodiscard]] Time burst_time(std::uint32_t n) const {
        constexpr std::uint32_t kBits = 62;
        return pipeline / n + saturation - (saturation >> std::min(n - 1, kBits));
    }
    /// Returns the time of a reduction. `in_place`: operands or results are in buffers
    /// of local peers.
    [[nodiscard]] Time combine(std::uint64_t bytes, std::uint32_t operands,
                               bool in_place = false) const {
        if (operands < 2) return 0;
        const std::int64_t each_fs = reduce_byte_fs + (in_place ? mapped_reduce_byte_fs : 0);
        return static_cast<Time>(operands - 1) *
               (reduce + to_time(static_cast<std::int64_t>(bytes) * each_fs));
    }
    /// Returns the time of access to memory of local peers in place, without combining.
    [[nodiscard]] Time touch(std::uint32_t buffers, std::uint64_t bytes) const {
        return static_cast<Time>(buffers) * mapped +
               to_time(static_cast<std::int64_t>(bytes) * mapped_byte_fs);
    }
    [[nodiscard]] Time copy(std::uint64_t own_bytes) const {
        return to_time(static_cast<std::int64_t>(own_bytes) * copy_byte_fs);
    }
    [[nodiscard]] Time unpack(std::uint64_t bytes) const {
        return to_time(static_cast<std::int64_t>(bytes) * unpack_byte_fs);
    }
    [[nodiscard]] bool unpacks(std::uint64_t buffer_bytes) const {
        return unpack_byte_fs > 0 && buffer_bytes > unpacked_free;
    }
    /// Returns true if a call's buffers may exceed the cache. Most calls use two buffers.
    [[nodiscard]] bool is_cold(std::uint64_t buffer_bytes) const {
        return cold_byte_fs > 0 && 2 * buffer_bytes > cache_bytes;
    }
    /// Returns the extra time for each touched byte, in femtoseconds. The part of the buffers that
    /// fits the cache is free.
    [[nodiscard]] std::int64_t cold_fs_of(std::uint64_t buffer_bytes) const {
        if (buffer_bytes <= cache_bytes) return 0;
        const auto share =
            static_cast<double>(buffer_bytes - cache_bytes) / static_cast<double>(buffer_bytes);
        return static_cast<std::int64_t>(static_cast<double>(cold_byte_fs) * share);
    }
    /// Returns the time of the receiver for the bytes of a message.
    [[nodiscard]] Time receive_bytes(std::uint64_t bytes) const {
        return to_time(static_cast<std::int64_t>(bytes) * receive_byte_fs);
    }
};

/// Earliest time at which a message is available, and the receiver's time for its bytes.
struct Arrival {
    Time time = 0;
    Time work = 0;

    friend auto operator<=>(const Arrival&, const Arrival&) = default;
};

/// Time of a single call, and of each call in a stream.
struct CallTimes {
    Time alone = 0;
    Time in_stream = 0;

    friend bool operator==(const CallTimes&, const CallTimes&) = default;
};

/// Size of the buffers that programs cut into units.
struct BufferSize {
    std::uint64_t elements = 1;
    std::uint32_t element_bytes = 8;
};

/// NIC that the ranks of a node share. A message occupies the NIC of its sender, then the NIC of
/// its target, each for held().
struct Card {
    Time message = 0;          ///< least time for each message
    std::int64_t byte_fs = 0;  ///< time for each byte

    [[nodiscard]] Time held(std::uint64_t bytes) const {
        return std::max(message, to_time(static_cast<std::int64_t>(bytes) * byte_fs));
    }
};

}  // namespace weft::plan
