// SPDX-License-Identifier: BSD-3-Clause
// folded.cpp - engine that simulates one rank of each class of ranks with equal clocks.
//
// Idea     A rank's number is written in digits whose radices are the group sizes of the exchange
//          stages, so the members of a group differ in one digit only. The clocks of all ranks are
//          a tree over these digits. Equal subtrees are one node, so all ranks with equal clocks
//          share a leaf. A stage is computed once for each combination of nodes in a group.
// Why      Without noise, ranks have few different clocks. If the product of the group sizes is the
//          number of ranks, all ranks share one leaf. So a billion ranks take no longer than a
//          thousand. Two kinds of stages create a few more leaves:
//           split and join   members send to a leader of their group; at the end it sends results
//           merge            ranks beyond the product (remainders) send to the members; at the end
//                            they get results
// Holds    The times equal those of the structured engine if all ranks start at once and all
//          latencies are equal. At most one split or merge is supported, outside all other stages.
#include <algorithm>
#include <limits>
#include <map>

#include "tools/simulate/exchange_stage.hpp"

namespace weft::lab {

namespace {

using Node = std::int32_t;

/// Trees over the digits of a number, with a value in each leaf. The children of a tree of height h
/// are the trees for the values of digit h. Equal trees are the same node.
class Trees {
  public:
    explicit Trees(std::vector<Rank> radices) : radices_(std::move(radices)) {
        sizes_.push_back(1);
        for (const Rank radix : radices_) sizes_.push_back(sizes_.back() * radix);
    }

    [[nodiscard]] int height() const { return static_cast<int>(radices_.size()); }
    [[nodiscard]] Rank radix(int height) const {
        return radices_[static_cast<std::size_t>(height - 1)];
    }
    [[nodiscard]] std::int64_t size(int height) const {
        return sizes_[static_cast<std::size_t>(height)];
    }

    Node leaf(std::int32_t value) { return find({0, true, {value}}); }
    [[nodiscard]] std::int32_t value(Node node) const { return keys_[at(node)].children.front(); }
    /// Returns a node whose children are all `child`.
    Node same(int height, Node child) { return find({height, true, {child}}); }
    [[nodiscard]] bool is_same(Node node) const { return keys_[at(node)].same; }
    [[nodiscard]] Node child(Node node, Rank digit) const {
        const Key& key = keys_[at(node)];
        return key.children[key.same ? 0 : static_cast<std::size_t>(digit)];
    }
    Node join(int height, std::vector<Node> children) {
        if (std::ranges::all_of(children, [&](Node c) { return c == children.front(); }))
            return same(height, children.front());
        return find({height, false, std::move(children)});
    }
    /// Returns the tree of height `height` that repeats `node`, of height `from`.
    Node spread(Node node, int from, int height) {
        for (int h = from + 1; h <= height; ++h) node = same(h, node);
        return node;
    }
    /// Returns a tree that is `low` for numbers below `limit`, else `high`. These two trees have
    /// height `from`; the limit is a multiple of size(from).
    Node threshold(std::int64_t limit, Node low, Node high, int from, int height) {
        if (limit <= 0) return spread(high, from, height);
        if (limit >= size(height)) return spread(low, from, height);
        std::vector<Node> children;
        for (Rank digit = 0; digit < radix(height); ++digit)
            children.push_back(
                threshold(limit - digit * size(height - 1), low, high, from, height - 1));
        return join(height, std::move(children));
    }
    /// Calls visit(value) with the values of numbers first .. last - 1; may skip repeated values.
    template <class Visit>
    void for_each_leaf(Node node, int height, std::int64_t first, std::int64_t last, Visit visit) {
        first = std::max<std::int64_t>(first, 0);
        last = std::min(last, size(height));
        if (first >= last) return;
        if (height == 0) return visit(value(node));
        const std::int64_t below = size(height - 1);
        const bool whole = first == 0 && last == size(height);
        if (whole && is_same(node))
            return for_each_leaf(child(node, 0), height - 1, 0, below, visit);
        for (std::int64_t digit = first / below; digit <= (last - 1) / below; ++digit)
            for_each_leaf(child(node, static_cast<Rank>(digit)), height - 1, first - digit * below,
                          last - digit * below, visit);
    }

