// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/remapped_memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/extent.hpp"
#include "link/direct/process_facts.hpp"

namespace weft::link {
namespace {

/// Buffers with fewer whole pages are not remapped.
constexpr std::uint64_t kPagesMin = 4;
/// After this number of uses of remapped buffers, one range of the table is checked.
constexpr std::uint64_t kUsesPerRecheck = 64;

RemappedRange::Pages whole_pages(std::uint64_t address, std::uint64_t bytes) noexcept {
    const std::uint64_t begin = base::round_up(address, kPageBytes);
    return {begin, std::max(begin, (address + bytes) / kPageBytes * kPageBytes)};
}

/// Returns the reason why no buffer can be remapped; empty if buffers can.
std::string_view reason_against(DirectMode mode, const AddressQuery& query) noexcept {
    if (mode == DirectMode::copy) return "WEFT_DIRECT is copy";
    if (!query.available()) return "the kernel does not answer PROCMAP_QUERY";
    if (::sysconf(_SC_PAGESIZE) != static_cast<long>(kPageBytes)) return "pages are not of 4 KiB";
    if (!may_write_large_files()) return "RLIMIT_FSIZE limits memfds (ulimit -f unlimited)";
    if (mode == DirectMode::automatic && !has_library_allocator())
        return "malloc or mmap is not the C library's";
    if (!interposers_are_reached())
        return "the program's madvise() and mremap() calls do not reach libweft (use LD_PRELOAD)";
    return {};
}

/// Limits ranges to a quarter of the descriptors that the process may open: each range keeps one.
std::size_t ranges_allowed(std::size_t wanted) noexcept {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
    return std::min<std::size_t>({wanted, files.rlim_cur / 4, RemappedRanges::kRangesMax});
}

}  // namespace

RemappedMemory::RemappedMemory(DirectMode mode, AdoptionLimits limits)
    : mode_(mode), limits_(limits), off_(reason_against(mode, query_)) {
    limits_.ranges_max = ranges_allowed(limits.ranges_max);
    if (!off_.empty()) return;
    ranges_ = &RemappedRanges::of_process();
    forked_ = ranges_->forked();
    ranges_->enter_runtime();
}

RemappedMemory::~RemappedMemory() {
    if (ranges_ != nullptr && ranges_->forked() == forked_) ranges_->leave_runtime();
}

bool RemappedMemory::expose(base::Exposure& exposure, const base::Copies& copies,
                            std::uint64_t use_ns) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(exposure.data);
    const Pages pages = whole_pages(address, exposure.bytes);
    if (ranges_ == nullptr || pages.count() < kPagesMin || ranges_->forked() != forked_)
        return false;
    SeenBuffer& buffer = seen_.find(address, exposure.bytes);
    RemappedRange* range = try_use_range(buffer, exposure.access);
    if (range == nullptr) {
        recheck_next_range();
        if (mode_ == DirectMode::automatic && !charge(buffer, pages, copies, use_ns)) return false;
        range = remap(buffer, pages);
        if (range == nullptr) return false;
    }
    range->expose(exposure);
    if (++uses_ % kUsesPerRecheck == 0) recheck_next_range();
    return true;
}

void RemappedMemory::unexpose(const base::Exposure& exposure) noexcept {
    if (ranges_->forked() != forked_) return;
    RemappedRange& range = ranges_->used(exposure.reach.generation);
    range.unexpose(exposure);
    range.uses().end();
}

void RemappedMemory::revoke(const base::Exposure& exposure) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(exposure.data);
    if (ranges_->forked() == forked_)
        ranges_->revoke(exposure.reach.generation, whole_pages(address, exposure.bytes));
    unexpose(exposure);
}

RemappedMemory::Counters RemappedMemory::counters() const noexcept {
    Counters counters = counters_;
    if (ranges_ != nullptr) {
        counters.adopted_bytes = ranges_->bytes();
        counters.given_back = ranges_->made_private();
    }
    return counters;
}

