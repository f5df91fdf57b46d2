// SPDX-License-Identifier: BSD-3-Clause
// execute.hpp - runs the programs of all ranks symbolically, to the end or to the first fault.
//
// Idea     Each lane runs until it waits for a raise that has not happened. That raise makes the
//          lane ready again.
// Holds    Programs must be well-formed (malformed() in verify.hpp). If run() returns true, all
//          lanes have ended, every raise was awaited, and no two accesses race.
#pragma once

#include <string>
#include <vector>

#include "plan/schedule/cursor.hpp"
#include "tools/verify/places.hpp"
#include "tools/verify/verify.hpp"

namespace weft::plan {

struct Counts {
    std::uint64_t messages = 0;
    std::uint64_t signals = 0;
    std::uint64_t elements_sent = 0;     ///< elements of all puts and publishes
    std::vector<std::uint64_t> sent;     ///< by rank: elements that it put or published
    std::vector<std::uint64_t> reduced;  ///< by rank: elements that it combined
    std::vector<std::uint64_t> slots;    ///< by rank: copies of slots that receive a payload
};

class Execution {
  public:
    Execution(std::span<const Program> programs, const Contract* contract, const Sizes& sizes,
              const std::vector<bool>& in_place, Values& values);

    /// Returns false at the first fault, which error() describes.
    [[nodiscard]] bool run();
    [[nodiscard]] const std::string& error() const { return reason_.text; }

    [[nodiscard]] const Counts& counts() const { return counts_; }
    [[nodiscard]] const Order& order() const { return order_; }
    [[nodiscard]] Memory& memory() { return memory_; }
    /// Returns the first lane of each rank: rank r has lanes starts[r] .. starts[r + 1] - 1.
    [[nodiscard]] std::span<const std::uint32_t> lane_starts() const { return lane_starts_; }

  private:
    struct RunningLane {
        Rank rank = 0;
        Cursor cursor;
    };
    static std::uint32_t count_lanes(std::span<const Program> programs);
    [[nodiscard]] bool run_lane(std::uint32_t lane);
    [[nodiscard]] StepOutcome step(std::uint32_t lane, const Step& step);
    [[nodiscard]] bool fault(std::uint32_t lane);
    [[nodiscard]] bool deadlock();
    [[nodiscard]] std::string position(std::uint32_t lane) const;

    [[nodiscard]] bool put(const Site& site, const Step& step);
    [[nodiscard]] bool signal(const Site& site, const Step& step);
    [[nodiscard]] bool expose(const Site& site, const Step& step);
    [[nodiscard]] bool publish(const Site& site, const Step& step);
    [[nodiscard]] bool reduce(const Site& site, const Step& step);
    [[nodiscard]] bool write_results(const Site& site, const Step& step, const Access& access);
    [[nodiscard]] static bool exchanges(const Program& program, const Step& step);
    [[nodiscard]] std::uint32_t opposite(std::uint32_t position) const;
    [[nodiscard]] bool same_size(std::size_t unit);
    [[nodiscard]] bool copies_to_itself(const Step& step, std::size_t unit) const;
    [[nodiscard]] bool carry(const Site& site, const Step& step, const Access& access,
                             Raise& raise);
    [[nodiscard]] Raise raise_of(const Site& site, const Step& step) const;

    std::span<const Program> programs_;
    Reason reason_;
    std::vector<std::uint32_t> lane_starts_;
    Order order_;
    Values& values_;
    Memory memory_;
    Arrivals arrivals_;
    Places places_;
    Counts counts_;
    std::vector<RunningLane> lanes_;
    std::vector<UnitPlace> targets_;  ///< of the current step
    std::vector<UnitPlace> sources_;
    std::vector<Value> results_;  ///< by position in targets_
};

}  // namespace weft::plan
