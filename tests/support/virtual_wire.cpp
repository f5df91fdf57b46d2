// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/virtual_wire.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/check.hpp"
#include "run/execute/transport.hpp"
#include "tests/support/notify_watch.hpp"

namespace weft::test {

static_assert(run::Transport<VirtualWire>);

namespace {

constexpr std::size_t kPage = 4096;

/// Calls visit(payload offset, address, bytes) for each contiguous part of the payload range
/// [from, to).
template <class Visit>
void walk_payload(const base::Put& put, std::size_t from, std::size_t to, Visit visit) {
    std::size_t start = 0;
    for (const base::PutPart& part : put.parts) {
        const std::size_t first = std::max(from, start);
        const std::size_t last = std::min(to, start + part.bytes);
        if (first < last) visit(first, part.data + (first - start), last - first);
        start += part.bytes;
    }
}

/// Returns the offset of a put's payload in the target's segment or region.
std::uint64_t payload_offset(const base::Put& put) {
    return put.target == base::Put::kInCell ? put.cell + base::kCellPayloadOffset : put.target;
}

}  // namespace

VirtualProfile prompt_profile() {
    return {.refuse_percent = 0,
            .refuse_half_percent = 0,
            .copy_percent = 100,
            .fetch_percent = 0,
            .idle_percent = 0,
            .delay_max = 0,
            .straggler_percent = 0,
            .straggler_delay_max = 0,
            .pieces_max = 1,
            .events_max = 1000,
            .copied_percent = 0};
}

void VirtualNetwork::FreeSegment::operator()(std::byte* memory) const {
    std::free(memory);
}

VirtualNetwork::VirtualNetwork(VirtualOptions options)
    : options_(std::move(options)), random_(options_.seed) {
    options_.segment_bytes = (options_.segment_bytes + kPage - 1) / kPage * kPage;
    const std::size_t ranks = options_.node_of_rank.size();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        // calloc(): the system zeroes each page at its first use, so unused pages need no memory.
        void* memory = std::calloc(options_.segment_bytes + kPage, 1);
        WEFT_CHECK(memory != nullptr, options_.segment_bytes);
        memories_.emplace_back(static_cast<std::byte*>(memory));
        std::size_t capacity = options_.segment_bytes + kPage;
        segments_.push_back(
            static_cast<std::byte*>(std::align(kPage, options_.segment_bytes, memory, capacity)));
    }
    events_.resize(ranks);
    failures_.resize(ranks);
}

std::unique_lock<std::mutex> VirtualNetwork::lock() const {
    return options_.profile.threads ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
}

bool VirtualNetwork::take_moved() {
    const bool moved = moved_;
    moved_ = false;
    return moved;
}

base::Exposure VirtualNetwork::expose(Rank rank, std::byte* data, std::uint64_t bytes,
                                      base::Access access) {
    const auto held = lock();
    base::Exposure exposure{.alias = data, .data = data, .bytes = bytes, .access = access};
    exposure.reach.address = reinterpret_cast<std::uintptr_t>(data);
    if (data >= segment(rank) && data < segment(rank) + options_.segment_bytes) {
        exposure.reach.method = base::AccessMethod::segment;
        exposure.reach.offset = static_cast<std::uint64_t>(data - segment(rank));
    } else if (bytes > 0 && chance(options_.profile.bounced_percent)) {
        expose_copy(exposure);
    } else if (bytes > 0 && !chance(options_.profile.copied_percent)) {
        exposure.reach.method = base::AccessMethod::remapped;
        exposure.reach.object_bytes = bytes;
    }
    if (rank == options_.profile.exposes_outside) {
        // Fault: the block starts at the segment's last byte, so it ends outside the segment.
        exposure.reach.method = base::AccessMethod::segment;
        exposure.reach.offset = options_.segment_bytes - 1;
    }
    return exposure;
}

base::Exposure VirtualNetwork::expose_far(std::byte* data, std::uint64_t bytes) {
    const auto held = lock();
    const base::RemoteRegion region{reinterpret_cast<std::uintptr_t>(data), bytes, ++last_key_};
    registered_[region.key] = region;
    return {.reach = base::Reach::of(region),
            .alias = data,
            .data = data,
            .bytes = bytes,
            .access = base::Access::write};
}

/// Models AccessMethod::bounced: peers access a copy of the buffer. Unlike link/direct, the copy is
/// outside the segment, so its method is `remapped`.
void VirtualNetwork::expose_copy(base::Exposure& exposure) {
    exposure.reach.method = base::AccessMethod::remapped;
    exposure.reach.object_bytes = exposure.bytes;
    exposure.separate_copy = exposure.access == base::Access::read;
    if (exposure.separate_copy && options_.profile.omits_copy) return;
    std::vector<std::byte> copy(exposure.data, exposure.data + exposure.bytes);
    // The old contents may be lost; a pattern reveals reads of bytes that no rank wrote.
    if (exposure.access == base::Access::overwrite) std::ranges::fill(copy, std::byte{0xd7});
    exposure.alias = copy.data();
    exposure.reach.address = reinterpret_cast<std::uintptr_t>(copy.data());
    exposure.reach.key = ++last_key_;
    copies_.emplace(exposure.reach.key, std::move(copy));
}