  private:
    struct Key {
        int height;
        bool same;
        std::vector<Node> children;
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    [[nodiscard]] static std::size_t at(Node node) { return static_cast<std::size_t>(node); }
    Node find(Key key) {
        const auto [entry, added] = nodes_.try_emplace(key, static_cast<Node>(keys_.size()));
        if (added) keys_.push_back(std::move(key));
        return entry->second;
    }

    std::vector<Rank> radices_;
    std::vector<std::int64_t> sizes_;
    std::map<Key, Node> nodes_;
    std::vector<Key> keys_;
};

/// Table of the distinct clocks, by number.
class Clocks {
  public:
    std::int32_t number_of(const Clock& clock) {
        const auto key = std::tuple(clock.now, clock.send_free, clock.receive_free);
        const auto [entry, added] =
            numbers_.try_emplace(key, static_cast<std::int32_t>(clocks_.size()));
        if (added) clocks_.push_back(clock);
        return entry->second;
    }
    [[nodiscard]] const Clock& operator[](std::int32_t number) const {
        return clocks_[static_cast<std::size_t>(number)];
    }

  private:
    std::map<std::tuple<Time, Time, Time>, std::int32_t> numbers_;
    std::vector<Clock> clocks_;
};

class Folded {
  public:
    Folded(const Stages& stages, const BufferSize& size, const SimulationInputs& inputs)
        : stages_(stages), size_(size), inputs_(inputs) {}

    base::Result<Outcome> run() {
        WEFT_TRY(classify_stages());
        std::vector<Rank> radices;
        for (const ExchangeStage* exchange : inner_) radices.push_back(exchange->base);
        Trees trees(std::move(radices));
        trees_ = &trees;
        const std::uint64_t bytes = stages_.carries ? size_.elements * size_.element_bytes : 0;
        const StageCosts costs(inputs_.model, bytes, stages_.carries);
        Outcome outcome{.makespan = 0, .earliest_finish = std::numeric_limits<Time>::max()};
        outcome_ = &outcome;
        Clock shift_clock;
        clock_tree_ = trees.spread(trees.leaf(clocks_.number_of({})), 0, trees.height());
        for (const ShiftStage* shift : shifts_) run_shift(*shift, costs, shift_clock);
        if (split_ != nullptr) open_split(costs);
        for (int height = 1; height <= trees.height(); ++height) run_exchange(height, costs);
        if (split_ != nullptr) close_split(costs);
        for (const Stage& stage : stages_.stages) outcome.messages += raises_of(stages_, stage);
        outcome.events = 2 * outcome.messages;
        if (!shifts_.empty())
            finish(shift_clock);
        else if (split_ == nullptr)
            finish_ranks(0, trees.size(trees.height()));
        return outcome;
    }

  private:
    /// Classifies the stages. Fails for those that this engine cannot simulate.
    base::Result<void> classify_stages() {
        for (const Stage& stage : stages_.stages) {
            if (const ShiftStage* shift = std::get_if<ShiftStage>(&stage)) {
                if (shift->numbering != 0) return unsupported_stages();
                shifts_.push_back(shift);
                continue;
            }
            const ExchangeStage& exchange = std::get<ExchangeStage>(stage);
            if (exchange.receivers == Members::last) {
                if (split_ != nullptr || !inner_.empty()) return unsupported_stages();
                split_ = &exchange;
            } else if (exchange.senders == Members::last) {
                if (join_ != nullptr || split_ == nullptr) return unsupported_stages();
                join_ = &exchange;
            } else {
                if (join_ != nullptr) return unsupported_stages();
                inner_.push_back(&exchange);
            }
        }
        if (!shifts_.empty() && shifts_.size() != stages_.stages.size())
            return unsupported_stages();
        if ((split_ == nullptr) != (join_ == nullptr)) return unsupported_stages();
        std::int64_t stride = 1;
        for (std::size_t i = 0; i < inner_.size(); ++i) {
            const ExchangeStage& exchange = *inner_[i];
            const bool merge_sends = exchange.remainders_send && i == 0 && split_ == nullptr;
            const bool merge_receives = exchange.remainders_receive && i + 1 == inner_.size() &&
                                        i > 0 && inner_.front()->remainders_send;
            const bool has_remainders = exchange.remainders != kNoRemainders;
            if (exchange.numbering != inner_.front()->numbering || exchange.stride != stride ||
                (has_remainders && !merge_sends && !merge_receives))
                return unsupported_stages();
            stride *= exchange.base;
        }
        if (!inner_.empty() && stride != stages_.numberings[inner_.front()->numbering].count)
            return unsupported_stages();
        return base::Done{};
    }

