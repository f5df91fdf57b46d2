// SPDX-License-Identifier: BSD-3-Clause
// virtual_wire.hpp - a network of N ranks in one process with adversarial delivery.
//
// Idea     The network owns every rank's segment. Ranks of one virtual node access each other's
//          memory. A put to a remote rank is cut into pieces that are delivered late and in any
//          order; the put's flag is raised some time after all pieces are delivered. Puts are
//          refused, some of them after part of their data is sent. Sources are read late. Local
//          completions come late and in any order, and some progress calls do nothing. One seed
//          determines every choice.
// Why      An engine that works on this network does not rely on the timing of a fabric.
// Holds    The network promises only this: a flag is raised after the data of its put is delivered;
//          a source is not read after its local completion; all pieces and flags are delivered if
//          all ranks make progress calls.
// Next     bank_watch.hpp finds overwritten slots; virtual_job.hpp runs engines.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/put.hpp"
#include "base/random.hpp"
#include "base/reach.hpp"
#include "base/result.hpp"
#include "link/wire/wire.hpp"

namespace weft::test {

class NotifyWatch;

/// Rates and delays of the network. Percentages are shares of attempts. The unit of delays is a
/// progress call of any rank.
struct VirtualProfile {
    std::uint32_t refuse_percent = 10;      ///< puts refused outright
    std::uint32_t refuse_half_percent = 5;  ///< puts refused after part of their data is sent
    std::uint32_t copy_percent = 25;        ///< pieces copied when posted, not counted in `pending`
    std::uint32_t fetch_percent = 40;       ///< of the other pieces: copied before their delivery
    std::uint32_t idle_percent = 20;        ///< progress calls that do nothing
    std::uint32_t delay_max = 60;           ///< limit of delays, except for stragglers
    std::uint32_t straggler_percent = 4;    ///< pieces, flags and completions that are stragglers
    std::uint32_t straggler_delay_max = 3000;
    std::uint32_t pieces_max = 4;        ///< 1: puts are not cut; larger values: cut more often
    std::uint32_t events_max = 12;       ///< maximum number of events in one progress call
    bool delivers_at_target = true;      ///< data is delivered only in progress calls of its target
    bool threads = false;                ///< each rank runs in its own thread
    std::uint32_t bounced_percent = 30;  ///< exposed buffers of which peers access a copy
    std::uint32_t copied_percent = 50;   ///< of the other exposed buffers: kernel copies only
    bool omits_copy = false;             ///< fault: peers read the buffer itself, not its copy
    Rank copies_refused_by = -1;         ///< rank whose kernel copies fail; -1: none
    int copies_error = EPERM;            ///< errno of these failures
    Rank exposes_outside = -1;           ///< rank that exposes blocks outside its segment; -1: none
};

/// Returns a profile without delays, refusals and partial delivery.
[[nodiscard]] VirtualProfile prompt_profile();

/// Faults planted between an engine and its wire, which tests must detect.
struct WireFaults {
    bool early_reuse = false;       ///< puts do not change `pending`: sources are reused too early
    bool forgets_refusals = false;  ///< try_put() returns Post::posted for refused puts
    bool never_settles = false;     ///< settle() does nothing: flags need immediates
};

struct VirtualOptions {
    std::uint64_t segment_bytes = 1 << 20;
    std::vector<int> node_of_rank;  ///< one entry for each rank
    std::uint64_t seed = 1;
    VirtualProfile profile;
    WireFaults faults = {};
};

/// A write into the memory of a put's target: a piece of the put's data, or its flag.
struct DeliveredWrite {
    Rank origin = 0;
    Rank target = 0;
    std::uint64_t offset = 0;  ///< in the target's segment, or kOutside
    std::uint64_t bytes = 0;   ///< 0: the flag
    std::uint64_t cell = 0;    ///< offset of the put's cell
    base::FlagWord flag = 0;   ///< flag of the put

