// SPDX-License-Identifier: BSD-3-Clause
// mpi_types.hpp - MPI's element types and operations, by weft's names.
//
// Holds    Types that MPI lacks (16-bit floats, pairs with a 64-bit index) and operations that it
//          does not define (bitwise on bool, logical on floating point) are refused, not emulated.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <string>

#include "base/element_types.hpp"
#include "tools/lab/oracle/samples.hpp"

namespace weft::peer {

/// Returns MPI's type, or MPI_DATATYPE_NULL if MPI has no such type.
inline MPI_Datatype mpi_type(Type type) {
    // clang-format off
    switch (type) {
        case Type::int8: return MPI_INT8_T;
        case Type::int16: return MPI_INT16_T;
        case Type::int32: return MPI_INT32_T;
        case Type::int64: return MPI_INT64_T;
        case Type::uint8: return MPI_UINT8_T;
        case Type::uint16: return MPI_UINT16_T;
        case Type::uint32: return MPI_UINT32_T;
        case Type::uint64: return MPI_UINT64_T;
        case Type::float32: return MPI_FLOAT;
        case Type::float64: return MPI_DOUBLE;
        case Type::longdouble: return MPI_LONG_DOUBLE;
        case Type::cfloat: return MPI_C_FLOAT_COMPLEX;
        case Type::cdouble: return MPI_C_DOUBLE_COMPLEX;
        case Type::boolean: return MPI_C_BOOL;
        case Type::float_int: return MPI_FLOAT_INT;
        case Type::double_int: return MPI_DOUBLE_INT;
        case Type::int16_int: return MPI_SHORT_INT;
        case Type::int32_int: return MPI_2INT;
        case Type::int64_int: return sizeof(long) == 8 ? MPI_LONG_INT : MPI_DATATYPE_NULL;
        case Type::longdouble_int: return MPI_LONG_DOUBLE_INT;
        default: return MPI_DATATYPE_NULL;
    }
    // clang-format on
}

inline MPI_Op mpi_op(Op op) {
    const std::array<MPI_Op, kBuiltinOps> ops = {
        // in the order of weft::Op
        MPI_SUM,  MPI_PROD, MPI_MIN,  MPI_MAX,    MPI_LAND,   MPI_LOR,    MPI_LXOR,
        MPI_BAND, MPI_BOR,  MPI_BXOR, MPI_MINLOC, MPI_MAXLOC, MPI_OP_NULL};
    return ops[static_cast<std::size_t>(op)];
}

/// Returns the reason why MPI cannot reduce this type by this operation; empty if it can.
inline std::string reason_of_refusal(Type type, Op op) {
    const bool logical = op == Op::land || op == Op::lor || op == Op::lxor;
    const bool bitwise = op == Op::band || op == Op::bor || op == Op::bxor;
    const bool floating =
        type == Type::float32 || type == Type::float64 || type == Type::longdouble;
    if (oracle::has_operation(type, op) && op != Op::exact_sum && !(floating && logical) &&
        !(type == Type::boolean && bitwise))
        return {};
    return fmt::format("--op: MPI does not define {} for {}", base::name_of(op),
                       base::name_of(type));
}

}  // namespace weft::peer