    static base::Failure unsupported_stages() {
        return base::fail(Status::unsupported,
                          "the folded engine supports neither nested levels nor several kinds of "
                          "stages; use --engine structured");
    }

    /// Advances `clock`, which is equal on all ranks, by a shift stage.
    void run_shift(const ShiftStage& shift, const StageCosts& costs, Clock& clock) const {
        const std::int64_t size = stages_.size();
        const auto ahead = static_cast<Rank>(std::min(shift.radix - 1, (size - 1) / shift.reach));
        if (ahead == 0) return;
        const Time start = StageCosts::start(clock);
        costs.sent(clock, ahead);
        if (inputs_.takes_no_time_to_receive()) {
            clock.receive(inputs_.model, costs.left(start, ahead) + costs.latency);
            return;
        }
        for (Rank j = 1; j <= ahead; ++j)
            clock.receive(inputs_.model, costs.left(start, j) + costs.latency);
    }

    void open_split(const StageCosts& costs) {
        GroupExchange group_exchange(*split_);
        group_exchange.clocks.assign(static_cast<std::size_t>(split_->base), Clock{});
        group_exchange.run(costs, [&](Rank, Rank) { return costs.latency; });
        waiting_.assign(group_exchange.clocks.begin(), group_exchange.clocks.end() - 1);
        const Node leader = trees_->leaf(clocks_.number_of(group_exchange.clocks.back()));
        const Node other = trees_->leaf(clocks_.number_of({}));
        clock_tree_ = trees_->threshold(split_->groups, leader, other, 0, trees_->height());
    }

    void close_split(const StageCosts& costs) {
        trees_->for_each_leaf(
            clock_tree_, trees_->height(), 0, join_->groups, [&](std::int32_t leader) {
                GroupExchange group_exchange(*join_);
                group_exchange.clocks = waiting_;
                group_exchange.clocks.push_back(clocks_[leader]);
                group_exchange.run(costs, [&](Rank, Rank) { return costs.latency; });
                for (const Clock& clock : group_exchange.clocks) finish(clock);
            });
        finish_ranks(join_->groups, trees_->size(trees_->height()));
    }

    /// Runs the stage in which the members of a group differ in digit `height`.
    void run_exchange(int height, const StageCosts& costs) {
        stage_ = inner_[static_cast<std::size_t>(height - 1)];
        costs_ = &costs;
        done_.clear();
        exchanged_.clear();
        if (stage_->remainders_send) {
            open_merge();
        } else if (stage_->remainders_receive) {
            clock_tree_ = exchange_children(clock_tree_, height, remainders_by_group(height - 1));
        } else {
            clock_tree_ = run_below(clock_tree_, trees_->height(), height);
        }
    }

    /// Returns the tree after the stage of `digit`, for a tree before it.
    Node run_below(Node node, int height, int digit) {
        if (height == digit) return exchange_children(node, height, kNoNode);
        const auto known = done_.find(node);
        if (known != done_.end()) return known->second;
        Node result = kNoNode;
        if (trees_->is_same(node)) {
            result = trees_->same(height, run_below(trees_->child(node, 0), height - 1, digit));
        } else {
            std::vector<Node> children;
            for (Rank i = 0; i < trees_->radix(height); ++i)
                children.push_back(run_below(trees_->child(node, i), height - 1, digit));
            result = trees_->join(height, std::move(children));
        }
        done_[node] = result;
        return result;
    }

