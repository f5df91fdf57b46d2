// SPDX-License-Identifier: BSD-3-Clause
// wire.hpp - one interface for puts: stores to shared mappings, and puts over the network.
//
// Idea     If the peer's segment is mapped, a put is a copy and a release store. Otherwise it is
//          one or more network puts, by the strategy granted to the port
//          (link/fabric/notify.hpp): immediates that name the cell, tagged words, or a flag word
//          after the data. In each strategy, the owner of the cell raises its flag when the
//          delivery of the whole put is proven.
// Why      Networks guarantee no order between two puts in general (docs/one-sided.md, section 3).
// Holds    Nothing blocks, or allocates after construction. One thread drives a wire. Satisfies
//          run::Transport without including it.
// Next     far_put.cpp for the origin, delivery.cpp for the target, transfers.cpp for data without
//          a flag; link/fabric/fabric.hpp for the network; run/execute/transport.hpp for the user.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/put.hpp"
#include "base/reach.hpp"
#include "base/result.hpp"
#include "link/direct/direct_memory.hpp"
#include "link/fabric/fabric.hpp"
#include "link/wire/spin_limit.hpp"

namespace weft::link {

struct WireOptions {
    Rank rank = 0;  ///< of this process in the job
    std::uint64_t segment_bytes = 0;
    std::uint64_t cells_end = 0;  ///< all cells of a segment are below this offset
    bool spin = false;            ///< the ranks of this host fit its processors: waits may spin
    /// Processor time is limited by a quota, so waits sleep early to save it.
    bool limited_time = false;
};

class Wire {
  public:
    /// `near` has the mapped segment of each rank, or nullptr. `port` is nullptr if all
    /// ranks are local.
    Wire(std::vector<std::byte*> near, std::unique_ptr<FabricPort> port, WireOptions options);

