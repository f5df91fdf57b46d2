// SPDX-License-Identifier: BSD-3-Clause
// random_types.hpp - MPI types and operations from which the conformance program draws.
//
// Holds    Combinations that hit a fault of a host MPI are left out.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace weft::test {

using Random = std::mt19937_64;

// --- types ---------------------------------------------------------------------------------------

/// Kind of value; decides which operations a type has.
enum class Value {
    integer,
    eight_bit,
    unsigned_integer,
    floating,
    complex,
    logical,
    byte,
    pair,
    derived
};

/// Element type of reductions.
struct ElementType {
    MPI_Datatype type;
    Value value;
    std::size_t bytes;  ///< size without padding at the end
    void (*write)(void* at, int value);
    std::size_t gap = 0;      ///< start of padding between members
    std::size_t gap_end = 0;  ///< end of this padding
};

template <class T>
inline void write_as(void* at, int value) {
    const T converted = static_cast<T>(value);
    std::memcpy(at, &converted, sizeof converted);
}
template <class T>
inline void write_pair(void* at, int value) {
    struct {
        T value;
        int index;
    } pair{static_cast<T>(value), value % 5};
    std::memcpy(at, &pair, sizeof pair);
}
template <class T>
inline void write_complex(void* at, int value) {
    const T parts[2] = {static_cast<T>(value), static_cast<T>(value % 2)};
    std::memcpy(at, parts, sizeof parts);
}

inline std::vector<ElementType> reduction_types() {
    return {{MPI_INT, Value::integer, 4, write_as<int>},
            {MPI_LONG, Value::integer, 8, write_as<long>},
            {MPI_SHORT, Value::integer, 2, write_as<short>},
            {MPI_SIGNED_CHAR, Value::eight_bit, 1, write_as<signed char>},
            {MPI_UINT8_T, Value::eight_bit, 1, write_as<unsigned char>},
            {MPI_UNSIGNED, Value::unsigned_integer, 4, write_as<unsigned>},
            {MPI_UINT64_T, Value::unsigned_integer, 8, write_as<std::uint64_t>},
            {MPI_FLOAT, Value::floating, 4, write_as<float>},
            {MPI_DOUBLE, Value::floating, 8, write_as<double>},
            {MPI_LONG_DOUBLE, Value::floating, 10, write_as<long double>},
            {MPI_C_DOUBLE_COMPLEX, Value::complex, 16, write_complex<double>},
            {MPI_C_FLOAT_COMPLEX, Value::complex, 8, write_complex<float>},
            {MPI_C_BOOL, Value::logical, 1, write_as<bool>},
            {MPI_BYTE, Value::byte, 1, write_as<unsigned char>},
            {MPI_2INT, Value::pair, 8, write_pair<int>},
            {MPI_FLOAT_INT, Value::pair, 8, write_pair<float>},
            {MPI_SHORT_INT, Value::pair, 8, write_pair<short>, 2, 4},
            {MPI_LONG_INT, Value::pair, 12, write_pair<long>},
            {MPI_LONG_DOUBLE_INT, Value::pair, 20, write_pair<long double>, 10, 16},
            {MPI_DOUBLE_INT, Value::pair, 12, write_pair<double>}};
}

/// Composes maps x -> a x + b, packed into the first 64 bits of an element; does not commute.
inline void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *count; ++i) {
        std::uint64_t first = 0;
        std::uint64_t second = 0;
        std::memcpy(&first, static_cast<char*>(in) + extent * i, 8);
        std::memcpy(&second, static_cast<char*>(inout) + extent * i, 8);
        const auto a = static_cast<std::uint32_t>(first >> 32);
        const auto b = static_cast<std::uint32_t>(first);
        const auto c = static_cast<std::uint32_t>(second >> 32);
        const auto d = static_cast<std::uint32_t>(second);
        const std::uint64_t result = std::uint64_t{a * c} << 32 | (a * d + b);
        std::memcpy(static_cast<char*>(inout) + extent * i, &result, 8);
    }
}
inline MPI_Op composition = MPI_OP_NULL;