    /// Runs the stage in which remainders send. The first groups may have one more remainder.
    void open_merge() {
        const Remainders remainders = stages_.remainders_of(*stage_);
        const Node start = trees_->leaf(clocks_.number_of({}));
        const auto group = [&](Rank count) {
            Node member = start;
            return trees_->join(1, exchange_leaves({&member, 1}, count));
        };
        const Rank larger_groups = remainders.count % remainders.groups;
        const Node rest = group(remainders.count / remainders.groups);
        const Node first =
            larger_groups > 0 ? group(remainders.count / remainders.groups + 1) : rest;
        clock_tree_ = trees_->threshold(std::int64_t{larger_groups} * stage_->base, first, rest, 1,
                                        trees_->height());
        remainder_ = {};
        costs_->sent(remainder_, stage_->base);
    }

    /// Returns a tree whose leaf for each group is the group's number of remainders.
    Node remainders_by_group(int height) {
        const Remainders remainders = stages_.remainders_of(*stage_);
        const Rank least = remainders.count / remainders.groups;
        return trees_->threshold(remainders.count % remainders.groups, trees_->leaf(least + 1),
                                 trees_->leaf(least), 0, height);
    }

    /// Returns the tree after the stage of its top digit. `remainders`: tree of the groups' numbers
    /// of remainders, or kNoNode.
    Node exchange_children(Node node, int height, Node remainders) {
        std::vector<Node> members;
        if (trees_->is_same(node)) {
            members.push_back(trees_->child(node, 0));
        } else {
            for (Rank j = 0; j < stage_->base; ++j) members.push_back(trees_->child(node, j));
        }
        members.push_back(remainders);
        std::vector<Node> results = exchange_nodes(members, height - 1);
        return results.size() == 1 ? trees_->same(height, results.front())
                                   : trees_->join(height, std::move(results));
    }

    /// Returns the new subtrees of the members; a single node if all are equal. `row`: subtrees of
    /// the members (one if all are equal), then the subtree of the number of remainders.
    std::vector<Node> exchange_nodes(const std::vector<Node>& row, int height) {
        const auto known = exchanged_.find(row);
        if (known != exchanged_.end()) return known->second;
        std::vector<Node> results;
        if (height == 0) {
            const Rank remainders = row.back() == kNoNode ? 0 : trees_->value(row.back());
            results = exchange_leaves(std::span(row).first(row.size() - 1), remainders);
        } else {
            const bool equal = std::ranges::all_of(
                row, [&](Node node) { return node == kNoNode || trees_->is_same(node); });
            const Rank digits = equal ? 1 : trees_->radix(height);
            std::vector<std::vector<Node>> columns;
            for (Rank digit = 0; digit < digits; ++digit) {
                std::vector<Node> below;
                for (const Node node : row)
                    below.push_back(node == kNoNode ? kNoNode : trees_->child(node, digit));
                columns.push_back(exchange_nodes(reduced(std::move(below)), height - 1));
            }
            const bool all_equal =
                std::ranges::all_of(columns, [](const auto& c) { return c.size() == 1; });
            for (Rank j = 0; j < (all_equal ? 1 : stage_->base); ++j) {
                std::vector<Node> children;
                for (const auto& column : columns)
                    children.push_back(
                        column[column.size() == 1 ? 0 : static_cast<std::size_t>(j)]);
                results.push_back(equal ? trees_->same(height, children.front())
                                        : trees_->join(height, std::move(children)));
            }
        }
        exchanged_[row] = results;
        return results;
    }

    /// Reduces a row of equal members to one member.
    static std::vector<Node> reduced(std::vector<Node> row) {
        const auto members = std::span(row).first(row.size() - 1);
        if (!std::ranges::all_of(members, [&](Node node) { return node == members.front(); }))
            return row;
        return {row.front(), row.back()};
    }

