// SPDX-License-Identifier: BSD-3-Clause
// rank_in_network.cpp - a rank that connects to the PMIx server, enters a network namespace and
// makes an allreduce, like a rank in a container.
//
// usage: weft_rank_in_network PREFIX   (the path of the namespace is PREFIX followed by the rank)
#include <fcntl.h>
#include <fmt/format.h>
#include <pmix.h>
#include <sched.h>
#include <unistd.h>

#include <string>

#include "weft/weft.hpp"

int main(int argc, char** argv) {
    pmix_proc_t self;
    if (argc < 2 || PMIx_Init(&self, nullptr, 0) != PMIX_SUCCESS) return 2;
    const int network = ::open((argv[1] + std::to_string(self.rank)).c_str(), O_RDONLY | O_CLOEXEC);
    if (network < 0 || ::setns(network, CLONE_NEWNET) != 0) return 3;
    try {
        weft::Runtime runtime;
        weft::Team world = runtime.world();
        const double sum = world.allreduce(1.0 + world.rank(), weft::Op::sum);
        if (world.rank() == 0) fmt::print("sum {}\n", sum);
        runtime.finalize();
    } catch (const weft::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 4;
    }
    PMIx_Finalize(nullptr, 0);
    return 0;
}
