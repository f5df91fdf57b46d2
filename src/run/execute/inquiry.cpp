// SPDX-License-Identifier: BSD-3-Clause
#include "run/execute/inquiry.hpp"

#include <algorithm>
#include <cstring>

namespace weft::run {

void set_text(Inquiry& inquiry, std::string_view text) {
    const std::size_t length = std::min(text.size(), sizeof inquiry.text - 1);
    std::memcpy(inquiry.text, text.data(), length);
    inquiry.text[length] = '\0';
    inquiry.checksum = checksum_of(inquiry);
}

std::uint32_t checksum_of(const Inquiry& inquiry) {
    Inquiry copy = inquiry;
    copy.checksum = 0;
    unsigned char bytes[sizeof copy];
    std::memcpy(bytes, &copy, sizeof copy);
    std::uint32_t sum = 2166136261U;  // FNV-1a
    for (const unsigned char byte : bytes) sum = (sum ^ byte) * 16777619U;
    return sum | 1U;  // never 0, so an entry of zeros is not an inquiry
}

}  // namespace weft::run
