// SPDX-License-Identifier: BSD-3-Clause
// operations.cpp - types and operations of the C interface, including user operations.
//
// Idea     A weft_op is a number, and weft_op_create() has no runtime as argument. So one table of
//          the process has all user operations. Only calls with a user operation take its lock.
// Holds    A number is used again only after all others, so a freed operation is refused. Calls
//          share ownership of the operations that they use.
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "api/c/calls.hpp"
#include "base/element_types.hpp"

namespace weft::c_api {

namespace {

/// Bit that distinguishes numbers of user operations from built-in ones.
constexpr std::uint32_t kUserMark = 0x4000'0000;

static_assert(WEFT_INT64_INT64 + 1 == kBuiltinTypes && WEFT_EXACT_SUM + 1 == kBuiltinOps);
static_assert(WEFT_DOUBLE == static_cast<int>(Type::float64) &&
              WEFT_BFLOAT16 == static_cast<int>(Type::bfloat16) &&
              WEFT_LONGDOUBLE_INT == static_cast<int>(Type::longdouble_int) &&
              WEFT_MINLOC == static_cast<int>(Op::minloc));

/// A user operation, by element type, because run::UserOperation contains the element's size.
using OperationByType = std::array<run::UserOperation, kBuiltinTypes>;
using SharedOperation = std::shared_ptr<const OperationByType>;

/// User operations of this process, by number. The table is global, because operation numbers
/// belong to no runtime.
class Table {
  public:
    [[nodiscard]] weft_op add(SharedOperation operation) {
        const std::lock_guard lock(mutex_);
        do {
            last_ = (last_ + 1) % (WEFT_OP_RANGE - kUserMark);
        } while (!operations_.try_emplace(kUserMark | last_, operation).second);
        return static_cast<weft_op>(kUserMark | last_);
    }
    /// Returns the operation with a number, or nullptr if there is none.
    [[nodiscard]] SharedOperation find(weft_op op) {
        const std::lock_guard lock(mutex_);
        const auto found = operations_.find(static_cast<std::uint32_t>(op));
        return found == operations_.end() ? nullptr : found->second;
    }
    [[nodiscard]] bool remove(weft_op op) {
        const std::lock_guard lock(mutex_);
        return operations_.erase(static_cast<std::uint32_t>(op)) != 0;
    }

  private:
    std::mutex mutex_;
    std::unordered_map<std::uint32_t, SharedOperation> operations_;
    std::uint32_t last_ = 0;  ///< last number, without the mark
};

/// Returns the table. It is never destroyed, because other threads may call during exit.
Table& table() {
    static Table& only = *new Table;
    return only;
}

base::Failure no_such_operation(weft_op op) {
    const auto number = static_cast<std::uint32_t>(op);
    if (number >= kUserMark && number < WEFT_OP_RANGE)
        return fail(Status::argument, "op: {:#x} was freed or never created", number);
    if (op == WEFT_OP_NONE) return fail(Status::argument, "op: NONE is not an operation");
    return fail(Status::argument, "op: {} is not an operation", static_cast<int>(op));
}

}  // namespace

Result<Type> type_of(weft_type type) {
    const auto number = static_cast<unsigned>(type);
    if (number < kBuiltinTypes) [[likely]]
        return static_cast<Type>(number);
    return fail(Status::argument, "type: {} is not an element type", static_cast<int>(type));
}

Result<void> set_operation(Call& call, weft_op op) {
    const auto number = static_cast<unsigned>(op);
    if (number < kBuiltinOps) [[likely]] {
        call.op = static_cast<Op>(number);
        return {};
    }
    const SharedOperation held = (number & kUserMark) != 0 ? table().find(op) : nullptr;
    if (held == nullptr) return no_such_operation(op);
    call.op = Op::user;
    call.user = std::shared_ptr<const void>(held, &(*held)[static_cast<std::size_t>(call.type)]);
    return {};
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

extern "C" size_t weft_type_size(weft_type type) {
    const auto number = static_cast<unsigned>(type);
    return number < kBuiltinTypes ? base::size_of(static_cast<Type>(number)) : 0;
}

extern "C" weft_status weft_op_create(void (*fn)(const void* in, void* inout, size_t count,
                                                 void* arg),
                                      void* arg, int commutative, weft_op* out) {
    return guarded(__func__, [&]() -> Result<void> {
        if (fn == nullptr) return fail(Status::argument, "fn is NULL");
        if (out == nullptr) return fail(Status::argument, "out is NULL");
        auto made = std::make_shared<OperationByType>();
        for (std::size_t type = 0; type < made->size(); ++type) {
            (*made)[type] = {.function = fn,
                             .argument = arg,
                             .commutative = commutative != 0,
                             .element_bytes = base::size_of(static_cast<Type>(type))};
        }
        *out = table().add(std::move(made));
        return Done{};
    });
}

extern "C" weft_status weft_op_free(weft_op* op) {
    return guarded(__func__, [&]() -> Result<void> {
        if (op == nullptr) return fail(Status::argument, "op is NULL");
        if (static_cast<unsigned>(*op) < kBuiltinOps)
            return fail(Status::argument, "op: {} is built in and cannot be freed",
                        base::name_of(static_cast<Op>(*op)));
        if (!table().remove(*op)) return no_such_operation(*op);
        *op = WEFT_OP_NONE;
        return Done{};
    });
}
