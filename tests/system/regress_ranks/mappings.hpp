// SPDX-License-Identifier: BSD-3-Clause
// mappings.hpp - maps private memory for tests, and finds the entry of memory in /proc/self/maps.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace weft::test {

/// Maps private memory and sets each byte to 1.
inline std::byte* map_private(std::size_t bytes) {
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(at, 1, bytes);
    return static_cast<std::byte*>(at);
}

/// Returns the line of /proc/self/maps for the address. It changes if other pages are mapped there.
inline std::string mapping_of(const std::byte* at) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long begin = 0;
        unsigned long end = 0;
        std::sscanf(line.c_str(), "%lx-%lx", &begin, &end);
        const auto address = reinterpret_cast<std::uintptr_t>(at);
        if (begin <= address && address < end) return line;
    }
    return {};
}

/// Returns true if weft has remapped the page to shared memory.
inline bool is_shared(const std::byte* at) {
    return mapping_of(at).find(" rw-s ") != std::string::npos;
}

}  // namespace weft::test
