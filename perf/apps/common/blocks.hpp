// SPDX-License-Identifier: BSD-3-Clause
// blocks.hpp - division of consecutive items into blocks, one for each rank; blocks may be empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace apps {

class Blocks {
  public:
    /// Divides the items into `count` > 0 blocks; the first blocks may have one item more.
    Blocks(std::int64_t items, int count) {
        for (std::int64_t block = 0; block <= count; ++block)
            starts_.push_back(block * (items / count) + std::min(block, items % count));
    }
    /// Makes blocks of these sizes. Requires at least one size.
    explicit Blocks(std::span<const std::int64_t> sizes) : starts_{0} {
        for (const std::int64_t size : sizes) starts_.push_back(starts_.back() + size);
    }

    [[nodiscard]] int count() const { return static_cast<int>(starts_.size()) - 1; }
    [[nodiscard]] std::int64_t items() const { return starts_.back(); }
    [[nodiscard]] std::int64_t begin(int block) const { return starts_[index(block)]; }
    [[nodiscard]] std::int64_t end(int block) const { return starts_[index(block) + 1]; }
    [[nodiscard]] std::int64_t size(int block) const { return end(block) - begin(block); }
    [[nodiscard]] std::int64_t largest() const {
        std::int64_t result = 0;
        for (int block = 0; block < count(); ++block) result = std::max(result, size(block));
        return result;
    }
    /// Returns the block that contains an item. If several blocks start there, all but the
    /// last are empty.
    [[nodiscard]] int owner(std::int64_t item) const {
        return static_cast<int>(std::ranges::upper_bound(starts_, item) - starts_.begin()) - 1;
    }

  private:
    static std::size_t index(int block) { return static_cast<std::size_t>(block); }

    std::vector<std::int64_t> starts_;  ///< start of each block, and the end of the last
};

}  // namespace apps
