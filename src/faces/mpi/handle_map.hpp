// SPDX-License-Identifier: BSD-3-Clause
// handle_map.hpp - map from MPI handles to the layer's data; a look-up takes a few nanoseconds.
//
// Why      MPI could store the data as attributes, but MPI_Comm_get_attr takes 20 to 40 ns.
// Holds    The owner removes an entry when MPI deletes the handle's attribute, so a reused handle
//          is unknown.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace weft::mpi {

/// Returns a handle as a number. Handles are pointers in Open MPI and ints in MPICH.
template <class Handle>
[[nodiscard]] std::uint64_t number_of(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>) {
        return reinterpret_cast<std::uintptr_t>(handle);
    } else {
        return static_cast<std::uint64_t>(static_cast<unsigned>(handle));
    }
}

/// Map with a cache: each slot has the handle with this slot's hash that was looked up last.
template <class Handle, class Value>
class HandleMap {
  public:
    /// Returns nullptr for an unknown handle.
    [[nodiscard]] Value* find(Handle handle) {
        const std::uint64_t number = number_of(handle);
        Slot& slot = slots_[slot_of(number)];
        if (slot.value != nullptr && slot.number == number) [[likely]]
            return slot.value;
        const auto found = values_.find(number);
        if (found == values_.end()) return nullptr;
        slot = {number, found->second.get()};
        return slot.value;
    }
    Value& add(Handle handle, Value value) {
        auto& held = values_[number_of(handle)];
        held = std::make_unique<Value>(std::move(value));
        slots_[slot_of(number_of(handle))] = {};
        return *held;
    }
    template <class Visit>
    void for_each(Visit visit) {
        for (auto& [number, value] : values_) visit(*value);
    }
    void remove(Handle handle) {
        slots_[slot_of(number_of(handle))] = {};
        values_.erase(number_of(handle));
    }

  private:
    struct Slot {
        std::uint64_t number = 0;
        Value* value = nullptr;
    };
    static constexpr unsigned kSlotBits = 8;
    [[nodiscard]] static std::size_t slot_of(std::uint64_t number) {
        return number * 0x9e37'79b9'7f4a'7c15ULL >> (64 - kSlotBits);
    }

    std::array<Slot, std::size_t{1} << kSlotBits> slots_{};
    std::unordered_map<std::uint64_t, std::unique_ptr<Value>> values_;
};

}  // namespace weft::mpi
