// SPDX-License-Identifier: BSD-3-Clause
// choice.cpp - each rank prints which algorithms its calls use: one JSON object with the rank, the
// provider, and the algorithm for each collective and number of bytes. The ranks also make the
// calls, so that the library reports a difference between ranks.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/lab/program/json.hpp"
#include "weft/weft.hpp"

int main() {
    try {
        weft::Runtime runtime;
        weft::Team world = runtime.world();
        weft::lab::Json report{{"rank", world.rank()}, {"provider", runtime.provider()}};
        world.barrier();
        report["barrier"]["0"] = world.algorithm_of("barrier", 0, weft::Type::float64);
        for (const std::size_t count : {1U, 3U, 512U, 8192U, 131072U}) {
            std::vector<double> values(count, 1.0);
            world.broadcast<double>(values, 0);
            world.allreduce<double>(values, weft::Op::sum);
            if (values.back() != world.size()) return 1;
            for (const char* collective : {"broadcast", "allreduce"})
                report[collective][std::to_string(8 * count)] =
                    world.algorithm_of(collective, count, weft::Type::float64);
        }
        const std::string line = weft::lab::json_text(report) + "\n";
        std::fwrite(line.data(), 1, line.size(), stdout);
        runtime.finalize();
    } catch (const weft::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 3;
    }
    return 0;
}
