// SPDX-License-Identifier: BSD-3-Clause
// order.hpp - executed steps, and the order that every execution of the programs gives them.
//
// Idea     Executed steps are numbered in order. A step happens before another if it is earlier in
//          the same lane, or if a chain of raises and their waits leads from the first step to the
//          second. Such chains are searched only on request, backwards from the second step's lane,
//          and no further than the first step.
// Why      Almost all queries are about two steps of one lane. Vector clocks would cost a word for
//          each lane and wait: gigabytes for thousands of ranks.
// Holds    A raise runs before its wait, so the numbers are one order that the programs allow.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plan/schedule/program.hpp"

namespace weft::plan {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};  ///< no index

/// Access of a step to a unit of memory or a payload, and the end of the access.
struct Access {
    enum class EndKind : std::uint8_t {
        none,           ///< no access
        at,             ///< ends with step number `when`
        until_flush,    ///< ends with flush number `when` of the lane (0: its first)
        until_awaited,  ///< ends when raise `when` is awaited
    };
    EndKind kind = EndKind::none;
    std::uint32_t lane = 0;
    std::uint32_t when = 0;
    std::uint32_t step = 0;  ///< number of the accessing step
};

class Order;

/// Reads of a unit since its last write; of successive reads by one lane, the one that ends last.
class Reads {
  public:
    void add(const Access& read, const Order& order);
    [[nodiscard]] bool empty() const { return first_.kind == Access::EndKind::none; }
    void clear() {
        first_ = {};
        if (more_) more_->clear();
    }
    /// Returns the first read that may be active when `lane` starts its current step, or nullptr.
    [[nodiscard]] const Access* find_unfinished(Order& order, std::uint32_t lane) const;

  private:
    Access first_;
    std::unique_ptr<std::vector<Access>> more_;  ///< null until a second lane reads
};

/// An executed put, signal, expose or publish, or the published cell of shared puts.
struct Raise {
    StepKind kind = {};
    bool shared = false;
    bool in_loop = false;
    bool written = false;  ///< expose: the peer may write the block
    /// The target is a published cell, filled by a publish or by shared puts.
    bool in_cell = false;
    std::uint32_t lane = 0;
    std::uint32_t step = 0;   ///< number of the step
    std::uint32_t chain = 0;  ///< waits in the longest chain of raises and waits that leads to it
    Rank sender = kNoRank;
    Rank target = kNoRank;     ///< owner of the flag or cell
    std::uint32_t number = 0;  ///< number of the slot or cell
    std::uint32_t segment = 0;
    std::uint32_t payload = 0;           ///< first entry of its payload in Arrivals::payloads()
    std::uint32_t units = 0;             ///< entries of its payload
    Block exposed = {};                  ///< expose: the exposed block
    std::uint32_t exposed_slot = kNone;  ///< expose of a slot's block: raise that filled the slot
    std::uint32_t cell = kNone;          ///< shared put: raise of the published cell
    Access awaited = {};                 ///< the first wait for it; EndKind::none: not awaited
    Reads reads = {};                    ///< reads of its payload or accesses to its exposed block
    std::vector<std::uint32_t> members = {};  ///< cell of shared puts: raises of the puts
};

class Order {
  public:
    explicit Order(std::uint32_t lanes) : lanes_(lanes), mark_(lanes, 0), upto_(lanes, 0) {}

    /// Numbers the next step, which becomes the current step of `lane`.
    void begin(std::uint32_t lane, Rank rank, std::uint32_t index, std::uint32_t segment,
               bool in_loop);
    void flush(std::uint32_t lane) { lanes_[lane].flushes.push_back(lanes_[lane].last); }
    /// Adds a raise by the current step of its lane, and returns its number.
    std::uint32_t raise(Raise raise);
    /// Records that the current step of `lane` has awaited raise number `raise`.
    void add_wait(std::uint32_t lane, std::uint32_t raise);

