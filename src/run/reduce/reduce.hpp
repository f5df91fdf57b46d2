// SPDX-License-Identifier: BSD-3-Clause
// reduce.hpp - reduction kernels by type and operation; reductions of many operands.
//
// Idea     Sums of many operands stay in registers. Other operations combine tile by tile, and a
//          tile's partial result stays in the first-level cache. So each byte of an operand is
//          read from memory once, and each byte of a target is written once.
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

/// A user's reduction operation and its elements.
struct UserOperation {
    UserFunction function = nullptr;
    void* argument = nullptr;
    bool commutative = false;
    std::size_t element_bytes = 0;
};

/// Functions of an operation. In a reduction, exactly one of `kernel` and `user` is set.
struct Reducer {
    ReduceFn kernel = nullptr;
    ReducePassFn pass = nullptr;  ///< for sums, may be set: combines many operands at once
    const UserOperation* user = nullptr;
    std::size_t element_bytes = 0;
};

/// The kernels of an instruction set. Copies are cheap.
class ReduceTable {
  public:
    explicit ReduceTable(const KernelTable& kernels) : kernels_(&kernels) {}

    /// Returns "x86-64", "x86-64-v3" or "x86-64-v4"; "baseline" on other processors.
    [[nodiscard]] std::string_view name() const noexcept { return kernels_->name; }
    /// Returns the kernel, or nullptr if the type has no such built-in operation.
    [[nodiscard]] ReduceFn kernel(Type type, Op op) const noexcept;
    /// Returns a reducer for reduce_many(). Its kernel is nullptr if the operation does not exist.
    [[nodiscard]] Reducer reducer(Type type, Op op) const noexcept;
    /// Returns the kernels of exact sums.
    [[nodiscard]] const ExactKernels& exact() const noexcept { return kernels_->exact; }

  private:
    const KernelTable* kernels_;
};

/// Returns the names of the instruction sets that this processor can run. The baseline is first.
[[nodiscard]] std::vector<std::string_view> runnable_isas();

/// Returns the table of the instruction set named `wanted`; "auto" or empty: the best that this
/// processor can run. Fails if the name is unknown, or if this processor cannot run it.
[[nodiscard]] base::Result<ReduceTable> select_isa(std::string_view wanted);

/// Returns the table of the best instruction set that this processor can run.
[[nodiscard]] const ReduceTable& best_kernels() noexcept;

/// Returns the kernel of Op::exact_sum for calls that add at most two values, or nullptr if the
/// type has no such operation. The kernel sets the default floating-point state, in which the plain
/// sum of two values is the exact sum, rounded once. A NaN may have any payload.
[[nodiscard]] ReduceFn exact_pair_kernel(Type type) noexcept;

/// Returns the names of the operations that a built-in type has, such as "sum prod", for messages.
[[nodiscard]] std::string operations_of(Type type);

/// If the ranks of a node access at least this number of bytes in a call, stores bypass the caches:
/// the data would be evicted before it is read.
inline constexpr std::size_t kStreamBytesMin = std::size_t{32} << 20;

/// Kind of stores. `streamed`: stores bypass the caches, if possible.
enum class Stores : std::uint8_t { cached, streamed };

/// Copies bytes between equal or disjoint ranges. Later stores are ordered after streamed stores.
void copy_bytes(std::byte* target, const std::byte* source, std::size_t bytes,
                Stores stores = Stores::cached) noexcept;

/// Sets `elements` elements of each target to operands[0] (op) operands[1] ..., from the left.
///
/// - There must be at least one operand and one target. An operand may equal a target or another
///   operand; otherwise buffers must not overlap. Targets must differ.
/// - Buffers may have any alignment. A user function only receives buffers aligned to the largest
///   power of two, up to 16, that divides the size of its elements.
/// - Allocates memory only for user elements of more than 4 KiB.
/// - Throws only exceptions of the user function. Then the contents of the targets are undefined.
/// - Also streams the stores of reductions whose operands and targets have kStreamBytesMin bytes.
void reduce_many(const Reducer& reducer, std::span<std::byte* const> targets,
                 std::span<const std::byte* const> operands, std::size_t elements,
                 Stores stores = Stores::cached);

/// Does reduce_many() with a single target.
inline void reduce_many(const Reducer& reducer, std::byte* target,
                        std::span<const std::byte* const> operands, std::size_t elements) {
    reduce_many(reducer, std::span<std::byte* const>(&target, 1), operands, elements);
}

}  // namespace weft::run
