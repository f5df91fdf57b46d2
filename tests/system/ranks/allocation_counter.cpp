// SPDX-License-Identifier: BSD-3-Clause
// Defines malloc and similar functions, which count and call the functions of the GNU C library.
#include "tests/system/ranks/allocation_counter.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WEFT_TEST_COUNTS_ALLOCATIONS 1
#else
#define WEFT_TEST_COUNTS_ALLOCATIONS 0
#endif

namespace weft::test {
namespace {

/// A global variable, because malloc has no argument for it.
std::atomic<std::uint64_t> counted{0};

}  // namespace

bool can_count_allocations() {
    return WEFT_TEST_COUNTS_ALLOCATIONS != 0;
}

std::uint64_t allocations() {
    return counted.load(std::memory_order_relaxed);
}

}  // namespace weft::test

#if WEFT_TEST_COUNTS_ALLOCATIONS
namespace {
void count() {
    weft::test::counted.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t items, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
    count();
    return __libc_malloc(bytes);
}
void* calloc(std::size_t items, std::size_t bytes) {
    count();
    return __libc_calloc(items, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
    count();
    return __libc_realloc(memory, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
    count();
    return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    count();
    return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
    count();
    *memory = __libc_memalign(alignment, bytes);
    return *memory == nullptr ? ENOMEM : 0;
}
}
#endif