void VirtualNetwork::unexpose(const base::Exposure& exposure) {
    const auto held = lock();
    const auto copy = copies_.find(exposure.reach.key);
    if (copy == copies_.end()) return;
    if (exposure.access != base::Access::read) std::ranges::copy(copy->second, exposure.data);
    copies_.erase(copy);
}

void VirtualNetwork::unexpose_far(std::uint64_t key) {
    const auto held = lock();
    registered_.erase(key);
}

void VirtualNetwork::break_wire(Rank rank, base::Failure failure) {
    const auto held = lock();
    failures_[rank] = std::move(failure);
}

void VirtualNetwork::kill(Rank rank) {
    const auto held = lock();
    for (std::vector<Event>& events : events_) {
        in_flight_ -= std::erase_if(events, [&](const Event& event) {
            return flights_[event.flight_index].origin == rank && chance(50);
        });
    }
}

void VirtualNetwork::lose(Rank origin, Rank rank) {
    const auto held = lock();
    lost_.insert({origin, rank});
    for (std::vector<Event>& events : events_) {
        in_flight_ -= std::erase_if(events, [&](const Event& event) {
            const Flight& flight = flights_[event.flight_index];
            if (flight.origin != origin || flight.target != rank) return false;
            if (event.source != nullptr || event.kind == EventKind::complete) --*flight.pending;
            return true;
        });
    }
}

void VirtualNetwork::cancel(Rank rank) {
    const auto held = lock();
    // Takes the sources now, because the engine may reuse them after cancel(). The targets'
    // progress calls still deliver the data.
    const auto take_source = [&](Event& event) {
        if (flights_[event.flight_index].origin != rank || event.source == nullptr) return;
        event.copy.assign(event.source, event.source + event.bytes);
        event.source = nullptr;
    };
    for (std::vector<Event>& events : events_) std::ranges::for_each(events, take_source);
    std::vector<Event>& own = events_[rank];
    const auto fetches = std::partition(
        own.begin(), own.end(), [](const Event& event) { return event.kind != EventKind::fetch; });
    for (auto fetch = fetches; fetch != own.end(); ++fetch) {
        fetch->kind = EventKind::deliver;
        events_[flights_[fetch->flight_index].target].push_back(std::move(*fetch));
    }
    own.erase(fetches, own.end());
    for (Flight& flight : flights_)
        if (flight.origin == rank) flight.pending = &cancelled_;
}

const base::Failure* VirtualNetwork::failure(Rank rank) const {
    const auto held = lock();
    return failures_[rank] ? &*failures_[rank] : nullptr;
}

/// Returns a random number in 0..bound-1, without a slow division. The slight bias does not matter.
std::uint64_t VirtualNetwork::draw(std::uint64_t bound) {
    return ((random_() >> 32) * bound) >> 32;
}

std::uint64_t VirtualNetwork::due() {
    const VirtualProfile& profile = options_.profile;
    const bool straggles = chance(profile.straggler_percent);
    const std::uint32_t delay_max = straggles ? profile.straggler_delay_max : profile.delay_max;
    return clock_ + draw(std::uint64_t{delay_max} + 1);
}

// --- posting -----------------------------------------------------------------------------------

base::Post VirtualNetwork::try_put(Rank origin, const base::Put& put, std::uint64_t& resume) {
    const auto held = lock();
    std::size_t bytes = 0;
    for (const base::PutPart& part : put.parts) bytes += part.bytes;
    WEFT_CHECK(bytes == put.bytes, bytes, put.bytes, options_.seed);
    WEFT_CHECK(put.cell + sizeof(base::Cell) <= options_.segment_bytes, put.cell, options_.seed);
    const std::uint64_t limit = put.region != nullptr ? put.region->bytes : options_.segment_bytes;
    WEFT_CHECK(payload_offset(put) + bytes <= limit, bytes, options_.seed);
    WEFT_CHECK(put.region == nullptr || !is_near(origin, put.peer), put.peer, options_.seed);
    WEFT_CHECK(put.target != base::Put::kInCell || bytes <= base::kCellPayload, bytes,
               options_.seed);
    if (lost_.contains({origin, put.peer})) return base::Post::posted;
    if (chance(options_.profile.refuse_percent)) return base::Post::again;
    return is_near(origin, put.peer) ? put_local(origin, put) : put_remote(origin, put, resume);
}

