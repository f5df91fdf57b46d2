// SPDX-License-Identifier: BSD-3-Clause
// wire.hpp - one put over two media: stores through shared mappings, puts over the network.
//
// Idea     Where the peer's segment is mapped a put is a copy and a release store. Elsewhere it is
//          one or more network puts by the strategy that the port was granted
//          (link/fabric/notify.hpp): immediates that name the cell, words that carry a tag, or a
//          flag word that follows the data. In each the owner of the cell raises its flag when all
//          of the put has proven to be there.
// Why      No network here promises an order between two puts (docs/one-sided.md, section 3).
// Holds    Nothing blocks or allocates after construction. One thread drives a wire. Fits
//          run::Transport without knowing it.
// Next     far_put.cpp for the origin, delivery.cpp for the target, transfers.cpp for bytes without
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
#include "base/transfer.hpp"
#include "link/direct/direct_memory.hpp"
#include "link/fabric/fabric.hpp"
#include "link/wire/spin_limit.hpp"

namespace weft::link {

struct WireOptions {
    Rank rank = 0;  ///< of this process in the job
    std::uint64_t segment_bytes = 0;
    std::uint64_t cells_end = 0;  ///< all cells of a segment lie below this offset
    bool spin = false;            ///< the ranks of this host fit its processors: wait by spinning
    /// Processor time is limited (a quota): what a wait burns is missed later, so it soon sleeps.
    bool limited_time = false;
};

class Wire {
  public:
    /// `near`: by rank, where its segment is mapped, or nullptr. `port`: nullptr if every rank is
    /// near.
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

    // Memory of node-mates where it lies (link/direct); only with node-mates that can copy.
    /// From here on the wire can reach node-mates' memory that is not in their segments.
    void set_direct(std::unique_ptr<DirectMemory> direct) noexcept { direct_ = std::move(direct); }
    [[nodiscard]] const DirectMemory* direct() const noexcept { return direct_.get(); }
    /// bytes: of a buffer that belongs to the running call; 0: its pages must stay as they are.
    /// copies: what mates need of it.
    [[nodiscard]] base::Exposure expose(std::byte* data, std::uint64_t bytes, base::Access access,
                                        const base::Copies& copies) noexcept;
    /// So that far ranks can put there, until conceal(); the wire has a port. What lies in the
    /// segment need not be concealed.
    [[nodiscard]] base::Result<base::Exposure> expose_far(std::byte* data,
                                                          std::uint64_t bytes) noexcept;
    void conceal(const base::Exposure& exposure) noexcept {
        if (exposure.reach.way == base::Way::registered)
            port_->conceal(exposure.reach.region());
        else if (direct_ != nullptr)
            direct_->conceal(exposure);
    }
    /// What is registered stays so: a put to memory that is not would break the peer's connection.
    void withdraw(const base::Exposure& exposure) noexcept {
        if (exposure.reach.way != base::Way::registered && direct_ != nullptr)
            direct_->withdraw(exposure);
    }
    /// The block's numbers come from its owner, and lie within what it has: the caller has looked.
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

