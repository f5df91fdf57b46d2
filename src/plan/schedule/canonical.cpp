// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/canonical.hpp"

#include <algorithm>

namespace weft::plan {

BlockList intern_blocks(std::vector<Block>& table, std::span<const Block> list) {
    if (list.empty()) return {};
    const auto found = std::search(table.begin(), table.end(), list.begin(), list.end());
    const auto start = static_cast<std::uint32_t>(found - table.begin());
    if (found == table.end()) table.insert(table.end(), list.begin(), list.end());
    return {start, static_cast<std::uint32_t>(list.size())};
}

Program canonical(const Program& program) {
    Program result = program;
    result.blocks.clear();
    for (Step& step : result.steps) {
        step.target = intern_blocks(result.blocks, blocks_of(program, step.target));
        step.source = intern_blocks(result.blocks, blocks_of(program, step.source));
    }
    return result;
}

}  // namespace weft::plan
