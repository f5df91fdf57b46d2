// SPDX-License-Identifier: BSD-3-Clause
// interposers.cpp - madvise() and mremap() of the program, which adopted memory must be given back
// before.
//
// Idea     The dynamic linker binds a program's calls to the first definition that it finds, and a
//          library of ours comes before the C library. Adopted memory is shared memory to the
//          kernel: MADV_DONTNEED would not clear it, mremap() not extend it. So it becomes private
//          memory first; then the call goes on to the next definition, which may be another
//          interposer.
// Holds    Programs that never adopt memory pay for one load. Calls that do not come through here
//          (system calls made by hand, a library opened after the start) are the reason why
//          adoption asks interposers_in_effect().
// Next     process_events.hpp.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstring>

#include "link/direct/address_query.hpp"
#include "link/direct/object_name.hpp"
#include "link/direct/process_events.hpp"

namespace {

using weft::link::AddressQuery;
using weft::link::kPageBytes;
using weft::link::Mapping;

using Madvise = int (*)(void*, std::size_t, int);
using Mremap = void* (*)(void*, std::size_t, std::size_t, int, ...);

/// The definition that the program would have got.
template <class Function>
Function next(const char* name) noexcept {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

/// Does the advice clear memory? MADV_REMOVE is refused of private memory, but not of an object's.
bool clears(int advice) noexcept {
    switch (advice) {
        case MADV_DONTNEED:
        case MADV_DONTNEED_LOCKED:
        case MADV_FREE:
        case MADV_REMOVE:
            return true;
        default:
            return false;
    }
}

/// Does the memory keep the advice, as a property of its mapping?
bool stays_with_mapping(int advice) noexcept {
    switch (advice) {
        case MADV_DONTFORK:
        case MADV_WIPEONFORK:
        case MADV_MERGEABLE:
        case MADV_DONTDUMP:
            return true;
        default:
            return false;
    }
}

/// Where the last page begun by so many bytes ends.
std::uint64_t end_of_pages(std::uint64_t begin, std::size_t bytes) noexcept {
    return (begin + bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

/// What kinds of memory lie between two addresses.
struct Kinds {
    bool adopted_once =
        false;            ///< some was given back: private memory, but still a mapping of an object
    bool others = false;  ///< shared memory, files, or nothing
    int protection = 0;   ///< of the last part
};
Kinds kinds_between(std::uint64_t begin, std::uint64_t end) noexcept {
    AddressQuery query;
    Mapping mapping;
    Kinds kinds;
    for (std::uint64_t at = begin; at < end; at = mapping.end) {
        if (!query.ask(at, mapping, AddressQuery::Names::yes) || mapping.begin > at) {
            kinds.others = true;
            break;
        }
        const bool object = weft::link::names_object(mapping.name);
        kinds.adopted_once = kinds.adopted_once || (object && !mapping.shared);
        kinds.others = kinds.others || mapping.shared || (mapping.inode != 0 && !object);
        kinds.protection = mapping.protection();
    }
    return kinds;
}

/// Puts zeros in place of memory that was given back, which would else show what its object still
/// has: after a fork a child may need that. In one step for each mapping, as the kernel would.
void clear_what_was_adopted(std::uint64_t begin, std::uint64_t end) noexcept {
    AddressQuery query;
    Mapping mapping;
    for (std::uint64_t at = begin; at < end; at = mapping.end) {
        if (!query.ask(at, mapping, AddressQuery::Names::yes) || mapping.begin >= end) return;
        if (mapping.shared || !weft::link::names_object(mapping.name)) continue;
        const std::uint64_t from = std::max(at, mapping.begin);
        ::mmap(reinterpret_cast<void*>(from), std::min(end, mapping.end) - from,
               mapping.protection(), MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
}

/// Makes memory that was given back as if it had never been anything but anonymous, in one piece:
/// mremap() moves and extends only that, and the object ends where the range did.
void make_anonymous(std::uint64_t begin, std::uint64_t end) noexcept {
    const Kinds kinds = kinds_between(begin, end);
    constexpr int kProtection = PROT_READ | PROT_WRITE;
    if (!kinds.adopted_once || kinds.others || kinds.protection != kProtection) return;
    const std::size_t bytes = end - begin;
    void* const copy = ::mmap(nullptr, bytes, kProtection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) return;
    // No thread may use memory while another one moves it.
    std::memcpy(copy, reinterpret_cast<const void*>(begin), bytes);
    if (::syscall(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, begin) == -1)
        ::munmap(copy, bytes);
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int madvise(void* address, std::size_t bytes, int advice) noexcept {
    static const auto kNext = next<Madvise>("madvise");
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const std::uint64_t end = end_of_pages(begin, bytes);
    const bool stays = stays_with_mapping(advice);
    if (stays) weft::link::note_advised(begin, end);
    if ((!stays && !clears(advice)) || !weft::link::tell_all_before_advice(begin, end) || stays ||
        !kinds_between(begin, end).adopted_once)
        return kNext(address, bytes, advice);
    // Where an object is mapped the kernel does not know MADV_FREE. It may take effect at once.
    const int rc = kNext(address, bytes, advice == MADV_FREE ? MADV_DONTNEED : advice);
    if (rc == 0) clear_what_was_adopted(begin, end);
    return rc;
}

[[gnu::visibility("default")]] void* mremap(void* address, std::size_t old_bytes,
                                            std::size_t new_bytes, int flags, ...) noexcept {
    std::va_list arguments;
    va_start(arguments, flags);
    void* const fixed = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : nullptr;
    va_end(arguments);
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const std::uint64_t end = end_of_pages(begin, std::max(old_bytes, std::size_t{1}));
    if (weft::link::tell_all_before_advice(begin, end)) make_anonymous(begin, end);
    static const auto kNext = next<Mremap>("mremap");
    return kNext(address, old_bytes, new_bytes, flags, fixed);
}

}  // extern "C"

namespace weft::link {

bool interposers_in_effect() noexcept {
    return ::dlsym(RTLD_DEFAULT, "madvise") == reinterpret_cast<void*>(&::madvise) &&
           ::dlsym(RTLD_DEFAULT, "mremap") == reinterpret_cast<void*>(&::mremap);
}

}  // namespace weft::link
