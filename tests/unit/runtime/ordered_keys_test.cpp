// SPDX-License-Identifier: BSD-3-Clause
// Goal: integer keys, with which networks compute minima and maxima of floating-point numbers, have
// the order of the numbers: a NaN wins, and -0.0 is less than +0.0.
// Method: all pairs of limits and special numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "run/team/offload_elements.hpp"

namespace weft::run {
namespace {

template <class Key, class Float>
void check_all_pairs() {
    using Limits = std::numeric_limits<Float>;
    const std::vector<Float> ascending{
        -Limits::infinity(),   Limits::lowest(), Float(-1),     -Limits::min(),
        -Limits::denorm_min(), Float(-0.0),      Float(0.0),    Limits::denorm_min(),
        Limits::min(),         Float(1),         Limits::max(), Limits::infinity()};
    for (std::size_t i = 0; i < ascending.size(); ++i) {
        for (const Op op : {Op::min, Op::max}) {
            const Key key = key_of<Key>(ascending[i], op);
            EXPECT_EQ(std::bit_cast<Key>(value_of<Key, Float>(key)),
                      std::bit_cast<Key>(ascending[i]));
            for (std::size_t j = 0; j < i; ++j)
                EXPECT_LT(key_of<Key>(ascending[j], op), key) << ascending[j] << ascending[i];
        }
        for (const Float nan : {Limits::quiet_NaN(), -Limits::quiet_NaN()}) {
            const Key least =
                std::min(key_of<Key>(nan, Op::min), key_of<Key>(ascending[i], Op::min));
            const Key most =
                std::max(key_of<Key>(nan, Op::max), key_of<Key>(ascending[i], Op::max));
            EXPECT_TRUE(std::isnan(value_of<Key, Float>(least)));
            EXPECT_TRUE(std::isnan(value_of<Key, Float>(most)));
        }
    }
}

TEST(OrderedKeysTest, KeysAreOrderedAsTheirNumbers) {
    check_all_pairs<std::int32_t, float>();
    check_all_pairs<std::int64_t, double>();
}

}  // namespace
}  // namespace weft::run