    /// Runs the exchange of one group. If all members have equal clocks, `members` and the result
    /// have one leaf for all of them.
    std::vector<Node> exchange_leaves(std::span<const Node> members, Rank remainders) {
        const bool equal = members.size() == 1;
        if (equal && remainders == 0 && inputs_.takes_no_time_to_receive()) {
            Clock clock = clocks_[trees_->value(members.front())];
            const Time start = StageCosts::start(clock);
            const Rank others = stage_->base - 1;
            costs_->sent(clock, others);
            clock.receive(inputs_.model, costs_->left(start, others) + costs_->latency);
            clock.now += others * costs_->combine;
            return {trees_->leaf(clocks_.number_of(clock))};
        }
        GroupExchange group_exchange(*stage_);
        for (Rank j = 0; j < stage_->base; ++j)
            group_exchange.clocks.push_back(
                clocks_[trees_->value(members[equal ? 0 : static_cast<std::size_t>(j)])]);
        for (Rank k = 0; k < remainders; ++k)
            group_exchange.clocks.push_back(stage_->remainders_send ? Clock{} : remainder_);
        group_exchange.run(*costs_, [&](Rank, Rank) { return costs_->latency; });
        std::vector<Node> results;
        for (Rank j = 0; j < stage_->base; ++j)
            results.push_back(trees_->leaf(
                clocks_.number_of(group_exchange.clocks[static_cast<std::size_t>(j)])));
        if (stage_->remainders_receive)
            for (Rank k = 0; k < remainders; ++k)
                finish(group_exchange.clocks[static_cast<std::size_t>(stage_->base + k)]);
        return results;
    }

    void finish(const Clock& clock) {
        outcome_->makespan = std::max(outcome_->makespan, clock.now);
        outcome_->earliest_finish = std::min(outcome_->earliest_finish, clock.now);
    }
    void finish_ranks(std::int64_t first, std::int64_t last) {
        trees_->for_each_leaf(clock_tree_, trees_->height(), first, last,
                              [this](std::int32_t leaf) { finish(clocks_[leaf]); });
    }

    static constexpr Node kNoNode = -1;

    const Stages& stages_;
    const BufferSize& size_;
    const SimulationInputs& inputs_;
    // Stages by kind. split_ and join_ are set together, as first and last stage: only leaders take
    // part in the inner stages; in join_ they send results. inner_[i] is the stage of digit i + 1.
    std::vector<const ShiftStage*> shifts_;
    const ExchangeStage* split_ = nullptr;
    const ExchangeStage* join_ = nullptr;
    std::vector<const ExchangeStage*> inner_;

    Trees* trees_ = nullptr;
    Clocks clocks_;
    Outcome* outcome_ = nullptr;
    Node clock_tree_ = kNoNode;             ///< clock numbers of inner ranks before this stage
    std::vector<Clock> waiting_;            ///< members of a split that wait for their leader
    Clock remainder_;                       ///< clock of each remainder of a merge, after its sends
    const ExchangeStage* stage_ = nullptr;  ///< the current inner stage
    const StageCosts* costs_ = nullptr;
    std::map<Node, Node> done_;  ///< results of run_below() in this stage
    std::map<std::vector<Node>, std::vector<Node>> exchanged_;  ///< results of exchange_nodes()
};

}  // namespace

base::Result<Outcome> simulate_folded(const Stages& stages, const BufferSize& size,
                                      const SimulationInputs& inputs) {
    if (inputs.needs_steps(size.elements * size.element_bytes) || stages.interleaves)
        return base::fail(
            Status::unsupported,
            "stages contain no copies, segments in flight, two-way costs or bursts; use --engine "
            "generic");
    if (!inputs.noise.is_none() || !inputs.starts.empty() || !inputs.uniform())
        return base::fail(Status::unsupported,
                          "the folded engine supports no noise, skew or topology; use --engine "
                          "structured");
    return Folded(stages, size, inputs).run();
}

}  // namespace weft::lab
