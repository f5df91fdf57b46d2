// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/adopted_memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "link/direct/object_name.hpp"

namespace weft::link {
namespace {

/// Below this many whole pages a buffer is not worth a mapping of its own.
constexpr std::uint64_t kPagesMin = 4;
/// How often another range is looked after while known buffers come.
constexpr std::uint64_t kUsesPerLook = 64;

/// Objects of one process have different generations, whichever runtime makes them.
std::uint32_t next_generation() noexcept {
    static std::atomic<std::uint32_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

AdoptedRange::Pages whole_pages(std::uint64_t address, std::uint64_t bytes) noexcept {
    const std::uint64_t begin = (address + kPageBytes - 1) / kPageBytes * kPageBytes;
    return {begin, std::max(begin, (address + bytes) / kPageBytes * kPageBytes)};
}

std::string_view reason_against(DirectMode mode, const AddressQuery& query) noexcept {
    if (mode == DirectMode::copy) return "not wanted";
    if (!query.available()) return "the kernel does not say what is mapped at an address";
    if (::sysconf(_SC_PAGESIZE) != static_cast<long>(kPageBytes)) return "pages are not of 4 KiB";
    if (!may_write_large_files()) return "the size of files is limited";
    if (mode == DirectMode::automatic && !has_library_allocator())
        return "malloc or mmap is not the C library's";
    return {};
}

/// Ranges keep a descriptor each: at most a quarter of those that the process may open.
std::size_t ranges_allowed(std::size_t wanted) noexcept {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
    return std::min<std::size_t>({wanted, files.rlim_cur / 4, 256});
}

bool overlaps(const AdoptedRange& range, std::uint64_t begin, std::uint64_t end) noexcept {
    return range.pages().begin < end && begin < range.pages().end;
}

}  // namespace

AdoptedMemory::AdoptedMemory(DirectMode mode, AdoptionLimits limits)
    : mode_(mode),
      limits_(limits),
      off_(reason_against(mode, query_)),
      enlisted_(off_.empty()),
      slots_(ranges_allowed(limits.ranges_max)) {
    if (enlisted_) enlist();
}

AdoptedMemory::~AdoptedMemory() {
    const std::scoped_lock guard(lock());
    // What a device may write stays where it is, as shared memory that no mate knows any more.
    for (Slot& slot : used_slots())
        if (slot.range) give_back(slot);
    if (enlisted_) delist();
}

bool AdoptedMemory::expose(base::Exposure& exposure, const base::Copies& copies,
                           std::uint64_t use_ns) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(exposure.data);
    const Pages pages = whole_pages(address, exposure.bytes);
    if (!off_.empty() || pages.count() < kPagesMin) return false;
    const std::scoped_lock guard(lock());
    SeenBuffer& buffer = seen_.find(address, exposure.bytes);
    Slot* slot = find(buffer);
    if (slot != nullptr && !is_intact(*slot->range, exposure.access)) {
        ++counters_.lost;
        give_back(*slot);
        buffer.lose();
        slot = nullptr;
    }
    if (slot == nullptr) {
        look_after_another(nullptr);
        if (mode_ == DirectMode::automatic && !is_due(buffer, pages, copies, use_ns)) return false;
        slot = adopt(buffer, pages);
        if (slot == nullptr) return false;
    }
    slot->last_use = ++uses_;
    if (uses_ % kUsesPerLook == 0) look_after_another(slot);
    slot->range->expose(exposure);
    return true;
}

void AdoptedMemory::conceal(const base::Exposure& exposure) noexcept {
    const std::scoped_lock guard(lock());
    Slot* const slot = slot_of(exposure);
    if (slot == nullptr) return;
    slot->range->conceal(exposure);
    if (slot->range->is_private()) release(*slot);
}

void AdoptedMemory::withdraw(const base::Exposure& exposure) noexcept {
    const std::scoped_lock guard(lock());
    Slot* const slot = slot_of(exposure);
    if (slot == nullptr) return;
    slot->range->conceal(exposure);
    if (slot->range->is_private())
        release(*slot);
    else
        give_back(*slot);
}

AdoptedMemory::Slot* AdoptedMemory::slot_of(const base::Exposure& exposure) noexcept {
    for (Slot& slot : used_slots())
        if (slot.range && slot.range->generation() == exposure.reach.generation) return &slot;
    return nullptr;
}

/// Does the buffer, which comes again without being adopted, owe what that costs?
bool AdoptedMemory::is_due(SeenBuffer& buffer, Pages pages, const base::Copies& copies,
                           std::uint64_t use_ns) const noexcept {
    const AdoptionPrices& prices = limits_.prices;
    const std::uint64_t mates = std::min(limits_.mates, copies.count);
    const std::uint64_t mates_pages = std::min(copies.bytes / kPageBytes, mates * pages.count());
    const std::uint64_t in_large_pages =
        large_.expected() ? AdoptedRange::small_in_large_pages(pages) : 0;
    return buffer.owes(use_ns,
                       prices.of_adoption(pages.count(), mates, mates_pages, in_large_pages));
}

/// The slot of a range that shows the buffer and that new exposures may use.
AdoptedMemory::Slot* AdoptedMemory::find(SeenBuffer& buffer) noexcept {
    const std::uint64_t end = buffer.address + buffer.bytes;
    if (buffer.generation != 0) {
        Slot& slot = slots_[buffer.slot];
        if (slot.range && slot.range->generation() == buffer.generation &&
            !slot.range->is_private())
            return &slot;
    }
    for (Slot& slot : used_slots()) {
        if (!slot.range || slot.range->is_private() || !slot.range->shows(buffer.address, end))
            continue;
        buffer.generation = slot.range->generation();
        buffer.slot = static_cast<std::uint8_t>(&slot - slots_.data());
        return &slot;
    }
    return nullptr;
}

bool AdoptedMemory::is_intact(const AdoptedRange& range, base::Access access) noexcept {
    if (!limits_.ask_before_use) return true;
    ++counters_.questions;
    return range.intact(query_, access);
}

AdoptedMemory::Slot* AdoptedMemory::adopt(SeenBuffer& buffer, Pages pages) noexcept {
    buffer.debt_ns = 0;
    Slot* slot = nullptr;
    auto refused = refusal(pages);
    if (!refused) {
        for (Slot& other : used_slots())
            if (other.range && overlaps(*other.range, pages.begin, pages.end)) give_back(other);
        slot = make_room(pages.bytes());
        if (slot == nullptr) refused = Refusal::limit;
    }
    if (!refused) {
        slot->range = AdoptedRange::create(pages, next_generation(), large_, query_);
        if (!slot->range) refused = Refusal::system;
    }
    if (refused) {
        ++counters_.refusals[static_cast<std::size_t>(*refused)];
        return nullptr;
    }
    used_ = std::max(used_, static_cast<std::size_t>(slot - slots_.data()) + 1);
    ++counters_.adoptions;
    counters_.adopted_bytes += pages.bytes();
    buffer.generation = slot->range->generation();
    buffer.slot = static_cast<std::uint8_t>(slot - slots_.data());
    return slot;
}

std::optional<Refusal> AdoptedMemory::refusal(Pages pages) noexcept {
    if (std::ranges::any_of(used_slots(), [&](const Slot& slot) {
            return slot.range && slot.range->exposed() &&
                   overlaps(*slot.range, pages.begin, pages.end);
        }))
        return Refusal::exposed;
    if (!is_private_memory(pages)) return Refusal::kind;
    if (may_be_advised(pages.begin, pages.end) && has_lasting_advice(pages.begin, pages.end))
        return Refusal::advised;
    if (pages.bytes() > limits_.bytes_max) return Refusal::limit;
    const auto held = status_.held_memory();
    if (!held || held->locked_bytes != 0 || held->pinned_bytes != 0 || has_device_open())
        return Refusal::held;
    if (is_placed(pages)) return Refusal::placed;
    if (!may_write_large_files()) return Refusal::system;
    return std::nullopt;
}

/// Private memory that has no other user: anonymous, or given back before, or a range still.
bool AdoptedMemory::is_private_memory(Pages pages) noexcept {
    Mapping mapping;
    const bool anywhere = mode_ == DirectMode::adopt || interposers_in_effect();
    for (std::uint64_t at = pages.begin; at < pages.end; at = mapping.end) {
        if (!query_.ask(at, mapping, AddressQuery::Names::yes) || mapping.begin > at) return false;
        const bool range = std::ranges::any_of(used_slots(), [&](const Slot& slot) {
            return slot.range && slot.range->is_ours(mapping);
        });
        const bool anonymous =
            !mapping.shared && (mapping.inode == 0 || names_object(mapping.name));
        // Where madvise() goes unseen, only memory of which it is known that it is not called.
        const bool known = anywhere || std::strcmp(mapping.name, "[heap]") == 0 ||
                           std::strcmp(mapping.name, "[stack]") == 0;
        if (!range && (!anonymous || !known)) return false;
        if (!mapping.readable || !mapping.writable || mapping.page_bytes != kPageBytes)
            return false;
    }
    return true;
}

/// Would other memory nodes serve these pages if they were written anew?
bool AdoptedMemory::is_placed(Pages pages) noexcept {
    Mapping mapping;
    for (std::uint64_t at = pages.begin; at < pages.end; at = mapping.end)
        if (!query_.ask(at, mapping) || has_own_policy(at)) return true;
    return lies_elsewhere(pages.begin, pages.end);
}

/// Has the kernel pinned memory of this process for a device or io_uring? Where that cannot be
/// asked, what was true before holds: memory is not adopted unless nothing is pinned.
bool AdoptedMemory::is_pinned() noexcept {
    if (const auto held = status_.held_memory()) pinned_ = held->pinned_bytes != 0;
    return pinned_;
}

/// A free slot, such that the bytes fit beside those adopted; gives back what was used longest ago.
AdoptedMemory::Slot* AdoptedMemory::make_room(std::uint64_t bytes) noexcept {
    while (true) {
        const auto free = std::find_if(slots_.begin(), slots_.end(),
                                       [](const Slot& slot) { return !slot.range; });
        if (free != slots_.end() && counters_.adopted_bytes + bytes <= limits_.bytes_max)
            return &*free;
        Slot* oldest = nullptr;
        for (Slot& slot : used_slots())
            if (slot.range && !slot.range->exposed() &&
                (oldest == nullptr || slot.last_use < oldest->last_use))
                oldest = &slot;
        if (oldest == nullptr) return nullptr;
        give_back(*oldest);
        if (oldest->range) return nullptr;
    }
}

/// Makes the range private memory again; as locked as it was. Not while devices may write it.
void AdoptedMemory::give_back(Slot& slot) noexcept {
    const auto held = status_.held_memory();
    if (held) pinned_ = held->pinned_bytes != 0;
    if (pinned_) return;
    const std::uint64_t locked_bytes = held ? held->locked_bytes : 0;
    const Pages pages = slot.range->pages();
    if (slot.range->exposed())
        slot.range->make_private(query_);
    else
        slot.range->give_back(query_);
    const auto now = status_.held_memory();
    if (locked_bytes != 0 && now && now->locked_bytes < locked_bytes)
        ::mlock(reinterpret_cast<const void*>(pages.begin), pages.bytes());
    ++counters_.given_back;
    release(slot);
}

/// Forgets a range that is private again, unless calls under way still use its window.
void AdoptedMemory::release(Slot& slot) noexcept {
    if (slot.range->exposed()) return;
    counters_.adopted_bytes -= slot.range->pages().bytes();
    slot.range.reset();
    while (used_ > 0 && !slots_[used_ - 1].range) --used_;
}

/// Of the other ranges one in turn: are its pages still there? Memory that the program has freed is
/// held no longer than until its turn.
void AdoptedMemory::look_after_another(const Slot* than) noexcept {
    for (std::size_t i = 0; i < used_; ++i) {
        looked_after_ = (looked_after_ + 1) % used_;
        Slot& slot = slots_[looked_after_];
        if (!slot.range || slot.range->exposed() || &slot == than) continue;
        if (is_intact(*slot.range, base::Access::read)) return;
        ++counters_.lost;
        give_back(slot);
        return;
    }
}

void AdoptedMemory::before_fork() noexcept {
    if (used_ == 0) return;
    const bool pinned = is_pinned();
    for (Slot& slot : used_slots()) {
        if (!slot.range || slot.range->is_private()) continue;
        if (pinned) {
            // Devices go on writing these pages: the child gets none of them rather than a share.
            slot.range->withhold_from_child();
            continue;
        }
        slot.range->make_private(query_);
        ++counters_.given_back;
        release(slot);
    }
}

void AdoptedMemory::in_child() noexcept {
    off_ = "the process is a fork of a rank";
    for (Slot& slot : used_slots())
        if (slot.range) slot.range->forget();
}

void AdoptedMemory::before_advice(std::uint64_t begin, std::uint64_t end) noexcept {
    for (Slot& slot : used_slots())
        if (slot.range && !slot.range->is_private() && overlaps(*slot.range, begin, end))
            give_back(slot);
}

}  // namespace weft::link
