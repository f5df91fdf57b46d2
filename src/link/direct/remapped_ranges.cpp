// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/remapped_ranges.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "link/direct/process_facts.hpp"

namespace weft::link {
namespace {

constinit std::atomic<RemappedRanges*> table{nullptr};

/// Time in which process_vm_writev() calls of other processes end before the pages are copied.
constexpr useconds_t kLastWritesUs = 1'000;

/// Longest wait over the reserve sockets, where the parent does not notice the child's death.
constexpr timeval kReserveWait{10, 0};

}  // namespace

RemappedRanges& RemappedRanges::of_process() noexcept {
    static RemappedRanges* const made = [] {
        auto* const ranges = new RemappedRanges;  // never deleted: memory stays remapped
        table.store(ranges);
        ::pthread_atfork([] { table.load()->prepare_fork(); }, [] { table.load()->await_child(); },
                         [] { table.load()->enter_child(); });
        return ranges;
    }();
    return *made;
}

RemappedRanges* RemappedRanges::of_process_if_used() noexcept {
    RemappedRanges* const ranges = table.load(std::memory_order_acquire);
    return ranges != nullptr && ranges->any_.load(std::memory_order_relaxed) ? ranges : nullptr;
}

template <class Body>
void RemappedRanges::for_each_mapping(std::uint64_t begin, std::uint64_t end, Body body) noexcept {
    Mapping mapping;
    for (std::uint64_t at = begin; at < end && query_.find(at, mapping) && mapping.begin < end;
         at = mapping.end)
        if (RemappedRange* const range = mapping.inode == 0 ? nullptr : owner(mapping))
            body(mapping, *range);
}

RemappedRange* RemappedRanges::owner(const Mapping& mapping) noexcept {
    for (RemappedRange& range : ranges_)
        if (range.is_open() && range.owns(mapping)) return &range;
    return nullptr;
}

void RemappedRanges::close_unmapped_ranges() noexcept {
    std::array<bool, kRangesMax> mapped{};
    for_each_mapping(0, ~std::uint64_t{0}, [&](const Mapping& mapping, const RemappedRange& range) {
        if (mapping.shared || range.backs_private_pages()) mapped[index_of(range)] = true;
    });
    if (query_.query_failed()) return;
    for (RemappedRange& range : ranges_)
        if (range.is_open() && !mapped[index_of(range)] && range.uses().retire_unused())
            close(range);
}

RemappedRange* RemappedRanges::try_use(std::uint32_t generation) noexcept {
    RemappedRange& range = used(generation);
    return generation != 0 && range.uses().try_begin(generation) ? &range : nullptr;
}

std::uint32_t RemappedRanges::find(std::uint64_t begin, std::uint64_t end) noexcept {
    const Lock lock(*this);
    for (const RemappedRange& range : ranges_)
        if (range.uses().usable() != 0 && range.contains(begin, end)) return range.uses().usable();
    return 0;
}

/// Retires the ranges in the pages. Returns Refusal::overlap for a part of a range or a used one.
std::optional<Refusal> RemappedRanges::retire_replaced(Pages pages) noexcept {
    bool replaceable = true;
    std::array<bool, kRangesMax> inside{};
    for_each_mapping(pages.begin, pages.end, [&](const Mapping& mapping, RemappedRange& range) {
        if (mapping.shared) inside[index_of(range)] = true;
    });
    if (!query_.query_failed() && std::ranges::none_of(inside, std::identity{}))
        return std::nullopt;
    // The program may have moved parts of a range to other addresses.
    for_each_mapping(0, ~std::uint64_t{0}, [&](const Mapping& mapping, RemappedRange& range) {
        const bool within = mapping.begin >= pages.begin && mapping.end <= pages.end;
        replaceable = replaceable && (within || !mapping.shared || !inside[index_of(range)]);
    });
    if (query_.query_failed()) return Refusal::system;
    for (std::size_t i = 0; i < kRangesMax; ++i)
        if (inside[i]) replaceable = replaceable && ranges_[i].uses().retire_unused();
    return replaceable ? std::nullopt : std::optional(Refusal::overlap);
}

bool RemappedRanges::replace_pieces(RemappedRange& range, LargePages& large) noexcept {
    const Pages pages = range.pages();
    for (Pages piece{pages.begin, 0}; piece.begin < pages.end; piece.begin = piece.end) {
        piece.end = std::min(pages.end, (piece.begin / kLargePageBytes + 1) * kLargePageBytes);
        if (!range.copy_piece(piece, large)) {
            range.punch(range.offset_of(piece.begin), piece.bytes());
            return false;
        }
        if (!replace_parts(range, piece)) return false;
    }
    return true;
}

/// Replaces a copied piece, one mapping after another. Frees the pages of older ranges: not before
/// they are replaced, because the program may read them, and not after the last piece, so that the
/// process never has the whole buffer twice.
bool RemappedRanges::replace_parts(RemappedRange& range, Pages piece) noexcept {
    for (Pages part = piece; part.begin < piece.end; part.begin = part.end) {
        Mapping old;
        const bool known = query_.find(part.begin, old) && old.begin <= part.begin;
        part.end = known ? std::min(piece.end, old.end) : piece.end;
        if (!range.replace(part)) {
            range.punch(range.offset_of(part.begin), piece.end - part.begin);
            return false;
        }
        if (RemappedRange* const older = known && old.shared ? owner(old) : nullptr)
            older->punch(old.offset + (part.begin - old.begin), part.bytes());
    }
    return true;
}

/// Returns a free entry of the table, or nullptr if all are in use or the limits permit no new
/// range. Ranges that overlap the new one do not count, because it replaces them.
RemappedRange* RemappedRanges::find_entry(Pages pages, std::size_t ranges_max,
                                          std::uint64_t bytes_max) noexcept {
    std::uint64_t open = 0;
    std::uint64_t other_bytes = 0;
    RemappedRange* free = nullptr;
    for (RemappedRange& range : ranges_) {
        if (!range.is_open()) {
            if (free == nullptr) free = &range;
            continue;
        }
        if (range.pages().overlaps(pages)) continue;
        ++open;
        other_bytes += range.pages().bytes();
    }
    const std::uint64_t bytes_left = bytes_max - std::min(other_bytes, bytes_max);
    return open < ranges_max && pages.bytes() <= bytes_left ? free : nullptr;
}

/// Opens the reserve sockets unless they are open.
bool RemappedRanges::open_reserve() noexcept {
    if (reserve_[0].intact() && reserve_[1].intact()) return true;
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
    ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &kReserveWait, sizeof kReserveWait);
    reserve_ = {KeptFile(ends[0]), KeptFile(ends[1])};
    return true;
}