    static constexpr std::uint64_t kOutside = ~std::uint64_t{0};  ///< in registered memory
};

class VirtualNetwork {
  public:
    explicit VirtualNetwork(VirtualOptions options);

    [[nodiscard]] Rank size() const { return static_cast<Rank>(options_.node_of_rank.size()); }
    [[nodiscard]] std::vector<Rank> ranks() const {
        std::vector<Rank> all(options_.node_of_rank.size());
        std::iota(all.begin(), all.end(), 0);
        return all;
    }
    [[nodiscard]] std::uint64_t seed() const { return options_.seed; }
    [[nodiscard]] std::uint64_t segment_bytes() const { return options_.segment_bytes; }
    [[nodiscard]] std::byte* segment(Rank rank) { return segments_[rank]; }
    [[nodiscard]] bool is_near(Rank a, Rank b) const {
        return options_.node_of_rank[a] == options_.node_of_rank[b];
    }
    /// Sets a function that is called before each delivered write. With threads, the network's
    /// lock is held.
    void observe(std::function<void(const DeliveredWrite&)> observer) {
        observer_ = std::move(observer);
    }
    /// Sets a function that each rank's wire calls at the start of try_put(), progress(), settle()
    /// and relax(). The function may let other ranks run.
    void on_call(std::function<void(Rank)> pause) { pause_ = std::move(pause); }
    void pause(Rank rank) const {
        if (pause_) pause_(rank);
    }
    [[nodiscard]] const WireFaults& faults() const { return options_.faults; }
    /// Returns the number of pieces, flags and completions in flight.
    [[nodiscard]] std::size_t in_flight() const { return in_flight_; }
    /// Returns true if a put was posted or an event was handled since the last call.
    [[nodiscard]] bool take_moved();
    /// Makes the rank's wire report this failure.
    void break_wire(Rank rank, base::Failure failure);
    /// Ends a rank, whose engine must not be used any more. Some of its messages are lost.
    void kill(Rank rank);
    /// Ends the puts of `origin` to a rank that has died; see run::Transport.
    void lose(Rank origin, Rank rank);
    /// Ends the rank's puts: they neither read its memory nor change a `pending` counter again.
    void cancel(Rank rank);

