// SPDX-License-Identifier: BSD-3-Clause
// sections.cpp - registered parts of a rank's memory, and their keys.
//
// Idea     The memory is divided into sections, each registered at its first use. Its key is then
//          in a table in the first section, where a peer reads it before its first transfer.
// Holds    A key in the table belongs to a registered section, and does not change.
// Next     docs/decisions/0019-symmetric-memory.md for the reason; run/job/layout.hpp for the
//          starts of sections.
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "link/fabric/keys.hpp"
#include "link/fabric/port.hpp"

namespace weft::link {

namespace {

constexpr Rank kRanksWithCounters = 256;  ///< each has separate registrations at all others

}  // namespace

/// Divides the memory into its sections, or one if peers cannot read their keys remotely.
void Port::make_sections(bool reads) {
    std::vector<std::uint64_t> starts = memory_.sections;
    if (starts.empty() || !reads) starts = {0};
    WEFT_CHECK(starts.front() == 0 && starts.size() <= kSectionsMax, starts.size());
    sections_.resize(starts.size());
    for (std::size_t number = 0; number < starts.size(); ++number) {
        const std::uint64_t end = number + 1 < starts.size() ? starts[number + 1] : memory_.bytes;
        WEFT_CHECK(starts[number] < end, number, starts[number], end);
        sections_[number].offset = starts[number];
        sections_[number].bytes = end - starts[number];
    }
}

/// Registers a section and puts its key into the table, so that peers may write it.
base::Result<void> Port::register_section(std::size_t number) {
    Section& section = sections_[number];
    auto region = register_region({memory_.base + section.offset, section.bytes},
                                  FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
                                  kFirstSectionKey + number);
    if (!region) return region.failure();
    section.region = std::move(region).value();
    facts_.registered_bytes += section.bytes;
    const std::uint64_t key = fi_mr_key(section.region.get());
    if (key == FI_KEY_NOTAVAIL)
        return refused("fi_mr_key: no key that fits 8 bytes", -FI_EKEYREJECTED);
    if (sections_.size() == 1) return {};
    auto* const entry =
        reinterpret_cast<std::uint64_t*>(memory_.base + memory_.section_keys) + number;
    std::atomic_ref(*entry).store(key + 1, std::memory_order_release);
    return {};
}

/// Opens the counters. Each peer uses separate keys for counted writes, so that its writes
/// are counted separately.
base::Result<void> Port::open_counters(Rank rank) {
    rank_ = rank;
    if (facts_.counters == 0) return {};
    if (peers_.size() > static_cast<std::size_t>(kRanksWithCounters))
        return base::fail(Status::unsupported,
                          "WEFT_NOTIFY=counter registers the memory {} times for each peer: jobs "
                          "of up to {} ranks, this one has {}",
                          facts_.counters, kRanksWithCounters, peers_.size());
    const std::uint64_t key = fi_mr_key(sections_.front().region.get());
    for (std::size_t number = 0; number < peers_.size() * facts_.counters; ++number) {
        Counter& counter = counters_.emplace_back();
        if (number / facts_.counters == static_cast<std::size_t>(rank)) continue;
        fi_cntr_attr attributes{};
        attributes.events = FI_CNTR_EVENTS_COMP;
        attributes.wait_obj = FI_WAIT_NONE;
        fid_cntr* count = nullptr;
        int code = fi_cntr_open(domain_.get(), &attributes, &count, nullptr);
        if (code != 0) return refused("fi_cntr_open", code);
        counter.count.reset(count);
        fid_mr* region = nullptr;
        code = fi_mr_reg(domain_.get(), memory_.base, memory_.bytes, FI_REMOTE_WRITE, 0,
                         counted_key(key, number / facts_.counters, number % facts_.counters),
                         FI_RMA_EVENT, &region, nullptr);
        if (code != 0) return refused("fi_mr_reg with FI_RMA_EVENT", code);
        counter.region.reset(region);
        code = fi_mr_bind(region, &count->fid, FI_REMOTE_WRITE);
        if (code != 0) return refused("fi_mr_bind of a counter", code);
    }
    return {};
}

base::Result<void> Port::use_memory(std::uint64_t offset, std::uint64_t bytes) {
    WEFT_CHECK(offset <= memory_.bytes && bytes <= memory_.bytes - offset, offset, bytes);
    if (endpoint_ == nullptr || bytes == 0) return {};
    for (std::size_t number = section_of(offset); number < sections_.size(); ++number) {
        if (sections_[number].offset >= offset + bytes) break;
        if (sections_[number].region != nullptr) continue;
        if (auto done = register_section(number); !done) return done;
    }
    return {};
}

std::size_t Port::later_section_of(std::uint64_t offset) const noexcept {
    const auto after = std::ranges::upper_bound(sections_, offset, {}, &Section::offset);
    return static_cast<std::size_t>(after - sections_.begin()) - 1;
}

/// Returns the place of an offset in exposed memory of a peer.
std::optional<Port::Place> Port::place_in(const RemoteRegion& region, std::uint64_t offset,
                                          std::uint64_t bytes) noexcept {
    WEFT_CHECK(offset <= region.bytes && bytes <= region.bytes - offset, bytes, offset,
               region.bytes);
    return Place{region.base + offset, region.key};
}

/// Returns the place of an offset in a peer's segment. Returns nothing if the key of the section is
/// being read, or the peer has not registered it yet.
std::optional<Port::Place> Port::place_of(Peer& peer, Rank rank, std::uint64_t offset,
                                          std::uint64_t bytes) noexcept {
    WEFT_CHECK(offset <= peer.memory.bytes && bytes <= peer.memory.bytes - offset, rank, bytes,
               offset, peer.memory.bytes);
    const std::size_t number = section_of(offset);
    if (number == 0) {
        WEFT_CHECK(bytes <= sections_.front().bytes - offset, rank, bytes, offset);
        return Place{peer.memory.base + offset, peer.memory.key};
    }
    const Section& section = sections_[number];
    WEFT_CHECK(bytes <= section.offset + section.bytes - offset, rank, bytes, offset);
    const auto key = key_of(peer, rank, number);
    if (!key) return std::nullopt;
    const std::uint64_t first = grant_.virtual_addresses ? 0 : section.offset;
    return Place{peer.memory.base + offset - first, *key};
}

std::optional<std::uint64_t> Port::key_of(Peer& peer, Rank rank, std::size_t section) noexcept {
    if (peer.sections == nullptr) peer.sections = std::make_unique<PeerSections>(sections_.size());
    PeerSections& known = *peer.sections;
    if (known.entries[section] != 0) return known.entries[section] - 1;
    if (known.pending != 0) return std::nullopt;
    if (known.asked != 0) known.entries[std::exchange(known.asked, 0)] = known.answer;
    if (known.entries[section] != 0) return known.entries[section] - 1;
    known.answer = 0;
    const std::uint64_t entry = memory_.section_keys + section * sizeof known.answer;
    const base::Post asked = post_read(peer, {peer.memory.base + entry, peer.memory.key},
                                       {.peer = rank,
                                        .into = reinterpret_cast<std::byte*>(&known.answer),
                                        .bytes = sizeof known.answer,
                                        .pending = &known.pending});
    if (asked == base::Post::posted) known.asked = section;
    return std::nullopt;
}

std::uint64_t Port::landed(Rank peer, std::uint32_t counter) noexcept {
    const std::size_t first = static_cast<std::size_t>(peer) * facts_.counters;
    return counters_.empty() ? 0 : fi_cntr_read(counters_[first + counter].count.get());
}

/// Returns the registered section that contains all of this memory, or nullptr.
fid_mr* Port::region_of(const std::byte* data, std::size_t bytes) const noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(data);
    const auto base = reinterpret_cast<std::uintptr_t>(memory_.base);
    if (first < base || first - base >= memory_.bytes) return nullptr;
    const std::uint64_t offset = first - base;
    return bytes <= room_at(offset) ? sections_[section_of(offset)].region.get() : nullptr;
}

}  // namespace weft::link
