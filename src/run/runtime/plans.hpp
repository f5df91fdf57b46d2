// SPDX-License-Identifier: BSD-3-Clause
// plans.hpp - from the arguments of a call to its bound program, once per shape of call.
//
// Idea     A call's shape (what, how many, of which type, which operation, root) is the key. The last
//          shape of each kind of call is compared first; repeated calls find their plan with one
//          comparison.
// Holds    A plan lives as long as its team: outstanding calls, and ranks that ask about old calls,
//          may refer to it. Counts may be new in each call, so plans of calls with counts go when nobody
//          does any more. All decisions here are made from arguments that all ranks know alike.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "collectives/collective_traits.hpp"
#include "collectives/notation/spec.hpp"
#include "collectives/v_collective.hpp"
#include "run/bind/bind.hpp"
#include "run/execute/operation.hpp"
#include "run/reduce/reduce.hpp"
#include "run/runtime/blocks.hpp"
#include "run/runtime/choice.hpp"
#include "weft/call.hpp"

namespace weft::run {

using Kind = Collective;
using collectives::traits_of;

/// The algorithm of an exchange.
inline constexpr std::string_view kVCollectiveAlgorithm = "direct";

/// The shape of a call.
struct CallShape {
    Kind kind = Kind::barrier;
    Type type = Type::float64;
    Op op = Op::sum;
    Rank root = -1;
    std::uint64_t elements = 0;           ///< of the vector, or of each rank's block of it
    const UserOperation* user = nullptr;  ///< for Op::user
    std::uint64_t user_serial = 0;        ///< of that operation
    /// Signals go into the waiter's own region; nothing is read from a peer's. For the last call of a
    /// team: a peer's region may serve another team before a late reader has looked.
    bool apart = false;
    Blocks
        in;  ///< of calls with counts, where they have them; who makes the shape keeps the arrays
    Blocks out;
};
/// All of a shape but its blocks.
[[nodiscard]] inline auto words_of(const CallShape& shape) {
    return std::tie(shape.kind, shape.type, shape.op, shape.root, shape.elements, shape.user,
                    shape.user_serial, shape.apart);
}
[[nodiscard]] inline bool operator==(const CallShape& a, const CallShape& b) {
    return words_of(a) == words_of(b) && same(a.in, b.in) && same(a.out, b.out);
}
[[nodiscard]] inline std::strong_ordering operator<=>(const CallShape& a, const CallShape& b) {
    if (const std::strong_ordering words = words_of(a) <=> words_of(b); words != 0) return words;
    if (const std::strong_ordering in = compare(a.in, b.in); in != 0) return in;
    return compare(a.out, b.out);
}

/// What the choice of an algorithm depends on.
[[nodiscard]] CallClass class_of(const CallShape& shape);

/// A number that no user's operation of this process had before, whichever interface it came by. Not
/// state of a runtime: operations are made without one.
[[nodiscard]] std::uint64_t next_operation_serial();

/// What this rank has of the vector of a call: the part that the caller's pointer points to.
struct Part {
    std::uint64_t offset = 0;  ///< bytes from the start of the vector
    std::uint64_t bytes = 0;
};

/// Of calls with counts: what a plan keeps besides.
struct BlockPlan {
    explicit BlockPlan(const CallShape& shape) : held(shape.in, shape.out) {}

