// SPDX-License-Identifier: BSD-3-Clause
#include "link/fabric/regions.hpp"

#include <rdma/fi_rma.h>

#include <algorithm>
#include <atomic>

#include "link/fabric/keys.hpp"

namespace weft::link {

/// Largest job with counters: each counter of each peer needs a registration of the memory.
constexpr std::size_t kRanksWithCounters = 256;

base::Result<void> Regions::open(bool divided) {
    const std::size_t sources = registers_sources() ? kSources : 0;
    WEFT_TRY(draw_keys(kFirstSourceKey + sources));
    make_sections(divided);
    // Exposed memory uses the unused keys of sections first, because small keys are fast.
    for (std::size_t key = kFirstSectionKey + sections_.size(); key < kFirstSourceKey; ++key)
        free_keys_.push_back(key);
    WEFT_TRY(register_section(0));
    landing_region_ = WEFT_TRY(register_region(landing_, FI_REMOTE_WRITE, kLandingKey));
    if (!registers_sources()) return {};
    sources_.resize(sources);
    for (std::size_t source = sources; source-- > 0;) free_sources_.push_back(source);
    return register_buffers();
}

base::Result<void> Regions::register_buffers() {
    buffers_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, kBuffers * kBufferBytes)));
    if (buffers_ == nullptr)
        return base::fail(Status::memory, "no memory for staging puts ({} bytes)",
                          kBuffers * kBufferBytes);
    buffers_region_ = WEFT_TRY(register_region({buffers_.get(), kBuffers * kBufferBytes},
                                               FI_READ | FI_WRITE, kBuffersKey));
    registered_bytes_ += kBuffers * kBufferBytes;
    free_buffers_.reserve(kBuffers);
    for (std::size_t buffer = kBuffers; buffer-- > 0;)
        free_buffers_.push_back(buffers_.get() + buffer * kBufferBytes);
    return {};
}

base::Result<void> Regions::draw_keys(std::size_t count) {
    const std::size_t key_bytes = grant_.provider_keys ? 0 : grant_.key_bytes;
    keys_ = WEFT_TRY(link::draw_keys(count, key_bytes, small_keys_, keys_));
    return {};
}

/// Divides the memory into its sections, or into one section if peers cannot read keys.
void Regions::make_sections(bool divided) {
    std::vector<std::uint64_t> starts = memory_.sections;
    if (starts.empty() || !divided) starts = {0};
    WEFT_CHECK(starts.front() == 0 && starts.size() <= kSectionsMax, starts.size());
    sections_.resize(starts.size());
    for (std::size_t number = 0; number < starts.size(); ++number) {
        const std::uint64_t end = number + 1 < starts.size() ? starts[number + 1] : memory_.bytes;
        WEFT_CHECK(starts[number] < end, number, starts[number], end);
        sections_[number] = {.offset = starts[number], .bytes = end - starts[number]};
    }
}

/// Registers a section and stores its key in the table, so that peers may write to the section.
base::Result<void> Regions::register_section(std::size_t number) {
    Section& section = sections_[number];
    section.region = WEFT_TRY(register_region({memory_.base + section.offset, section.bytes},
                                              FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
                                              kFirstSectionKey + number));
    registered_bytes_ += section.bytes;
    if (sections_.size() == 1) return {};
    auto* const table = reinterpret_cast<std::uint64_t*>(memory_.base + memory_.section_keys);
    const std::uint64_t key = fi_mr_key(section.region.get());
    std::atomic_ref(table[number]).store(key + 1, std::memory_order_release);
    return {};
}

base::Result<void> Regions::open_counters(Rank rank, std::size_t ranks, std::uint32_t counters) {
    if (ranks > kRanksWithCounters)
        return base::fail(Status::unsupported,
                          "WEFT_NOTIFY=counter registers the memory {} times for each peer, so it "
                          "supports jobs of up to {} ranks; this job has {}",
                          counters, kRanksWithCounters, ranks);
    counters_of_peer_ = counters;
    const std::uint64_t key = fi_mr_key(sections_.front().region.get());
    for (std::size_t number = 0; number < ranks * counters; ++number) {
        const std::size_t peer = number / counters;
        counters_.emplace_back();
        if (peer == static_cast<std::size_t>(rank)) continue;
        counters_.back() = WEFT_TRY(endpoint_.open_counter(
            {memory_.base, memory_.bytes}, counted_key(key, peer, number % counters)));
    }
    return {};
}

