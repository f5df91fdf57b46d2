// SPDX-License-Identifier: BSD-3-Clause
// object_name.hpp - the name under which the kernel shows the object that adopted pages belong to.
//
// Why      A file descriptor of a process soon means another file. The name has the generation, so
//          a mate that opens the descriptor sees whether it is still the object that the owner
//          described.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace weft::link {

/// What memfd_create() gets.
struct ObjectName {
    explicit ObjectName(std::uint32_t generation) noexcept {
        std::snprintf(text, sizeof text, "weft-adopted-%u", static_cast<unsigned>(generation));
    }
    char text[32];
};

/// Is this the name of a mapping of such an object, of any generation and process?
[[nodiscard]] inline bool names_object(const char* mapping) noexcept {
    constexpr char kStart[] = "/memfd:weft-adopted-";
    return std::strncmp(mapping, kStart, sizeof kStart - 1) == 0;
}

/// Does this link of /proc lead to the object of that generation?
[[nodiscard]] inline bool leads_to(const char* link, std::uint32_t generation) noexcept {
    char expected[64];
    char found[64];
    const int length = std::snprintf(expected, sizeof expected, "/memfd:%s (deleted)",
                                     ObjectName(generation).text);
    return ::readlink(link, found, sizeof found) == length &&
           std::memcmp(found, expected, static_cast<std::size_t>(length)) == 0;
}

}  // namespace weft::link
