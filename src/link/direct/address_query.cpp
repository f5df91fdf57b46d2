// SPDX-License-Identifier: BSD-3-Clause
#include "link/direct/address_query.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>

namespace weft::link {
namespace {

/// struct procmap_query of linux/fs.h, which headers of older systems lack.
struct ProcmapQuery {
    std::uint64_t size;
    std::uint64_t query_flags;
    std::uint64_t query_addr;
    std::uint64_t vma_start;
    std::uint64_t vma_end;
    std::uint64_t vma_flags;
    std::uint64_t vma_page_size;
    std::uint64_t vma_offset;
    std::uint64_t inode;
    std::uint32_t dev_major;
    std::uint32_t dev_minor;
    std::uint32_t vma_name_size;
    std::uint32_t build_id_size;
    std::uint64_t vma_name_addr;
    std::uint64_t build_id_addr;
};
constexpr unsigned long kProcmapQuery = _IOWR('f', 17, ProcmapQuery);
// PROCMAP_QUERY_* flags of linux/fs.h.
constexpr std::uint64_t kReadable = 1;
constexpr std::uint64_t kWritable = 2;
constexpr std::uint64_t kExecutable = 4;
constexpr std::uint64_t kShared = 8;
constexpr std::uint64_t kCoveringOrNext = 16;

/// Equal to PATH_MAX, because the query fails if the name does not fit.
constexpr std::size_t kNameBytesMax = 4096;

Mapping mapping_of(const ProcmapQuery& answer) {
    return {.begin = answer.vma_start,
            .end = answer.vma_end,
            .page_bytes = answer.vma_page_size,
            .offset = answer.vma_offset,
            .inode = answer.inode,
            .device = makedev(answer.dev_major, answer.dev_minor),
            .readable = (answer.vma_flags & kReadable) != 0,
            .writable = (answer.vma_flags & kWritable) != 0,
            .executable = (answer.vma_flags & kExecutable) != 0,
            .shared = (answer.vma_flags & kShared) != 0};
}

}  // namespace

int Mapping::protection() const noexcept {
    return (readable ? PROT_READ : 0) | (writable ? PROT_WRITE : 0) | (executable ? PROT_EXEC : 0);
}

AddressQuery::AddressQuery() noexcept : available_(false) {
    Mapping mapping;
    available_ = open() && find(reinterpret_cast<std::uintptr_t>(&mapping), mapping);
}

bool AddressQuery::open() noexcept {
    maps_ = KeptFile(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
    return maps_.number() >= 0;
}

bool AddressQuery::find(std::uint64_t address, Mapping& mapping, Names names) noexcept {
    char name[kNameBytesMax];
    query_failed_ = false;
    for (int attempt = 0; attempt < 2; ++attempt) {
        ProcmapQuery query{};
        query.size = sizeof query;
        query.query_flags = kCoveringOrNext;
        query.query_addr = address;
        if (names == Names::yes) {
            query.vma_name_size = sizeof name;
            query.vma_name_addr = reinterpret_cast<std::uintptr_t>(name);
        }
        if (::ioctl(maps_.number(), kProcmapQuery, &query) == 0) {
            mapping = mapping_of(query);
            const std::size_t length =
                std::min<std::size_t>(query.vma_name_size, sizeof mapping.name - 1);
            std::copy_n(name, length, mapping.name);
            return true;
        }
        if (errno == ENOENT) return false;
        // The program may have closed the descriptor and reused its number.
        if (!open()) break;
    }
    query_failed_ = true;
    return false;
}

}  // namespace weft::link
