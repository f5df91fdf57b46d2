// SPDX-License-Identifier: BSD-3-Clause
// Goal: if the program has its own allocator, automatic mode adopts no memory, as the allocator may
// rely on system calls that clear pages. Method: this program defines malloc() and free().
#include <unistd.h>

#include <cstddef>

#include "link/direct/direct_memory.hpp"

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void __libc_free(void* old);

void* malloc(std::size_t bytes) {
    return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
    return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
    return __libc_realloc(old, bytes);
}
void free(void* old) {
    __libc_free(old);
}
}

int main() {
    using weft::link::DirectMemory;
    using weft::link::DirectMode;
    DirectMemory automatic({.processes = {::getpid()}, .mode = DirectMode::automatic});
    if (automatic.adoption_off().empty()) return 1;
    DirectMemory forced({.processes = {::getpid()}, .mode = DirectMode::adopt});
    return forced.adoption_off() == automatic.adoption_off() || forced.adoption_off().empty() ? 0
                                                                                              : 2;
}
