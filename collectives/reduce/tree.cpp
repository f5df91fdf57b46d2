// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/reduce/tree.hpp"

#include <algorithm>

#include "plan/schedule/builder.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint16_t kDepth = 2;

class TreeReduction {
  public:
    TreeReduction(plan::Builder& builder, const patterns::RangeTree& tree,
                  const GenerateRequest& request, bool pipelined)
        : builder_(builder),
          request_(request),
          top_(request.ordered ? 0 : request.root),
          own_((request.rank - top_ + request.size) % request.size),
          node_(patterns::find_node(tree, request.size, own_)),
          children_max_(tree.children_max),
          pipelined_(pipelined) {}

    void write() {
        if (pipelined_) builder_.begin_loop();
        if (own_ != 0) {
            const plan::Block partial = node_.branches.empty() ? input() : scratch();
            if (!node_.branches.empty()) combine(scratch());
            give(real(node_.parent), node_.child_index, credit(), partial);
        } else if (top_ == request_.root) {
            combine(output());
        } else {
            combine(scratch());
            give(request_.root, forwarded(), forwarded_credit(), scratch());
        }
        if (top_ != request_.root && request_.rank == request_.root) take_forwarded();
        if (pipelined_) builder_.end_loop();
        reserve();
    }

  private:
    /// Own value, then those of the children in the order of their ranges.
    void combine(const plan::Block& target) {
        std::vector<std::uint32_t> order(node_.branches.size());
        for (std::uint32_t child = 0; child < order.size(); ++child) {
            order[child] = child;
            builder_.wait(child_rank(child), child);
        }
        std::ranges::sort(order, {},
                          [&](std::uint32_t child) { return node_.branches[child].distance; });
        std::vector<plan::Block> operands{input()};
        for (const std::uint32_t child : order) operands.push_back(moving(plan::slot(child)));
        if (operands.size() == 1) {
            builder_.copy(target, operands.front());
        } else {
            builder_.reduce(target, operands);
        }
        for (std::uint32_t child = 0; child < order.size() && pipelined_; ++child)
            builder_.signal(child_rank(child), credit(), 0, kDepth);
    }

    void give(Rank peer, std::uint32_t number, std::uint32_t credit, const plan::Block& value) {
        if (pipelined_) builder_.wait(peer, credit, 0, kDepth);
        builder_.put(peer, number, value);
    }

    void take_forwarded() {
        builder_.wait(top_, forwarded());
        builder_.flush();  // the own value, which may lie in the output, has been sent
        builder_.copy(output(), moving(plan::slot(forwarded())));
        if (pipelined_) builder_.signal(top_, forwarded_credit(), 0, kDepth);
    }

    void reserve() {
        if (request_.size == 1) return;
        for (std::uint32_t number = 0; number < children_max_; ++number)
            builder_.reserve_capacity(number, 1);
        if (pipelined_) builder_.reserve_slots(credit() + 1);
        if (top_ == request_.root) return;
        builder_.reserve_capacity(forwarded(), 1);
        if (pipelined_) builder_.reserve_slots(forwarded_credit() + 1);
    }

    [[nodiscard]] std::uint32_t credit() const { return children_max_; }
    [[nodiscard]] std::uint32_t forwarded() const { return children_max_ + 1; }
    [[nodiscard]] std::uint32_t forwarded_credit() const { return children_max_ + 2; }

    [[nodiscard]] Rank real(Rank number) const {
        return static_cast<Rank>((std::int64_t{number} + top_) % request_.size);
    }
    [[nodiscard]] Rank child_rank(std::uint32_t child) const {
        return real(own_ + node_.branches[child].distance);
    }
    [[nodiscard]] plan::Block input() const { return moving(plan::input()); }
    [[nodiscard]] plan::Block output() const { return moving(plan::output()); }
    [[nodiscard]] plan::Block scratch() const { return moving(plan::scratch(0)); }
    [[nodiscard]] plan::Block moving(plan::Block block) const {
        return plan::per_segment(block, pipelined_ ? 1 : 0);
    }

    plan::Builder& builder_;
    const GenerateRequest& request_;
    Rank top_;  ///< where the tree stands
    Rank own_;  ///< counted from there
    patterns::TreeNode node_;
    std::uint32_t children_max_;
    bool pipelined_;
};

}  // namespace

base::Result<plan::Program> reduce_along(const patterns::RangeTree& tree, const AlgorithmSpec& spec,
                                         const GenerateRequest& request) {
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("reduce", spec, request);
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    header.units = *segments;
    header.segments = *segments;
    header.depth = *segments > 1 ? kDepth : 1;
    plan::Builder builder(std::move(header));
    TreeReduction(builder, tree, request, *segments > 1).write();
    return std::move(builder).finish();
}

}  // namespace weft::collectives
