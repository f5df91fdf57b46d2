// SPDX-License-Identifier: BSD-3-Clause
// up_tree.hpp - steps of one rank that reduces up a binary tree, with a subtree on each side
// of a node.
//
// Idea     Wait for the partial results of the children, combine them with the own value in the
//          order of numbers, and put the result to the parent.
// Holds    In a pipeline a slot is reused only after a credit from its reader.
// Next     patterns/double_tree.hpp for the trees; double_tree.cpp of allreduce and reduce.
#pragma once

#include "collectives/blocks.hpp"
#include "collectives/patterns/double_tree.hpp"

namespace weft::collectives {

class UpTree {
  public:
    struct Numbers {
        std::uint32_t first_child = 0;  ///< of two consecutive numbers
        std::uint32_t credit = 0;       ///< from the parent
    };

    /// Reduces block `block` of the vector.
    UpTree(BlockWriter& writer, const patterns::InnerPlace& place, std::uint32_t block,
           Numbers numbers)
        : writer_(writer), place_(place), block_(block), numbers_(numbers) {}

    void combine(const plan::Block& target) {
        std::vector<plan::Block> operands;
        for (const std::uint32_t index : {0U, 1U})
            if (lies_before(index)) receive(index, operands);
        operands.push_back(writer_.input(block_));
        for (const std::uint32_t index : {0U, 1U})
            if (!lies_before(index)) receive(index, operands);
        if (operands.size() == 1) {
            writer_->copy(target, operands.front());
        } else {
            writer_->reduce(target, operands);
        }
        for (const Rank child : place_.children)
            if (child >= 0) writer_.give_credit(child, numbers_.credit);
    }
    void send(const plan::Block& value) {
        writer_.await_credit(place_.parent, numbers_.credit);
        writer_->put(place_.parent, numbers_.first_child + place_.child_index, value);
    }

  private:
    [[nodiscard]] bool lies_before(std::uint32_t index) const {
        return place_.before == static_cast<int>(index);
    }
    void receive(std::uint32_t index, std::vector<plan::Block>& operands) {
        const Rank child = place_.children[index];
        if (child < 0) return;
        writer_->wait(child, numbers_.first_child + index);
        operands.push_back(writer_.slot(numbers_.first_child + index, block_));
    }

    BlockWriter& writer_;
    const patterns::InnerPlace& place_;
    std::uint32_t block_;
    Numbers numbers_;
};

}  // namespace weft::collectives
