// SPDX-License-Identifier: BSD-3-Clause
#include "run/reduce/reduce.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/copy.hpp"
#include "base/element_types.hpp"
#include "base/extent.hpp"
#include "run/reduce/exact_sum.hpp"

namespace weft::run {
namespace {

using Targets = std::span<std::byte* const>;
using Operands = std::span<const std::byte* const>;

/// Size of a tile in bytes: its partial result stays in the first-level cache.
constexpr std::size_t kTileBytes = 4096;
/// Limit for operands and for targets of a pass: processors prefetch few streams.
constexpr std::size_t kPassPointersMax = 16;
constexpr std::size_t kUserAlignmentMax = 16;  // see reduce_many()

#if defined(__x86_64__)
bool runs_x86_v3() noexcept {
#if defined(__clang__)  // no level names; processors with these features have all features of v3
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

/// Returns all tables of this build, starting with the baseline.
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

std::size_t line_offset(const std::byte* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer) % kStreamAlignment;
}

/// A reduction of operands to targets.
struct Work {
    const Reducer& reducer;
    Targets targets;
    Operands operands;
    bool streams = false;  ///< stores to the targets bypass the caches

    /// Returns the pass, or nullptr. A single operand is copied.
    [[nodiscard]] ReducePassFn pass() const noexcept {
        return operands.size() == 1 ? kBaselineKernels.copy : reducer.pass;
    }
};

/// Returns true if streamed stores are possible: the targets have equal offsets in their cache
/// lines, and no target is an operand.
bool can_stream(const Work& work, std::size_t bytes) noexcept {
    const std::size_t size = work.reducer.element_bytes;
    if (bytes < kTileBytes) return false;
    const std::size_t offset = line_offset(work.targets[0]);
    if (kStreamAlignment % size != 0 || offset % size != 0) return false;
    return std::ranges::all_of(work.targets, [&](const std::byte* target) {
        return line_offset(target) == offset &&
               std::ranges::find(work.operands, target) == work.operands.end();
    });
}

/// Returns at most kPassPointersMax pointers, advanced by `bytes`.
template <class Byte>
std::array<Byte*, kPassPointersMax> moved(std::span<Byte* const> pointers, std::size_t bytes) {
    std::array<Byte*, kPassPointersMax> result;
    std::ranges::transform(pointers, result.begin(), [=](Byte* at) { return at + bytes; });
    return result;
}

/// Combines `bytes` bytes at offset `at` of all operands, and stores the result to `into`, which
/// may be in an operand or equal `partial`. `partial` has room for a tile.
void combine_tile(const Work& work, std::byte* into, std::byte* partial, std::size_t at,
                  std::size_t bytes) noexcept {
    const std::byte* left = work.operands[0] + at;
    if (work.operands.size() == 1) return copy_bytes(into, left, bytes);
    const bool by_pass = work.reducer.pass != nullptr && bytes % kPassBytes == 0;
    for (Operands rest = work.operands.subspan(1); !rest.empty();) {
        const std::size_t count = by_pass ? std::min(rest.size(), kPassPointersMax - 1) : 1;
        std::byte* const to = count == rest.size() ? into : partial;
        if (by_pass) {
            std::array<const std::byte*, kPassPointersMax> operands;
            operands[0] = left;
            for (std::size_t i = 0; i < count; ++i) operands[i + 1] = rest[i] + at;
            work.reducer.pass({&to, 1, operands.data(), count + 1, bytes, /*stream=*/false});
        } else {
            work.reducer.kernel(to, left, rest[0] + at, bytes / work.reducer.element_bytes);
        }
        left = partial;
        rest = rest.subspan(count);
    }
}

/// Reduces the bytes from `begin` to `end`, tile by tile.
void reduce_tiles(const Work& work, std::size_t begin, std::size_t end) noexcept {
    alignas(kStreamAlignment) std::byte partial[kTileBytes];
    const std::size_t size = work.operands.size() == 1 ? 1 : work.reducer.element_bytes;
    const std::size_t tile = kTileBytes / size * size;
    for (std::size_t at = begin; at < end; at += tile) {
        const std::size_t bytes = std::min(tile, end - at);
        if (!work.streams) {
            combine_tile(work, work.targets[0] + at, partial, at, bytes);
            for (std::byte* const target : work.targets.subspan(1))
                copy_bytes(target + at, work.targets[0] + at, bytes);
            continue;
        }
        combine_tile(work, partial, partial, at, bytes);
        const std::byte* const result = partial;
        for (Targets rest = work.targets; !rest.empty();) {
            const Targets group = rest.first(std::min(rest.size(), kPassPointersMax));
            const auto targets = moved(group, at);
            kBaselineKernels.copy(
                {targets.data(), group.size(), &result, 1, bytes, /*stream=*/true});
            rest = rest.subspan(group.size());
        }
    }
}

/// Reduces whole blocks by a pass, if possible, and other bytes by tiles.
void reduce_many_by_blocks(const Work& work, std::size_t bytes) noexcept {
    const Work plain{work.reducer, work.targets, work.operands};
    std::size_t begin = 0;
    if (work.streams) begin = (kStreamAlignment - line_offset(work.targets[0])) % kStreamAlignment;
    const std::size_t end = begin + (bytes - begin) / kPassBytes * kPassBytes;
    reduce_tiles(plain, 0, begin);
    if (work.pass() != nullptr && work.operands.size() <= kPassPointersMax &&
        work.targets.size() <= kPassPointersMax) {
        const auto targets = moved(work.targets, begin);
        const auto operands = moved(work.operands, begin);
        work.pass()({targets.data(), work.targets.size(), operands.data(), work.operands.size(),
                     end - begin, work.streams});
    } else {
        reduce_tiles(work, begin, end);
    }
    reduce_tiles(plain, end, bytes);
}

/// Applies a user's operation to tiles. Two buffers alternate as its arguments `in` and `inout`.
void reduce_many_by_user(const UserOperation& operation, Targets targets, Operands operands,
                         std::size_t elements) {
    const std::size_t size = operation.element_bytes;
    const std::size_t alignment = std::min(kUserAlignmentMax, size & (~size + 1));
    const auto is_aligned = [&](const std::byte* pointer) {
        return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
    };
    alignas(64) std::byte tiles[2][kTileBytes];
    std::byte *in = tiles[0], *inout = tiles[1];
    std::unique_ptr<std::byte[]> large;
    if (size > kTileBytes) {
        const std::size_t stride = base::round_up(size, kUserAlignmentMax);
        static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= kUserAlignmentMax);
        large.reset(new (std::nothrow) std::byte[2 * stride]);
        WEFT_CHECK(large != nullptr, size);
        in = large.get();
        inout = in + stride;
    }
    const std::size_t tile = std::max<std::size_t>(kTileBytes / size, 1) * size;
    for (std::size_t at = 0; at < elements * size; at += tile) {
        const std::size_t bytes = std::min(tile, elements * size - at);
        const auto combine = [&](const std::byte* left, std::byte* into) {
            operation.function(left, into, bytes / size, operation.argument);
        };
        const std::byte* left = operands[0] + at;
        if (!is_aligned(left)) {
            copy_bytes(in, left, bytes);
            left = in;
        }
        for (const std::byte* operand : operands.subspan(1, operands.size() - 2)) {
            copy_bytes(inout, operand + at, bytes);
            combine(left, inout);
            std::swap(in, inout);
            left = in;
        }
        // Only now may the target's tile change, because the target may be an operand.
        std::byte* const target = targets[0] + at;
        std::byte* const into = left != target && is_aligned(target) ? target : inout;
        copy_bytes(into, operands.back() + at, bytes);
        combine(left, into);
        copy_bytes(target, into, bytes);
        for (std::byte* const other : targets.subspan(1)) copy_bytes(other + at, target, bytes);
    }
}

}  // namespace

