// SPDX-License-Identifier: BSD-3-Clause
// Goal: the library detects that a program at a fixed address that takes the addresses of malloc()
// and free(), like Debian's python3, uses the C library's allocator. Method: this program is linked
// without position independence, so the linker gives it its own jump to each of these functions.
#include <dlfcn.h>

#include <cstdlib>

#include "link/direct/process_facts.hpp"

namespace {

const void* start_of_object(const void* address) {
    Dl_info info{};
    return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

}  // namespace

int main() {
    void* (*volatile allocate)(std::size_t) = &std::malloc;
    void (*volatile release)(void*) = &std::free;
    release(allocate(1));
    void* const symbol = ::dlsym(RTLD_DEFAULT, "malloc");
    if (start_of_object(symbol) != start_of_object(reinterpret_cast<void*>(&start_of_object)))
        return 77;  // the linker made no jump: the test would show nothing
    return weft::link::has_library_allocator() ? 0 : 1;
}
