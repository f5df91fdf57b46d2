// SPDX-License-Identifier: BSD-3-Clause
// rank_dies.cpp - the last rank kills itself after 1000 calls; the other ranks make calls until one
// fails.
#include <fmt/format.h>

#include <csignal>

#include "weft/weft.hpp"

int main() {
    try {
        weft::Runtime runtime;
        weft::Team world = runtime.world();
        for (int i = 0;; ++i) {
            if (i == 1000 && world.rank() == world.size() - 1) std::raise(SIGKILL);
            (void)world.allreduce(1.0, weft::Op::sum);
        }
    } catch (const weft::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 3;
    }
}