base::Post VirtualNetwork::put_local(Rank origin, const base::Put& put) {
    const std::uint64_t target = payload_offset(put);
    if (observer_ && put.bytes > 0)
        observer_({.origin = origin,
                   .target = put.peer,
                   .offset = target,
                   .bytes = put.bytes,
                   .cell = put.cell,
                   .flag = put.flag});
    walk_payload(put, 0, put.bytes, [&](std::size_t at, const std::byte* data, std::size_t bytes) {
        std::memcpy(segment(put.peer) + target + at, data, bytes);
    });
    store_flag(origin, put.peer, put.cell, put.flag);
    moved_ = true;
    return base::Post::posted;
}

std::size_t VirtualNetwork::open_flight(Rank origin, const base::Put& put) {
    if (free_flights_.empty()) {
        free_flights_.push_back(flights_.size());
        flights_.emplace_back();
    }
    const std::size_t flight_index = free_flights_.back();
    free_flights_.pop_back();
    flights_[flight_index] = {.origin = origin,
                              .target = put.peer,
                              .cell = put.cell,
                              .flag = put.flag,
                              .pending = put.pending};
    return flight_index;
}

/// Sends part of a remote put. `resume`: 0, or (flight_index + 1) << 32 plus the bytes sent.
base::Post VirtualNetwork::put_remote(Rank origin, const base::Put& put, std::uint64_t& resume) {
    constexpr unsigned kSentBits = 32;
    const std::size_t sent = resume & 0xffffffffU;
    const std::size_t flight_index =
        resume == 0 ? open_flight(origin, put) : (resume >> kSentBits) - 1;
    WEFT_CHECK(flights_[flight_index].cell == put.cell && flights_[flight_index].flag == put.flag,
               put.cell, options_.seed);
    std::size_t end = put.bytes;
    if (put.bytes > sent + 1 && chance(options_.profile.refuse_half_percent))
        end = sent + 1 + draw(put.bytes - sent - 1);
    send(flight_index, put, sent, end);
    moved_ = true;
    if (end < put.bytes) {
        resume = ((flight_index + 1) << kSentBits) | end;
        return base::Post::again;
    }
    flights_[flight_index].posted = true;
    raise_if_delivered(flight_index);
    return base::Post::posted;
}

/// Sends the payload range [from, to) in pieces of random size.
void VirtualNetwork::send(std::size_t flight_index, const base::Put& put, std::size_t from,
                          std::size_t to) {
    while (from < to) {
        const bool cuts = draw(options_.profile.pieces_max) != 0;
        const std::size_t end = cuts ? from + 1 + draw(to - from) : to;
        walk_payload(put, from, end, [&](std::size_t at, const std::byte* data, std::size_t bytes) {
            send_piece(flight_index, put.region, payload_offset(put) + at, data, bytes);
        });
        from = end;
    }
}

void VirtualNetwork::send_piece(std::size_t flight_index, const base::RemoteRegion* region,
                                std::uint64_t offset, const std::byte* data, std::size_t bytes) {
    const VirtualProfile& profile = options_.profile;
    Event event{.kind = EventKind::deliver,
                .flight_index = flight_index,
                .due = due(),
                .offset = offset,
                .region = region != nullptr ? *region : base::RemoteRegion{},
                .source = data,
                .bytes = bytes,
                .copy = {}};
    ++flights_[flight_index].data_left;
    if (chance(profile.copy_percent)) {
        event.copy.assign(data, data + bytes);
        event.source = nullptr;
    } else {
        ++*flights_[flight_index].pending;
        if (chance(profile.fetch_percent)) event.kind = EventKind::fetch;
    }
    schedule(std::move(event));
}

// --- delivery ----------------------------------------------------------------------------------

void VirtualNetwork::schedule(Event event) {
    Flight& flight = flights_[event.flight_index];
    const bool at_origin = event.kind == EventKind::fetch || event.kind == EventKind::complete;
    ++flight.events;
    ++in_flight_;
    events_[at_origin ? flight.origin : flight.target].push_back(std::move(event));
}

void VirtualNetwork::progress(Rank rank) {
    const auto held = lock();
    ++clock_;
    if (in_flight_ == 0) return;
    if (chance(options_.profile.idle_percent)) return;
    const std::uint64_t tries = draw(std::uint64_t{options_.profile.events_max} + 1);
    for (std::uint64_t i = 0; i < tries; ++i) {
        Rank owner = rank;
        if (!options_.profile.delivers_at_target && chance(50))
            owner = static_cast<Rank>(draw(events_.size()));
        std::vector<Event>& events = events_[owner];
        if (events.empty()) continue;
        Event& picked = events[draw(events.size())];
        if (picked.due > clock_) continue;
        // Only progress calls of the origin change its `pending` counters.
        if (owner != rank && picked.kind != EventKind::deliver && picked.kind != EventKind::raise)
            continue;
        std::swap(picked, events.back());
        Event event = std::move(events.back());
        events.pop_back();
        --in_flight_;
        moved_ = true;
        handle(std::move(event));
    }
}

