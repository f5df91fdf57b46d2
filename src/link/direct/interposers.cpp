// SPDX-License-Identifier: BSD-3-Clause
// interposers.cpp - madvise(), mremap(), mbind() and pkey_mprotect() of the program, which adopted
// memory must be given back before.
//
// Idea     The dynamic linker binds a program's calls to the first definition that it finds, and a
//          library of ours comes before the C library. Adopted memory is shared memory to the
//          kernel: MADV_DONTNEED would not clear it, mremap() not extend it. So it becomes private
//          memory first; then the call goes on to the next definition, which may be another
//          interposer.
//          mbind() and pkey_mprotect() give memory a property that it would lose.
// Holds    Programs that never adopt memory pay for one load. Who comes next is found when the
//          library is loaded, not at the first call, which an allocator may make that cannot be
//          entered again; calls before that go to the system at once. Calls that do not come
//          through here (system calls made by hand, a library opened after the start) are the
//          reason why adoption asks interposers_in_effect().
// Next     process_events.hpp.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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
using weft::link::tell_all_before_advice;
using weft::link::Told;

using Madvise = int (*)(void*, std::size_t, int);
using Mremap = void* (*)(void*, std::size_t, std::size_t, int, ...);
using Mbind = long (*)(void*, unsigned long, int, const unsigned long*, unsigned long, unsigned);
using PkeyMprotect = int (*)(void*, std::size_t, int, int);

/// The definitions that the program would have got; null before the library's constructor, and of
/// what no other library defines.
struct Next {
    Madvise madvise;
    Mremap mremap;
    Mbind mbind;
    PkeyMprotect pkey_mprotect;
};
constinit Next next{};