    /// Posts a put. `resume` is 0 at the first attempt; repeat with the same value after `again`.
    base::Post try_put(Rank origin, const base::Put& put, std::uint64_t& resume);
    void progress(Rank rank);
    [[nodiscard]] const base::Failure* failure(Rank rank) const;
    [[nodiscard]] base::Exposure expose(Rank rank, std::byte* data, std::uint64_t bytes,
                                        base::Access access);
    /// Registers memory for puts of remote ranks, under a new key.
    [[nodiscard]] base::Exposure expose_far(std::byte* data, std::uint64_t bytes);
    void unexpose_far(std::uint64_t key);
    /// Frees the exposure's copy, if any, after copying its contents back if peers may write it.
    void unexpose(const base::Exposure& exposure);
    [[nodiscard]] bool refuses_copies(Rank reader, Rank owner) const {
        return reader == options_.profile.copies_refused_by && owner != reader;
    }
    [[nodiscard]] int copies_error() const noexcept { return options_.profile.copies_error; }
    /// Counts an exposure that VirtualWire::revoke() ends after a failure.
    void count_revoked() { revoked_.fetch_add(1, std::memory_order_relaxed); }
    [[nodiscard]] int revoked() const { return revoked_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool has_threads() const { return options_.profile.threads; }

  private:
    void expose_copy(base::Exposure& exposure);
    /// A put in flight to a remote rank.
    struct Flight {
        Rank origin = 0;
        Rank target = 0;
        std::uint64_t cell = 0;
        base::FlagWord flag = 0;
        std::uint32_t* pending = nullptr;
        std::size_t data_left = 0;  ///< pieces not delivered
        std::size_t events = 0;     ///< scheduled events of this put
        bool posted = false;        ///< all data is sent; false: the caller must repeat the put
        bool raised = false;        ///< the flag is raised
    };
    /// Next event of a piece (fetch: copy its source; deliver: write it into the target's memory;
    /// complete: count its local completion) or of a put (raise: raise its flag).
    enum class EventKind : std::uint8_t { fetch, deliver, raise, complete };
    struct Event {
        EventKind kind = EventKind::deliver;
        std::size_t flight_index = 0;       ///< in flights_
        std::uint64_t due = 0;              ///< earliest time on clock_
        std::uint64_t offset = 0;           ///< offset of the piece in its region
        base::RemoteRegion region;          ///< target region; key 0: the target's segment
        const std::byte* source = nullptr;  ///< nullptr: the piece was copied into `copy`
        std::size_t bytes = 0;
        std::vector<std::byte> copy;
    };

    [[nodiscard]] std::unique_lock<std::mutex> lock() const;
    [[nodiscard]] std::uint64_t draw(std::uint64_t bound);
    [[nodiscard]] bool chance(std::uint32_t percent) { return draw(100) < percent; }
    /// Returns a random time on clock_, for a new event.
    [[nodiscard]] std::uint64_t due();
    base::Post put_local(Rank origin, const base::Put& put);
    base::Post put_remote(Rank origin, const base::Put& put, std::uint64_t& resume);
    void send(std::size_t flight_index, const base::Put& put, std::size_t from, std::size_t to);
    void send_piece(std::size_t flight_index, const base::RemoteRegion* region,
                    std::uint64_t offset, const std::byte* data, std::size_t bytes);
    [[nodiscard]] std::byte* target_of(const Event& event);
    void schedule(Event event);
    void handle(Event event);
    void fetch(Event event);
    void deliver(const Event& event);
    void raise_if_delivered(std::size_t flight_index);
    void store_flag(Rank origin, Rank target, std::uint64_t cell, base::FlagWord flag);
    std::size_t open_flight(Rank origin, const base::Put& put);

    VirtualOptions options_;
    base::Random random_;
    struct FreeSegment {
        void operator()(std::byte* memory) const;
    };
    std::vector<std::unique_ptr<std::byte, FreeSegment>> memories_;
    std::vector<std::byte*> segments_;  ///< by rank, aligned to a page
    std::vector<Flight> flights_;
    std::vector<std::size_t> free_flights_;
    std::vector<std::vector<Event>> events_;  ///< by the rank whose progress calls handle them
    std::vector<std::optional<base::Failure>> failures_;
    std::set<std::pair<Rank, Rank>> lost_;  ///< by origin and target; see lose()
    std::function<void(const DeliveredWrite&)> observer_;
    std::function<void(Rank)> pause_;
    std::unordered_map<std::uint64_t, base::RemoteRegion> registered_;  ///< by key
    std::unordered_map<std::uint64_t, std::vector<std::byte>> copies_;  ///< for peers, by key
    std::uint64_t last_key_ = 0;
    std::uint32_t cancelled_ = ~std::uint32_t{0};  ///< replaces `pending` of cancelled puts
    std::uint64_t clock_ = 0;                      ///< progress calls of all ranks
    std::size_t in_flight_ = 0;
    bool moved_ = false;
    std::atomic<int> revoked_{0};
    mutable std::mutex mutex_;
};

/// One rank's wire: over the virtual network, or a real wire over a virtual fabric. Models
/// run::Transport.
class VirtualWire {
  public:
    VirtualWire(VirtualNetwork& network, Rank rank) : network_(network), rank_(rank) {}
    /// Sends puts through `real`. `watch` sees puts to remote ranks.
    VirtualWire(VirtualNetwork& network, Rank rank, std::unique_ptr<link::Wire> real,
                NotifyWatch& watch)
        : network_(network), rank_(rank), real_(std::move(real)), watch_(&watch) {}

