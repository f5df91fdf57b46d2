// SPDX-License-Identifier: BSD-3-Clause
// examples.cpp - examples in the help and the man page of each command.
//
// Holds    Each example ends with status 0 if only weft and ./a.out (a program that uses it) are
//          available, in this order and in one folder: tests/system/cli/shown_test.py runs them.
#include <array>
#include <string_view>

#include "tools/cli/command.hpp"

namespace weft::tools {

namespace {

struct Example {
    const char* command;
    const char* line;
};

constexpr std::array kExamples = {
    Example{"run", "weft run -n 4 ./a.out"},
    Example{"run", "weft run -n 4 --nodes 2 --label ./a.out"},
    Example{"run", "weft run --layout 3,1 --timeout 60 -x WEFT_ALLREDUCE=a2,a2 ./a.out"},
    Example{"bench", "weft run -n 4 weft bench allreduce --bytes 8,64K --seconds 0.05"},
    Example{"bench", "weft run -n 4 --nodes 2 weft bench put-latency --seconds 0.05 --json"},
    Example{"bench", "weft bench overlap -n 2 --nodes 2 --bytes 1M --iterations 5"},
    Example{"fit",
            "weft run -n 5 --layout 4,1 weft fit --repetitions 3 --passes 2 --pause 0 --output "
            "costs.json"},
    Example{"tune",
            "weft tune allreduce --ranks 2 --bytes 8 --seconds 0.05 --total-seconds 0.2 --output "
            "tuning.json"},
    Example{"info", "weft info"},
    Example{"info", "weft run -n 4 --nodes 2 weft info"},
    Example{"info", "weft info --environment"},
    Example{"doctor", "weft doctor"},
    Example{"list", "weft list allreduce"},
    Example{"show", "weft show allreduce --algorithm a2,a2 --ranks 4 --rank 0"},
    Example{"verify", "weft verify allreduce --algorithm ring --ranks 7"},
    Example{"verify", "weft verify broadcast --algorithm binomial --ranks 8 --layout 4,4 --json"},
    Example{"enumerate", "weft enumerate --ranks 12 --kind factored"},
    Example{"enumerate", "weft enumerate --ranks 12 --best"},
    Example{"simulate",
            "weft simulate allreduce --algorithm a8,a4 --ranks 32 --params infiniband-2007"},
    Example{"simulate",
            "weft simulate broadcast --algorithm chain --ranks 8 --bytes 64K --latency-ns 1000 "
            "--ns-per-byte 0.1 --timeline chain.svg"},
    Example{"goal",
            "weft simulate barrier --algorithm central --ranks 8 --latency-ns 1000 --goal c.goal"},
    Example{"goal", "weft goal c.goal --latency-ns 1000"},
    Example{"cost", "weft cost allreduce --ranks 24 --objective energy"},
    Example{"cost", "weft cost allreduce --ranks 24 --pareto"},
    Example{"formula", "weft formula"},
    Example{"mpi-check", "weft mpi-check --help"},
    Example{"explain", "weft explain allreduce --ranks 64 --nodes 8 --hosts 8 --bytes 1K"},
    Example{"explain", "weft explain allreduce --ranks 2 --bytes 1K --measure"},
    Example{"help", "weft help run"},
    Example{"help", "weft help --man bench"},
};

}  // namespace

void add_examples(CLI::App& app) {
    for (const Example& example : kExamples) add_example(app, example.command, example.line);
}

}  // namespace weft::tools