    /// Return an access by the current step of `lane` that ends with this step, with the lane's
    /// next flush, or when `raise` is awaited.
    [[nodiscard]] Access now(std::uint32_t lane) const {
        const std::uint32_t step = lanes_[lane].last;
        return {Access::EndKind::at, lane, step, step};
    }
    [[nodiscard]] Access until_flush(std::uint32_t lane) const {
        return {Access::EndKind::until_flush, lane, as_u32(lanes_[lane].flushes.size()),
                lanes_[lane].last};
    }
    [[nodiscard]] Access until_awaited(std::uint32_t lane, std::uint32_t raise) const {
        return {Access::EndKind::until_awaited, lane, raise, lanes_[lane].last};
    }
    [[nodiscard]] bool has_ended(const Access& access) const;
    /// Returns true if the access ends before the current step of `lane` starts.
    [[nodiscard]] bool before(const Access& access, std::uint32_t lane);

    /// Starts a query for the steps that happen before the ends of the lanes given to
    /// add_to_past(). Accesses given to in_past() must not end before step `oldest`.
    void begin_past(std::uint32_t oldest);
    void add_to_past(std::uint32_t lane);
    [[nodiscard]] bool in_past(const Access& access) const;

    [[nodiscard]] std::vector<Raise>& raises() { return raises_; }
    [[nodiscard]] const std::vector<Raise>& raises() const { return raises_; }
    /// Returns the number of waits in the longest chain of raises and waits.
    [[nodiscard]] std::uint32_t chain_max() const;
    /// Returns a name such as "rank 3 step 5", with the segment inside a loop.
    [[nodiscard]] std::string name(std::uint32_t step) const;

    /// A raise by a lane, or a lane's wait for it.
    struct Link {
        std::uint32_t lane = 0;
        std::uint32_t raise = 0;
        bool wait = false;
    };
    /// Returns all raises and waits in the order of execution.
    [[nodiscard]] const std::vector<Link>& links() const { return links_; }

  private:
    struct ExecutedStep {
        Rank rank = 0;
        std::uint32_t index = 0;
        std::uint32_t segment = 0;
        bool in_loop = false;
    };
    struct Wait {
        std::uint32_t step = 0;
        std::uint32_t raise = 0;
    };
    /// Executed steps of a lane.
    struct Trace {
        std::uint32_t last = 0;              ///< number of the current step
        std::uint32_t chain = 0;             ///< as Raise::chain, for the current step
        std::vector<Wait> waits;             ///< in the order of steps
        std::vector<std::uint32_t> flushes;  ///< step numbers of flushes
    };
    /// Lane and step with which an access ends.
    struct End {
        std::uint32_t lane = kNone;  ///< kNone: the access has not ended
        std::uint32_t step = 0;
    };
    [[nodiscard]] End end_of(const Access& access) const;
    /// Walks back from `step` of `lane`, and stops once `goal` is in the past.
    void walk_back(std::uint32_t lane, std::uint32_t step, End goal);
    /// Adds the steps of a lane up to `step` to the past.
    void visit(std::uint32_t lane, std::uint32_t step);
    [[nodiscard]] bool visited(const End& end) const {
        return mark_[end.lane] == query_ && upto_[end.lane] >= end.step;
    }

    std::vector<ExecutedStep> steps_;
    std::vector<Trace> lanes_;
    std::vector<Raise> raises_;
    std::vector<Link> links_;

    std::uint32_t query_ = 0;          ///< number of the current query
    std::uint32_t oldest_ = 0;         ///< step at which the query stops
    std::vector<std::uint32_t> mark_;  ///< by lane: last query that visited it
    std::vector<std::uint32_t> upto_;  ///< by lane: last step that this query visited
    /// Steps from .. upto of a lane, whose waits are still to be followed.
    struct Stretch {
        std::uint32_t lane, from, upto;
    };
    std::vector<Stretch> open_;
};

}  // namespace weft::plan
