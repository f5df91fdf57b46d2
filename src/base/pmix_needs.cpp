// SPDX-License-Identifier: BSD-3-Clause
#include "base/pmix_needs.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

namespace weft::base {

bool has_home_folder() {
    if (std::getenv("HOME") != nullptr) return true;
    constexpr std::size_t kFirstSize = 1024;
    std::vector<char> strings(kFirstSize);
    passwd entry = {};
    passwd* found = nullptr;
    while (::getpwuid_r(::geteuid(), &entry, strings.data(), strings.size(), &found) == ERANGE)
        strings.resize(2 * strings.size());
    return found != nullptr;
}

}  // namespace weft::base
