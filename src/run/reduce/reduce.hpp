// SPDX-License-Identifier: BSD-3-Clause
// reduce.hpp - kernels by type and operation, and reductions of many operands in one pass, to one
// or many targets.
//
// Idea     Several operands are added in registers. Other operations combine tile by tile, with the
//          partial result in the first-level cache. In both cases, each byte of an operand is read
//          from memory once, and each byte of a target written once.
// Next     kernels.hpp and kernel_passes.hpp for the loops; run/bind for the caller.
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

/// Functions of an operation. Exactly one of `kernel` and `user` is set.
struct Reducer {
    ReduceFn kernel = nullptr;
    ReducePassFn pass = nullptr;  ///< equal results to the kernel; only for sums
    const UserOperation* user = nullptr;
    std::size_t element_bytes = 0;
};

/// The kernels of one instruction set. A value type, cheap to copy.
class ReduceTable {
  public:
    explicit ReduceTable(const KernelTable& kernels) : kernels_(&kernels) {}

    /// Returns "x86-64", "x86-64-v3" or "x86-64-v4"; "baseline" on other processors.
    [[nodiscard]] std::string_view name() const noexcept { return kernels_->name; }
    /// Returns nullptr if the operation does not exist, such as bitwise ones on floating point, or
    /// is a user operation.
    [[nodiscard]] ReduceFn kernel(Type type, Op op) const noexcept;
    /// Returns a reducer for reduce_many(), without a kernel if the operation does not exist.
    [[nodiscard]] Reducer reducer(Type type, Op op) const noexcept;

  private:
    const KernelTable* kernels_;
};

/// Returns the names of the instruction sets that this processor runs, starting with the baseline.
[[nodiscard]] std::vector<std::string_view> runnable_isas();

/// Returns the table of the instruction set named `wanted`. If empty or "auto", returns the best
/// that this processor runs. Fails on unknown names, and on those that this processor cannot run.
[[nodiscard]] base::Result<ReduceTable> select_isa(std::string_view wanted);

/// Returns the kernel of the best instruction set for this processor, or nullptr.
[[nodiscard]] ReduceFn reduce_kernel(Type type, Op op) noexcept;

/// Returns the names of the operations of a built-in type, for messages: "sum prod".
[[nodiscard]] std::string operations_of(Type type);

/// Size of the data that a node's ranks touch in a call, from which stores bypass the caches.
/// Larger data would not stay in the caches until it is read. On a Xeon of 2023, plain stores are
/// faster at 16 MiB, and streamed ones from 32 MiB on.
inline constexpr std::size_t kStreamBytesMin = std::size_t{32} << 20;

/// Tells whether stores bypass the caches, if possible.
enum class Stores : std::uint8_t { cached, streamed };

/// Copies bytes. The ranges must not overlap. Streamed stores are ordered before later stores
/// of this thread.
void copy_bytes(std::byte* target, const std::byte* source, std::size_t bytes,
                Stores stores = Stores::cached) noexcept;

/// Sets each target to operands[0] (op) operands[1] (op) ..., associated from the left,
/// for `elements` elements.
///
/// - Takes at least one operand and one target. An operand may equal a target or another operand;
///   otherwise buffers must not overlap. Targets must differ.
/// - Any alignment. A user function only receives buffers aligned to the largest power of two, up
///   to 16, that divides its element.
/// - Allocates only for user elements of more than 4 KiB.
/// - Throws only exceptions of the user function; the targets are then undefined.
/// - Streams stores without request if operands and targets have kStreamBytesMin bytes together.
void reduce_many(const Reducer& reducer, std::span<std::byte* const> targets,
                 std::span<const std::byte* const> operands, std::size_t elements,
                 Stores stores = Stores::cached);

/// Sets one target.
inline void reduce_many(const Reducer& reducer, std::byte* target,
                        std::span<const std::byte* const> operands, std::size_t elements) {
    reduce_many(reducer, std::span<std::byte* const>(&target, 1), operands, elements);
}

}  // namespace weft::run
