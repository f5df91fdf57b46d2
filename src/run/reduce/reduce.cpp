// SPDX-License-Identifier: BSD-3-Clause
#include "run/reduce/reduce.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/element_types.hpp"

namespace weft::run {
namespace {

constexpr std::size_t kTileBytes = 4096;
constexpr std::size_t kUserAlignmentMax = 16;

#if defined(__x86_64__)
bool runs_x86_v3() noexcept {
#if defined(__clang__)  // does not know the names of the levels; no processor has only these of v3
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
#else
    return __builtin_cpu_supports("x86-64-v3") != 0;
#endif
}

bool runs_x86_v4() noexcept {
#if defined(__clang__)
    return runs_x86_v3() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
    return __builtin_cpu_supports("x86-64-v4") != 0;
#endif
}
#endif

bool runs_here([[maybe_unused]] const KernelTable& kernels) noexcept {
#if defined(__x86_64__)
    if (&kernels == &kX86V3Kernels) return runs_x86_v3();
    if (&kernels == &kX86V4Kernels) return runs_x86_v4();
#endif
    return true;
}

/// All tables of this build, the plainest first.
std::span<const KernelTable* const> built_tables() noexcept {
    static constexpr const KernelTable* kTables[] = {
        &kBaselineKernels,
#if defined(__x86_64__)
        &kX86V3Kernels,
        &kX86V4Kernels,
#endif
    };
    return kTables;
}

const KernelTable& best_table() noexcept {
    const auto tables = built_tables();
    for (std::size_t i = tables.size(); i-- > 1;)
        if (runs_here(*tables[i])) return *tables[i];
    return *tables.front();
}

std::string joined(std::span<const std::string_view> names) {
    std::string text;
    for (const std::string_view name : names) {
        if (!text.empty()) text += ", ";
        text += name;
    }
    return text;
}

void copy_bytes(std::byte* target, const std::byte* source, std::size_t bytes) noexcept {
    if (target != source && bytes != 0) std::memcpy(target, source, bytes);
}

void reduce_many_by_kernel(const Reducer& reducer, std::byte* target,
                           std::span<const std::byte* const> operands,
                           std::size_t elements) noexcept {
    alignas(64) std::byte partial[kTileBytes];
    const std::size_t tile = kTileBytes / reducer.element_bytes;
    const std::size_t last = operands.size() - 1;
    for (std::size_t start = 0; start < elements; start += tile) {
        const std::size_t count = std::min(tile, elements - start);
        const std::size_t at = start * reducer.element_bytes;
        reducer.kernel(partial, operands[0] + at, operands[1] + at, count);
        for (std::size_t i = 2; i < last; ++i)
            reducer.kernel(partial, partial, operands[i] + at, count);
        // Only now may the target's tile change: an operand can be the target.
        reducer.kernel(target + at, partial, operands[last] + at, count);
    }
}

/// Applies a user operation to tiles, with two tile buffers that take turns as `in` and `inout`.
class UserTiles {
  public:
    UserTiles(const UserOperation& operation, std::byte* first, std::byte* second) noexcept
        : operation_(operation), in_(first), inout_(second) {}

    /// target = operands[0] (op) ... for `count` elements that lie `at` bytes after each pointer.
    void reduce(std::byte* target, std::span<const std::byte* const> operands, std::size_t at,
                std::size_t count) noexcept {
        const std::size_t bytes = count * operation_.element_bytes;
        const std::byte* left = operands[0] + at;
        if (!aligned(left)) {
            copy_bytes(in_, left, bytes);
            left = in_;
        }
        const std::size_t last = operands.size() - 1;
        for (std::size_t i = 1; i < last; ++i) {
            copy_bytes(inout_, operands[i] + at, bytes);
            operation_.function(left, inout_, count, operation_.argument);
            std::swap(in_, inout_);
            left = in_;
        }
        // Only now may the target's tile change: an operand can be the target.
        const bool direct = left != target + at && aligned(target + at);
        std::byte* const into = direct ? target + at : inout_;
        copy_bytes(into, operands[last] + at, bytes);
        operation_.function(left, into, count, operation_.argument);
        copy_bytes(target + at, into, bytes);
    }

