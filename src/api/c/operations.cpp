// SPDX-License-Identifier: BSD-3-Clause
// operations.cpp - types and operations of the C interface, including user operations.
//
// Idea     weft_op is a number, and weft_op_create() has no runtime as argument. So user operations
//          are in one table of the process. Only calls with a user operation take its lock.
// Holds    A number has an entry and a use count, so a freed operation is refused. Plans share
//          ownership of the operations that they use.
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "api/c/calls.hpp"
#include "base/element_types.hpp"

namespace weft::c_api {

namespace {

// Number of a user operation: the mark, 14 bits for the use count, 16 bits for the entry.
constexpr std::uint32_t kUserMark = 0x4000'0000;
constexpr unsigned kEntryBits = 16;
constexpr std::uint32_t kEntryMask = (1U << kEntryBits) - 1;
constexpr std::uint32_t kUsesMask = (1U << 14) - 1;

static_assert(WEFT_INT64_INT64 + 1 == kBuiltinTypes && WEFT_MAXLOC + 1 == kBuiltinOps);
static_assert(WEFT_DOUBLE == static_cast<int>(Type::float64) &&
              WEFT_BFLOAT16 == static_cast<int>(Type::bfloat16) &&
              WEFT_LONGDOUBLE_INT == static_cast<int>(Type::longdouble_int) &&
              WEFT_MINLOC == static_cast<int>(Op::minloc));

/// A user operation in the engine's form, for elements of each built-in type.
using Operations = std::array<run::UserOperation, kBuiltinTypes>;
using HeldOperations = std::shared_ptr<const Operations>;

/// User operations of this process. The table is global, because operation numbers belong
/// to no runtime.
class Table {
  public:
    [[nodiscard]] Result<weft_op> add(HeldOperations operations) {
        const std::lock_guard lock(mutex_);
        std::size_t index = entries_.size();
        if (!unused_.empty()) {
            index = unused_.front();
            unused_.pop_front();
        } else if (index <= kEntryMask) {
            entries_.emplace_back();
        } else {
            return fail(Status::memory, "{} operations are in use, which is the maximum", index);
        }
        OperationEntry& entry = entries_[index];
        entry.operations = std::move(operations);
        return static_cast<weft_op>(kUserMark | entry.uses << kEntryBits | index);
    }
    /// Returns the operations of a number, or nullptr if it is stale.
    [[nodiscard]] HeldOperations find(weft_op op) {
        const std::lock_guard lock(mutex_);
        const OperationEntry* const entry = entry_of(op);
        return entry == nullptr ? nullptr : entry->operations;
    }
    [[nodiscard]] bool remove(weft_op op) {
        const std::lock_guard lock(mutex_);
        OperationEntry* const entry = entry_of(op);
        if (entry == nullptr) return false;
        entry->operations.reset();
        entry->uses = (entry->uses + 1) & kUsesMask;
        unused_.push_back(static_cast<std::uint32_t>(entry - entries_.data()));
        return true;
    }

  private:
    struct OperationEntry {
        HeldOperations operations;
        std::uint32_t uses = 0;
    };

    [[nodiscard]] OperationEntry* entry_of(weft_op op) {
        const auto number = static_cast<std::uint32_t>(op);
        const std::uint32_t index = number & kEntryMask;
        if ((number & kUserMark) == 0 || index >= entries_.size()) return nullptr;
        OperationEntry& entry = entries_[index];
        const bool current = entry.uses == (number >> kEntryBits & kUsesMask);
        return current && entry.operations != nullptr ? &entry : nullptr;
    }

    std::mutex mutex_;
    std::vector<OperationEntry> entries_;
    std::deque<std::uint32_t> unused_;  ///< freed entries, reused oldest first
};

/// Returns the table. It is never destroyed, because other threads may call during exit.
Table& table() {
    static Table& only = *new Table;
    return only;
}

base::Failure no_such_operation(weft_op op) {
    const auto number = static_cast<std::uint32_t>(op);
    if ((number & kUserMark) != 0 && op != WEFT_OP_RANGE)
        return fail(Status::argument, "op: the user's operation has been freed");
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
    const HeldOperations held = (number & kUserMark) != 0 ? table().find(op) : nullptr;
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
        auto made = std::make_shared<Operations>();
        for (std::size_t type = 0; type < made->size(); ++type) {
            (*made)[type] = {.function = fn,
                             .argument = arg,
                             .commutative = commutative != 0,
                             .element_bytes = base::size_of(static_cast<Type>(type))};
        }
        return store(table().add(std::move(made)), out);
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
