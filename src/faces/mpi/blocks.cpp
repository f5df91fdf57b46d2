// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>

namespace weft::mpi {

namespace {

/// The first of several blocks, and the bytes from a block to the next.
struct Blocks {
    std::byte* first;
    std::ptrdiff_t stride;
};

/// Copies blocks of a size that the compiler knows, or of `bytes` bytes if kBytes is 0.
template <std::size_t kBytes>
void copy_run(Blocks to, Blocks from, std::size_t bytes, std::size_t times) {
    for (std::size_t block = 0; block < times; ++block) {
        std::memcpy(to.first, from.first, kBytes == 0 ? bytes : kBytes);
        to.first += to.stride;
        from.first += from.stride;
    }
}

void copy_blocks(const Blocks& to, const Blocks& from, std::size_t bytes, std::size_t times) {
    switch (bytes) {
        case 4:
            return copy_run<4>(to, from, bytes, times);
        case 8:
            return copy_run<8>(to, from, bytes, times);
        case 16:
            return copy_run<16>(to, from, bytes, times);
        case 32:
            return copy_run<32>(to, from, bytes, times);
        default:
            return copy_run<0>(to, from, bytes, times);
    }
}

// --- constructors of types -----------------------------------------------------------------------

/// Arguments of the call that made a type.
struct Contents {
    int combiner = MPI_COMBINER_NAMED;
    std::vector<int> integers;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Datatype> types;

    explicit Contents(MPI_Datatype type);
    ~Contents();
    Contents(const Contents&) = delete;
    Contents& operator=(const Contents&) = delete;
};

/// Leaves `types` empty if the type is named, or has counts that are no ints.
Contents::Contents(MPI_Datatype type) {
#if MPI_VERSION >= 4
    MPI_Count few = 0;
    MPI_Count places = 0;
    MPI_Count counts = 0;
    MPI_Count parts = 0;
    PMPI_Type_get_envelope_c(type, &few, &places, &counts, &parts, &combiner);
    if (counts != 0) return;
    const int numbers[3] = {static_cast<int>(few), static_cast<int>(places),
                            static_cast<int>(parts)};
#else
    int numbers[3] = {0, 0, 0};
    PMPI_Type_get_envelope(type, &numbers[0], &numbers[1], &numbers[2], &combiner);
#endif
    if (combiner == MPI_COMBINER_NAMED || numbers[2] == 0) return;
    integers.resize(static_cast<std::size_t>(numbers[0]) + 1);
    addresses.resize(static_cast<std::size_t>(numbers[1]) + 1);
    types.resize(static_cast<std::size_t>(numbers[2]));
    PMPI_Type_get_contents(type, numbers[0], numbers[1], numbers[2], integers.data(),
                           addresses.data(), types.data());
}

Contents::~Contents() {
    for (MPI_Datatype& type : types)
        if (!is_predefined(type)) PMPI_Type_free(&type);
}

std::ptrdiff_t extent_of(MPI_Datatype type) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_extent(type, &lower, &extent);
    return extent;
}

/// Reads a named type: contiguous bytes, or a pair of a value and an int.
std::optional<BlockList> read_named(MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    BlockList list;
    const auto bytes = static_cast<std::size_t>(size);
    if (extent_of(type) == size) {
        if (size > 0) list.add({.bytes = bytes});
        return list;
    }
    struct Short {
        short value;
        int index;
    };
    if (type == MPI_SHORT_INT) {
        list.add({.bytes = sizeof(short)});
        list.add({.offset = offsetof(Short, index), .bytes = sizeof(int)});
        return list;
    }
    // The values of these pairs end where their int begins.
    if (type != MPI_DOUBLE_INT && type != MPI_LONG_INT && type != MPI_LONG_DOUBLE_INT)
        return std::nullopt;
    list.add({.bytes = bytes});
    return list;
}

/// Adds `count` blocks; block i has lengths(i) elements of `base`, places(i) bytes after the start.
template <class Lengths, class Places>
std::optional<BlockList> read_indexed(MPI_Datatype base, int count, Lengths lengths,
                                      Places places) {
    const auto part = read_blocks(base);
    if (!part) return std::nullopt;
    const std::ptrdiff_t extent = extent_of(base);
    BlockList list;
    for (int i = 0; i < count; ++i)
        if (!list.add(*part, places(i), static_cast<std::size_t>(lengths(i)), extent))
            return std::nullopt;
    return list;
}

/// Reads `count` equal blocks of `length` elements; `stride`: bytes from a block to the next.
std::optional<BlockList> read_vector(MPI_Datatype base, int count, int length,
                                     std::ptrdiff_t stride) {
    const auto part = read_blocks(base);
    BlockList block;
    BlockList list;
    if (!part || !block.add(*part, 0, static_cast<std::size_t>(length), extent_of(base)) ||
        !list.add(block, 0, static_cast<std::size_t>(count), stride))
        return std::nullopt;
    return list;
}

std::optional<BlockList> read_struct(const Contents& made) {
    BlockList list;
    for (std::size_t i = 0; i < made.types.size(); ++i) {
        const auto part = read_blocks(made.types[i]);
        if (!part ||
            !list.add(*part, made.addresses[i], static_cast<std::size_t>(made.integers[i + 1]),
                      extent_of(made.types[i])))
            return std::nullopt;
    }
    return list;
}

/// Reads a part of an array: first the dimension whose elements are adjacent, last the outermost.
std::optional<BlockList> read_subarray(const Contents& made) {
    const auto dimensions = static_cast<std::size_t>(made.integers[0]);
    const int* const sizes = made.integers.data() + 1;
    const int* const parts = sizes + dimensions;
    const int* const starts = parts + dimensions;
    const bool last_is_adjacent = made.integers[1 + 3 * dimensions] == MPI_ORDER_C;
    auto list = read_blocks(made.types[0]);
    std::ptrdiff_t stride = extent_of(made.types[0]);
    for (std::size_t step = 0; list && step < dimensions; ++step) {
        const std::size_t at = last_is_adjacent ? dimensions - 1 - step : step;
        BlockList outer;
        if (!outer.add(*list, starts[at] * stride, static_cast<std::size_t>(parts[at]), stride))
            return std::nullopt;
        list = std::move(outer);
        stride *= sizes[at];
    }
    return list;
}

}  // namespace

