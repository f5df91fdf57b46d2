// SPDX-License-Identifier: BSD-3-Clause
#include "link/wire/wire.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/copy.hpp"

namespace weft::link {

namespace {

constexpr std::size_t kStagingEntries = 256;
constexpr std::size_t kDeferredEntries = 256;
constexpr unsigned kSpins = 4096;        ///< about 100 us of pauses, then yield
constexpr unsigned kSpinsPolling = 128;  ///< for polls that also poll a network
constexpr long kNapNs = 50'000;
constexpr std::size_t kWarmPeersMax = 16;  ///< larger jobs connect at the first put
constexpr unsigned kWarmEvery = 16;        ///< polls

void pause_briefly() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

Wire::Wire(std::vector<std::byte*> near, std::unique_ptr<FabricPort> port, WireOptions options)
    : near_(std::move(near)),
      options_(options),
      own_(near_[static_cast<std::size_t>(options.rank)]),
      spin_limit_(port ? kSpinsPolling : kSpins),
      port_(std::move(port)) {
    written_to_.resize(near_.size());
    if (!port_) return;
    const FabricFacts& facts = port_->facts();
    plan_ = facts.notify;
    piece_bytes_max_ = facts.message_bytes_max;
    get_bytes_max_ = facts.get_bytes_max;
    flagged_parts_max_ = facts.flagged_parts_max;
    copied_bytes_ = facts.copied_bytes;
    paced_bytes_ = facts.paced_bytes != 0 ? facts.paced_bytes : ~std::size_t{0};
    inject_bytes_ = facts.inject_bytes;
    completion_ = facts.completion;
    whole_words_ = facts.whole_words;
    reads_ = facts.reads;
    signals_ = facts.signals;
    if (completion_ == base::RemoteCompletion::counted) {
        WEFT_CHECK(near_.size() < (std::size_t{1} << 30) / kBatches, near_.size());
        batches_.resize(near_.size());
        batch_landed_.resize(near_.size());
    }
    lines_ = options_.cells_end / sizeof(base::Cell);
    WEFT_CHECK(lines_ < (std::size_t{1} << 30), lines_);
    if (plan_.large == Notify::immediate) {
        missing_.reset(static_cast<std::int32_t*>(std::calloc(lines_, sizeof(std::int32_t))));
        WEFT_CHECK(missing_ != nullptr, lines_);
    }
    const std::size_t longest = plan_.small == Notify::cells
                                    ? sizeof base::Landing::words
                                    : sizeof(base::FlagWord) + base::kCellPayload;
    if (plan_.large == Notify::fence || inject_bytes_ < longest) staging_.resize(kStagingEntries);
    counters_ = facts.counters;
    lanes_.resize(near_.size() * counters_);
    if (plan_.large == Notify::delivery || plan_.large == Notify::counter) {
        deferred_.resize(kDeferredEntries);
        deferred_open_.reserve(kDeferredEntries);
        for (std::size_t entry = kDeferredEntries; entry-- > 0;)
            deferred_free_.push_back(static_cast<std::uint16_t>(entry));
    }
    for (std::size_t rank = 0; rank < near_.size(); ++rank) {
        if (near_[rank] == nullptr) cold_.push_back(static_cast<Rank>(rank));
    }
    if (cold_.size() > kWarmPeersMax) cold_.clear();
}

base::Post Wire::put_near(const base::Put& put, std::byte* peer) noexcept {
    auto* cell = reinterpret_cast<base::Cell*>(peer + put.cell);
    std::byte* at = put.target == base::Put::kInCell ? cell->payload : peer + put.target;
    for (const base::PutPart& part : put.parts) {
        if (part.bytes != 0) base::copy_bytes(at, part.data, part.bytes);
        at += part.bytes;
    }
    // Release: pairs with the acquire of the wait for this flag.
    cell->flag.store(put.flag, std::memory_order_release);
    return base::Post::posted;
}

base::Exposure Wire::expose(std::byte* data, std::uint64_t bytes, base::Access access,
                            const base::Copies& copies) noexcept {
    base::Exposure exposure{.alias = data, .data = data, .bytes = bytes, .access = access};
    exposure.reach.address = reinterpret_cast<std::uintptr_t>(data);
    if (data >= own_ && data < own_ + options_.segment_bytes) {
        exposure.reach.way = base::Way::segment;
        exposure.reach.offset = static_cast<std::uint64_t>(data - own_);
        return exposure;
    }
    if (direct_ == nullptr || bytes == 0) return exposure;
    return direct_->expose(data, bytes, access, copies);
}

base::Result<base::Exposure> Wire::expose_far(std::byte* data, std::uint64_t bytes) noexcept {
    if (data >= own_ && data < own_ + options_.segment_bytes) {
        const base::Exposure there = expose(data, 0, base::Access::write, {});
        if (auto done = use_memory(there.reach.offset, bytes); !done) return done.failure();
        return there;
    }
    if (plan_.large == Notify::counter)
        return base::fail(Status::unsupported,
                          "puts are counted in the segment only (WEFT_NOTIFY=counter)");
    const auto region = port_->expose({data, bytes});
    if (!region) return region.failure();
    return base::Exposure{.reach = base::Reach::of(*region),
                          .alias = data,
                          .data = data,
                          .bytes = bytes,
                          .access = base::Access::write};
}

void Wire::poll_port() noexcept {
    std::array<std::uint64_t, 32> immediates;
    std::size_t count = 0;
    std::size_t arrived = 0;
    do {  // all of them: a request follows the payloads sent before it
        count = port_->poll(immediates);
        for (std::size_t i = 0; i < count; ++i) deliver(immediates[i]);
        arrived += count;
    } while (count == immediates.size());
    if (!cold_.empty() && ++polls_ % kWarmEvery == 0) [[unlikely]]
        warm_one();
    if (!deferred_open_.empty()) post_deferred_flags();
    const bool served = serve_ != nullptr && serve_(service_);
    const std::size_t in_flight = port_->in_flight();
    if (arrived == 0 && !served && in_flight == in_flight_seen_) return;
    in_flight_seen_ = in_flight;
    stir();
}

/// Tries to connect to the next unconnected peer. If the peer is outside the library, this rank
/// does not wait, and tries again some polls later.
void Wire::warm_one() noexcept {
    if (port_->warm(cold_.back())) {
        cold_.pop_back();
    } else {
        std::rotate(cold_.begin(), cold_.end() - 1, cold_.end());
    }
}

void Wire::relax(unsigned failures) noexcept {
    if (still_ < kYields) ++still_;
    if (options_.spin && spin_limit_.allows(std::min(failures, still_))) {
        pause_briefly();
        return;
    }
    if (sleeps_after(failures)) {
        const timespec nap{0, kNapNs};
        nanosleep(&nap, nullptr);
        return;
    }
    const std::uint64_t begun_ns = options_.spin ? base::monotonic_ns() : 0;
    sched_yield();
    if (options_.spin) spin_limit_.yielded(base::monotonic_ns() - begun_ns);
}

}  // namespace weft::link