void VirtualNetwork::handle(Event event) {
    const std::size_t flight_index = event.flight_index;
    Flight& flight = flights_[flight_index];
    switch (event.kind) {
        case EventKind::fetch:
            fetch(std::move(event));
            break;
        case EventKind::deliver:
            deliver(event);
            break;
        case EventKind::complete:
            --*flight.pending;
            break;
        case EventKind::raise:
            store_flag(flight.origin, flight.target, flight.cell, flight.flag);
            flight.raised = true;
            break;
    }
    if (--flight.events == 0 && flight.raised) free_flights_.push_back(flight_index);
}

/// Copies the source of a piece and schedules its local completion, after which the source may
/// change.
void VirtualNetwork::fetch(Event event) {
    event.copy.assign(event.source, event.source + event.bytes);
    event.source = nullptr;
    schedule({.kind = EventKind::complete, .flight_index = event.flight_index, .due = due()});
    event.kind = EventKind::deliver;
    event.due = due();
    schedule(std::move(event));
}

void VirtualNetwork::deliver(const Event& event) {
    Flight& flight = flights_[event.flight_index];
    const std::uint64_t offset = event.region.key != 0 ? DeliveredWrite::kOutside : event.offset;
    if (observer_)
        observer_({.origin = flight.origin,
                   .target = flight.target,
                   .offset = offset,
                   .bytes = event.bytes,
                   .cell = flight.cell,
                   .flag = flight.flag});
    const bool copied = event.source == nullptr;
    if (std::byte* const target = target_of(event))
        std::memcpy(target, copied ? event.copy.data() : event.source, event.bytes);
    if (!copied)
        schedule({.kind = EventKind::complete, .flight_index = event.flight_index, .due = due()});
    --flight.data_left;
    raise_if_delivered(event.flight_index);
}

/// Returns the target address of a piece. Returns nullptr, and fails the target's wire, if the
/// memory is not registered.
std::byte* VirtualNetwork::target_of(const Event& event) {
    const Rank target = flights_[event.flight_index].target;
    if (event.region.key == 0) return segment(target) + event.offset;
    if (registered_.contains(event.region.key))
        return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(event.region.base)) +
               event.offset;
    failures_[target] =
        base::fail(Status::peer, "put from rank {}: no region with key {} is registered at rank {}",
                   flights_[event.flight_index].origin, event.region.key, target);
    return nullptr;
}

void VirtualNetwork::raise_if_delivered(std::size_t flight_index) {
    const Flight& flight = flights_[flight_index];
    if (flight.posted && flight.data_left == 0)
        schedule({.kind = EventKind::raise, .flight_index = flight_index, .due = due()});
}

void VirtualNetwork::store_flag(Rank origin, Rank target, std::uint64_t cell, base::FlagWord flag) {
    if (observer_)
        observer_({.origin = origin, .target = target, .offset = cell, .cell = cell, .flag = flag});
    // The release pairs with the acquire of the wait for the flag: the waiting rank then sees the
    // data, too.
    reinterpret_cast<base::Cell*>(segment(target) + cell)
        ->flag.store(flag, std::memory_order_release);
}

base::Post VirtualWire::put_real(const base::Put& put, std::uint64_t& resume) noexcept {
    const base::Post posted = real_->try_put(put, resume);
    if (posted == base::Post::posted && real_->near(put.peer) == nullptr)
        watch_->posted(rank_, put);
    return posted;
}

base::Post VirtualWire::put_faulty(base::Put put, std::uint64_t& resume) noexcept {
    if (network_.faults().early_reuse) put.pending = &uncounted_;
    const base::Post posted = real_ ? put_real(put, resume) : network_.try_put(rank_, put, resume);
    return network_.faults().forgets_refusals ? base::Post::posted : posted;
}

void VirtualWire::progress() noexcept {
    network_.pause(rank_);
    if (!real_) return network_.progress(rank_);
    real_->progress();
    watch_->check(rank_);
}

void VirtualWire::settle(std::uint64_t cell) noexcept {
    network_.pause(rank_);
    if (!real_ || network_.faults().never_settles) return;
    real_->settle(cell);
    watch_->check(rank_);
}

void VirtualWire::relax(unsigned failures) noexcept {
    network_.pause(rank_);
    if (network_.has_threads() && failures % 4 == 0) std::this_thread::yield();
}

}  // namespace weft::test