template <class Function>
void find(Function& function, const char* name) noexcept {
    function = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

[[gnu::constructor]] void find_next() noexcept {
    find(next.madvise, "madvise");
    find(next.mremap, "mremap");
    find(next.mbind, "mbind");
    find(next.pkey_mprotect, "pkey_mprotect");
}

int go_on_to_madvise(void* address, std::size_t bytes, int advice) noexcept {
    if (next.madvise != nullptr) return next.madvise(address, bytes, advice);
    return static_cast<int>(::syscall(SYS_madvise, address, bytes, advice));
}

constexpr int kGuardInstall = 102;  ///< MADV_GUARD_INSTALL, since Linux 6.13

/// Does the advice clear memory? MADV_REMOVE is refused of private memory, but not of an object's.
bool clears(int advice) noexcept {
    switch (advice) {
        case MADV_DONTNEED:
        case MADV_DONTNEED_LOCKED:
        case MADV_FREE:
        case MADV_REMOVE:
        case kGuardInstall:
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
    bool adopted_once = false;  ///< some was given back: private, but still a mapping of an object
    bool adopted = false;       ///< some could not be given back
    bool others = false;        ///< shared memory, files, or nothing
    int protection = 0;         ///< of the last part
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
        kinds.adopted = kinds.adopted || (object && mapping.shared);
        kinds.others = kinds.others || mapping.shared || (mapping.inode != 0 && !object);
        kinds.protection = mapping.protection();
    }
    return kinds;
}

/// Puts zeros in place of memory of objects. What was given back would else show what its object
/// still has, which a child of a fork may need; what could not be given back all of it. In one step
/// for each mapping, as the kernel would.
void clear_what_was_adopted(std::uint64_t begin, std::uint64_t end) noexcept {
    AddressQuery query;
    Mapping mapping;
    for (std::uint64_t at = begin; at < end; at = mapping.end) {
        if (!query.ask(at, mapping, AddressQuery::Names::yes) || mapping.begin >= end) return;
        if (!weft::link::names_object(mapping.name)) continue;
        const std::uint64_t from = std::max(at, mapping.begin);
        const std::uint64_t bytes = std::min(end, mapping.end) - from;
        auto* const place = reinterpret_cast<void*>(from);
        if (::mmap(place, bytes, mapping.protection(), MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                   0) == MAP_FAILED &&
            mapping.writable)
            std::memset(place, 0, bytes);  // the process may have no more mappings
    }
}

/// Makes memory that was given back as if it had never been anything but anonymous, in one piece:
/// mremap() moves and extends only that, and the object ends where the range did.
void make_anonymous(std::uint64_t begin, std::uint64_t end, const Kinds& kinds) noexcept {
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

/// madvise() of memory of objects, private or not, with advice that clears it.
int clear_as_asked(void* address, std::size_t bytes, int advice) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const std::uint64_t end = end_of_pages(begin, bytes);
    const Kinds kinds = kinds_between(begin, end);
    if (advice == kGuardInstall) {
        // For private memory at first, and refused without an effect before that.
        make_anonymous(begin, end, kinds);
        return go_on_to_madvise(address, bytes, advice);
    }
    if (advice == MADV_REMOVE && kinds.adopted) {
        errno = EINVAL;  // as of private memory
        return -1;
    }
    // Where an object is mapped the kernel does not know MADV_FREE. It may take effect at once.
    const int rc = go_on_to_madvise(address, bytes, advice == MADV_FREE ? MADV_DONTNEED : advice);
    if (rc == 0) clear_what_was_adopted(begin, end);
    return rc;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int madvise(void* address, std::size_t bytes, int advice) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const std::uint64_t end = end_of_pages(begin, bytes);
    const bool stays = stays_with_mapping(advice);
    if (stays) weft::link::note_advised(begin, end);
    if ((!stays && !clears(advice)) || tell_all_before_advice(begin, end) == Told::none || stays)
        return go_on_to_madvise(address, bytes, advice);
    const Kinds kinds = kinds_between(begin, end);
    if (!kinds.adopted_once && !kinds.adopted) return go_on_to_madvise(address, bytes, advice);
    return clear_as_asked(address, bytes, advice);
}

[[gnu::visibility("default")]] void* mremap(void* address, std::size_t old_bytes,
                                            std::size_t new_bytes, int flags, ...) noexcept {
    std::va_list arguments;
    va_start(arguments, flags);
    void* const fixed = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : nullptr;
    va_end(arguments);
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const std::uint64_t end = end_of_pages(begin, std::max(old_bytes, std::size_t{1}));
    if (tell_all_before_advice(begin, end) != Told::none) {
        const Kinds kinds = kinds_between(begin, end);
        if (kinds.adopted && new_bytes > old_bytes) {
            errno = ENOMEM;  // the object ends where the range does
            return MAP_FAILED;
        }
        make_anonymous(begin, end, kinds);
    }
    if (next.mremap != nullptr) return next.mremap(address, old_bytes, new_bytes, flags, fixed);
    return reinterpret_cast<void*>(
        ::syscall(SYS_mremap, address, old_bytes, new_bytes, flags, fixed));
}

// Of libnuma, which has no header here. Adoption asks the kernel where memory has to be.
[[gnu::visibility("default")]] long mbind(void* address, unsigned long bytes, int mode,
                                          const unsigned long* nodes, unsigned long nodes_max,
                                          unsigned flags) noexcept;
long mbind(void* address, unsigned long bytes, int mode, const unsigned long* nodes,
           unsigned long nodes_max, unsigned flags) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    static_cast<void>(tell_all_before_advice(begin, end_of_pages(begin, bytes)));
    if (next.mbind != nullptr) return next.mbind(address, bytes, mode, nodes, nodes_max, flags);
    return ::syscall(SYS_mbind, address, bytes, mode, nodes, nodes_max, flags);
}

[[gnu::visibility("default")]] int pkey_mprotect(void* address, std::size_t bytes, int protection,
                                                 int key) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const std::uint64_t end = end_of_pages(begin, bytes);
    if (key > 0) weft::link::note_advised(begin, end);
    static_cast<void>(tell_all_before_advice(begin, end));
    if (next.pkey_mprotect != nullptr) return next.pkey_mprotect(address, bytes, protection, key);
    return static_cast<int>(::syscall(SYS_pkey_mprotect, address, bytes, protection, key));
}

}  // extern "C"

namespace weft::link {

bool interposers_in_effect() noexcept {
    return ::dlsym(RTLD_DEFAULT, "madvise") == reinterpret_cast<void*>(&::madvise) &&
           ::dlsym(RTLD_DEFAULT, "mremap") == reinterpret_cast<void*>(&::mremap);
}

}  // namespace weft::link
