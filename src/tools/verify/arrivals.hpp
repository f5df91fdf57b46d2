// SPDX-License-Identifier: BSD-3-Clause
// arrivals.hpp - the rules for flags, slots and published cells.
//
// Idea     A flag is (rank, slot, segment): it is raised once and awaited once. Segments s and
//          s + depth share a copy of the slot. The later raise therefore requires that the earlier
//          one was awaited and its payload read. A published cell is (owner, slot, segment) with
//          any number of readers, and follows the same rule. Shared puts obey both rules, since
//          local peers may read them from the sender's published cell.
// Why      A flag stores one value, which identifies the segment; it does not count raises. A
//          waiter could not tell a second raise for a segment from the first one, and an early
//          raise would replace the value that a waiter still expects.
#pragma once

#include <unordered_map>
#include <vector>

#include "tools/verify/memory.hpp"

namespace weft::plan {

/// `blocked`: the lane waits for a raise that has not happened. `wrong`: Reason has the fault.
enum class StepOutcome : std::uint8_t { done, blocked, wrong };

/// One unit of a payload.
struct Carried {
    Value value = kUndefined;
    std::uint64_t offset = 0;  ///< elements from the start of the payload
    std::uint64_t size = 0;    ///< elements

    friend bool operator==(const Carried&, const Carried&) = default;
};

struct FlagState {
    std::uint32_t raise = kNone;   ///< index in Order::raises(); kNone: not raised
    std::uint32_t waiter = kNone;  ///< first lane of the list of waiting lanes; kNone: none waits
};

/// Table of flags: an array, or a hash table if the array would be too large.
class FlagTable {
  public:
    explicit FlagTable(std::uint64_t entries) {
        if (entries <= kDenseMax) dense_.resize(entries);
    }
    [[nodiscard]] FlagState& at(std::uint64_t key) {
        return dense_.empty() ? sparse_[key] : dense_[key];
    }

  private:
    static constexpr std::uint64_t kDenseMax = 1 << 22;  ///< entries of an array of 32 MiB
    std::vector<FlagState> dense_;
    std::unordered_map<std::uint64_t, FlagState> sparse_;
};

/// Raises and waits. Functions return false, and set the reason, if a rule is broken.
class Arrivals {
  public:
    Arrivals(std::span<const Program> programs, std::uint32_t lanes, Order& order, Reason& reason);

    /// Raises flag raise.number of raise.target for raise.segment, and sets `id`. Waiting lanes
    /// become ready.
    [[nodiscard]] bool raise(Raise raise, std::uint32_t& id);
    /// Fills the published cell raise.number of raise.target, and sets `id`.
    [[nodiscard]] bool publish(Raise raise, std::uint32_t& id);
    /// Joins a shared put or signal to the published cell that local peers may read instead.
    [[nodiscard]] bool share(Rank sender, std::uint32_t id);

    /// Executes a wait for the raise of `segment`.
    [[nodiscard]] StepOutcome wait(std::uint32_t lane, Rank rank, const Step& step,
                                   std::uint32_t segment);

    /// Sets `id` to the raise whose data a step of `segment` reads in slot (or exposed block)
    /// `number` of its rank. Returns false if the rank has not awaited this raise.
    [[nodiscard]] bool find_slot(std::uint32_t lane, Rank rank, std::uint32_t number,
                                 std::uint32_t segment, std::uint32_t& id);
    /// As find_slot(), for published cell `number` of `owner`.
    [[nodiscard]] bool find_published(std::uint32_t lane, Rank rank, Rank owner,
                                      std::uint32_t number, std::uint32_t segment,
                                      std::uint32_t& id);
    /// Records an access to the payload or exposed block of a raise.
    void add_read(std::uint32_t id, const Access& access);

    [[nodiscard]] std::vector<Carried>& payloads() { return payloads_; }
    [[nodiscard]] std::span<const Carried> payload(const Raise& raise) const {
        return std::span(payloads_).subspan(raise.payload, raise.units);
    }
    /// Returns the lanes that became ready. The caller clears the list.
    [[nodiscard]] std::vector<std::uint32_t>& ready() { return ready_; }
    /// Returns true if every raise was awaited. Called after all lanes have ended.
    [[nodiscard]] bool check_all_awaited();

  private:
    [[nodiscard]] std::uint64_t key(Rank rank, std::uint32_t number, std::uint32_t segment) const {
        return (static_cast<std::uint64_t>(rank) * slots_ + number) * segments_ + segment;
    }
    /// Returns the entry of a segment. If its slot was filled before the loop instead, returns the
    /// entry of that raise.
    [[nodiscard]] FlagState* entry_to_read(FlagTable& table, Rank rank, std::uint32_t number,
                                           std::uint32_t segment);
    [[nodiscard]] std::uint32_t raise_before(FlagTable& table, const Raise& raise);
    [[nodiscard]] bool check_not_passed(FlagTable& table, const Raise& raise);
    [[nodiscard]] bool check_not_replaced(FlagTable& table, std::uint32_t id,
                                          std::string_view verb);
    [[nodiscard]] bool check_free(std::uint32_t earlier, std::uint32_t lane);
    [[nodiscard]] bool check_cell_free(std::uint32_t earlier, std::uint32_t lane);
    [[nodiscard]] bool publish_shared(Raise raise, FlagState& entry, std::uint32_t& id);
    [[nodiscard]] bool check_can_share(const Raise& raise, const Raise& cell);
    [[nodiscard]] bool check_wait(std::uint32_t id, const Step& step);
    void wake(FlagState& entry);
    [[nodiscard]] StepOutcome block(FlagState& entry, std::uint32_t lane);
    [[nodiscard]] std::string slot_of(const Raise& raise) const;

    Order& order_;
    Reason& reason_;
    std::uint64_t slots_;     ///< slot numbers of each rank
    std::uint64_t segments_;  ///< most iterations of a loop
    std::uint32_t depth_;     ///< copies of each slot
    FlagTable flags_;
    FlagTable published_;
    std::vector<Carried> payloads_;
    std::vector<std::uint32_t> next_waiter_;  ///< by lane: next lane that waits for the same entry
    std::vector<std::uint32_t> ready_;
    /// (rank, published raise) -> the rank's wait for it.
    std::unordered_map<std::uint64_t, Access> seen_;
};

}  // namespace weft::plan