ReduceFn ReduceTable::kernel(Type type, Op op) const noexcept {
    const auto row = static_cast<std::size_t>(type);
    const auto column = static_cast<std::size_t>(op);
    if (row >= kBuiltinTypes || column >= kBuiltinOps) return nullptr;
    const ReduceFn found = kernels_->types[row].operations[column];
    return found != nullptr ? found : kBaselineKernels.types[row].operations[column];
}

Reducer ReduceTable::reducer(Type type, Op op) const noexcept {
    Reducer reducer{.kernel = kernel(type, op), .element_bytes = base::size_of(type)};
    if (op == Op::sum && reducer.kernel != nullptr)
        reducer.pass = kernels_->types[static_cast<std::size_t>(type)].sum_pass;
    return reducer;
}

std::vector<std::string_view> runnable_isas() {
    std::vector<std::string_view> names;
    for (const KernelTable* table : built_tables())
        if (runs_here(*table)) names.emplace_back(table->name);
    return names;
}

base::Result<ReduceTable> select_isa(std::string_view wanted) {
    if (wanted.empty() || wanted == "auto") return best_kernels();
    const std::string runnable = fmt::format("{}", fmt::join(runnable_isas(), ", "));
    for (const KernelTable* table : built_tables()) {
        if (wanted != table->name) continue;
        if (runs_here(*table)) return ReduceTable(*table);
        return base::fail(Status::unsupported,
                          "reduction instruction set: found '{}', which this processor cannot run; "
                          "expected auto or one of {}",
                          wanted, runnable);
    }
    return base::fail(Status::argument,
                      "reduction instruction set: found '{}', expected auto or one of {}", wanted,
                      runnable);
}

