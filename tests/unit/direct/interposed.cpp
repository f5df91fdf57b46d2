// SPDX-License-Identifier: BSD-3-Clause
// Goal: calls of madvise() and mremap() by the program and its libraries reach libweft.so, and work
// on memory that is not remapped. Method: the program calls both functions and never starts a job.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "weft/weft.h"

namespace {

bool is_in_the_library(const char* name) {
    Dl_info info{};
    void* const found = ::dlsym(RTLD_DEFAULT, name);  // the definition that all libraries use
    return found != nullptr && ::dladdr(found, &info) != 0 &&
           std::strstr(info.dli_fname, "libweft.so") != nullptr;
}

/// Prints the step that failed, and returns its number.
int failed(int number, const char* step) {
    std::fprintf(stderr, "%s: wrong result (errno %d)\n", step, errno);
    return number;
}

}  // namespace

int main() {
    if (weft_version() == nullptr)
        return failed(1, "weft_version");  // so that the linker keeps the library
    if (!is_in_the_library("madvise") || !is_in_the_library("mremap"))
        return failed(2, "definitions in libweft.so");
    constexpr std::size_t kPage = 4096;
    void* const at =
        ::mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return failed(3, "mmap");
    char* const data = static_cast<char*>(at);
    std::memset(data, 7, 4 * kPage);
    if (::madvise(data, kPage, MADV_DONTNEED) != 0 || data[0] != 0 || data[kPage] != 7)
        return failed(4, "madvise");
    if (::madvise(data + 1, kPage, MADV_DONTNEED) != -1)
        return failed(5, "madvise of an unaligned range");  // refused by the kernel
    char* const moved = static_cast<char*>(::mremap(data, 4 * kPage, 64 * kPage, MREMAP_MAYMOVE));
    if (moved == MAP_FAILED || moved[kPage] != 7 || moved[10 * kPage] != 0)
        return failed(6, "mremap");
    return ::munmap(moved, 64 * kPage) == 0 ? 0 : failed(7, "munmap");
}