    base::Post try_put(const base::Put& put, std::uint64_t& resume) noexcept {
        network_.pause(rank_);
        if (network_.faults().early_reuse || network_.faults().forgets_refusals)
            return put_faulty(put, resume);
        return real_ ? put_real(put, resume) : network_.try_put(rank_, put, resume);
    }
    std::byte* near(Rank rank) noexcept {
        return network_.is_near(rank_, rank) ? network_.segment(rank) : nullptr;
    }
    std::uint64_t segment_bytes() noexcept { return network_.segment_bytes(); }
    VirtualWire& memory() noexcept { return *this; }
    // All ranks are in this process, so peers can access every exposed buffer. For random buffers,
    // the network makes them use kernel copies.
    base::Exposure expose(std::byte* data, std::uint64_t bytes, base::Access access,
                          const base::Copies& /*copies*/) noexcept {
        return network_.expose(rank_, data, bytes, access);
    }
    base::Result<base::Exposure> expose_far(std::byte* data, std::uint64_t bytes) noexcept {
        if (real_) return real_->memory().expose_far(data, bytes);
        return network_.expose_far(data, bytes);
    }
    void unexpose(const base::Exposure& exposure) noexcept {
        if (exposure.reach.method != base::AccessMethod::registered)
            return network_.unexpose(exposure);
        if (real_) return real_->memory().unexpose(exposure);
        network_.unexpose_far(exposure.reach.key);
    }
    void revoke(const base::Exposure& /*exposure*/) noexcept { network_.count_revoked(); }
    std::byte* reach(Rank rank, const base::Reach& reach, std::uint64_t) noexcept {
        if (reach.method == base::AccessMethod::segment)
            return network_.segment(rank) + reach.offset;
        return reach.method == base::AccessMethod::remapped ? address_of(reach) : nullptr;
    }
    bool copy_from(Rank rank, const base::Reach& reach, std::byte* to,
                   std::uint64_t bytes) noexcept {
        if (refuses(rank)) return false;
        std::memcpy(to, address_of(reach), bytes);
        return true;
    }
    bool copy_to(Rank rank, const base::Reach& reach, const std::byte* from,
                 std::uint64_t bytes) noexcept {
        if (refuses(rank)) return false;
        std::memcpy(address_of(reach), from, bytes);
        return true;
    }
    void progress() noexcept;
    void settle(std::uint64_t cell) noexcept;  // does nothing without a real wire
    void relax(unsigned failures) noexcept;
    const base::Failure* failure() noexcept { return network_.failure(rank_); }
    /// Returns the real wire, or nullptr if the virtual network carries the puts.
    [[nodiscard]] link::Wire* real() { return real_.get(); }
    void lose(Rank rank) noexcept {
        if (real_) real_->lose(rank);
        network_.lose(rank_, rank);
    }
    void cancel() noexcept {
        if (real_) real_->cancel();
        network_.cancel(rank_);
    }
    /// Returns the number of operations of the real wire in flight.
    [[nodiscard]] std::size_t in_flight() const { return real_ ? real_->in_flight() : 0; }

  private:
    static std::byte* address_of(const base::Reach& reach) {
        return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(reach.address));
    }
    /// Returns true if a kernel copy of `owner`'s memory fails, and sets errno.
    bool refuses(Rank owner) const noexcept {
        if (!network_.refuses_copies(rank_, owner)) return false;
        errno = network_.copies_error();
        return true;
    }
    base::Post put_real(const base::Put& put, std::uint64_t& resume) noexcept;
    base::Post put_faulty(base::Put put, std::uint64_t& resume) noexcept;

    VirtualNetwork& network_;
    Rank rank_;
    std::unique_ptr<link::Wire> real_;
    NotifyWatch* watch_ = nullptr;
    std::uint32_t uncounted_ = 0;  ///< replaces `pending` of all puts, for the fault early_reuse
};

}  // namespace weft::test