/// Makes types of 2 to 9 words, which only user-defined operations can reduce: without gaps, and
/// with a gap after each element.
inline std::vector<ElementType> derived_types() {
    std::vector<ElementType> made;
    for (const int words : {2, 4, 6, 9})
        for (const bool gap : {false, true}) {
            MPI_Datatype type = MPI_DATATYPE_NULL;
            MPI_Type_contiguous(words, MPI_UINT32_T, &type);
            MPI_Datatype inner = type;
            if (gap) MPI_Type_create_resized(inner, 0, 4 * words + 4, &type);
            if (gap) MPI_Type_free(&inner);
            MPI_Type_commit(&type);
            made.push_back({type, Value::derived, static_cast<std::size_t>(4 * words),
                            write_as<std::uint64_t>});
        }
    return made;
}

inline std::vector<MPI_Op> operations_of(const ElementType& base) {
    std::vector<MPI_Op> operations;
    const auto add = [&](std::vector<MPI_Op> more) {
        operations.insert(operations.end(), more.begin(), more.end());
    };
#if defined(OPEN_MPI)
    const bool has_sums = base.value != Value::eight_bit;  // Open MPI 4.1.4: SUM of 8 bits is wrong
    const bool has_extremes = true;
#else
    const bool has_sums = true;
    const bool has_extremes = base.value != Value::unsigned_integer &&
                              base.value != Value::eight_bit;  // MPICH 4.0.2 compares as signed
#endif
    switch (base.value) {
        case Value::integer:
        case Value::eight_bit:
        case Value::unsigned_integer:
            add({MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR});
            if (has_sums) add({MPI_SUM, MPI_PROD});
            if (has_extremes) add({MPI_MIN, MPI_MAX});
            if (base.type == MPI_UINT64_T) add({composition, composition});
            break;
        case Value::floating:
            add({MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX});
            break;
        case Value::complex:
            add({MPI_SUM, MPI_PROD});
            break;
        case Value::logical:
            add({MPI_LAND, MPI_LOR, MPI_LXOR});
            break;
        case Value::byte:
            add({MPI_BAND, MPI_BOR, MPI_BXOR});
            break;
        case Value::pair:
            add({MPI_MINLOC, MPI_MAXLOC});
            break;
        case Value::derived:
            add({composition});
            break;
    }
    return operations;
}

/// Types with the signature of `units` plain elements: contiguous, strided, padded, reversed.
struct Layouts {
    MPI_Datatype plain;
    int units;
    std::vector<MPI_Datatype> types;  ///< each holds `units` elements

    Layouts(MPI_Datatype base, int units_of_type) : plain(base), units(units_of_type) {
        MPI_Datatype layout = MPI_DATATYPE_NULL;
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        MPI_Type_get_extent(base, &lower, &extent);
        MPI_Type_contiguous(units, base, &layout);
        types.push_back(layout);
        MPI_Type_vector(units, 1, 2, base, &layout);
        types.push_back(layout);
        MPI_Datatype inner = layout;
        MPI_Type_create_resized(inner, 0, extent * (2 * units + 1), &layout);
        types.push_back(layout);
        std::vector<int> reversed(static_cast<std::size_t>(units));
        for (int i = 0; i < units; ++i) reversed[static_cast<std::size_t>(i)] = units - 1 - i;
        MPI_Type_create_indexed_block(units, 1, reversed.data(), base, &layout);
        types.push_back(layout);
        for (MPI_Datatype& type : types) MPI_Type_commit(&type);
    }
};

// --- buffers -------------------------------------------------------------------------------------

/// Two buffers with equal contents: bytes[0] for the MPI call, bytes[1] for the PMPI call.
struct Buffers {
    std::vector<char> bytes[2];
    std::size_t start = 0;  ///< offset of the call's buffer; displacements may be negative

    void fill(std::size_t size, Random& random) {
        bytes[0].resize(size);
        for (char& byte : bytes[0]) byte = static_cast<char>(random());
        bytes[1] = bytes[0];
    }
    [[nodiscard]] char* at(bool host) { return bytes[host ? 1 : 0].data() + start; }
};

}  // namespace weft::test
