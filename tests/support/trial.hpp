// SPDX-License-Identifier: BSD-3-Clause
// trial.hpp - one collective call of one rank: memory, arguments, and the check of the result.
//
// Idea     The oracle determines the blocks of input and output; an Arrangement determines where
//          they are in memory: in place or not, aligned or not, packed or with gaps. check()
//          compares the output with the oracle, and all other memory with its earlier contents.
// Holds    A call in place has one buffer for all blocks, with the rank's own block at its index.
//          Buffers that a call ignores (on ranks other than the root) are null. A call must not use
//          the arrays of counts after it returns: invalidate_arrays() overwrites them.
// Next     src/tools/lab/oracle/oracle.hpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/lab/oracle/oracle.hpp"
#include "weft/call.hpp"

namespace weft::test {

/// Placement of a buffer's blocks: contiguous, with gaps, or with gaps in reverse order.
enum class Spacing : std::uint8_t { packed, gaps, backwards };

struct Arrangement {
    bool in_place = false;
    std::size_t shift = 0;  ///< distance of the buffers from an aligned address in bytes
    Spacing in_spacing = Spacing::packed;
    Spacing out_spacing = Spacing::packed;
};

inline constexpr int kCountPatterns = 6;
/// Returns the number of elements of a block in a call with counts. pattern: 0 .. kCountPatterns -
/// 1. a, b: sender and receiver of a message, or the owner of a block and 0.
[[nodiscard]] std::uint64_t count_in_pattern(int pattern, Rank a, Rank b);
/// Returns the function CallFacts::count: always `count` if the collective has no array of counts,
/// else counts of the pattern.
[[nodiscard]] std::function<std::uint64_t(Rank rank, std::uint32_t unit)> unit_counts(
    const collectives::CollectiveTraits& traits, std::uint64_t count, int pattern);

/// Returns a hash of the bytes. Ranks compare it instead of their outputs.
[[nodiscard]] std::uint64_t hash_of(std::span<const std::byte> bytes);

class Trial {
  public:
    Trial(oracle::CallFacts facts, Rank rank, Arrangement arrangement);

    /// Writes the inputs of this batch, and a constant to all other bytes.
    void prepare(std::uint64_t batch);
    /// Returns the arguments. Their arrays of counts and displacements belong to this trial.
    [[nodiscard]] Call call();
    /// Overwrites the arrays of counts and displacements. Requires that the call has returned.
    void invalidate_arrays();
    /// Returns an empty text if the result of the call is right, else a description of the error.
    [[nodiscard]] std::string check();

    [[nodiscard]] bool in_place() const { return in_place_; }
    /// Returns the buffer of all blocks of a call in place.
    [[nodiscard]] void* in_place_buffer() { return base(input_); }
    /// Returns the bytes of the first block of the output; empty if the rank has no output.
    [[nodiscard]] std::span<const std::byte> output();

  private:
    /// A buffer of blocks.
    struct Buffer {
        std::vector<oracle::SizedUnit> blocks;
        std::vector<std::size_t> starts;         ///< start of each block, in elements
        std::vector<std::size_t> counts;         ///< argument of a call: elements of each block
        std::vector<std::size_t> displacements;  ///< argument of a call: copy of `starts`
        bool packed = true;
        std::vector<std::byte> memory;
        std::vector<std::byte> before;  ///< contents before the call
    };

    void lay_out(Buffer& buffer, const std::vector<oracle::SizedUnit>& blocks, Spacing spacing);
    /// Fills the buffer's `counts` and `displacements` and returns them as an argument of a call.
    [[nodiscard]] static Blocks blocks_of(Buffer& buffer);
    /// Returns the address that a call receives for the buffer.
    [[nodiscard]] std::byte* base(Buffer& buffer) const;
    /// Returns the address of a unit's block.
    [[nodiscard]] std::byte* block_at(Buffer& buffer, std::uint32_t unit) const;
    [[nodiscard]] Buffer& output_buffer() { return in_place_ ? input_ : output_; }

    oracle::Oracle oracle_;
    std::size_t shift_;
    bool in_place_;
    std::uint64_t batch_ = 0;
    Buffer input_;  ///< also the output of a call in place
    Buffer output_;
};

}  // namespace weft::test