std::optional<Refusal> RemappedRanges::remap(Pages pages, std::size_t ranges_max,
                                             std::uint64_t bytes_max, LargePages& large,
                                             std::uint32_t& generation) noexcept {
    const Lock lock(*this);
    if (forks_ > 0 || !open_reserve()) return Refusal::system;
    RemappedRange* free = find_entry(pages, ranges_max, bytes_max);
    if (free == nullptr) {
        close_unmapped_ranges();
        free = find_entry(pages, ranges_max, bytes_max);
    }
    if (free == nullptr) return Refusal::limit;
    // 24 bits, so that the number and the entry's 8-bit index fit 32 bits. Never 0.
    last_generation_ = last_generation_ % ((1U << 24) - 1) + 1;
    const auto next = static_cast<std::uint32_t>(last_generation_ * kRangesMax + index_of(*free));
    if (!free->open(pages, next)) return Refusal::system;
    if (const auto refused = retire_replaced(pages)) {
        free->close();
        return refused;
    }
    any_.store(true);
    bytes_ += pages.bytes();
    const bool replaced = replace_pieces(*free, large);
    if (replaced) free->publish();
    close_unmapped_ranges();
    if (!replaced) return Refusal::system;
    generation = next;
    return std::nullopt;
}

void RemappedRanges::recheck(std::uint32_t generation) noexcept {
    const Lock lock(*this);
    RemappedRange& range = used(generation);
    if (range.generation() != generation || forks_ > 0) return;
    range.uses().retire();
    close_unmapped_ranges();
    if (range.is_open() && range.uses().retire_unused()) free_unmapped_pages(range);
}

