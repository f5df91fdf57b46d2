// SPDX-License-Identifier: BSD-3-Clause
// reduce.hpp - combining operands: the kernel of a type and operation, and many operands in one
// pass, with the result in one place or in many.
//
// Idea     A kernel combines two buffers element by element. It is looked up when a plan is bound,
//          never in a loop. Several operands are added in registers; other operations combine
//          them tile by tile, with the partial result in the first-level cache. Either way each
//          byte of an operand is read from memory once, and each byte of a target written once.
// Why      The table of the best instruction set is chosen once; results do not depend on which one
//          (kernels.hpp says what holds bit by bit).
// Next     kernels.hpp and kernel_passes.hpp for the loops; run/bind for who asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "run/reduce/kernel_table.hpp"
#include "weft/types.hpp"

namespace weft::run {

struct UserOperation {
    UserFunction function = nullptr;
    void* argument = nullptr;
    bool commutative = false;
    std::size_t element_bytes = 0;
};

/// How to combine: exactly one of `kernel` and `user` is set.
struct Reducer {
    ReduceFn kernel = nullptr;
    ReducePassFn pass = nullptr;  ///< gives the same as the kernel; there is one for sums only
    const UserOperation* user = nullptr;
    std::size_t element_bytes = 0;
};

/// The kernels of one instruction set. A value: copies are free.
class ReduceTable {
  public:
    explicit ReduceTable(const KernelTable& kernels) : kernels_(&kernels) {}

    /// "x86-64", "x86-64-v3", "x86-64-v4"; "baseline" on other processors.
    [[nodiscard]] std::string_view name() const noexcept { return kernels_->name; }
    /// nullptr where the operation does not exist, such as bitwise ones on floating point, and user
    /// ones.
    [[nodiscard]] ReduceFn kernel(Type type, Op op) const noexcept;
    /// For reduce_many; without a kernel where the operation does not exist.
    [[nodiscard]] Reducer reducer(Type type, Op op) const noexcept;

  private:
    const KernelTable* kernels_;
};

/// Names of the instruction sets that this processor runs, the plainest first.
[[nodiscard]] std::vector<std::string_view> runnable_isas();

/// The table of the instruction set named `wanted`; empty or "auto": the best that runs here.
/// Fails on names that are unknown or that this processor cannot run.
[[nodiscard]] base::Result<ReduceTable> select_isa(std::string_view wanted);

/// The kernel of the best instruction set that runs here; nullptr where the operation does not
/// exist.
[[nodiscard]] ReduceFn reduce_kernel(Type type, Op op) noexcept;

/// Names of the operations that exist for a built-in type, for messages: "sum prod".
[[nodiscard]] std::string operations_of(Type type);

/// Bytes that the ranks of a node touch in a call from which on what it writes goes past the
/// caches: it would not stay there until it is read. Two ranks that write their inputs, combine
/// halves of them into both outputs and read these (us for all three, Xeon of 2023, 2 MiB
/// second-level cache, plain and streamed): 16 MiB in all 1410 and 1540, 32 MiB 3320 and 3100,
/// 64 MiB 11700 and 8100. One processor that copies (GB/s, EPYC of 2023, memcpy and streamed):
/// 4 MiB to 4 MiB 46 and 28, 8 to 8 26 and 28, 16 to 16 14 and 22, 64 to 64 8.5 and 15.
inline constexpr std::size_t kStreamBytesMin = std::size_t{32} << 20;

/// Whether stores go past the caches, where that can be.
enum class Stores : std::uint8_t { cached, streamed };

/// Copies bytes; the two places do not overlap. Streamed stores are ordered before later ones of
/// this thread.
void copy_bytes(std::byte* target, const std::byte* source, std::size_t bytes,
                Stores stores = Stores::cached) noexcept;

/// Each target = operands[0] (op) operands[1] (op) ..., associated from the left, of so many
/// elements. At least one operand and one target. Any operands may be exactly one of the targets,
/// else they do not overlap them; operands may be the same as each other, targets not. Any
/// alignment: a user function only sees buffers aligned to the largest power of two (at most 16)
/// that divides its element. Allocates only for user elements of more than 4 KiB. Throws only what
/// the user function throws; the targets are undefined then. Stores of operands and targets that
/// are kStreamBytesMin together are streamed without being asked.
void reduce_many(const Reducer& reducer, std::span<std::byte* const> targets,
                 std::span<const std::byte* const> operands, std::size_t elements,
                 Stores stores = Stores::cached);

/// The same with one target.
inline void reduce_many(const Reducer& reducer, std::byte* target,
                        std::span<const std::byte* const> operands, std::size_t elements) {
    reduce_many(reducer, std::span<std::byte* const>(&target, 1), operands, elements);
}

}  // namespace weft::run