  private:
    [[nodiscard]] bool aligned(const std::byte* pointer) const noexcept {
        const std::size_t size = operation_.element_bytes;
        const std::size_t alignment = std::min(kUserAlignmentMax, size & (~size + 1));
        return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
    }

    const UserOperation& operation_;
    std::byte* in_;
    std::byte* inout_;
};

void reduce_many_by_user(const UserOperation& operation, std::byte* target,
                         std::span<const std::byte* const> operands,
                         std::size_t elements) noexcept {
    const std::size_t size = operation.element_bytes;
    if (size <= kTileBytes) {
        alignas(64) std::byte buffers[2][kTileBytes];
        UserTiles tiles(operation, buffers[0], buffers[1]);
        const std::size_t tile = kTileBytes / size;
        for (std::size_t start = 0; start < elements; start += tile)
            tiles.reduce(target, operands, start * size, std::min(tile, elements - start));
        return;
    }
    const std::size_t stride =
        (size + kUserAlignmentMax - 1) / kUserAlignmentMax * kUserAlignmentMax;
    struct alignas(kUserAlignmentMax) Line {
        std::byte bytes[kUserAlignmentMax];
    };
    const std::unique_ptr<Line[]> buffers(new (std::nothrow) Line[2 * stride / sizeof(Line)]);
    WEFT_CHECK(buffers != nullptr, size);
    UserTiles tiles(operation, buffers[0].bytes, buffers[stride / sizeof(Line)].bytes);
    for (std::size_t i = 0; i < elements; ++i) tiles.reduce(target, operands, i * size, 1);
}

}  // namespace

ReduceFn ReduceTable::kernel(Type type, Op op) const noexcept {
    const auto row = static_cast<std::size_t>(type);
    const auto column = static_cast<std::size_t>(op);
    if (row >= kBuiltinTypes || column >= kBuiltinOps) return nullptr;
    const ReduceFn found = kernels_->types[row].operations[column];
    return found != nullptr ? found : kScalarKernels.types[row].operations[column];
}

std::vector<std::string_view> runnable_isas() {
    std::vector<std::string_view> names;
    for (const KernelTable* table : built_tables())
        if (runs_here(*table)) names.emplace_back(table->name);
    return names;
}

base::Result<ReduceTable> select_isa(std::string_view wanted) {
    if (wanted.empty() || wanted == "auto") return ReduceTable(best_table());
    for (const KernelTable* table : built_tables()) {
        if (wanted != table->name) continue;
        if (runs_here(*table)) return ReduceTable(*table);
        return base::fail(Status::unsupported,
                          "reduction instruction set: found '{}', which this processor cannot run; "
                          "expected auto or one of {}",
                          wanted, joined(runnable_isas()));
    }
    return base::fail(Status::argument,
                      "reduction instruction set: found '{}', expected auto or one of {}", wanted,
                      joined(runnable_isas()));
}

ReduceFn reduce_kernel(Type type, Op op) noexcept {
    static const ReduceTable best(best_table());
    return best.kernel(type, op);
}

std::string operations_of(Type type) {
    std::string names;
    for (int op = 0; op < kBuiltinOps; ++op) {
        if (reduce_kernel(type, static_cast<Op>(op)) == nullptr) continue;
        if (!names.empty()) names += ' ';
        names += base::name_of(static_cast<Op>(op));
    }
    return names;
}

void reduce_many(const Reducer& reducer, std::byte* target,
                 std::span<const std::byte* const> operands, std::size_t elements) noexcept {
    WEFT_CHECK(!operands.empty() && reducer.element_bytes != 0, operands.size(),
               reducer.element_bytes);
    if (operands.size() == 1) {
        copy_bytes(target, operands[0], elements * reducer.element_bytes);
    } else if (reducer.kernel != nullptr) {
        if (operands.size() == 2)
            reducer.kernel(target, operands[0], operands[1], elements);
        else
            reduce_many_by_kernel(reducer, target, operands, elements);
    } else {
        WEFT_CHECK(reducer.user != nullptr && reducer.user->element_bytes == reducer.element_bytes,
                   reducer.element_bytes);
        reduce_many_by_user(*reducer.user, target, operands, elements);
    }
}

}  // namespace weft::run
