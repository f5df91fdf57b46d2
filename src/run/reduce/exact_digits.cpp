// SPDX-License-Identifier: BSD-3-Clause
#include "run/reduce/exact_digits.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace weft::run {
namespace {

constexpr std::int64_t kDigitMask = (std::int64_t{1} << kDigitBits) - 1;

/// Stores the digits times `sign` with carries moved. Returns the carry out of the top digit, which
/// has the number's sign. `to` may equal `digits`.
std::int64_t normalize(const std::int64_t* digits, std::size_t stride, int count, std::int64_t sign,
                       std::int64_t* to) {
    std::int64_t carry = 0;
    for (int i = 0; i < count; ++i) {
        const std::int64_t sum = sign * digits[static_cast<std::size_t>(i) * stride] + carry;
        to[i] = sum & kDigitMask;
        carry = sum >> kDigitBits;
    }
    return carry;
}

/// Returns mantissa * 2^exponent, which must be a double. The mantissa is at most 2^53.
double scaled(std::uint64_t mantissa, int exponent) {
    if (mantissa == 0) return 0.0;
    const int width = static_cast<int>(std::bit_width(mantissa));
    const int biased = exponent + width - 1 + 1023;
    if (biased <= 0) return double_of(mantissa << (exponent - kLeastExponent));
    const std::uint64_t fraction = width > 53 ? 0 : mantissa << (53 - width) & kMantissaMask;
    return double_of(fraction | static_cast<std::uint64_t>(biased) << 52);
}

}  // namespace

LeadingBits leading_bits(const std::int64_t* digits, std::size_t stride, int count, int exponent) {
    std::array<std::int64_t, kDigitsMax + 1> held;  // the digits and their last carry
    LeadingBits result;
    held[count] = normalize(digits, stride, count, /*sign=*/1, held.data());
    if (held[count] < 0) {
        result.negative = true;
        held[count] = normalize(digits, stride, count, /*sign=*/-1, held.data());
    }
    int top = count;
    while (top >= 0 && held[top] == 0) --top;
    if (top < 0) return {};
    int at = 128 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(held[top])));
    result.exponent = exponent + top * kDigitBits - at;
    for (int i = top; i >= 0; --i, at -= kDigitBits) {
        const auto digit = static_cast<UInt128>(held[i]);
        if (at >= 0) {
            result.bits |= digit << at;
        } else if (at > -kDigitBits) {
            result.bits |= digit >> -at;
            result.more = result.more || (digit & ((UInt128{1} << -at) - 1)) != 0;
        } else {
            result.more = result.more || digit != 0;
        }
    }
    return result;
}

double LeadingBits::rounded(const FloatFormat& format) const {
    const std::uint64_t sign = negative ? kSignBit : 0;
    if (bits == 0) return 0.0;
    const auto high = static_cast<std::uint64_t>(bits >> 64);
    const bool lower = more || static_cast<std::uint64_t>(bits) != 0;
    // Low bits of `high` that exceed the precision, or are below the least number of the format.
    const int dropped = std::max(64 - format.precision, format.least - (exponent + 64));
    if (dropped > 64) return double_of(sign);
    constexpr std::uint64_t kHalf = kSignBit;
    std::uint64_t kept = dropped == 64 ? 0 : high >> dropped;
    const std::uint64_t rest = dropped == 64 ? high : high << (64 - dropped);
    if (rest > kHalf || (rest == kHalf && (lower || kept % 2 == 1))) ++kept;
    const int place = exponent + 64 + dropped;
    if (static_cast<int>(std::bit_width(kept)) + place > format.limit)
        return double_of(kInfinityBits | sign);
    return double_of(bits_of(scaled(kept, place)) | sign);
}

double LeadingBits::root() const {
    if (bits == 0) return 0.0;
    if (negative) return double_of(kQuietNan);
    // Makes the exponent even, so that the root has an integer exponent.
    const int odd = exponent & 1;
    const UInt128 radicand = bits >> odd;
    const bool lower = more || (bits & static_cast<UInt128>(odd)) != 0;
    std::uint64_t root = 0;
    for (std::uint64_t bit = kSignBit; bit != 0; bit >>= 1) {
        const std::uint64_t trial = root | bit;
        if (static_cast<UInt128>(trial) * trial <= radicand) root = trial;
    }
    const bool inexact = lower || static_cast<UInt128>(root) * root != radicand;
    const LeadingBits result{static_cast<UInt128>(root) << 64, (exponent + odd) / 2 - 64, false,
                             inexact};
    return result.rounded(kDoubleFormat);
}

void move_carries(std::int64_t* digits, int count) {
    digits[count - 1] += normalize(digits, /*stride=*/1, count - 1, /*sign=*/1, digits);
}

}  // namespace weft::run
