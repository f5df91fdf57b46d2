// SPDX-License-Identifier: BSD-3-Clause
#include "run/execute/inquiry.hpp"

#include <algorithm>
#include <cstring>

namespace weft::run {

void set_text(Inquiry& inquiry, std::string_view text, std::string_view before) {
    constexpr std::size_t kRoom = sizeof inquiry.text - 2;  // for two texts and their terminators
    text = text.substr(0, before.empty() ? kRoom : kRoom / 2);
    before = before.substr(0, kRoom - text.size());
    char* const end = std::copy(text.begin(), text.end(), inquiry.text);
    *end = '\0';
    *std::copy(before.begin(), before.end(), end + 1) = '\0';
    inquiry.checksum = checksum_of(inquiry);
}

std::string_view text_of(const Inquiry& inquiry) {
    return {inquiry.text, strnlen(inquiry.text, sizeof inquiry.text)};
}

std::string_view text_before(const Inquiry& inquiry) {
    const std::size_t start = std::min(text_of(inquiry).size() + 1, sizeof inquiry.text);
    return {inquiry.text + start, strnlen(inquiry.text + start, sizeof inquiry.text - start)};
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
