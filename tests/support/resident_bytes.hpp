// SPDX-License-Identifier: BSD-3-Clause
// resident_bytes.hpp - size of the resident memory of this process, as the kernel counts it.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace weft::test {

inline std::int64_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::int64_t pages = 0;
    statm >> pages >> pages;  // the file's second number is the resident size
    return pages * ::sysconf(_SC_PAGESIZE);
}

}  // namespace weft::test
