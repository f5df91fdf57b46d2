// SPDX-License-Identifier: BSD-3-Clause
// encoding.hpp - formats of puts on the network (immediates, tagged words, headers of counted
// puts), and counts of writes without a cell.
//
// Idea     The low two bits of an immediate are its kind. The bits above are the index of a cell's
//          line, or origin and batch of a write without a cell. A tagged word has four bytes of
//          data in its low half and a tag in its high half. The tag has 28 bits of the flag's tick
//          and the number of words, so the target can read this number from any word of a put.
// Holds    A tag is never 0, which is the value of words in an empty base::Landing.
//          Callers have at most WriteCounts::kBatches batches in flight between two ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/region.hpp"
#include "weft/types.hpp"

namespace weft::link {

/// Kind of an immediate: the delivery that it reports.
enum class Arrival : std::uint32_t {
    whole = 0,   ///< a whole put: flag word and payload
    piece = 1,   ///< a piece of the payload
    header = 2,  ///< the flag word and the number of pieces
    write = 3,   ///< a write without a cell
};
inline constexpr unsigned kArrivalBits = 2;

/// Returns the immediate for the cell at an offset of the segment.
[[nodiscard]] constexpr std::uint32_t immediate_for(std::uint64_t cell, Arrival arrival) {
    return static_cast<std::uint32_t>(cell / sizeof(base::Cell)) << kArrivalBits |
           static_cast<std::uint32_t>(arrival);
}
[[nodiscard]] constexpr Arrival arrival_of(std::uint64_t immediate) {
    return static_cast<Arrival>(immediate & 3U);
}

inline constexpr std::size_t kWordData = 4;  ///< bytes of data in a word
inline constexpr std::size_t kFlagWords = sizeof(base::FlagWord) / kWordData;
static_assert(base::Landing::kWords < 16);  // the number of words has 4 bits of a tag

/// Returns the tag of the words of a put: the tick of its flag, and the number of words.
[[nodiscard]] constexpr std::uint32_t word_tag(base::FlagWord flag, std::size_t words) {
    return static_cast<std::uint32_t>(base::tick_of(flag) << 4) | static_cast<std::uint32_t>(words);
}
[[nodiscard]] constexpr std::size_t words_of_tag(std::uint32_t tag) {
    return tag & 15U;
}
[[nodiscard]] constexpr std::uint64_t tagged_word(std::uint32_t data, std::uint32_t tag) {
    return std::uint64_t{tag} << 32 | data;
}
[[nodiscard]] constexpr std::uint32_t tag_of_word(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> 32);
}

/// Returns the header of a counted put: origin, counter, and its value after the last write.
[[nodiscard]] constexpr std::uint64_t counted_header(std::uint64_t origin, std::uint64_t counter,
                                                     std::uint32_t writes) {
    return origin << 40 | counter << 32 | writes;
}
[[nodiscard]] constexpr std::size_t origin_of_header(std::uint64_t header) {
    return header >> 40;
}
[[nodiscard]] constexpr std::uint32_t counter_of_header(std::uint64_t header) {
    return (header >> 32) & 0xFFU;
}

/// Numbers of network writes without a cell, at their origin and at their target. With
/// RemoteCompletion::counted, a request after such writes contains their number, and the target
/// serves the request when it has counted that number of writes. Later writes may be delivered
/// first, so writes are counted in batches. The origin closes a batch when it sends a request. The
/// immediate of each write contains the origin and the batch.
class WriteCounts {
  public:
    static constexpr std::uint32_t kBatches = 64;  ///< limit of batches in flight between two ranks

    WriteCounts(Rank rank, std::size_t ranks) : rank_(rank), written_to_(ranks) {}

    /// Counts in batches from now on.
    void use_batches() {
        WEFT_CHECK(written_to_.size() < (std::size_t{1} << 30) / kBatches, written_to_.size());
        batches_.resize(written_to_.size());
        delivered_.resize(written_to_.size());
    }

    // For the origin:

    /// Returns the number of writes to a peer so far.
    [[nodiscard]] std::uint64_t written_to(Rank peer) const noexcept { return written_to_[peer]; }
    void add_written(Rank peer) noexcept {
        ++written_to_[peer];
        if (!batches_.empty()) ++batches_[peer].open_written;
    }
    /// Returns the immediate of the next write to a peer.
    [[nodiscard]] std::uint32_t immediate_to(Rank peer) const noexcept {
        const std::uint32_t batch = batches_[peer].open;
        return (static_cast<std::uint32_t>(rank_) * kBatches + batch) << kArrivalBits |
               static_cast<std::uint32_t>(Arrival::write);
    }
    /// Closes the open batch of writes to a peer unless it is empty. Returns their number.
    [[nodiscard]] std::uint32_t close_batch(Rank peer) noexcept {
        Batch& batch = batches_[peer];
        const std::uint32_t written = std::exchange(batch.open_written, 0);
        if (written != 0) batch.open = static_cast<std::uint8_t>((batch.open + 1) % kBatches);
        return written;
    }

    // For the target:

    /// Counts a delivered write. Returns false if its origin does not exist.
    [[nodiscard]] bool add_delivered(std::size_t origin, std::size_t batch) noexcept {
        if (origin >= delivered_.size()) return false;
        auto& counts = delivered_[origin];
        if (counts == nullptr) counts = std::make_unique<std::array<std::uint32_t, kBatches>>();
        ++(*counts)[batch];
        return true;
    }
    /// Removes the peer's oldest batch if `writes` writes of it are delivered. Returns true then.
    [[nodiscard]] bool take_batch(Rank peer, std::uint32_t writes) noexcept {
        Batch& batch = batches_[peer];
        const auto& counts = delivered_[peer];
        if ((counts != nullptr ? (*counts)[batch.oldest] : 0) != writes) return false;
        if (counts != nullptr) (*counts)[batch.oldest] = 0;
        batch.oldest = static_cast<std::uint8_t>((batch.oldest + 1) % kBatches);
        return true;
    }

  private:
    struct Batch {
        std::uint32_t open_written = 0;  ///< number of writes to the peer in the open batch
        std::uint8_t open = 0;           ///< number of the open batch, modulo kBatches
        std::uint8_t oldest = 0;         ///< number of the oldest batch from the peer
    };

    Rank rank_;
    std::vector<std::uint64_t> written_to_;  ///< number of writes to each peer
    std::vector<Batch> batches_;             ///< for each peer; empty: not counted in batches
    /// For each origin: number of delivered writes of each batch. nullptr: none so far.
    std::vector<std::unique_ptr<std::array<std::uint32_t, kBatches>>> delivered_;
};

}  // namespace weft::link