/// Frees the object's pages that the program has unmapped, or none if it has moved a page.
void RemappedRanges::free_unmapped_pages(RemappedRange& range) noexcept {
    const Pages pages = range.pages();
    bool moved = false;
    for_each_mapping(0, ~std::uint64_t{0}, [&](const Mapping& mapping, const RemappedRange& owner) {
        moved = moved || (&owner == &range && !range.is_in_place(mapping));
    });
    if (moved || query_.query_failed()) return;
    std::uint64_t at = pages.begin;
    const auto free_until = [&](std::uint64_t end) {
        if (end > at) range.punch(range.offset_of(at), end - at);
    };
    for_each_mapping(pages.begin, pages.end,
                     [&](const Mapping& mapping, const RemappedRange& owner) {
                         if (&owner != &range) return;
                         free_until(mapping.begin);
                         at = mapping.end;
                     });
    if (!query_.query_failed()) free_until(pages.end);
}

void RemappedRanges::close(RemappedRange& range) noexcept {
    bytes_ -= range.pages().bytes();
    // Peers may keep the object mapped, but its memory is freed now.
    range.punch(0, range.offset_of(range.pages().end) + kPageBytes);
    range.close();
}

void RemappedRanges::revoke(std::uint32_t generation, Pages part) noexcept {
    const Lock lock(*this);
    RemappedRange& range = used(generation);
    // If a device may write, pages stay shared: the program would not see the device's writes.
    if (forks_ > 0 || pinned_bytes() != 0 || has_device_open()) return;  // also if unknown
    range.uses().retire();
    for_each_mapping(part.begin, part.end, [&](const Mapping& mapping, RemappedRange& owner) {
        if (!mapping.shared || &owner != &range) return;
        const Pages mapped{std::max(part.begin, mapping.begin), std::min(part.end, mapping.end)};
        if (range.make_private(mapping, mapped)) range.detach(mapping, mapped, /*free=*/false);
    });
}

void RemappedRanges::enter_runtime() noexcept {
    const Lock lock(*this);
    ++runtimes_;
}

void RemappedRanges::leave_runtime() noexcept {
    const Lock lock(*this);
    if (--runtimes_ > 0) return;
    for (RemappedRange& range : ranges_)
        if (range.is_open()) range.release();
}

// Forks

RemappedRanges::Fork* RemappedRanges::fork_of_this_thread() noexcept {
    const pthread_t self = ::pthread_self();
    for (Fork& fork : pending_)
        if (fork.depth > 0 && ::pthread_equal(fork.thread, self) != 0) return &fork;
    return nullptr;
}

void RemappedRanges::prepare_fork() noexcept {
    while (!try_prepare_fork()) ::usleep(1000);
}

/// Returns false if the caller must try again later: all entries of pending_ are in use, or no
/// socket can be opened and another fork uses the reserve.
bool RemappedRanges::try_prepare_fork() noexcept {
    const Lock lock(*this);
    Fork* const outer = fork_of_this_thread();
    const auto entry = std::ranges::find(pending_, 0, &Fork::depth);
    if (entry == pending_.end() && outer == nullptr) return false;
    ++forks_;
    if (!any_.load()) return true;
    if (outer != nullptr) {
        ++outer->depth;
        return true;
    }
    if (make_idle_ranges_private()) return true;  // the parent need not wait for the child
    entry->uses_reserve =
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, entry->ends.data()) != 0;
    if (entry->uses_reserve && std::ranges::any_of(pending_, [](const Fork& fork) {
            return fork.depth > 0 && fork.uses_reserve;
        })) {
        --forks_;
        return false;
    }
    if (entry->uses_reserve) entry->ends = {reserve_[0].number(), reserve_[1].number()};
    entry->thread = ::pthread_self();
    entry->depth = 1;
    return true;
}

