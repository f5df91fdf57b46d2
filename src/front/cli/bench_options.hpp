// SPDX-License-Identifier: BSD-3-Clause
// bench_options.hpp - what `weft bench` is asked for, as written and as read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/measure/measuring.hpp"
#include "weft/types.hpp"

namespace weft::front {

struct BenchOptions {
    std::string collective;
    std::string bytes_text = "8";
    std::string type = "double";
    std::string op = "sum";
    std::string loop = "back-to-back";
    std::vector<std::string> algorithms{"auto"};
    std::string buffers = "reused";
    std::string counts = "same";
    Rank root = 0;
    double delay_ns = 0;
    bool json = false;
    bool osu = false;
    bool histogram = false;
    bool memcpy = false;
    lab::MeasuringOptions measuring;

    // Read from the texts above.
    std::vector<std::uint64_t> bytes;
    Type element = Type::float64;
    Op operation = Op::sum;
};

}  // namespace weft::front
