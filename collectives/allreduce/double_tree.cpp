// SPDX-License-Identifier: BSD-3-Clause
// double_tree.cpp - allreduce up and down two binary trees at once, as a pipeline.
//
// Idea     Half of the vector is reduced along each of two trees in which no rank has children twice; the
//          root sends each reduced piece back down. Four lanes: up and down in either tree, so that pieces
//          go up while earlier ones come down.
// Source   Sanders, Speck and Traeff, Two-tree algorithms for full bandwidth broadcast, reduction and
//          scan.
// Rounds   2 * ceil(log2 n) for one piece; the others follow two puts apart. Messages: 4 * s * (n - 1) for
//          s pieces of each half, and one credit for each but the last two of an edge.
// Bytes    2 * (n - 1) vectors in all. Reduced: at most one vector by a rank.
// Memory   Three slots in each tree, two copies each; one scratch vector for what goes up.
// Good for Long vectors on many ranks: fewer steps than a ring, as many bytes. Unless given, pieces have
//          about 8 KiB.
// Holds    Every piece is reduced once and copied, so results are bit-identical. If n is even the second
//          tree holds rank 1 behind all others: for operations that commute.
#include "collectives/patterns/double_tree.hpp"

#include "collectives/allreduce/allreduce.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

namespace {

constexpr std::uint16_t kDepth = 2;
constexpr std::uint32_t kNumbers = 6;  ///< of each tree

/// The steps of one rank in one tree.
class Course {
  public:
    Course(plan::Builder& builder, const patterns::InnerPlace& place, int tree,
           std::uint32_t segments)
        : builder_(builder),
          place_(place),
          first_unit_(static_cast<std::uint32_t>(tree) * segments),
          numbers_(static_cast<std::uint32_t>(tree) * kNumbers),
          pipelined_(segments > 1) {}

    void write() {
        begin_loop();
        if (place_.parent < 0) {
            reduce_into(moving(plan::output(first_unit_)));
            send_down();
            return end_loop();
        }
        reduce_into(moving(plan::scratch(0, first_unit_)));
        if (pipelined_) builder_.wait(place_.parent, up_credit(), 0, kDepth);
        builder_.put(place_.parent, up(place_.child_index), moving(plan::scratch(0, first_unit_)));
        end_loop();
        builder_.begin_lane();
        begin_loop();
        builder_.wait(place_.parent, down(), plan::kShared);
        builder_.copy(moving(plan::output(first_unit_)), moving(plan::slot(down(), first_unit_)));
        if (pipelined_) builder_.signal(place_.parent, down_credit(place_.child_index), 0, kDepth);
        send_down();
        end_loop();
    }

  private:
    void reduce_into(const plan::Block& target) {
        std::vector<plan::Block> operands;
        for (const int index : {0, 1})
            if (place_.before == index) receive(index, operands);
        operands.push_back(moving(plan::input(first_unit_)));
        for (const int index : {0, 1})
            if (place_.before != index) receive(index, operands);
        if (operands.size() == 1) {
            builder_.copy(target, operands.front());
        } else {
            builder_.reduce(target, operands);
        }
        if (!pipelined_) return;
        for (const Rank child : place_.children)
            if (child >= 0) builder_.signal(child, up_credit(), 0, kDepth);
    }

    void receive(int index, std::vector<plan::Block>& operands) {
        const Rank child = place_.children[index];
        if (child < 0) return;
        const std::uint32_t number = up(static_cast<std::uint32_t>(index));
        builder_.wait(child, number);
        operands.push_back(moving(plan::slot(number, first_unit_)));
    }

    void send_down() {
        for (std::uint32_t index = 0; index < 2 && pipelined_; ++index)
            if (place_.children[index] >= 0)
                builder_.wait(place_.children[index], down_credit(index), 0, kDepth);
        for (const Rank child : place_.children)
            if (child >= 0)
                builder_.put(child, down(), moving(plan::output(first_unit_)), plan::kShared);
    }

    [[nodiscard]] std::uint32_t up(std::uint32_t index) const { return numbers_ + index; }
    [[nodiscard]] std::uint32_t down() const { return numbers_ + 2; }
    [[nodiscard]] std::uint32_t up_credit() const { return numbers_ + 3; }
    [[nodiscard]] std::uint32_t down_credit(std::uint32_t index) const {
        return numbers_ + 4 + index;
    }
    [[nodiscard]] plan::Block moving(plan::Block block) const {
        return plan::per_segment(block, pipelined_ ? 1 : 0);
    }
    void begin_loop() {
        if (pipelined_) builder_.begin_loop();
    }
    void end_loop() {
        if (pipelined_) builder_.end_loop();
    }

    plan::Builder& builder_;
    const patterns::InnerPlace& place_;
    std::uint32_t first_unit_;
    std::uint32_t numbers_;
    bool pipelined_;
};

base::Result<plan::Program> generate_double_tree(const AlgorithmSpec& spec,
                                                 const GenerateRequest& asked) {
    const GenerateRequest request = in_pieces(spec, asked);
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("allreduce", spec, request);
    header.root = plan::kNoRank;
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    header.units = 2 * *segments;
    header.segments = *segments;
    header.depth = *segments > 1 ? kDepth : 1;
    header.synchronizing = true;
    if (request.size > 1) header.scratch = 1;
    plan::Builder builder(std::move(header));
    const patterns::DoubleTree trees(request.size);
    for (const int tree : {0, 1}) {
        if (tree > 0) builder.begin_lane();
        const patterns::InnerPlace place = trees.place(tree, request.rank);
        Course(builder, place, tree, *segments).write();
    }
    if (request.size > 1) {
        for (std::uint32_t number = 0; number < 2 * kNumbers; ++number)
            builder.reserve_room(number, number % kNumbers < 3 ? 1 : 0);
    }
    return std::move(builder).finish();
}

}  // namespace

Algorithm allreduce_double_tree() {
    return {
        .collective = "allreduce",
        .name = "double-tree",
        .summary = "half of the vector up and down each of two binary trees, piece by piece",
        .source = "Sanders, Speck and Traeff, section 4",
        .parameters = {{"segments", "by size", "pieces of each half that follow each other",
                        "2,5"}},
        .properties = {.bit_identical = true, .synchronizing = true},
        .generate = &generate_double_tree,
    };
}

}  // namespace weft::collectives
