// SPDX-License-Identifier: BSD-3-Clause
// order.hpp - what has happened, and what is certain to happen before what.
//
// Idea     Executed steps are numbered as they come. One step happens before another if it stands
//          earlier in the same lane, or if a chain of raises and their waits leads from it to the
//          other. Such chains are looked for only on request, backwards from the asking
//          lane, and never further back than the step asked about.
// Why      Almost all questions are about two steps of one lane. Vector clocks for the rest would
//          cost a word per lane and wait: gigabytes at thousands of ranks.
// Holds    A raise is executed before its wait, so the numbers are one order that the programs
//          allow.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plan/schedule/program.hpp"

namespace weft::plan {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// Something that a step does to a place, and when it is over.
struct Access {
    enum class Kind : std::uint8_t {
        none,
        at,             ///< over with step number `when`
        until_flush,    ///< over with flush number `when` of the lane (0: its first)
        until_awaited,  ///< over when raise `when` is awaited
    };
    Kind kind = Kind::none;
    std::uint32_t lane = 0;
    std::uint32_t when = 0;
    std::uint32_t step = 0;  ///< number of the step whose access it is
};

class Order;

/// The reads of one place since it was last written; the last one of each run of a lane.
class Reads {
  public:
    void add(const Access& read, const Order& order);
    [[nodiscard]] bool empty() const { return first_.kind == Access::Kind::none; }
    void clear() {
        first_ = {};
        if (more_) more_->clear();
    }
    /// The first read for which keep(read) does not hold, or nullptr.
    template <class Keep>
    [[nodiscard]] const Access* find_unless(Keep keep) const {
        if (empty()) return nullptr;
        if (!keep(first_)) return &first_;
        if (!more_) return nullptr;
        for (const Access& read : *more_) {
            if (!keep(read)) return &read;
        }
        return nullptr;
    }

  private:
    Access first_;
    std::unique_ptr<std::vector<Access>> more_;
};

/// One executed put, signal, expose or publish; or the published cell of shared puts.
struct Raise {
    StepKind kind = {};
    bool shared = false;
    bool in_loop = false;
    bool written = false;  ///< an expose: the peer may write the block
    bool in_cell = false;  ///< can be read in place: published, or put shared
    std::uint32_t lane = 0;
    std::uint32_t step = 0;  ///< number of the step
    std::uint32_t chain = 0;
    Rank sender = kNoRank;
    Rank target = kNoRank;  ///< whose flag; of a cell: its owner
    std::uint32_t number = 0;
    std::uint32_t segment = 0;
    std::uint32_t payload = 0;  ///< first entry of the payload
    std::uint32_t units = 0;    ///< of the payload
    Block exposed = {};
    std::uint32_t exposed_slot = kNone;       ///< the raise whose payload is exposed
    std::uint32_t cell = kNone;               ///< a shared put: its published cell
    Access awaited = {};                      ///< none as long as it is not
    Reads reads = {};                         ///< of its payload, or of the memory entry it filled
    std::vector<std::uint32_t> members = {};  ///< a cell of shared puts: the raises
};

class Order {
  public:
    explicit Order(std::uint32_t lanes) : lanes_(lanes), mark_(lanes, 0), upto_(lanes, 0) {}

    /// Starts a step of a lane.
    void begin(std::uint32_t lane, Rank rank, std::uint32_t index, std::uint32_t segment,
               bool in_loop);
    void flush(std::uint32_t lane) { lanes_[lane].locals.push_back(lanes_[lane].last); }
    /// Adds a raise by the current step of its lane.
    std::uint32_t raise(Raise raise);
    /// The current step of `lane` has awaited a raise.
    void awaited(std::uint32_t lane, std::uint32_t raise);

    [[nodiscard]] Access now(std::uint32_t lane) const {
        const std::uint32_t step = lanes_[lane].last;
        return {Access::Kind::at, lane, step, step};
    }
    [[nodiscard]] Access until_flush(std::uint32_t lane) const {
        return {Access::Kind::until_flush, lane,
                static_cast<std::uint32_t>(lanes_[lane].locals.size()), lanes_[lane].last};
    }
    [[nodiscard]] Access until_awaited(std::uint32_t lane, std::uint32_t raise) const {
        return {Access::Kind::until_awaited, lane, raise, lanes_[lane].last};
    }
    [[nodiscard]] bool over(const Access& access) const;
    /// Is the access over before the current step of `lane` starts?
    [[nodiscard]] bool before(const Access& access, std::uint32_t lane);

    /// Everything that happens before the ends of the lanes that are added; asked about steps not
    /// older than `oldest` alone.
    void begin_past(std::uint32_t oldest);
    void add_to_past(std::uint32_t lane);
    [[nodiscard]] bool in_past(const Access& access) const;

    [[nodiscard]] std::vector<Raise>& raises() { return raises_; }
    [[nodiscard]] const std::vector<Raise>& raises() const { return raises_; }
    [[nodiscard]] std::uint32_t chain_max() const;
    /// "rank 3 step 5", with the segment if it is in a loop.
    [[nodiscard]] std::string name(std::uint32_t step) const;

    /// Raises and waits in the order of their execution.
    struct Link {
        std::uint32_t lane = 0;
        std::uint32_t raise = 0;
        bool wait = false;
    };
    [[nodiscard]] const std::vector<Link>& links() const { return links_; }

  private:
    struct Event {
        Rank rank = 0;
        std::uint32_t index = 0;
        std::uint32_t segment = 0;
        bool in_loop = false;
    };
    struct Wait {
        std::uint32_t step = 0;
        std::uint32_t raise = 0;
    };
    struct Trace {
        std::uint32_t last = 0;
        std::uint32_t chain = 0;
        std::vector<Wait> waits;
        std::vector<std::uint32_t> locals;
    };
    struct End {
        std::uint32_t lane = kNone;  ///< kNone: not over
        std::uint32_t step = 0;
    };
    [[nodiscard]] End end_of(const Access& access) const;
    /// Walks back from `step` of `lane`; stops when `goal` is in the past.
    void walk_back(std::uint32_t lane, std::uint32_t step, End goal);
    void visit(std::uint32_t lane, std::uint32_t step);
    [[nodiscard]] bool visited(const End& end) const {
        return mark_[end.lane] == query_ && upto_[end.lane] >= end.step;
    }

    std::vector<Event> events_;
    std::vector<Trace> lanes_;
    std::vector<Raise> raises_;
    std::vector<Link> links_;

    std::uint32_t query_ = 0;
    std::uint32_t oldest_ = 0;
    std::vector<std::uint32_t> mark_;  ///< per lane: the query that visited it
    std::vector<std::uint32_t> upto_;  ///< per lane: and up to which step
    struct Stretch {
        std::uint32_t lane, after, upto;
    };
    std::vector<Stretch> open_;
};

}  // namespace weft::plan
