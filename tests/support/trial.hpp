// SPDX-License-Identifier: BSD-3-Clause
// trial.hpp - one collective call of one rank: memory, arguments, and whether the result is right.
//
// Idea     The oracle says what the blocks of input and output are; an arrangement says where they
//          stand in memory: in place or not, aligned or not, packed or with gaps. check() compares
//          the output with the oracle and everything else with what was there before.
// Holds    In place means one vector of all blocks, in which a rank's own block stands where it
//          belongs. Ends that a call ignores (of the ranks that are not the root) are null. The
//          arrays of counts are lent for the call alone: take_back() spoils them.
// Next     src/lab/oracle/oracle.hpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lab/oracle/oracle.hpp"
#include "weft/call.hpp"

namespace weft::test {

/// Where the blocks of a vector stand: each after the other, with gaps, or with gaps and backwards.
enum class Spacing : std::uint8_t { packed, gaps, backwards };

struct Arrangement {
    bool in_place = false;
    std::size_t shift = 0;  ///< bytes after an aligned address
    Spacing in_spacing = Spacing::packed;
    Spacing out_spacing = Spacing::packed;
};

/// How many elements the blocks of a call with counts have: `pattern` below kCountPatterns; `a` and
/// `b` are the ranks at the ends of a message (b is 0 where a block has one end that counts).
inline constexpr int kCountPatterns = 6;
[[nodiscard]] std::uint64_t count_in_pattern(int pattern, Rank a, Rank b);
/// CallFacts::count: one count, or those of a pattern.
[[nodiscard]] std::function<std::uint64_t(Rank rank, std::uint32_t unit)> unit_counts(
    const collectives::CollectiveTraits& traits, std::uint64_t count, int pattern);

[[nodiscard]] std::uint64_t hash_of(std::span<const std::byte> bytes);

class Trial {
  public:
    Trial(oracle::CallFacts facts, Rank rank, Arrangement arrangement);

    /// New inputs; all other bytes are spoilt.
    void prepare(std::uint64_t batch);
    /// The arguments. Calls with counts borrow arrays of this trial.
    [[nodiscard]] Call call();
    void take_back();
    /// Empty if the result of the call is right.
    [[nodiscard]] std::string check();

    [[nodiscard]] bool in_place() const { return in_place_; }
    /// In place: the vector of all blocks.
    [[nodiscard]] void* vector() { return base(input_); }
    /// The first block of the output, with its padding.
    [[nodiscard]] std::span<const std::byte> output();

  private:
    /// A vector of blocks in memory.
    struct Vector {
        std::vector<oracle::SizedUnit> blocks;
        std::vector<std::size_t> starts;  ///< of the blocks, in elements
        std::vector<std::size_t> lent_counts;
        std::vector<std::size_t> lent_starts;
        bool packed = true;
        std::vector<std::byte> memory;
        std::vector<std::byte> before;  ///< the memory as the call found it
    };

    void lay_out(Vector& vector, const std::vector<oracle::SizedUnit>& blocks, Spacing spacing);
    [[nodiscard]] static Blocks lend(Vector& vector);
    [[nodiscard]] std::byte* base(Vector& vector) const;
    /// Where a block of this unit stands.
    [[nodiscard]] std::byte* block_at(Vector& vector, std::uint32_t unit) const;
    [[nodiscard]] Vector& output_vector() { return in_place_ ? input_ : output_; }

    oracle::Oracle oracle_;
    std::size_t shift_;
    bool in_place_;
    std::uint64_t batch_ = 0;
    Vector input_;  ///< in place: of both
    Vector output_;
};

}  // namespace weft::test
