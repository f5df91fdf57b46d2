// SPDX-License-Identifier: BSD-3-Clause
#include "faces/shmem/data_segment.hpp"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::shmem {

namespace {

/// Callback of dl_iterate_phdr(): appends the pages of the program's variables to `out`. Returns 1,
/// which ends the iteration: the program is the first object.
int read_program(dl_phdr_info* info, std::size_t, void* out) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    std::uintptr_t relro_begin = 0;  // RELRO: data that the loader makes read-only after relocation
    std::uintptr_t relro_end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        if (header.p_type != PT_GNU_RELRO) continue;
        relro_begin = info->dlpi_addr + header.p_vaddr;
        relro_end = relro_begin + header.p_memsz;
    }
    auto& pages = *static_cast<std::vector<DataPages>*>(out);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
        std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
        const std::uintptr_t end = begin + header.p_memsz;
        // The loader protects whole pages only: a last page that also has variables stays writable.
        if (begin / page == relro_begin / page && relro_end > begin)
            begin = std::max(begin, relro_end) / page * page;
        else
            begin = begin / page * page;
        const std::uintptr_t whole = (end + page - 1) / page * page;
        if (whole > begin) pages.push_back({begin, whole - begin, end - begin});
    }
    return 1;
}

}  // namespace

std::vector<DataPages> find_data_pages() {
    std::vector<DataPages> pages;
    dl_iterate_phdr(read_program, &pages);
    return pages;
}

int share_pages(const DataPages& pages, std::byte* heap) {
    auto* const at = reinterpret_cast<void*>(pages.begin);
    // The heap is new and reads as zeros. Pages of zeros are not written, so that unused parts of
    // large variables take no memory.
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::vector<std::byte> zeros(page);
    for (std::size_t done = 0; done < pages.bytes; done += page) {
        const auto* const from = static_cast<const std::byte*>(at) + done;
        if (std::memcmp(from, zeros.data(), page) != 0) std::memcpy(heap + done, from, page);
    }
    // With an old size of 0, mremap() maps the pages of a shared mapping a second time.
    void* const mapped = mremap(heap, 0, pages.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at);
    return mapped == at ? 0 : errno;
}

}  // namespace weft::shmem