const ReduceTable& best_kernels() noexcept {
    static const ReduceTable best = [] {
        auto at = built_tables().end();
        while (!runs_here(**--at)) continue;  // the baseline, the first one, runs everywhere
        return ReduceTable(**at);
    }();
    return best;
}

template <Type type>
static void add_pairs(void* target, const void* left, const void* right,
                      std::size_t count) noexcept {
    const FloatState state;
    best_kernels().kernel(type, Op::sum)(target, left, right, count);
}

template <Type... types>
static ReduceFn pair_kernel(Type type) noexcept {
    ReduceFn found = nullptr;
    ((type == types ? found = &add_pairs<types> : found), ...);
    return found;
}

ReduceFn exact_pair_kernel(Type type) noexcept {
    return pair_kernel<Type::float32, Type::float64, Type::cfloat, Type::cdouble, Type::float16,
                       Type::bfloat16>(type);
}

std::string operations_of(Type type) {
    std::vector<std::string_view> names;
    for (int op = 0; op < kBuiltinOps; ++op)
        if (best_kernels().kernel(type, static_cast<Op>(op)) != nullptr ||
            (static_cast<Op>(op) == Op::exact_sum && has_exact_sum(type)))
            names.push_back(base::name_of(static_cast<Op>(op)));
    return fmt::format("{}", fmt::join(names, " "));
}

void copy_bytes(std::byte* target, const std::byte* source, std::size_t bytes,
                Stores stores) noexcept {
    if (target == source || bytes == 0) return;
    if (stores == Stores::cached || bytes < kTileBytes)
        return base::copy_bytes(target, source, bytes);
    const Reducer none{.element_bytes = 1};
    reduce_many_by_blocks({none, {&target, 1}, {&source, 1}, /*streams=*/true}, bytes);
}

void reduce_many(const Reducer& reducer, Targets targets, Operands operands, std::size_t elements,
                 Stores stores) {
    WEFT_CHECK(!operands.empty() && !targets.empty() && reducer.element_bytes != 0, operands.size(),
               targets.size(), reducer.element_bytes);
    const std::size_t bytes = elements * reducer.element_bytes;
    if (operands.size() > 1 && reducer.kernel == nullptr) {
        WEFT_CHECK(reducer.user != nullptr && reducer.user->element_bytes == reducer.element_bytes,
                   reducer.element_bytes);
        return reduce_many_by_user(*reducer.user, targets, operands, elements);
    }
    Work work{reducer, targets, operands};
    const bool large =
        stores == Stores::streamed || (operands.size() + targets.size()) * bytes >= kStreamBytesMin;
    work.streams = large && can_stream(work, bytes);
    if (targets.size() == 1 && operands.size() == 1)
        copy_bytes(targets[0], operands[0], bytes, stores);
    else if (targets.size() == 1 && operands.size() == 2 && !work.streams)
        reducer.kernel(targets[0], operands[0], operands[1], elements);
    else if (work.streams || (work.pass() != nullptr && bytes >= kPassBytes))
        reduce_many_by_blocks(work, bytes);
    else
        reduce_tiles(work, 0, bytes);
}

}  // namespace weft::run
