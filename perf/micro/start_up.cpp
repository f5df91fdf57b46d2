// SPDX-License-Identifier: BSD-3-Clause
// start_up.cpp - one rank of perf/startup: joins, calls a barrier and an allreduce, and prints
// times and memory.
//
// Idea     Every rank times its phases and reads its memory from /proc. Rank 0 prints the largest
//          time of each phase and the average memory of a rank. PERF_STARTED_NS in the environment
//          is the start time of the launcher on the monotonic clock.
// Why      PSS divides a shared page by the number of processes that map it, so its sum over the
//          ranks of a node is the memory that the job uses. It does not tell segments from other
//          memory, so the touched pages of the rank's own segment are also counted.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "run/runtime.hpp"
#include "tools/lab/program/json.hpp"

namespace {

using namespace weft;

struct Memory {
    double pss = 0;      ///< bytes of all mappings; shared pages divided among the processes
    double rss = 0;      ///< bytes of all mappings; shared pages in full
    double segment = 0;  ///< bytes of this rank's segment on resident pages
};

/// Returns the bytes of the resident pages of a range. Any process may have touched them.
double touched_bytes(std::byte* start, std::uint64_t bytes) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages((bytes + page - 1) / page);
    if (::mincore(start, bytes, pages.data()) != 0) return 0;
    return static_cast<double>(page) *
           static_cast<double>(std::ranges::count_if(pages, [](auto p) { return (p & 1) != 0; }));
}

Memory read_memory(run::Runtime& runtime) {
    const run::Job& job = runtime.job();
    Memory memory;
    memory.segment = touched_bytes(job.wire->near(job.bootstrap->rank()), runtime.layout().bytes);
    std::ifstream file("/proc/self/smaps_rollup");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string key;
        double kilobytes = 0;
        words >> key >> kilobytes;
        if (key == "Pss:") memory.pss = 1024 * kilobytes;
        if (key == "Rss:") memory.rss = 1024 * kilobytes;
    }
    return memory;
}

void require(const base::Result<void>& result) {
    if (result) return;
    fmt::print(stderr, "start_up: {}\n", result.failure().text);
    std::exit(3);
}

std::vector<double> allreduce_values(run::Team& world, std::vector<double> values, Op op) {
    require(
        world.run(Call::allreduce(values.data(), values.data(), values.size(), Type::float64, op)));
    return values;
}

/// Times of this rank's phases, in seconds.
class Phases {
  public:
    explicit Phases(std::uint64_t begin_ns) : last_ns_(begin_ns) {}
    void add(const char* name, double seconds) {
        names_.emplace_back(name);
        seconds_.push_back(seconds);
    }
    void end(const char* name) {
        const std::uint64_t now = base::monotonic_ns();
        add(name, 1e-9 * static_cast<double>(now - last_ns_));
        last_ns_ = now;
    }
    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
    [[nodiscard]] const std::vector<double>& seconds() const { return seconds_; }

  private:
    std::uint64_t last_ns_;
    std::vector<std::string> names_;
    std::vector<double> seconds_;
};

}  // namespace

int main() {
    const char* const started = std::getenv("PERF_STARTED_NS");
    const std::uint64_t begun_ns = base::monotonic_ns();
    Phases phases(begun_ns);
    if (started != nullptr)
        phases.add("launch",
                   1e-9 * (static_cast<double>(begun_ns) - std::strtod(started, nullptr)));
    auto created = run::Runtime::create(environ);
    if (!created) {
        fmt::print(stderr, "start_up: {}\n", created.failure().text);
        return 3;
    }
    run::Runtime& runtime = **created;
    phases.end("start_up");
    // The phases of create() are parts of start_up.
    for (const run::Job::Phase& phase : runtime.job().phases)
        phases.add(phase.name, 1e-9 * static_cast<double>(phase.ns));
    run::Team& world = runtime.world();
    require(world.run(Call::barrier()));
    phases.end("barrier");
    const double sum = allreduce_values(world, {1.0}, Op::sum).front();
    phases.end("allreduce");
    const double ranks = runtime.job().bootstrap->size();
    if (sum != ranks) {
        fmt::print(stderr, "start_up: a sum of ones over {} ranks gave {}\n", ranks, sum);
        return 1;
    }
    const Memory memory = read_memory(runtime);
    const auto sums = allreduce_values(world, {memory.pss, memory.rss, memory.segment}, Op::sum);
    const auto times = allreduce_values(world, phases.seconds(), Op::max);
    const bool prints = runtime.job().bootstrap->rank() == 0;
    lab::Json result{{"ranks", static_cast<int>(ranks)},
                     {"nodes", runtime.job().nodes},
                     {"provider", runtime.job().provider},
                     {"pss_bytes", static_cast<std::int64_t>(sums[0] / ranks)},
                     {"rss_bytes", static_cast<std::int64_t>(sums[1] / ranks)},
                     {"segment_touched_bytes", static_cast<std::int64_t>(sums[2] / ranks)},
                     {"segment_mapped_bytes", runtime.layout().bytes}};
    for (std::size_t i = 0; i < times.size(); ++i) result["phases_s"][phases.names()[i]] = times[i];
    require(runtime.finalize());
    if (prints) lab::print_json(result);
    return 0;
}