    HeldBlocks held;
    Extents input;             ///< what the call reads behind the caller's pointer
    Extents output;            ///< what it writes
    std::uint64_t own_in = 0;  ///< where the own block lies behind the caller's input, in bytes
    std::uint64_t own_out = 0;
};

struct Plan {
    CallShape shape;
    BoundProgram program;
    Reducer reducer;
    Part input;
    Part output;
    std::unique_ptr<const BlockPlan> blocks;  ///< of calls with counts, which the shape refers to
    mutable Epoch used = -1;                  ///< of those: no later call has had it
};

/// What plans of one team depend on besides the call.
struct PlanContext {
    Rank rank = 0;
    Rank size = 1;
    int nodes = 1;           ///< over which the team is spread
    plan::Layout layout;     ///< which node each member is on; alike on all ranks
    plan::Machine machine;   ///< what puts cost here; alike on all ranks
    std::vector<bool> near;  ///< by team rank: shares memory with this rank
    base::RegionShape region;
};

class PlanCache {
  public:
    PlanCache(PlanContext context, const ReduceTable& kernels,
              std::vector<base::ForcedAlgorithm> forced);

    /// The plan of a call; a failure names the argument that cannot be used. Those of calls with counts live
    /// until retire() takes them.
    [[nodiscard]] base::Result<const Plan*> find(const CallShape& shape) {
        const Plan* last = last_[static_cast<std::size_t>(shape.kind)];
        if (last != nullptr && last->shape == shape) return last;
        return find_or_make(shape);
    }

    /// The barrier that the bank rule inserts: the library's choice, whatever is forced.
    [[nodiscard]] base::Result<const Plan*> inserted_barrier();

    /// From now on calls of this kind use this spec; an empty one restores what the environment forces,
    /// or else the choice by shape. Plans in use stay. To be called alike on all ranks.
    base::Result<void> force(Kind kind, std::string_view spec);

    /// Whether so many plans of calls with counts are kept that it is time to retire() some.
    [[nodiscard]] bool crowded() const { return block_plans_ >= block_plans_most_; }
    /// Drops plans of calls with counts that no call from epoch `before` on has had.
    void retire(Epoch before);

    /// The spec that a call would use.
    [[nodiscard]] base::Result<std::string> choose(const CallShape& shape) const;

  private:
    using Key = std::pair<CallShape, std::string>;
    static constexpr std::size_t kBlockPlans = 64;  ///< are kept without asking

    base::Result<const Plan*> find_or_make(const CallShape& shape);
    base::Result<const Plan*> keep(const CallShape& shape, const std::string& spec);
    [[nodiscard]] base::Result<std::string> choose_by_shape(const CallShape& shape) const;
    /// Of the whole vector, where a call counts those of blocks.
    [[nodiscard]] std::uint64_t vector_elements(const CallShape& shape) const;
    [[nodiscard]] base::Result<std::unique_ptr<Plan>> make(const CallShape& shape,
                                                           const std::string& spec) const;
    [[nodiscard]] base::Result<std::unique_ptr<const BlockPlan>> plan_blocks(
        const CallShape& shape) const;
    /// What this rank sends and receives in a call whose counts only the two ends know, and where that stands.
    struct Ends {
        std::vector<collectives::Message> sent;
        std::vector<collectives::Message> received;
        std::vector<std::uint64_t> input_starts;
        std::vector<std::uint64_t> output_starts;
    };
    [[nodiscard]] base::Result<Ends> ends_of(const CallShape& shape) const;
    [[nodiscard]] base::Result<BoundProgram> bind_v_collective(
        const CallShape& shape, const collectives::AlgorithmSpec& spec, BindOptions options) const;
    [[nodiscard]] base::Result<BoundProgram> bind_call(const CallShape& shape,
                                                       const collectives::AlgorithmSpec& spec,
                                                       const BindOptions& options) const;

    PlanContext context_;
    Chooser chooser_;
    ReduceTable kernels_;
    std::array<std::string, collectives::kCollectives.size()>
        environment_;  ///< specs of WEFT_<COLLECTIVE>
    std::array<std::string, collectives::kCollectives.size()> forced_;
    std::array<const Plan*, collectives::kCollectives.size()> last_{};
    std::map<Key, std::unique_ptr<Plan>> plans_;
    std::size_t block_plans_ = 0;  ///< of calls with counts
    std::size_t block_plans_most_ = kBlockPlans;
};

}  // namespace weft::run