void BlockList::add(BlockRun run) {
    if (run.bytes == 0 || run.times == 0) return;
    if (run.times > 1 && run.stride == static_cast<std::ptrdiff_t>(run.bytes))
        run = {.offset = run.offset, .bytes = run.bytes * run.times};
    if (!runs_.empty()) {
        BlockRun& last = runs_.back();
        if (last.times == 1 && run.times == 1 &&
            last.offset + static_cast<std::ptrdiff_t>(last.bytes) == run.offset) {
            last.bytes += run.bytes;
            return;
        }
        const std::ptrdiff_t step = last.times == 1 ? run.offset - last.offset : last.stride;
        const bool goes_on =
            last.bytes == run.bytes &&
            run.offset == last.offset + static_cast<std::ptrdiff_t>(last.times) * step &&
            (run.times == 1 || run.stride == step);
        if (goes_on) {
            last.stride = step;
            last.times += run.times;
            return;
        }
    }
    runs_.push_back(run);
}

bool BlockList::add(const BlockList& other, std::ptrdiff_t offset, std::size_t times,
                    std::ptrdiff_t stride) {
    const bool is_one_block = other.runs_.size() == 1 && other.runs_.front().times == 1;
    if (is_one_block) {
        const BlockRun& only = other.runs_.front();
        add({only.offset + offset, only.bytes, times, stride});
        return runs_.size() <= kRunsMax;
    }
    if (other.runs_.empty()) return true;
    for (std::size_t i = 0; i < times && runs_.size() <= kRunsMax; ++i)
        for (BlockRun run : other.runs_) {
            run.offset += offset + static_cast<std::ptrdiff_t>(i) * stride;
            add(run);
        }
    return runs_.size() <= kRunsMax;
}

void BlockList::move(std::byte* memory, std::byte* packed, std::size_t count, std::ptrdiff_t extent,
                     bool packs, bool strided) const {
    for (std::size_t i = 0; i < count; ++i)
        for (const BlockRun& run : runs_) {
            const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(i) * extent + run.offset;
            const Blocks own{memory + offset, run.stride};
            const Blocks other = strided ? Blocks{packed + offset, run.stride}
                                         : Blocks{packed, static_cast<std::ptrdiff_t>(run.bytes)};
            copy_blocks(packs ? other : own, packs ? own : other, run.bytes, run.times);
            if (!strided) packed += run.bytes * run.times;
        }
}

bool is_predefined(MPI_Datatype type) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = MPI_COMBINER_NAMED;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

std::optional<BlockList> read_blocks(MPI_Datatype type) {
    if (is_predefined(type)) return read_named(type);
    const Contents made(type);
    if (made.types.empty()) return std::nullopt;
    const int* const integers = made.integers.data();
    const MPI_Aint* const addresses = made.addresses.data();
    const MPI_Datatype base = made.types[0];
    const auto equal_lengths = [&](int) { return integers[1]; };
    const auto lengths = [&](int i) { return integers[1 + i]; };
    const auto bytes = [&](int i) { return addresses[i]; };
    switch (made.combiner) {
        case MPI_COMBINER_DUP:
        case MPI_COMBINER_RESIZED:
            return read_blocks(base);
        case MPI_COMBINER_CONTIGUOUS:
            return read_vector(base, 1, integers[0], 0);
        case MPI_COMBINER_VECTOR:
            return read_vector(base, integers[0], integers[1], integers[2] * extent_of(base));
        case MPI_COMBINER_HVECTOR:
            return read_vector(base, integers[0], integers[1], addresses[0]);
        case MPI_COMBINER_INDEXED: {
            const int* const places = integers + 1 + integers[0];
            const std::ptrdiff_t extent = extent_of(base);
            return read_indexed(base, integers[0], lengths,
                                [&](int i) { return places[i] * extent; });
        }
        case MPI_COMBINER_HINDEXED:
            return read_indexed(base, integers[0], lengths, bytes);
        case MPI_COMBINER_INDEXED_BLOCK: {
            const std::ptrdiff_t extent = extent_of(base);
            return read_indexed(base, integers[0], equal_lengths,
                                [&](int i) { return integers[2 + i] * extent; });
        }
        case MPI_COMBINER_HINDEXED_BLOCK:
            return read_indexed(base, integers[0], equal_lengths, bytes);
        case MPI_COMBINER_STRUCT:
            return read_struct(made);
        case MPI_COMBINER_SUBARRAY:
            return read_subarray(made);
        default:
            return std::nullopt;
    }
}

}  // namespace weft::mpi