    // Bytes without a flag, between far ranks only. `resume` as that of try_put().
    [[nodiscard]] base::Post try_write(const base::Write& write, std::uint64_t& resume) noexcept;
    [[nodiscard]] base::Post try_read(const base::Read& read, std::uint64_t& resume) noexcept;
    /// Lets far ranks read and write this part of the segment from here on: a network may have to
    /// register it. Nothing to do where there is none.
    [[nodiscard]] base::Result<void> use_memory(std::uint64_t offset, std::uint64_t bytes) {
        return port_ ? port_->use_memory(offset, bytes) : base::Result<void>();
    }
    // Memory outside the segment that far ranks write and read as Write::region and Read::region.
    // No bytes: there are no far ranks.
    [[nodiscard]] base::Result<base::RemoteRegion> register_memory(std::span<std::byte> memory) {
        if (!port_) return base::RemoteRegion{};
        return port_->expose(memory);
    }
    void unregister_memory(const base::RemoteRegion& region) noexcept {
        if (port_ && region.bytes != 0) port_->conceal(region);
    }
    /// From here on every call on the wire fails, for this reason.
    void fail(base::Failure why) noexcept {
        if (!distrust_) distrust_ = std::move(why);
    }
    /// How try_write() is known to have landed; the same on all ranks.
    [[nodiscard]] base::RemoteCompletion completion() const noexcept { return completion_; }
    /// Transfers that try_write() has made of all writes to a peer.
    [[nodiscard]] std::uint64_t written_to(Rank peer) const noexcept {
        return written_to_[static_cast<std::size_t>(peer)];
    }
    // Where they are counted: in batches, because later ones may land first.
    static constexpr std::uint32_t kBatches = 64;  ///< that may be under way between two ranks
    /// Ends the batch of transfers to a peer and returns how many there were; 0: none, and no end.
    [[nodiscard]] std::uint32_t close_batch(Rank peer) noexcept;
    /// Whether as many transfers of the peer's oldest batch have landed here. If so, the next is
    /// the oldest one.
    [[nodiscard]] bool take_batch(Rank peer, std::uint32_t transfers) noexcept;
    /// Whether a write of an aligned word is never seen in part.
    [[nodiscard]] bool whole_words() const noexcept { return whole_words_; }
    [[nodiscard]] bool reads() const noexcept { return reads_; }
    /// Whether writes may carry a payload, which the peer handles before anything that this rank
    /// has put there later can be seen, and before serve() is called.
    [[nodiscard]] bool signals() const noexcept { return signals_; }
    /// Requests of peers, and messages. `serve` is called at the end of each
    /// progress(), for what they have asked for; it may put. `on_immediate` is called with the
    /// payload of each write that has one. Neither may call progress().
    /// `serve` says whether there was something to do.
    void set_service(bool (*serve)(void* argument),
                     void (*on_immediate)(void* argument, std::uint64_t payload),
                     void* argument) noexcept {
        serve_ = serve;
        on_immediate_ = on_immediate;
        service_ = argument;
    }

    /// Raises the flag of this rank's cell at that offset if something has landed for it.
    void settle(std::uint64_t cell) noexcept {
        if (plan_.small == Notify::cells) take_words(cell);
        if (plan_.large == Notify::counter) return take_counted(cell);
        if (plan_.large != Notify::immediate) take_delivered(cell);
    }
    /// After so many failed polls in a row: a pause, a yield, or in long waits a short sleep. What
    /// peers do with this rank counts: one that they use does not sleep, however long its own wait.
    void relax(unsigned failures) noexcept;
    /// Whether relax() would sleep after so many failed polls in a row.
    [[nodiscard]] bool sleeps_after(unsigned failures) const noexcept {
        const unsigned yields = options_.limited_time ? kYieldsOfQuota : kYields;
        return naps_ && failures >= yields && still_ >= yields;
    }
    /// Grows whenever something has arrived from peers, was served to them, or has been completed.
    [[nodiscard]] std::uint64_t stirrings() const noexcept { return stirrings_; }
    /// Whether long waits may sleep: not while they serve another library, too.
    void allow_naps(bool may) noexcept { naps_ = may; }
    [[nodiscard]] const base::Failure* failure() const noexcept {
        if (distrust_) [[unlikely]]
            return &*distrust_;
        return port_ ? port_->failure() : nullptr;
    }
    /// See run::Transport. Node-mates' memory stays reachable.
    void cancel() noexcept {
        if (port_) port_->cancel();
        deferred_open_.clear();
    }
    /// A far rank (-1: it is not known which) has sent what none of this library sends; `what` says
    /// what. The wire fails: who sends such things can do worse.
    void distrust(Rank rank, const char* what) noexcept;
    /// Forgets pieces that were counted for cells in this part of the segment, of puts that were
    /// not posted as a whole. All that was posted has landed.
    void forget_pieces(std::uint64_t offset, std::uint64_t bytes) noexcept;

    /// The network under this wire; nullptr in a job of one node.
    [[nodiscard]] const FabricPort* port() const noexcept { return port_.get(); }
    /// Network puts that are not complete, and flags that wait for some to be.
    [[nodiscard]] std::size_t in_flight() const noexcept {
        return port_ ? port_->in_flight() + deferred_open_.size() : 0;
    }

