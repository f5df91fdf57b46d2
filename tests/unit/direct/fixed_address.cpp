// SPDX-License-Identifier: BSD-3-Clause
// Goal: a program at a fixed address that takes the addresses of malloc() and free(), like Debian's
// python3, counts as one with the C library's allocator. Method: the program is linked without
// position independence, so the linker gives it its own jump to each of these functions.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdlib>

#include "link/direct/process_facts.hpp"

namespace {

using weft::link::AddressQuery;
using weft::link::is_in_malloc_heap;
using weft::link::is_whole_malloc_block;

const void* start_of_object(const void* address) {
    Dl_info info{};
    return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

bool is_of_malloc(const void* block, std::size_t bytes) {
    AddressQuery query;
    const auto begin = reinterpret_cast<std::uint64_t>(block);
    return is_in_malloc_heap(begin, begin + bytes, query) ||
           is_whole_malloc_block(begin, bytes, query);
}

}  // namespace

int main() {
    void* (*volatile allocate)(std::size_t) = &std::malloc;
    void (*volatile release)(void*) = &std::free;
    void* const symbol = ::dlsym(RTLD_DEFAULT, "malloc");
    if (start_of_object(symbol) != start_of_object(reinterpret_cast<void*>(&start_of_object)))
        return 77;  // the linker made no jump: the test would show nothing
    if (!weft::link::has_library_allocator()) return 1;
    if (!AddressQuery().available()) return 77;

    for (const std::size_t bytes : {std::size_t{1} << 14, std::size_t{1} << 22}) {
        void* const block = allocate(bytes);
        void* aligned = nullptr;
        if (::posix_memalign(&aligned, 64, bytes) != 0) return 2;
        if (!is_of_malloc(block, bytes) || !is_of_malloc(aligned, bytes)) return 3;
        release(block);
        release(aligned);
    }
    // Memory of mmap() is refused, also in the middle and next to a block.
    constexpr std::size_t kBytes = std::size_t{1} << 22;
    void* const mapped =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return 4;
    const auto* const bytes = static_cast<const char*>(mapped);
    return is_of_malloc(bytes, kBytes) || is_of_malloc(bytes + 4096, 65536) ||
                   is_of_malloc(bytes + 64, 65536)
               ? 5
               : 0;
}
