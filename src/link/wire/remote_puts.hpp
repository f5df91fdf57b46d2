// SPDX-License-Identifier: BSD-3-Clause
// remote_puts.hpp - the origin's half of the notify strategies: network writes that make up a put.
//
// Idea     A put to a remote peer is one or more network writes. The notify strategy of the port
//          (link/fabric/notify.hpp) determines them: immediates that name the cell, tagged words, a
//          flag word after the data, or a counter at the target. Writes are divided at the
//          network's size limit and at the ends of registered sections of the peer's segment.
// Holds    If a function returns Post::again, posted pieces stay posted, and `resume` records them.
//          The port copies flags, words and headers. No allocation after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/put.hpp"
#include "base/region.hpp"
#include "link/fabric/fabric.hpp"
#include "link/wire/encoding.hpp"

namespace weft::link {

class RemotePuts {
  public:
    /// `port` is nullptr if all ranks are local. Then no rank calls put() or read().
    RemotePuts(FabricPort* port, Rank rank, std::size_t ranks, WriteCounts& counts);

    /// Posts a put or a read. `resume`: 0 at the first attempt, unchanged after Post::again.
    base::Post put(const base::Put& put, std::uint64_t& resume) noexcept;
    base::Post read(const base::Read& read, std::uint64_t& resume) noexcept;
    /// Posts the flags, or frees the counters, of deferred puts whose data is delivered.
    void finish_deferred() noexcept;
    /// Returns the number of deferred puts.
    [[nodiscard]] std::size_t deferred() const noexcept { return deferred_open_.size(); }
    /// Discards the deferred puts, after the port has been cancelled.
    void cancel() noexcept { deferred_open_.clear(); }

  private:
    /// A put whose flag is written, or whose counter becomes free, when its data is delivered.
    struct Deferred {
        base::FlagWord flag = 0;
        std::uint64_t cell = 0;
        std::uint32_t* pending = nullptr;  ///< Put::pending; includes 1 until the flag is posted
        std::uint32_t outstanding = 0;     ///< number of posted pieces not yet delivered
        Rank peer = 0;
        bool all_posted = false;  ///< all pieces are posted
        std::uint32_t lane = 0;   ///< index in lanes_, for a put with a counter
    };
    /// One of this rank's counters at a peer. Used for one put at a time.
    struct CounterLane {
        std::uint64_t writes = 0;  ///< number of writes so far that the counter counts
        bool busy = false;         ///< a put uses the counter
    };
    base::Post put_cell(const base::Put& put) noexcept;
    base::Post put_immediate(const base::Put& put, std::uint64_t& resume) noexcept;
    base::Post put_words(const base::Put& put) noexcept;
    base::Post put_delivered(const base::Put& put, std::uint64_t& resume) noexcept;
    base::Post put_with_counter(const base::Put& put, std::uint64_t& resume) noexcept;
    base::Post put_then_flag(const base::Put& put, std::uint64_t& resume) noexcept;
    base::Post put_without_cell(const base::Put& put, std::uint64_t& resume) noexcept;
    [[nodiscard]] bool reserve_lane(const base::Put& put, std::uint64_t& resume) noexcept;
    [[nodiscard]] std::uint64_t open_deferred(const Deferred& deferred) noexcept;
    [[nodiscard]] std::uint64_t bytes_to_section_end(const base::RemoteRegion* region,
                                                     std::uint64_t offset) const noexcept;
    base::Post post_pieces(const base::Put& put, base::Put piece, std::uint64_t& resume,
                           std::uint64_t* count = nullptr) noexcept;
    base::Post post_flag(Rank peer, std::uint64_t cell, base::FlagWord flag, PutKind kind) noexcept;
    base::Post post_small(base::Put put, base::PutPart source) noexcept;

    FabricPort* port_;
    Rank rank_;
    WriteCounts& counts_;
    FabricFacts facts_;
    std::vector<Deferred> deferred_;
    std::vector<std::uint16_t> deferred_free_;  ///< indices of unused entries of deferred_
    std::vector<std::uint16_t> deferred_open_;  ///< indices of used entries
    std::vector<CounterLane> lanes_;            ///< facts_.counters lanes for each peer
};

}  // namespace weft::link