/// Retires idle ranges and marks them in idle_. A range is idle if no call uses it, no child is
/// copying it, no device can write to it, and its mappings have no unusual property.
void RemappedRanges::retire_idle_ranges() noexcept {
    idle_.fill(forks_ == 1 && pinned_bytes() == 0 && !has_device_open());
    const bool listed = for_each_unusual_mapping([&](std::uint64_t begin, std::uint64_t end) {
        for_each_mapping(begin, end, [&](const Mapping&, const RemappedRange& range) {
            idle_[index_of(range)] = false;
        });
    });
    for (RemappedRange& range : ranges_) {
        bool& idle = idle_[index_of(range)];
        idle =
            idle && listed && range.is_open() && range.has_file() && range.uses().retire_unused();
    }
}

/// Returns true if all ranges are private now, so that the child has none to copy.
bool RemappedRanges::make_idle_ranges_private() noexcept {
    constexpr std::uint64_t kEnd = ~std::uint64_t{0};
    retire_idle_ranges();
    for_each_mapping(0, kEnd, [&](const Mapping& mapping, RemappedRange& range) {
        if (mapping.shared && idle_[index_of(range)] &&
            !range.make_private(mapping, {mapping.begin, mapping.end}))
            idle_[index_of(range)] = false;
    });
    if (std::ranges::count(idle_, true) > 0) ::usleep(kLastWritesUs);
    bool all_private = true;
    for_each_mapping(0, kEnd, [&](const Mapping& mapping, RemappedRange& range) {
        all_private = all_private && !mapping.shared;
        if (!mapping.shared)
            range.detach(mapping, {mapping.begin, mapping.end}, idle_[index_of(range)]);
    });
    all_private = all_private && !query_.query_failed();
    made_private_ += static_cast<std::uint64_t>(std::ranges::count(idle_, true));
    close_unmapped_ranges();
    return all_private;
}

void RemappedRanges::await_child() noexcept {
    Fork* fork = nullptr;
    {
        const Lock lock(*this);
        fork = fork_of_this_thread();
        if (fork == nullptr || fork->depth > 1) {
            if (fork != nullptr) --fork->depth;
            // In a child that another handler has forked, enter_child() has set forks_ to 0.
            forks_ = std::max(forks_ - 1, 0);
            return;
        }
        if (!fork->uses_reserve) ::close(std::exchange(fork->ends[1], -1));
    }
    // recv() returns when the child has copied its ranges, runs another program, or has ended. On a
    // reserve socket, of which the parent keeps both ends open, it waits for at most kReserveWait.
    char done = 0;
    while (::recv(fork->ends[0], &done, 1, 0) < 0 && errno == EINTR) {
    }
    const Lock lock(*this);
    if (!fork->uses_reserve) ::close(std::exchange(fork->ends[0], -1));
    fork->depth = 0;
    forks_ = std::max(forks_ - 1, 0);
}

void RemappedRanges::enter_child() noexcept {
    // A thread that held the lock in the parent does not exist here.
    lock_.store(0);
    forks_ = 0;
    runtimes_ = 0;
    ++forked_;
    // A child that can open no file keeps its parent's, which lists nearly the same mappings.
    if (AddressQuery own; own.available()) query_ = std::move(own);
    for_each_mapping(0, ~std::uint64_t{0}, [](const Mapping& mapping, RemappedRange& range) {
        if (mapping.shared) range.copy_in_child(mapping);
    });
    for (RemappedRange& range : ranges_)
        if (range.is_open()) range.leave_to_parent(!query_.query_failed());
    bytes_ = 0;
    const Fork* const own = fork_of_this_thread();
    if (own != nullptr && own->depth == 1) ::send(own->ends[1], "", 1, MSG_NOSIGNAL);
    for (const Fork& fork : pending_)
        if (fork.depth > 0)
            for (const int end : fork.ends) ::close(end);
    pending_ = {};
}

}  // namespace weft::link