void Regions::close() noexcept {
    sources_.clear();
    exposed_.clear();
    buffers_region_.reset();
    landing_region_.reset();
    for (Section& section : sections_) section.region.reset();
    counters_.clear();
}

base::Result<void> Regions::use_memory(std::uint64_t offset, std::uint64_t bytes) {
    WEFT_CHECK(offset <= memory_.bytes && bytes <= memory_.bytes - offset, offset, bytes);
    if (bytes == 0) return {};
    for (std::size_t number = section_of(offset); number < sections_.size(); ++number) {
        if (sections_[number].offset >= offset + bytes) break;
        if (sections_[number].region == nullptr) WEFT_TRY(register_section(number));
    }
    return {};
}

std::size_t Regions::later_section_of(std::uint64_t offset) const noexcept {
    const auto after = std::ranges::upper_bound(sections_, offset, {}, &Section::offset);
    return static_cast<std::size_t>(after - sections_.begin()) - 1;
}

RemoteRegion Regions::remote_view(std::span<const std::byte> memory, fid_mr& handle) const {
    const auto base = reinterpret_cast<std::uintptr_t>(memory.data());
    return {grant_.virtual_addresses ? base : 0, memory.size(), fi_mr_key(&handle)};
}

base::Result<RemoteRegion> Regions::expose(std::span<std::byte> memory,
                                           std::optional<std::uint64_t> key) {
    if (!key && free_keys_.empty()) {
        WEFT_TRY(draw_keys(keys_.size() + 1));
        free_keys_.push_back(keys_.size() - 1);
    }
    auto handle = WEFT_TRY(endpoint_.register_memory(memory, FI_REMOTE_READ | FI_REMOTE_WRITE,
                                                     key ? *key : keys_[free_keys_.back()]));
    const RemoteRegion region = remote_view(memory, *handle);
    exposed_.push_back({std::move(handle), {}});
    if (key) return region;
    exposed_.back().key = free_keys_.back();
    free_keys_.pop_back();
    return region;
}

void Regions::unexpose(const RemoteRegion& region) noexcept {
    const auto found = std::ranges::find_if(exposed_, [&](const Exposed& exposed) {
        return fi_mr_key(exposed.handle.get()) == region.key;
    });
    if (found == exposed_.end()) return;  // close() has removed it after a failure
    if (found->key) free_keys_.push_back(*found->key);
    exposed_.erase(found);
}

std::uint64_t Regions::landed(Rank peer, std::uint32_t counter) noexcept {
    const std::size_t first = static_cast<std::size_t>(peer) * counters_of_peer_;
    return counters_.empty() ? 0 : fi_cntr_read(counters_[first + counter].count.get());
}

fid_mr* Regions::region_of(const std::byte* data, std::size_t bytes) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    const auto base = reinterpret_cast<std::uintptr_t>(memory_.base);
    if (address < base || address - base >= memory_.bytes) return nullptr;
    const std::uint64_t offset = address - base;
    return bytes <= bytes_to_section_end(offset) ? sections_[section_of(offset)].region.get()
                                                 : nullptr;
}

std::byte* Regions::take_buffer() noexcept {
    if (free_buffers_.empty()) return nullptr;
    std::byte* const buffer = free_buffers_.back();
    free_buffers_.pop_back();
    return buffer;
}

/// Pinned memory is limited, and the end of another transfer unpins its source. So a failed
/// registration is permanent only if no other source is registered.
std::size_t Regions::register_source(std::span<std::byte> source,
                                     std::optional<base::Failure>& failure) noexcept {
    if (free_sources_.empty()) return kNoSource;
    const std::size_t number = free_sources_.back();
    auto region = register_region(source, FI_WRITE, kFirstSourceKey + number);
    if (!region) {
        if (!failure && free_sources_.size() == sources_.size()) failure = region.failure();
        return kNoSource;
    }
    sources_[number] = std::move(region).value();
    free_sources_.pop_back();
    return number;
}

}  // namespace weft::link
