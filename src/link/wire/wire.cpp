// SPDX-License-Identifier: BSD-3-Clause
#include "link/wire/wire.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

#include "base/check.hpp"

namespace weft::link {

namespace {

constexpr std::size_t kHeaderBytes = sizeof(base::FlagWord);
constexpr std::size_t kStagingEntries = 256;
constexpr unsigned kSpins = 4096;      ///< about 100 us of pauses, then yield
constexpr unsigned kYields = 200'000;  ///< then sleep: this wait is a long one
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
      port_(std::move(port)) {
    if (!port_) return;
    const std::size_t lines = options_.cells_end / sizeof(base::Cell);
    WEFT_CHECK(lines < (std::size_t{1} << 30), lines);
    missing_.reset(static_cast<std::int32_t*>(std::calloc(lines, sizeof(std::int32_t))));
    WEFT_CHECK(missing_ != nullptr, lines);
    piece_bytes_max_ = port_->facts().message_bytes_max;
    can_inject_cells_ = port_->facts().inject_bytes >= kHeaderBytes + base::kCellPayload;
    if (!can_inject_cells_) staging_.resize(kStagingEntries);
    for (std::size_t rank = 0; rank < near_.size(); ++rank) {
        if (near_[rank] == nullptr) cold_.push_back(static_cast<Rank>(rank));
    }
    if (cold_.size() > kWarmPeersMax) cold_.clear();
}

base::Post Wire::try_put(const base::Put& put, std::uint64_t& resume) noexcept {
    if (std::byte* peer = near(put.peer)) return put_near(put, peer);
    if (put.target == base::Put::kInCell) return put_cell(put);
    return put_pieces(put, resume);
}

base::Post Wire::put_near(const base::Put& put, std::byte* peer) noexcept {
    auto* cell = reinterpret_cast<base::Cell*>(peer + put.cell);
    std::byte* at = put.target == base::Put::kInCell ? cell->payload : peer + put.target;
    for (const base::PutPart& part : put.parts) {
        if (part.bytes != 0) std::memcpy(at, part.data, part.bytes);
        at += part.bytes;
    }
    // Release: pairs with the acquire of whoever waits for this flag.
    cell->flag.store(put.flag, std::memory_order_release);
    return base::Post::posted;
}

base::Post Wire::put_cell(const base::Put& put) noexcept {
    std::byte bytes[kHeaderBytes + base::kCellPayload];
    std::memcpy(bytes, &put.flag, kHeaderBytes);
    std::size_t size = kHeaderBytes;
    for (const base::PutPart& part : put.parts) {
        std::memcpy(bytes + size, part.data, part.bytes);
        size += part.bytes;
    }
    return post_header(put, bytes, size, Landed::all);
}

/// Pieces first, each with its own immediate, then the flag word with their number. `resume` is the
/// number of bytes already posted.
base::Post Wire::put_pieces(const base::Put& put, std::uint64_t& resume) noexcept {
    std::uint64_t pieces = 0;
    std::uint64_t part_start = 0;
    for (const base::PutPart& part : put.parts) {
        for (std::size_t at = 0; at < part.bytes; at += piece_bytes_max_) {
            const std::size_t size = std::min(piece_bytes_max_, part.bytes - at);
            ++pieces;
            if (part_start + at < resume) continue;
            if (port_->try_put(put.peer, part.data + at, size, put.target + part_start + at,
                               immediate_for(put.cell, Landed::piece),
                               put.pending) == base::Post::again)
                return base::Post::again;
            resume = part_start + at + size;
        }
        part_start += part.bytes;
    }
    std::byte header[kHeaderBytes + sizeof pieces];
    std::memcpy(header, &put.flag, kHeaderBytes);
    std::memcpy(header + kHeaderBytes, &pieces, sizeof pieces);
    return post_header(put, header, sizeof header, Landed::header);
}

base::Post Wire::post_header(const base::Put& put, const std::byte* bytes, std::size_t size,
                             Landed landed) noexcept {
    std::uint32_t* pending = nullptr;
    if (!can_inject_cells_) {
        Staging& staging = staging_[next_staging_];
        if (staging.pending != 0) return base::Post::again;
        std::memcpy(staging.bytes, bytes, size);
        bytes = staging.bytes;
        pending = &staging.pending;
    }
    const base::Post post = port_->try_put(put.peer, bytes, size, put.cell + base::kCellLanded,
                                           immediate_for(put.cell, landed), pending);
    if (post == base::Post::posted && !can_inject_cells_)
        next_staging_ = (next_staging_ + 1) % kStagingEntries;
    return post;
}

void Wire::poll_port() noexcept {
    std::array<std::uint32_t, 32> immediates;
    const std::size_t count = port_->poll(immediates);
    if (!cold_.empty() && ++polls_ % kWarmEvery == 0) [[unlikely]]
        warm_one();
    for (std::size_t i = 0; i < count; ++i) land(immediates[i]);
}

/// Tries the next peer that is not connected yet. One that is outside the library is simply tried again
/// some polls later, so nobody waits for it.
void Wire::warm_one() noexcept {
    if (port_->warm(cold_.back())) {
        cold_.pop_back();
    } else {
        std::rotate(cold_.begin(), cold_.end() - 1, cold_.end());
    }
}

void Wire::land(std::uint32_t immediate) noexcept {
    const std::size_t line = immediate >> 2;
    auto* cell = reinterpret_cast<base::Cell*>(own_ + line * sizeof(base::Cell));
    switch (static_cast<Landed>(immediate & 3U)) {
        case Landed::all:
            break;
        case Landed::piece:
            if (--missing_[line] != 0) return;
            break;
        case Landed::header: {
            std::uint64_t pieces = 0;
            std::memcpy(&pieces, cell->payload, sizeof pieces);
            missing_[line] += static_cast<std::int32_t>(pieces);
            if (missing_[line] != 0) return;
            break;
        }
    }
    cell->flag.store(cell->landed, std::memory_order_release);
}

void Wire::relax(unsigned failures) const noexcept {
    if (options_.spin && failures < kSpins) {
        pause_briefly();
    } else if (failures < kYields) {
        sched_yield();
    } else {
        const timespec nap{0, kNapNs};
        nanosleep(&nap, nullptr);
    }
}

}  // namespace weft::link
