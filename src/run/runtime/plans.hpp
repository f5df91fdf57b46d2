// SPDX-License-Identifier: BSD-3-Clause
// plans.hpp - from the arguments of a call to its bound program, once per shape of call.
//
// Idea     A call's shape (what, how many, of which type, which operation, root) is the key. The last
//          shape of each kind of call is compared first; repeated calls find their plan with one
//          comparison.
// Holds    A plan lives as long as its team: outstanding calls, and ranks that ask about old calls,
//          may refer to it. All decisions here are made from arguments that all ranks know alike.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "collectives/notation/spec.hpp"
#include "run/bind/bind.hpp"
#include "run/execute/operation.hpp"
#include "run/reduce/reduce.hpp"
#include "run/runtime/choice.hpp"
#include "weft/call.hpp"

namespace weft::run {

/// The collectives; their names are those of the public enumeration, in its order.
using Kind = Collective;
inline constexpr std::array<std::string_view, 11> kKindNames{
    "barrier",   "broadcast", "reduce",         "allreduce", "gather", "scatter",
    "allgather", "alltoall",  "reduce_scatter", "scan",      "exscan"};
[[nodiscard]] constexpr std::string_view name_of(Kind kind) {
    return kKindNames[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr bool has_root(Kind kind) {
    return kind == Kind::broadcast || kind == Kind::reduce || kind == Kind::gather ||
           kind == Kind::scatter;
}
[[nodiscard]] constexpr bool has_operation(Kind kind) {
    return kind == Kind::allreduce || kind == Kind::reduce || kind == Kind::reduce_scatter ||
           kind == Kind::scan || kind == Kind::exscan;
}

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

    friend auto operator<=>(const CallShape&, const CallShape&) = default;
};

/// What the choice of an algorithm depends on. `collective` is the name of the shape's kind.
[[nodiscard]] CallClass class_of(const CallShape& shape, std::string_view collective);

/// A number that no user's operation of this process had before, whichever interface it came by. Not
/// state of a runtime: operations are made without one.
[[nodiscard]] std::uint64_t next_operation_serial();

/// What this rank has of the vector of a call: the part that the caller's pointer points to.
struct Part {
    std::uint64_t offset = 0;  ///< bytes from the start of the vector
    std::uint64_t bytes = 0;
};

struct Plan {
    CallShape shape;
    BoundProgram program;
    Reducer reducer;
    Part input;
    Part output;
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

    /// The plan of a call; a failure names the argument that cannot be used.
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

    /// The spec that a call would use.
    [[nodiscard]] base::Result<std::string> choose(const CallShape& shape) const;

  private:
    using Key = std::pair<CallShape, std::string>;

    base::Result<const Plan*> find_or_make(const CallShape& shape);
    base::Result<const Plan*> keep(const CallShape& shape, const std::string& spec);
    [[nodiscard]] base::Result<std::string> choose_by_shape(const CallShape& shape) const;
    /// Of the whole vector, if a call counts those of each rank's block.
    [[nodiscard]] std::uint64_t vector_elements(const CallShape& shape) const;
    [[nodiscard]] base::Result<std::unique_ptr<Plan>> make(const CallShape& shape,
                                                           const std::string& spec) const;
    [[nodiscard]] base::Result<BoundProgram> bind_call(const CallShape& shape,
                                                       const collectives::AlgorithmSpec& spec,
                                                       const BindOptions& options) const;

    PlanContext context_;
    Chooser chooser_;
    ReduceTable kernels_;
    std::array<std::string, kKindNames.size()> environment_;  ///< specs of WEFT_<COLLECTIVE>
    std::array<std::string, kKindNames.size()> forced_;
    std::array<const Plan*, kKindNames.size()> last_{};
    std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace weft::run