    [[nodiscard]] base::Post try_put(const base::Put& put, std::uint64_t& resume) noexcept {
        if (std::byte* peer = near(put.peer)) return put_near(put, peer);
        return put_far(put, resume);
    }
    [[nodiscard]] std::byte* near(Rank rank) const noexcept {
        return near_[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] std::uint64_t segment_bytes() const noexcept { return options_.segment_bytes; }
    void progress() noexcept {
        if (port_) {
            poll_port();
        } else if (serve_ != nullptr) [[unlikely]] {
            if (serve_(service_)) stir();
        }
    }

    // Memory of local peers outside their segments (link/direct).
    /// Gives the wire access to memory of local peers outside their segments.
    void set_direct(std::unique_ptr<DirectMemory> direct) noexcept { direct_ = std::move(direct); }
    [[nodiscard]] const DirectMemory* direct() const noexcept { return direct_.get(); }
    /// Makes memory reachable for local peers. `bytes` is the size of a buffer that belongs to the
    /// running call; with 0, its pages must stay as they are. `copies` describes the peers' access.
    [[nodiscard]] base::Exposure expose(std::byte* data, std::uint64_t bytes, base::Access access,
                                        const base::Copies& copies) noexcept;
    /// Makes memory reachable for puts of remote ranks until conceal(). Requires a port. Memory in
    /// the segment need not be concealed.
    [[nodiscard]] base::Result<base::Exposure> expose_far(std::byte* data,
                                                          std::uint64_t bytes) noexcept;
    void conceal(const base::Exposure& exposure) noexcept {
        if (exposure.reach.way == base::Way::registered)
            port_->conceal(exposure.reach.region());
        else if (direct_ != nullptr)
            direct_->conceal(exposure);
    }
    /// Revokes the access of local peers. Registered memory stays registered, because a put to
    /// unregistered memory would break the peer's connection.
    void withdraw(const base::Exposure& exposure) noexcept {
        if (exposure.reach.way != base::Way::registered && direct_ != nullptr)
            direct_->withdraw(exposure);
    }
    /// Returns the address of exposed memory, or nullptr. The caller has checked the owner's
    /// description of it.
    [[nodiscard]] std::byte* reach(Rank rank, const base::Reach& reach,
                                   std::uint64_t bytes) noexcept {
        if (reach.way == base::Way::segment || reach.way == base::Way::bounced)
            return near(rank) + reach.offset;
        const bool adopted = reach.way == base::Way::adopted && direct_ != nullptr;
        return adopted ? direct_->map(rank, reach, bytes) : nullptr;
    }
    [[nodiscard]] bool copy_from(Rank rank, const base::Reach& reach, std::byte* to,
                                 std::uint64_t bytes) noexcept {
        return direct_ != nullptr && direct_->read(rank, reach.address, to, bytes);
    }
    [[nodiscard]] bool copy_to(Rank rank, const base::Reach& reach, const std::byte* from,
                               std::uint64_t bytes) noexcept {
        return direct_ != nullptr && direct_->write(rank, reach.address, from, bytes);
    }

    /// Reads memory of a remote rank. `resume` is as in try_put().
    [[nodiscard]] base::Post try_read(const base::Read& read, std::uint64_t& resume) noexcept;
    /// Makes a part of the segment accessible for remote ranks. Some networks must register it.
    /// Does nothing without a network.
    [[nodiscard]] base::Result<void> use_memory(std::uint64_t offset, std::uint64_t bytes) {
        return port_ ? port_->use_memory(offset, bytes) : base::Result<void>();
    }
    // Memory outside the segment that remote ranks access by Put::region and Read::region.
    // Without a network, the result has 0 bytes.
    [[nodiscard]] base::Result<base::RemoteRegion> register_memory(std::span<std::byte> memory) {
        if (!port_) return base::RemoteRegion{};
        return port_->expose(memory);
    }
    void unregister_memory(const base::RemoteRegion& region) noexcept {
        if (port_ && region.bytes != 0) port_->conceal(region);
    }
    /// Makes every later call on the wire fail for this reason.
    void fail(base::Failure why) noexcept {
        if (!distrust_) distrust_ = std::move(why);
    }
    /// Returns how the delivery of puts without a cell is detected. Equal on all ranks.
    [[nodiscard]] base::RemoteCompletion completion() const noexcept { return completion_; }
    /// Returns the number of transfers of all puts without a cell to a peer.
    [[nodiscard]] std::uint64_t written_to(Rank peer) const noexcept {
        return written_to_[static_cast<std::size_t>(peer)];
    }
    // Batches of counted transfers. They are needed because later transfers may be delivered first.
    static constexpr std::uint32_t kBatches = 64;  ///< most batches in flight between two ranks
    /// Ends the batch of transfers to a peer, and returns their number. If it is 0, the
    /// batch stays open.
    [[nodiscard]] std::uint32_t close_batch(Rank peer) noexcept;
    /// Returns true if the peer's oldest batch has delivered `transfers` transfers here. The next
    /// batch is then the oldest.
    [[nodiscard]] bool take_batch(Rank peer, std::uint32_t transfers) noexcept;
    /// Returns true if a write of an aligned word is never seen in part.
    [[nodiscard]] bool whole_words() const noexcept { return whole_words_; }
    [[nodiscard]] bool reads() const noexcept { return reads_; }
    /// Returns true if writes may carry a payload. The peer handles it before later puts of this
    /// rank can be seen, and before serve() is called.
    [[nodiscard]] bool signals() const noexcept { return signals_; }
    /// Sets the service for requests and messages of peers. `serve` is called at the end of each
    /// progress(). It may put, and returns true if it did anything. `on_immediate` is called with
    /// the payload of each write that has one. Neither may call progress().
    void set_service(bool (*serve)(void* argument),
                     void (*on_immediate)(void* argument, std::uint64_t payload),
                     void* argument) noexcept {
        serve_ = serve;
        on_immediate_ = on_immediate;
        service_ = argument;
    }

    /// Raises the flag of this rank's cell at an offset if its data has arrived.
    void settle(std::uint64_t cell) noexcept {
        if (plan_.small == Notify::cells) take_words(cell);
        if (plan_.large == Notify::counter) return take_counted(cell);
        if (plan_.large != Notify::immediate) take_delivered(cell);
    }
    /// Pauses, yields, or in long waits sleeps briefly, after `failures` failed polls in a row.
    /// While peers use this rank, it does not sleep, even if its own wait is long.
    void relax(unsigned failures) noexcept;
    /// Returns true if relax() would sleep after `failures` failed polls in a row.
    [[nodiscard]] bool sleeps_after(unsigned failures) const noexcept {
        const unsigned yields = options_.limited_time ? kYieldsOfQuota : kYields;
        return naps_ && failures >= yields && still_ >= yields;
    }
    /// Returns a counter of activity: arrivals from peers, served requests, and completions.
    [[nodiscard]] std::uint64_t stirrings() const noexcept { return stirrings_; }
    /// Allows long waits to sleep. Not allowed while they also drive another library.
    void allow_naps(bool may) noexcept { naps_ = may; }
    [[nodiscard]] const base::Failure* failure() const noexcept {
        if (distrust_) [[unlikely]]
            return &*distrust_;
        return port_ ? port_->failure() : nullptr;
    }
    /// See run::Transport. Memory of local peers stays reachable.
    void cancel() noexcept {
        if (port_) port_->cancel();
        deferred_open_.clear();
    }
    /// Records that a remote rank (-1: unknown) sent invalid data, described by `what`. The wire
    /// fails, because such a sender can do further damage.
    void distrust(Rank rank, const char* what) noexcept;
    /// Forgets counts of pieces for cells in this part of the segment, from incomplete puts. All
    /// posted pieces must have been delivered.
    void forget_pieces(std::uint64_t offset, std::uint64_t bytes) noexcept;

    /// Returns the network of this wire, or nullptr in a job of one node.
    [[nodiscard]] const FabricPort* port() const noexcept { return port_.get(); }
    /// Returns the number of incomplete network puts, and of flags that wait for some of them.
    [[nodiscard]] std::size_t in_flight() const noexcept {
        return port_ ? port_->in_flight() + deferred_open_.size() : 0;
    }

  private:
    /// Kind of an immediate. It names a cell, except for `write`.
    enum class Delivered : std::uint32_t {
        all = 0,     ///< flag word and payload
        piece = 1,   ///< a piece of the payload
        header = 2,  ///< the flag word and the number of pieces
        write = 3,   ///< a write without a cell; has origin and batch instead
    };
    struct Free {
        void operator()(void* memory) const noexcept { std::free(memory); }
    };
    /// Copy of a small put for networks that cannot inject it.
    struct StagedPut {
        std::uint32_t pending = 0;
        std::byte bytes[sizeof base::Landing::words];
    };
    /// A put whose flag is written after its data is known to be delivered.
    struct Deferred {
        base::FlagWord flag = 0;
        std::uint64_t cell = 0;
        std::uint32_t* pending = nullptr;  ///< of the put; raised until its flag is posted
        std::uint32_t outstanding = 0;     ///< pieces not yet delivered
        Rank peer = 0;
        bool whole = false;  ///< all pieces are posted
        std::uint32_t lane = 0;
        std::byte header[sizeof base::Landing::words] = {};  ///< of a counted put
    };
    /// One of this rank's counters at a peer. Used for one put at a time.
    struct Lane {
        std::uint64_t writes = 0;  ///< writes that have named it
        bool busy = false;
    };
    /// Common properties of a put's pieces, and the progress of posting them.
    struct Pieces {
        PutKind kind = PutKind::plain;
        std::uint32_t immediate = 0;
        std::uint32_t* pending = nullptr;
        std::uint64_t done = 0;   ///< bytes posted
        std::uint64_t count = 0;  ///< number of pieces, once all are posted
        std::uint8_t counter = base::Put::kNoCounter;
        bool flagged = false;  ///< the last piece carries the flag word and the immediate
    };

    base::Post put_near(const base::Put& put, std::byte* peer) noexcept;
    base::Post put_far(const base::Put& put, std::uint64_t& resume) noexcept;
    base::Post put_without_cell(const base::Put& put, std::uint64_t& resume) noexcept;
    base::Post put_cell(const base::Put& put) noexcept;
    base::Post put_flagged(const base::Put& put) noexcept;
    base::Post put_counted(const base::Put& put, std::uint64_t& resume) noexcept;
    base::Post put_in_order(const base::Put& put, std::uint64_t& resume) noexcept;
    base::Post put_words(const base::Put& put) noexcept;
    base::Post put_delivered(const base::Put& put, std::uint64_t& resume) noexcept;
    base::Post put_with_counter(const base::Put& put, std::uint64_t& resume) noexcept;
    [[nodiscard]] bool take_lane(const base::Put& put, std::uint64_t& resume) noexcept;
    base::Post put_then_flag(const base::Put& put, std::uint64_t& resume) noexcept;
    [[nodiscard]] std::uint64_t room_at(const base::Put& put, std::uint64_t target) const noexcept;
    base::Post post_pieces(const base::Put& put, Pieces& pieces) noexcept;
    base::Post post_flag(Rank peer, std::uint64_t cell, base::FlagWord flag, PutKind kind) noexcept;
    base::Post post_small(base::Put put, base::PutPart source) noexcept;
    [[nodiscard]] std::uint64_t room_in(const base::RemoteRegion* region,
                                        std::uint64_t offset) const noexcept;
    void post_deferred_flags() noexcept;

    static constexpr unsigned kYields = 200'000;  ///< yields before a wait sleeps
    static constexpr unsigned kYieldsOfQuota = 200;

    void stir() noexcept {
        ++stirrings_;
        still_ = 0;
    }
    void poll_port() noexcept;
    void warm_one() noexcept;
    void deliver(std::uint64_t immediate) noexcept;
    void deliver_to(std::size_t line, Delivered landed) noexcept;
    [[nodiscard]] bool count_pieces(std::size_t line, Delivered landed) noexcept;
    void take_words(std::uint64_t cell) noexcept;
    void take_delivered(std::uint64_t cell) noexcept;
    void take_counted(std::uint64_t cell) noexcept;
    static constexpr std::uint64_t kCarriesPayload =
        std::uint64_t{1} << 63;  ///< marks an immediate with a payload for on_immediate_
    static std::uint32_t immediate_for(std::uint64_t cell, Delivered landed) noexcept {
        return static_cast<std::uint32_t>(cell / sizeof(base::Cell)) << 2 |
               static_cast<std::uint32_t>(landed);
    }

    std::vector<std::byte*> near_;
    WireOptions options_;
    NotifyPlan plan_;
    std::byte* own_;
    std::vector<Rank> cold_;  ///< unconnected remote peers, in a small job
    unsigned polls_ = 0;
    std::size_t piece_bytes_max_ = 0;
    std::size_t get_bytes_max_ = 0;
    std::size_t flagged_parts_max_ = 0;
    std::size_t copied_bytes_ = 0;
    std::size_t paced_bytes_ = 0;
    std::size_t inject_bytes_ = 0;
    std::vector<StagedPut> staging_;
    std::size_t next_staging_ = 0;
    std::vector<Deferred> deferred_;
    std::vector<std::uint16_t> deferred_free_;
    std::vector<std::uint16_t> deferred_open_;
    std::vector<Lane> lanes_;  ///< by peer, counters_ for each
    std::uint32_t counters_ = 0;
    /// By cell line: announced pieces minus delivered pieces; 0 when all are delivered.
    std::unique_ptr<std::int32_t[], Free> missing_;
    std::size_t lines_ = 0;  ///< cell lines of the segment
    std::optional<base::Failure> distrust_;
    base::RemoteCompletion completion_ = base::RemoteCompletion::counted;
    bool whole_words_ = true;
    bool reads_ = true;
    bool signals_ = false;
    std::vector<std::uint64_t> written_to_;
    struct Batch {
        std::uint32_t open_written = 0;  ///< transfers to the peer in the open batch
        std::uint8_t open = 0;           ///< number of the open batch, modulo kBatches
        std::uint8_t oldest = 0;         ///< number of the peer's oldest batch here
    };
    std::vector<Batch> batches_;  ///< by peer
    /// By peer: delivered transfers of each batch. nullptr: none so far.
    std::vector<std::unique_ptr<std::array<std::uint32_t, kBatches>>> batch_landed_;
    bool (*serve_)(void* argument) = nullptr;
    void (*on_immediate_)(void* argument, std::uint64_t payload) = nullptr;
    void* service_ = nullptr;
    SpinLimit spin_limit_;
    std::uint64_t stirrings_ = 0;
    std::size_t in_flight_seen_ = 0;  ///< in_flight() of the port at the last poll
    unsigned still_ = 0;              ///< relax() calls since the last activity
    bool naps_ = true;
    std::unique_ptr<DirectMemory> direct_;  ///< nullptr: local peers reach segments only
    std::unique_ptr<FabricPort> port_;      ///< last: closing it still reads staged cells
};

}  // namespace weft::link
