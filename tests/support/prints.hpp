// SPDX-License-Identifier: BSD-3-Clause
// prints.hpp - fingerprints of data, and arrays of them.
//
// Idea     A fingerprint is an affine map x -> a x + b over a prime field. A product of maps
//          determines its factors and their order; with a = 1 it determines only the factors. A map
//          has eight bytes, even as a product of many maps.
// Next     fingerprint.hpp for their use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#include "base/check.hpp"
#include "base/random.hpp"
#include "plan/schedule/contract.hpp"

namespace weft::plan {

inline constexpr std::uint64_t kPrime = (std::uint64_t{1} << 31) - 1;

/// The map x -> a x + b modulo kPrime; a = 0: unwritten.
struct Fingerprint {
    std::uint32_t a = 0;
    std::uint32_t b = 0;

    [[nodiscard]] bool is_written() const { return a != 0; }
    friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

inline Fingerprint product(Fingerprint left, Fingerprint right) {
    return {static_cast<std::uint32_t>(std::uint64_t{left.a} * right.a % kPrime),
            static_cast<std::uint32_t>((std::uint64_t{left.a} * right.b + left.b) % kPrime)};
}

/// Fingerprints of inputs and of expected results.
class Fingerprints {
  public:
    Fingerprints(std::uint64_t seed, bool ordered) : seed_(base::mix(seed)), ordered_(ordered) {}

    /// Returns the fingerprint of a unit of a rank's input.
    [[nodiscard]] Fingerprint leaf(Rank rank, std::uint32_t unit) const {
        const std::uint64_t word =
            base::mix(seed_ ^ base::mix(static_cast<std::uint64_t>(rank) << 32 | unit));
        const std::uint64_t factor = ordered_ ? 1 + (word >> 32) % (kPrime - 1) : 1;
        return {static_cast<std::uint32_t>(factor),
                static_cast<std::uint32_t>((word & 0xffffffff) % kPrime)};
    }

    /// Returns the product of the inputs that `expected` names.
    [[nodiscard]] Fingerprint expected(const Expectation& expected) {
        if (expected.first_rank == expected.last_rank)
            return leaf(expected.first_rank, expected.source_unit);
        if (expected.first_rank != 0) return of_range(expected.first_rank, expected);
        // Most requests repeat the last range or extend it by one rank.
        Prefix& prefix = prefixes_[expected.source_unit];
        if (prefix.last > expected.last_rank) prefix = {};
        if (prefix.last < 0) prefix = {0, leaf(0, expected.source_unit)};
        while (prefix.last < expected.last_rank)
            prefix.print = product(prefix.print, leaf(++prefix.last, expected.source_unit));
        return prefix.print;
    }

  private:
    /// Product of the inputs of ranks 0 .. last.
    struct Prefix {
        Rank last = -1;  ///< -1: not calculated yet
        Fingerprint print;
    };
    [[nodiscard]] Fingerprint of_range(Rank first, const Expectation& expected) const {
        Fingerprint print = leaf(first, expected.source_unit);
        for (Rank rank = first + 1; rank <= expected.last_rank; ++rank)
            print = product(print, leaf(rank, expected.source_unit));
        return print;
    }

    std::uint64_t seed_;
    bool ordered_;
    std::unordered_map<std::uint32_t, Prefix> prefixes_;  ///< by unit
};

/// Array of zeros; untouched pages use no memory.
template <class T>
class Zeroed {
  public:
    [[nodiscard]] bool is_made() const { return list_ != nullptr; }
    void make(std::uint64_t count) {
        list_.reset(static_cast<T*>(std::calloc(std::max<std::uint64_t>(count, 1), sizeof(T))));
        WEFT_CHECK(list_ != nullptr, count);
    }
    void drop() { list_.reset(); }
    [[nodiscard]] T& operator[](std::uint64_t at) { return list_[at]; }

  private:
    struct Free {
        void operator()(T* list) const { std::free(list); }
    };
    std::unique_ptr<T[], Free> list_;
};

}  // namespace weft::plan
