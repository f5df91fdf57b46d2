// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/adopted_range.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/copy.hpp"
#include "base/processor_time.hpp"
#include "link/direct/map_aligned.hpp"
#include "link/direct/object_name.hpp"
#include "link/shared/os_handles.hpp"

namespace weft::link {
namespace {

constexpr int kCollapse = 25;  ///< MADV_COLLAPSE, since Linux 6.1

/// Pages are given back in pieces, so that little memory is taken twice meanwhile.
constexpr std::uint64_t kPieceBytes = std::uint64_t{64} << 20;

std::byte* pointer(std::uint64_t address) noexcept {
    return reinterpret_cast<std::byte*>(address);
}

std::uint64_t address_of(const std::byte* at) noexcept {
    return reinterpret_cast<std::uintptr_t>(at);
}

/// Past the function of that name, which programs share with the interposers.
bool advise(std::uint64_t address, std::uint64_t bytes, int advice) noexcept {
    long rc = 0;
    do rc = ::syscall(SYS_madvise, address, bytes, advice);
    while (rc != 0 && errno == EINTR);
    return rc == 0;
}

bool map_at(std::uint64_t address, std::uint64_t bytes, int protection, int flags, int file,
            std::uint64_t offset) noexcept {
    return ::mmap(pointer(address), bytes, protection, flags | MAP_FIXED, file,
                  static_cast<off_t>(offset)) != MAP_FAILED;
}

}  // namespace

AdoptedRange::AdoptedRange(Pages pages, std::uint32_t generation) noexcept
    : pages_(pages),
      generation_(generation),
      first_(kPageBytes +
             (small_in_large_pages(pages) > 0 ? (pages.begin - kPageBytes) % kLargePageBytes : 0)) {
}

std::uint64_t AdoptedRange::small_in_large_pages(Pages pages) noexcept {
    const std::uint64_t first = (pages.begin + kLargePageBytes - 1) / kLargePageBytes;
    const std::uint64_t large = std::max(first, pages.end / kLargePageBytes) - first;
    return large * (kLargePageBytes / kPageBytes);
}

std::optional<AdoptedRange> AdoptedRange::create(Pages pages, std::uint32_t generation,
                                                 LargePages& large, AddressQuery& query) noexcept {
    AdoptedRange range(pages, generation);
    if (!range.open_object()) return std::nullopt;
    // In pieces of a large page each, so that little memory is taken twice meanwhile.
    for (Pages piece{pages.begin, 0}; piece.begin < pages.end; piece.begin = piece.end) {
        piece.end = std::min(pages.end, (piece.begin / kLargePageBytes + 1) * kLargePageBytes);
        if (piece.bytes() == kLargePageBytes && large.worth_trying()) range.enlarge(piece, large);
        if (range.fill(piece) && range.replace(piece, query)) continue;
        range.give_back(query);
        return std::nullopt;
    }
    // Not the hole before the first edge. Read faults map many shared pages at once, and writable.
    advise(address_of(range.window_.start()) + range.first_ - kPageBytes,
           pages.bytes() + 2 * kPageBytes, MADV_POPULATE_READ);
    return range;
}

/// Makes the object, empty, and its window.
bool AdoptedRange::open_object() noexcept {
    object_ = KeptFile(open_memory_object(ObjectName(generation_).text));
    const std::uint64_t bytes = first_ + pages_.bytes() + kPageBytes;
    if (object_.number() < 0 || ::ftruncate(object_.number(), static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(object_.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
        return false;
    window_ = map_aligned(object_.number(), bytes);
    if (window_.start() == nullptr) return false;
    advise(address_of(window_.start()), bytes, MADV_DONTDUMP);  // the range itself is dumped
    return true;
}

/// Has the kernel make one large page of the object for these; it needs a page that is there. Where
/// it cannot, they stay small.
void AdoptedRange::enlarge(Pages pages, LargePages& large) noexcept {
    const auto begin = base::processor_time();
    const bool made =
        fill({pages.end - kPageBytes, pages.end}) &&
        advise(address_of(window_.start()) + offset_of(pages.begin), pages.bytes(), kCollapse);
    large.tried(made, base::processor_time() - begin);
}

/// Copies pages to the object. Through the descriptor: the kernel need not clear what is
/// overwritten.
bool AdoptedRange::fill(Pages pages) noexcept {
    for (std::uint64_t at = pages.begin; at < pages.end;) {
        const ssize_t written = ::pwrite(object_.number(), pointer(at), pages.end - at,
                                         static_cast<off_t>(offset_of(at)));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        at += static_cast<std::uint64_t>(written);
    }
    return true;
}

bool AdoptedRange::replace(Pages pages, AddressQuery& query) noexcept {
    constexpr int kProtection = PROT_READ | PROT_WRITE;
    if (map_at(pages.begin, pages.bytes(), kProtection, MAP_SHARED | MAP_POPULATE, object_.number(),
               offset_of(pages.begin)))
        return true;
    // Kernels before 6.12 unmap what was there before they fail.
    Mapping mapping;
    if (query.ask(pages.begin, mapping) && mapping.begin <= pages.begin) return false;
    if (map_at(pages.begin, pages.bytes(), kProtection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        std::memcpy(pointer(pages.begin), window_.start() + offset_of(pages.begin), pages.bytes());
    return false;
}

bool AdoptedRange::is_ours(const Mapping& mapping) const noexcept {
    return mapping.shared && mapping.inode == object_.inode() &&
           mapping.device == object_.device() &&
           mapping.begin - mapping.offset == pages_.begin - first_;
}

bool AdoptedRange::intact(AddressQuery& query, base::Access access) const noexcept {
    Mapping mapping;
    return !private_ && query.ask(pages_.begin, mapping) && is_ours(mapping) &&
           mapping.begin <= pages_.begin && mapping.end >= pages_.end && mapping.readable &&
           (mapping.writable || access == base::Access::read);
}

void AdoptedRange::expose(base::Exposure& exposure) noexcept {
    const std::uint64_t begin = address_of(exposure.data);
    const std::uint64_t end = begin + exposure.bytes;
    exposure.reach.offset = offset_of(begin);
    exposure.alias = window_.start() + exposure.reach.offset;
    exposure.reach.address = address_of(exposure.alias);
    exposure.reach.object_bytes = window_.bytes();
    exposure.reach.object = static_cast<std::uint32_t>(object_.number());
    exposure.reach.generation = generation_;
    exposure.reach.way = base::Way::adopted;
    if (begin < pages_.begin) std::memcpy(exposure.alias, exposure.data, pages_.begin - begin);
    if (end > pages_.end)
        std::memcpy(exposure.alias + (pages_.end - begin), pointer(pages_.end), end - pages_.end);
    ++exposures_;
}

void AdoptedRange::conceal(const base::Exposure& exposure) noexcept {
    --exposures_;
    if (exposure.access == base::Access::read) return;
    const std::uint64_t begin = address_of(exposure.data);
    const std::uint64_t end = begin + exposure.bytes;
    if (private_) {
        base::copy_bytes(exposure.data, exposure.alias, exposure.bytes);
        return;
    }
    if (begin < pages_.begin) std::memcpy(exposure.data, exposure.alias, pages_.begin - begin);
    if (end > pages_.end)
        std::memcpy(pointer(pages_.end), exposure.alias + (pages_.end - begin), end - pages_.end);
}

template <class Body>
void AdoptedRange::for_each_part(AddressQuery& query, Body body) noexcept {
    Mapping mapping;
    for (std::uint64_t at = pages_.begin; at < pages_.end; at = mapping.end) {
        if (!query.ask(at, mapping) || mapping.begin >= pages_.end) return;
        const std::uint64_t begin = std::max(at, mapping.begin);
        const std::uint64_t end = std::min(pages_.end, mapping.end);
        if (is_ours(mapping)) body(begin, end - begin, mapping.protection());
    }
}

/// Part of the pages, which is the object's still, becomes private memory with the same contents.
bool AdoptedRange::unshare(std::uint64_t at, std::uint64_t bytes, int protection) noexcept {
    if (object_.intact())
        return map_at(at, bytes, protection, MAP_PRIVATE, object_.number(), offset_of(at));
    // The program has closed the descriptor. What other threads write during this copy is lost;
    // without it all that a child of the process writes would be seen here.
    void* const copy =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) return false;
    std::memcpy(copy, window_.start() + offset_of(at), bytes);
    ::mprotect(copy, bytes, protection);
    return ::syscall(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != -1;
}

void AdoptedRange::make_private(AddressQuery& query) noexcept {
    if (private_) return;
    for_each_part(query, [&](std::uint64_t at, std::uint64_t bytes, int protection) {
        // A limit of private memory may stand against it: a child rather gets none than a share.
        if (!unshare(at, bytes, protection)) advise(at, bytes, MADV_DONTFORK);
    });
    if (query.unanswered()) withhold_from_child();
    private_ = true;
}

void AdoptedRange::withhold_from_child() noexcept {
    advise(pages_.begin, pages_.bytes(), MADV_DONTFORK);
}

bool AdoptedRange::mapped_elsewhere(AddressQuery& query) const noexcept {
    Mapping mapping;
    const std::uint64_t window = address_of(window_.start());
    for (std::uint64_t at = 0; query.ask(at, mapping); at = mapping.end) {
        const bool is_known =
            mapping.begin == window || (mapping.begin < pages_.end && mapping.end > pages_.begin);
        if (mapping.inode == object_.inode() && mapping.device == object_.device() && !is_known)
            return true;
    }
    return query.unanswered();
}

bool AdoptedRange::still_ours(AddressQuery& query, std::uint64_t at) const noexcept {
    Mapping mapping;
    return query.ask(at, mapping) && mapping.begin <= at && is_ours(mapping);
}

/// Frees memory of the object that no one needs any more, also where mates have it mapped.
void AdoptedRange::punch(std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (object_.intact())
        ::fallocate(object_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

void AdoptedRange::give_back(AddressQuery& query) noexcept {
    if (private_) return;
    std::uint64_t found_bytes = 0;
    std::uint64_t copied_bytes = 0;
    for_each_part(query, [&](std::uint64_t begin, std::uint64_t bytes, int protection) {
        found_bytes += bytes;
        for (std::uint64_t at = begin; at < begin + bytes; at += kPieceBytes) {
            const std::uint64_t piece = std::min(kPieceBytes, begin + bytes - at);
            // A piece takes long enough for another thread to unmap the next one.
            if (at != begin && !still_ours(query, at)) return;
            // Pages that the process could not copy stay those of the object.
            if (!unshare(at, piece, protection) || !advise(at, piece, MADV_POPULATE_WRITE))
                continue;
            punch(offset_of(at), piece);
            copied_bytes += piece;
        }
    });
    private_ = true;
    // The edges, and pages that went away. Memory that was moved is not the range's any more, but
    // may still be in use.
    if (copied_bytes == found_bytes && (found_bytes == pages_.bytes() || !mapped_elsewhere(query)))
        punch(0, window_.bytes());
}

}  // namespace weft::link
