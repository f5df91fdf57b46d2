// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/remapped_range.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"

namespace weft::link {
namespace {

constexpr int kCollapse = 25;  ///< MADV_COLLAPSE, since Linux 6.1

std::byte* pointer_to(std::uint64_t address) noexcept {
    return reinterpret_cast<std::byte*>(address);
}

std::uint64_t address_of(const std::byte* at) noexcept {
    return reinterpret_cast<std::uintptr_t>(at);
}

/// madvise() as a system call, because this library replaces the function (interposers.cpp).
bool advise(std::uint64_t address, std::uint64_t bytes, int advice) noexcept {
    long rc = 0;
    do rc = ::syscall(SYS_madvise, address, bytes, advice);
    while (rc != 0 && errno == EINTR);
    return rc == 0;
}

bool map_at(std::uint64_t address, std::uint64_t bytes, int protection, int flags, int file,
            std::uint64_t offset) noexcept {
    return ::mmap(pointer_to(address), bytes, protection, flags | MAP_FIXED, file,
                  static_cast<off_t>(offset)) != MAP_FAILED;
}

}  // namespace

std::uint64_t RemappedRange::Pages::small_in_large() const noexcept {
    const std::uint64_t first = (begin + kLargePageBytes - 1) / kLargePageBytes;
    const std::uint64_t large = std::max(first, end / kLargePageBytes) - first;
    return large * (kLargePageBytes / kPageBytes);
}

bool RemappedRange::intact(AddressQuery& query, base::Access access) const noexcept {
    Mapping mapping;
    return query.find(pages_.begin, mapping) && mapping.shared && owns(mapping) &&
           mapping.begin <= pages_.begin && mapping.end >= pages_.end &&
           mapping.offset + (pages_.begin - mapping.begin) == pages_offset_ && mapping.readable &&
           (mapping.writable || access == base::Access::read);
}

void RemappedRange::expose(base::Exposure& exposure) noexcept {
    exposure.reach.offset = offset_of(address_of(exposure.data));
    exposure.alias = window_.start() + exposure.reach.offset;
    exposure.reach.address = address_of(exposure.alias);
    exposure.reach.object_bytes = window_.bytes();
    exposure.reach.object = static_cast<std::uint32_t>(object_.number());
    exposure.reach.generation = generation_;
    exposure.reach.method = base::AccessMethod::remapped;
    copy_edges(exposure.alias, exposure.data, exposure);
}

void RemappedRange::unexpose(const base::Exposure& exposure) noexcept {
    if (exposure.access != base::Access::read) copy_edges(exposure.data, exposure.alias, exposure);
}

/// Copies the parts of a buffer outside the pages between two copies of the buffer.
void RemappedRange::copy_edges(std::byte* to, const std::byte* from,
                               const base::Exposure& exposure) const noexcept {
    const std::uint64_t begin = address_of(exposure.data);
    const std::uint64_t end = begin + exposure.bytes;
    const std::uint64_t last = pages_.end - begin;  // offset of the second part
    if (begin < pages_.begin) std::memcpy(to, from, pages_.begin - begin);
    if (end > pages_.end) std::memcpy(to + last, from + last, end - pages_.end);
}

bool RemappedRange::open(Pages pages, std::uint32_t generation) noexcept {
    const std::uint64_t first_edge = pages.begin - kPageBytes;
    pages_ = pages;
    generation_ = generation;
    backs_private_pages_ = false;
    pages_offset_ = kPageBytes;  // with room for a large page: equal to the address modulo 2 MiB
    if (pages.small_in_large() > 0) pages_offset_ += first_edge % kLargePageBytes;
    const std::uint64_t bytes = pages_offset_ + pages.bytes() + kPageBytes;
    object_ = KeptFile(open_memory_object(ObjectName(generation).text));
    if (object_.number() >= 0 && ::ftruncate(object_.number(), static_cast<off_t>(bytes)) == 0 &&
        ::fcntl(object_.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        window_ = map_object(object_.number(), bytes);
    if (window_.start() != nullptr) return true;
    close();
    return false;
}

/// Asks the kernel for one large page of the object. The kernel needs one existing small page in
/// it, so one is filled first. On failure the pages stay small.
void RemappedRange::enlarge(Pages pages, LargePages& large) noexcept {
    const auto begin = base::thread_cpu_time();
    const bool made =
        fill({pages.end - kPageBytes, pages.end}) &&
        advise(address_of(window_.start()) + offset_of(pages.begin), pages.bytes(), kCollapse);
    large.tried(made, base::thread_cpu_time() - begin);
}

/// Copies pages to the object. Uses pwrite(), so that the kernel need not clear them first.
bool RemappedRange::fill(Pages pages) noexcept {
    for (std::uint64_t at = pages.begin; at < pages.end;) {
        const ssize_t written = ::pwrite(object_.number(), pointer_to(at), pages.end - at,
                                         static_cast<off_t>(offset_of(at)));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        at += static_cast<std::uint64_t>(written);
    }
    return true;
}

bool RemappedRange::copy_piece(Pages piece, LargePages& large) noexcept {
    if (piece.bytes() == kLargePageBytes && large.worth_trying()) enlarge(piece, large);
    return fill(piece);
}

bool RemappedRange::replace(Pages part) noexcept {
    constexpr int kProtection = PROT_READ | PROT_WRITE;
    const auto map = [&](int flags, int file, std::uint64_t offset) {
        return map_at(part.begin, part.bytes(), kProtection, flags, file, offset);
    };
    if (map(MAP_SHARED | MAP_POPULATE, object_.number(), offset_of(part.begin))) return true;
    // A kernel before 6.12 may have unmapped the old pages before mmap() failed. Restore them.
    if (map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0))
        std::memcpy(pointer_to(part.begin), window_.start() + offset_of(part.begin), part.bytes());
    return false;
}

void RemappedRange::publish() noexcept {
    // Populating for reading suffices: a read fault maps several shared pages, all writable.
    advise(address_of(window_.start()) + pages_offset_ - kPageBytes,
           pages_.bytes() + 2 * kPageBytes, MADV_POPULATE_READ);
    uses_.permit(generation_);
}

void RemappedRange::release() noexcept {
    uses_.retire();
    window_ = AddressRange();
    object_.close();
}

void RemappedRange::close() noexcept {
    window_ = AddressRange();
    object_ = KeptFile();
    generation_ = 0;
}

bool RemappedRange::owns(const Mapping& mapping) const noexcept {
    // All windows, also of other ranks in this process, begin at offset 0, before pages_offset_.
    return mapping.inode == object_.inode() && mapping.device == object_.device() &&
           mapping.offset >= pages_offset_;
}

bool RemappedRange::make_private(const Mapping& mapping, Pages part) noexcept {
    return object_.intact() &&
           map_at(part.begin, part.bytes(), mapping.protection(), MAP_PRIVATE, object_.number(),
                  mapping.offset + (part.begin - mapping.begin));
}

void RemappedRange::detach(const Mapping& mapping, Pages part, bool free) noexcept {
    for (std::uint64_t at = part.begin; at < part.end; at += kLargePageBytes) {
        const std::uint64_t bytes = std::min(kLargePageBytes, part.end - at);
        const bool copied = advise(at, bytes, MADV_POPULATE_WRITE);
        if (!copied) backs_private_pages_ = true;  // no memory, or a read-only mapping
        if (copied && free) punch(mapping.offset + (at - mapping.begin), bytes);
    }
}

bool RemappedRange::punch(std::uint64_t offset, std::uint64_t bytes) noexcept {
    return object_.intact() &&
           ::fallocate(object_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
}

void RemappedRange::copy_in_child(const Mapping& mapping) noexcept {
    std::byte* const at = pointer_to(mapping.begin);
    const std::uint64_t bytes = mapping.end - mapping.begin;
    void* const copy =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy != MAP_FAILED && ::mprotect(at, bytes, PROT_READ) == 0) {  // may be PROT_NONE
        std::memcpy(copy, at, bytes);
        ::mprotect(copy, bytes, mapping.protection());
        if (::syscall(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != -1)
            return;
    }
    if (copy != MAP_FAILED) ::munmap(copy, bytes);
    // The child loses pages that it cannot copy: it must not share its parent's.
    ::munmap(at, bytes);
}

void RemappedRange::leave_to_parent(bool copied) noexcept {
    if (!copied) ::munmap(pointer_to(pages_.begin), pages_.bytes());
    uses_.retire();
    uses_.forget();
    close();
}

}  // namespace weft::link