/// Adds the cost of a use to the buffer's debt. Returns true if the debt has reached the price of
/// remapping, which is at least the time of the last query of properties.
bool RemappedMemory::charge(SeenBuffer& buffer, Pages pages, const base::Copies& copies,
                            std::uint64_t use_ns) const noexcept {
    const AdoptionPrices& prices = limits_.prices;
    const std::uint64_t peers = std::min(limits_.peers, copies.count);
    // Peers would map only the pages that they copy now.
    const std::uint64_t mapped = std::min(copies.bytes / kPageBytes, peers * pages.count());
    const std::uint64_t large = large_.expected() ? pages.small_in_large() : 0;
    const std::uint64_t price_ns = prices.cost_of_adoption(pages.count(), peers, mapped, large);
    return buffer.add_use(use_ns, std::max(price_ns, properties_ns_));
}

/// Begins a use of the range that contains the buffer. Returns nullptr if there is none, or if its
/// pages are no longer mapped or do not permit the access; the range is then retired.
RemappedRange* RemappedMemory::try_use_range(SeenBuffer& buffer, base::Access access) noexcept {
    RemappedRange* range = ranges_->try_use(buffer.generation);
    if (range == nullptr) {
        buffer.generation = ranges_->find(buffer.address, buffer.address + buffer.bytes);
        range = ranges_->try_use(buffer.generation);
    }
    if (range == nullptr || !limits_.ask_before_use) return range;
    ++counters_.queries;
    if (range->intact(query_, access)) return range;
    range->uses().end();
    ++counters_.lost;
    ranges_->recheck(buffer.generation);
    buffer.lose();
    return nullptr;
}

RemappedRange* RemappedMemory::remap(SeenBuffer& buffer, Pages pages) noexcept {
    buffer.debt_ns = 0;
    auto refused = refusal(pages);
    if (!refused)
        refused =
            ranges_->remap(pages, limits_.ranges_max, limits_.bytes_max, large_, buffer.generation);
    if (refused) {
        ++counters_.refusals[static_cast<std::size_t>(*refused)];
        return nullptr;
    }
    ++counters_.adoptions;
    return ranges_->try_use(buffer.generation);
}

/// Returns the reason why the pages must not be remapped, or nullopt. Permits only anonymous memory
/// and objects of this library: ranges of this process, and pages that a fork made private.
std::optional<Refusal> RemappedMemory::refusal(Pages pages) noexcept {
    Mapping mapping;
    for (std::uint64_t at = pages.begin; at < pages.end; at = mapping.end) {
        if (!query_.find(at, mapping, AddressQuery::Names::yes) || mapping.begin > at ||
            !mapping.readable || !mapping.writable || mapping.executable ||
            mapping.page_bytes != kPageBytes ||
            ((mapping.shared || mapping.inode != 0) && !names_object(mapping.name)))
            return query_.query_failed() ? Refusal::system : Refusal::kind;
        if (has_own_policy(at)) return Refusal::placed;
    }
    const auto begin = base::thread_cpu_time();
    const bool usual = has_only_usual_properties(pages.begin, pages.end);
    properties_ns_ = static_cast<std::uint64_t>((base::thread_cpu_time() - begin).count());
    if (!usual) return Refusal::property;
    if (pinned_bytes() != 0 || has_device_open()) return Refusal::held;  // unknown: nullopt, true
    if (is_on_other_memory_node(pages.begin, pages.end)) return Refusal::placed;
    if (!may_write_large_files()) return Refusal::system;
    return std::nullopt;
}

/// Checks the next usable range. If the program has freed its memory, frees the object's pages.
void RemappedMemory::recheck_next_range() noexcept {
    for (std::size_t i = 0; i < RemappedRanges::kRangesMax; ++i) {
        const std::uint32_t generation = ranges_->usable_at(++rechecked_);
        RemappedRange* const range = ranges_->try_use(generation);
        if (range == nullptr) continue;
        const bool intact = range->intact(query_, base::Access::read);
        range->uses().end();
        if (intact) return;
        ++counters_.lost;
        return ranges_->recheck(generation);
    }
}

}  // namespace weft::link