  private:
    /// What an immediate reports about the cell it names.
    enum class Delivered : std::uint32_t {
        all = 0,     ///< flag word and payload
        piece = 1,   ///< a piece of the payload
        header = 2,  ///< the flag word and how many pieces there are
        write = 3,   ///< bytes without a cell; in its place origin and batch
    };
    struct Free {
        void operator()(void* memory) const noexcept { std::free(memory); }
    };
    /// Memory that outlives a put where the network cannot inject it.
    struct StagedPut {
        std::uint32_t pending = 0;
        std::byte bytes[sizeof base::Landing::words];
    };
    /// A put whose flag goes out when its data is known to have landed.
    struct Deferred {
        base::FlagWord flag = 0;
        std::uint64_t cell = 0;
        std::uint32_t* pending = nullptr;  ///< of the put: raised until its flag is posted
        std::uint32_t outstanding = 0;     ///< pieces that have not landed
        Rank peer = 0;
        bool whole = false;  ///< all pieces are posted
        std::uint32_t lane = 0;
        std::byte header[sizeof base::Landing::words] = {};  ///< of a counted put
    };
    /// One of this rank's counters at a peer: one put at a time, so that what it counts is known.
    struct Lane {
        std::uint64_t writes = 0;  ///< that have named it
        bool busy = false;
    };
    /// What the pieces of a put have in common, and how far they are posted.
    struct Pieces {
        PutKind kind = PutKind::plain;
        std::uint32_t immediate = 0;
        std::uint32_t* pending = nullptr;
        std::uint64_t done = 0;   ///< bytes posted
        std::uint64_t count = 0;  ///< of all pieces, once all are posted
        std::uint32_t counter = FabricPut::kNoCounter;
        bool flagged = false;  ///< the last one carries the flag word and the immediate
    };

    base::Post put_near(const base::Put& put, std::byte* peer) noexcept;
    base::Post put_far(const base::Put& put, std::uint64_t& resume) noexcept;
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
    base::Post post_small(FabricPut put) noexcept;
    [[nodiscard]] std::uint64_t room_in(const base::RemoteRegion* region,
                                        std::uint64_t offset) const noexcept;
    void post_deferred_flags() noexcept;

    static constexpr unsigned kYields = 200'000;  ///< then sleep: this wait is a long one
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
        std::uint64_t{1} << 63;  ///< an immediate with a payload for on_immediate_
    static std::uint32_t immediate_for(std::uint64_t cell, Delivered landed) noexcept {
        return static_cast<std::uint32_t>(cell / sizeof(base::Cell)) << 2 |
               static_cast<std::uint32_t>(landed);
    }

    std::vector<std::byte*> near_;
    WireOptions options_;
    NotifyPlan plan_;
    std::byte* own_;
    std::vector<Rank> cold_;  ///< far peers that are not connected yet, of a small job
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
    /// By cell line: pieces of the put minus pieces that have landed; 0 when all have.
    std::unique_ptr<std::int32_t[], Free> missing_;
    std::size_t lines_ = 0;  ///< cell lines of the segment
    std::optional<base::Failure> distrust_;
    base::RemoteCompletion completion_ = base::RemoteCompletion::counted;
    bool whole_words_ = true;
    bool reads_ = true;
    bool signals_ = false;
    std::vector<std::uint64_t> written_to_;
    struct Batch {
        std::uint32_t open_written = 0;  ///< transfers to the peer in the batch that is open
        std::uint8_t open = 0;           ///< its number, modulo kBatches
        std::uint8_t oldest = 0;         ///< of the peer's batches, here
    };
    std::vector<Batch> batches_;  ///< by peer
    /// By peer: transfers of each batch that have landed here; nullptr: none yet.
    std::vector<std::unique_ptr<std::array<std::uint32_t, kBatches>>> batch_landed_;
    bool (*serve_)(void* argument) = nullptr;
    void (*on_immediate_)(void* argument, std::uint64_t payload) = nullptr;
    void* service_ = nullptr;
    SpinLimit spin_limit_;
    std::uint64_t stirrings_ = 0;
    std::size_t in_flight_seen_ = 0;  ///< of the port, at the last poll
    unsigned still_ = 0;              ///< relax() calls since the last stirring
    bool naps_ = true;
    std::unique_ptr<DirectMemory> direct_;  ///< nullptr: node-mates reach segments only
    std::unique_ptr<FabricPort> port_;      ///< last: closing it still reads staged cells
};

}  // namespace weft::link
