// SPDX-License-Identifier: BSD-3-Clause
// memory.cpp - the symmetric heap: all PEs allocate and free together.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "faces/shmem/job.hpp"

namespace shmem = weft::shmem;
using shmem::job;

namespace {

constexpr std::size_t kLineBytes = 64;  ///< a cache line: the smallest alignment of objects

/// Returns the sizes of all objects in bytes, by address.
std::unordered_map<void*, std::size_t>& sizes() {
    static auto* const held = new std::unordered_map<void*, std::size_t>;  // outlives exit handlers
    return *held;
}

/// Allocates whole words of 8 bytes, because waits.cpp reads the word around an element. Returns
/// nullptr for size 0, or after printing why weft has refused the size.
void* allocate(const char* routine, std::size_t size, std::size_t alignment = kLineBytes) {
    shmem::require_job(routine);
    if (size == 0) return nullptr;
    // OpenSHMEM requires a barrier here: a quiet, and weft_alloc_aligned(), which returns when all
    // PEs have entered it.
    shmem::check(routine, weft_quiet(job.world));
    void* memory = nullptr;
    const std::size_t whole = (size + 7) / 8 * 8;
    // If rounding up overflows, `size` exceeds any heap, and weft refuses it.
    const weft_status status = weft_alloc_aligned(job.world, std::max(alignment, kLineBytes),
                                                  whole < size ? size : whole, &memory);
    if (status == WEFT_ERR_MEMORY) {
        if (job.rank == 0)
            shmem::report(routine, "size: the symmetric heap has no room for " +
                                       std::to_string(size) + " bytes; " + shmem::heap_setting());
        return nullptr;
    }
    if (status == WEFT_ERR_ARGUMENT) {
        shmem::report(routine, status);
        return nullptr;
    }
    shmem::check(routine, status);
    const auto at = reinterpret_cast<std::uintptr_t>(memory);
    job.heap_begin = std::min(job.heap_begin.load(), at);
    job.heap_end = std::max(job.heap_end.load(), at + whole);
    sizes()[memory] = size;
    return memory;
}

}  // namespace

SHMEM_ROUTINE(void*, malloc, (size_t size)) {
    return allocate("malloc", size);
}

SHMEM_ROUTINE(void*, malloc_with_hints, (size_t size, long)) {
    return allocate("malloc_with_hints", size);
}

SHMEM_ROUTINE(void*, align, (size_t alignment, size_t size)) {
    if (!std::has_single_bit(alignment)) {
        shmem::report("align",
                      "alignment: " + std::to_string(alignment) + " is not a power of two");
        return nullptr;
    }
    return allocate("align", size, alignment);
}

SHMEM_ROUTINE(void*, calloc, (size_t count, size_t size)) {
    std::size_t bytes = 0;
    if (!shmem::multiply(count, size, &bytes)) {
        shmem::report("calloc", "count: " + std::to_string(count) + " elements of " +
                                    std::to_string(size) + " bytes exceed the address space");
        return nullptr;
    }
    void* const memory = allocate("calloc", bytes);
    if (memory == nullptr) return nullptr;
    std::memset(memory, 0, bytes);
    pshmem_barrier_all();  // peers may write after all PEs have cleared their copies
    return memory;
}

SHMEM_ROUTINE(void, free, (void* ptr)) {
    if (ptr == nullptr) return;
    shmem::require_job("free");
    if (sizes().erase(ptr) == 0)
        shmem::refuse("free", "ptr: not from shmem_malloc or a similar routine, or freed before");
    shmem::check("free", weft_free(job.world, ptr));
}

SHMEM_ROUTINE(void*, realloc, (void* ptr, size_t size)) {
    shmem::require_job("realloc");
    if (ptr == nullptr) return allocate("realloc", size);
    if (size == 0) {
        pshmem_free(ptr);
        return nullptr;
    }
    const auto held = sizes().find(ptr);
    if (held == sizes().end())
        shmem::refuse("realloc",
                      "ptr: not from shmem_malloc or a similar routine, or freed before");
    const std::size_t old_size = held->second;
    pshmem_barrier_all();  // completes puts to the old memory
    void* const memory = allocate("realloc", size);
    if (memory == nullptr) return nullptr;
    std::memcpy(memory, ptr, std::min(old_size, size));
    pshmem_free(ptr);  // returns when all PEs have copied
    return memory;
}

extern "C" void* shmalloc(size_t size) {
    return pshmem_malloc(size);
}
extern "C" void shfree(void* ptr) {
    pshmem_free(ptr);
}
extern "C" void* shrealloc(void* ptr, size_t size) {
    return pshmem_realloc(ptr, size);
}
extern "C" void* shmemalign(size_t alignment, size_t size) {
    return pshmem_align(alignment, size);
}
