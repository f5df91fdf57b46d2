// SPDX-License-Identifier: BSD-3-Clause
// fit_command.cpp - `weft fit`: what puts cost on the nodes of this job, measured and fitted.
//
// Idea     Rank 0 puts 8 bytes to 1, 2, ... 8 distinct peers at once, blocking and non-blocking:
//          the line through these times has the time of a further message as its slope (the
//          multicast benchmark of Ruefenacht et al., section 5.1). Turns with one peer, of more and
//          more bytes, give latency and time per byte. Near and far peers are measured apart. What
//          it takes to copy between the buffers of two ranks of a node comes from broadcasts to one
//          near peer: of memory that both have mapped, and of buffers that never come again, which
//          the kernel copies.
// Holds    Half a round trip is issue, latency and receive; what the issue leaves of it is divided
//          evenly between the other two, which no rank can measure apart. Ranks that are not timed
//          wait in a barrier.
// Next     docs/cost.md for the file; lab/measure/line.hpp.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "front/cli/answer.hpp"
#include "front/cli/commands.hpp"
#include "front/cli/job_command.hpp"
#include "front/cli/tuning_file.hpp"
#include "lab/measure/fresh_buffers.hpp"
#include "lab/measure/line.hpp"
#include "lab/measure/statistics.hpp"
#include "run/runtime/measured_files.hpp"
#include "weft/weft.hpp"

namespace weft::front {

namespace {

struct FitArguments {
    std::string output;
    int repetitions = 300;
};

constexpr std::size_t kPeersMax = 8;
constexpr std::size_t kTurnBytes[] = {8, 1024, 4096, 16384, 65536, 262144};
constexpr std::array<std::size_t, 4> kCopiedBytes{32768, 65536, 131072, 262144};

/// Times of one kind of multicast, by the number of peers.
struct Multicast {
    const char* mode = "";   ///< blocking or non-blocking puts
    const char* until = "";  ///< they are issued, or have landed
    std::vector<lab::Summary> by_peers;

    [[nodiscard]] lab::Line line(double lab::Summary::*statistic) const {
        std::vector<lab::Point> points;
        for (std::size_t i = 0; i < by_peers.size(); ++i)
            points.push_back({static_cast<double>(i + 1), by_peers[i].*statistic});
        return lab::fit_line(points);
    }
};

/// What is measured with the peers of one kind.
struct Way {
    const char* name = "";  ///< near or far
    std::vector<Rank> peers;
    std::vector<Multicast> multicasts;
    lab::Line turns;  ///< half a round trip over bytes
};

double elapsed_us(std::uint64_t begin) {
    return static_cast<double>(base::monotonic_ns() - begin) * 1e-3;
}

/// Broadcasts in which two ranks copy one half each: times over bytes.
struct NearCopies {
    lab::Line in_place;
    lab::Line by_kernel;
};

class Fit {
  public:
    Fit(Runtime& runtime, int repetitions)
        : world_(runtime.world()),
          repetitions_(repetitions),
          memory_(world_, kData + std::size_t{262144}),
          flag_(static_cast<std::uint64_t*>(memory_.data())),
          source_(262144) {
        *flag_ = 0;
    }

    [[nodiscard]] std::vector<Way> run() {
        std::vector<Way> ways;
        for (Way way : find_peers()) {
            if (way.peers.empty()) continue;
            if (way.peers.size() > 1)
                for (const bool blocking : {false, true}) multicast(way, blocking);
            way.turns = measure_turns(way.peers.front());
            ways.push_back(std::move(way));
        }
        return ways;
    }

    /// Nothing if rank 0 has no near peer, or the two do not reach each other's buffers.
    [[nodiscard]] std::optional<NearCopies> measure_copies(const std::vector<Way>& ways) {
        const bool near = !ways.empty() && ways.front().name == std::string_view("near");
        const bool takes_part =
            near && (world_.rank() == 0 || world_.rank() == ways.front().peers.front());
        Team part = *world_.split(takes_part ? 0 : 1, world_.rank());
        std::optional<NearCopies> found;
        if (takes_part) found = copies_of(part);
        part.free();
        world_.barrier();
        return found;
    }

  private:
    static constexpr std::size_t kData = 64;

    [[nodiscard]] std::optional<NearCopies> copies_of(Team pair) {
        pair.set_algorithm("broadcast", "mapped");
        try {
            const Memory mapped(pair, kCopiedBytes.back());
            NearCopies found;
            found.in_place = measure_broadcasts(
                pair, [&](std::size_t) { return static_cast<std::byte*>(mapped.data()); });
            std::optional<lab::FreshBuffers> fresh;
            found.by_kernel = measure_broadcasts(pair, [&](std::size_t bytes) {
                if (!fresh || fresh->bytes() != bytes) fresh.emplace(bytes);
                fresh->supply(1);
                fresh->next();
                return fresh->data();
            });
            return found;
        } catch (const Error& error) {
            if (error.status() != Status::unsupported) throw;
            return std::nullopt;  // found by both
        }
    }

    template <class Buffer>
    [[nodiscard]] lab::Line measure_broadcasts(Team pair, Buffer buffer) {
        std::vector<lab::Point> points;
        for (const std::size_t bytes : kCopiedBytes) {
            std::vector<double> times;
            for (int i = 0; i < repetitions_; ++i) {
                std::byte* const data = buffer(bytes);
                pair.barrier();
                const std::uint64_t begin = base::monotonic_ns();
                pair.broadcast(data, bytes, Type::uint8, 0);
                times.push_back(elapsed_us(begin));
            }
            points.push_back({static_cast<double>(bytes), lab::median(times)});
        }
        return lab::fit_line(points);
    }

    /// Mates of rank 0; and ranks of other nodes, first of nodes that are not named yet.
    [[nodiscard]] std::vector<Way> find_peers() {
        Team node = world_.split_by_node();
        Rank leader = world_.rank();
        node.broadcast(&leader, 1, Type::int32, 0);
        std::vector<Rank> leaders(static_cast<std::size_t>(world_.size()));
        world_.allgather(&leader, leaders.data(), 1, Type::int32);
        node.free();
        Way near{.name = "near"};
        Way far{.name = "far"};
        std::vector<Rank> further;
        for (Rank rank = 1; rank < world_.size(); ++rank) {
            const Rank of = leaders[static_cast<std::size_t>(rank)];
            if (of == leaders.front())
                near.peers.push_back(rank);
            else
                (of == rank ? far.peers : further).push_back(rank);
        }
        far.peers.insert(far.peers.end(), further.begin(), further.end());
        for (Way* way : {&near, &far}) way->peers.resize(std::min(way->peers.size(), kPeersMax));
        return {std::move(near), std::move(far)};
    }

    void multicast(Way& way, bool blocking) {
        const char* const mode = blocking ? "blocking" : "non-blocking";
        Multicast issued{mode, "issued", {}};
        Multicast landed{mode, "landed", {}};
        for (std::size_t peers = 1; peers <= way.peers.size(); ++peers) {
            std::vector<double> issue;
            std::vector<double> landing;
            for (int i = 0; i < repetitions_; ++i) {
                world_.barrier();
                if (world_.rank() != 0) continue;
                const std::uint64_t begin = base::monotonic_ns();
                for (std::size_t peer = 0; peer < peers; ++peer) put(way.peers[peer], blocking);
                issue.push_back(elapsed_us(begin));
                world_.quiet();
                landing.push_back(elapsed_us(begin));
            }
            if (world_.rank() != 0) continue;
            issued.by_peers.push_back(lab::summarize(issue));
            landed.by_peers.push_back(lab::summarize(landing));
        }
        world_.barrier();
        if (world_.rank() != 0) return;
        way.multicasts.push_back(std::move(issued));
        way.multicasts.push_back(std::move(landed));
    }

    void put(Rank peer, bool blocking) {
        if (blocking)
            world_.put(data(), source_.data(), sizeof(std::uint64_t), peer);
        else
            world_.put_nbi(data(), source_.data(), sizeof(std::uint64_t), peer);
    }
    [[nodiscard]] std::byte* data() { return static_cast<std::byte*>(memory_.data()) + kData; }

    /// Half of a turn there and back, medians, over the bytes of a put.
    [[nodiscard]] lab::Line measure_turns(Rank peer) {
        std::vector<lab::Point> points;
        for (const std::size_t bytes : kTurnBytes) {
            std::vector<double> times;
            for (int i = 0; i < repetitions_; ++i) {
                const std::uint64_t begin = base::monotonic_ns();
                turn(peer, bytes);
                times.push_back(elapsed_us(begin) / 2);
            }
            points.push_back({static_cast<double>(bytes), lab::median(times)});
            world_.barrier();
        }
        return lab::fit_line(points);
    }

    void turn(Rank peer, std::size_t bytes) {
        ++turn_;
        const Rank me = world_.rank();
        if (me == 0) send(peer, bytes);
        if (me == 0 || me == peer) world_.wait_until(flag_, Compare::ge, turn_);
        if (me == peer) send(0, bytes);
    }
    void send(Rank peer, std::size_t bytes) {
        world_.put_signal(data(), source_.data(), bytes, flag_, turn_, SignalOp::set, peer);
    }

    Team world_;
    int repetitions_;
    Memory memory_;
    std::uint64_t* flag_;
    std::vector<std::byte> source_;
    std::uint64_t turn_ = 0;
};

/// Three decimal places, as files of parameters have them at most.
double rounded(double value) {
    return std::max(0.0, std::round(value * 1000) / 1000);
}

/// The keys of one way, as lab/cost/parameters.hpp reads them.
void add_parameters(Json& parameters, const Way& way) {
    const double half_ns = way.turns.intercept * 1000;
    double issue_ns = half_ns / 3;
    for (const Multicast& multicast : way.multicasts)
        if (multicast.mode == std::string_view("non-blocking") &&
            multicast.until == std::string_view("issued"))
            issue_ns = multicast.line(&lab::Summary::median).slope * 1000;
    issue_ns = std::clamp(issue_ns, 0.0, half_ns);
    const auto key = [&](const char* name) { return fmt::format("{}_{}", way.name, name); };
    parameters[key("latency_ns")] = rounded((half_ns - issue_ns) / 2);
    parameters[key("issue_ns")] = rounded(issue_ns);
    parameters[key("receive_ns")] = rounded((half_ns - issue_ns) / 2);
    parameters[key("ns_per_byte")] = rounded(way.turns.slope * 1000);
}

/// What two ranks copy takes half as long as one of them would need; the rest is signals, one
/// after the other, and what each step takes.
void add_parameters(Json& parameters, const NearCopies& copies, const Way& near) {
    const double signals_ns = 2 * near.turns.intercept * 1000;
    for (const auto& [way, line] :
         {std::pair{"mapped", copies.in_place}, {"kernel", copies.by_kernel}}) {
        parameters[fmt::format("{}_ns", way)] = rounded(line.intercept * 1000 - signals_ns);
        parameters[fmt::format("{}_ns_per_byte", way)] = rounded(2 * line.slope * 1000);
    }
}

/// Adding a vector of doubles to another, in a cache.
double reduce_ns_per_byte() {
    constexpr std::size_t kElements = 4096;
    constexpr int kRounds = 200;
    std::vector<double> sum(kElements, 1.0);
    const std::vector<double> other(kElements, 1.0);
    std::vector<double> times;
    for (int round = 0; round < kRounds; ++round) {
        const std::uint64_t begin = base::monotonic_ns();
        for (std::size_t i = 0; i < kElements; ++i) sum[i] += other[i];
        times.push_back(elapsed_us(begin) * 1000);
        if (sum[static_cast<std::size_t>(round)] < 0) return 0;  // keeps the loop
    }
    return lab::median(times) / (kElements * sizeof(double));
}

Json to_json(const Way& way, const Multicast& multicast) {
    Json times = Json::array();
    for (std::size_t i = 0; i < multicast.by_peers.size(); ++i)
        times.push_back({{"peers", i + 1},
                         {"min_us", multicast.by_peers[i].min},
                         {"median_us", multicast.by_peers[i].median}});
    Json object{{"way", way.name}, {"mode", multicast.mode}, {"until", multicast.until}};
    for (const auto& [name, statistic] :
         {std::pair{"min", &lab::Summary::min}, {"median", &lab::Summary::median}}) {
        const lab::Line line = multicast.line(statistic);
        object[name] = {
            {"alpha_p_us", line.intercept}, {"alpha_r_us", line.slope}, {"r2", line.r2}};
    }
    object["times"] = std::move(times);
    return object;
}

Json report_of(Runtime& runtime, const std::vector<Way>& ways,
               const std::optional<NearCopies>& copies) {
    Json parameters = Json::object();
    Json multicasts = Json::array();
    Json turns = Json::array();
    for (const Way& way : ways) {
        add_parameters(parameters, way);
        for (const Multicast& multicast : way.multicasts)
            multicasts.push_back(to_json(way, multicast));
        turns.push_back({{"way", way.name},
                         {"half_us", way.turns.intercept},
                         {"ns_per_byte", way.turns.slope * 1000},
                         {"r2", way.turns.r2}});
    }
    if (copies) add_parameters(parameters, *copies, ways.front());
    parameters["reduce_ns_per_byte"] = rounded(reduce_ns_per_byte());
    return {{"schema", run::kParametersSchema},
            {"machine", machine_name()},
            {"provider", runtime.provider()},
            {"ranks", runtime.world().size()},
            {"nodes", runtime.nodes()},
            {"parameters", std::move(parameters)},
            {"multicasts", std::move(multicasts)},
            {"turns", std::move(turns)}};
}

void print_text(const Json& report) {
    fmt::print("{} ranks on {} nodes, {}\n", report["ranks"].get<int>(), report["nodes"].get<int>(),
               lab::json_text(report["provider"]));
    for (const Json& multicast : report["multicasts"])
        for (const char* statistic : {"min", "median"}) {
            const Json& line = multicast[statistic];
            fmt::print("{:5} {:13} {:7} {:7} alpha_p {:9.3f} us  alpha_r {:9.3f} us  R^2 {:.3f}\n",
                       lab::json_text(multicast["way"]), lab::json_text(multicast["mode"]),
                       lab::json_text(multicast["until"]), statistic,
                       line["alpha_p_us"].get<double>(), line["alpha_r_us"].get<double>(),
                       line["r2"].get<double>());
        }
    for (const auto& [key, value] : report["parameters"].items())
        fmt::print("{} {}\n", key, value.get<double>());
}

base::Result<int> fit(const FitArguments& arguments) {
    Runtime runtime;
    if (runtime.world().size() < 2) {
        runtime.finalize();
        return base::fail(Status::argument, "one rank has no peers: weft run -n 9 weft fit");
    }
    Fit measured(runtime, arguments.repetitions);
    const std::vector<Way> ways = measured.run();
    const auto copies = measured.measure_copies(ways);
    base::Result<void> written;
    if (runtime.world().rank() == 0) {
        const Json report = report_of(runtime, ways, copies);
        print_text(report);
        if (!arguments.output.empty())
            written = write_file("--output", arguments.output, report.dump(2) + "\n");
    }
    runtime.finalize();
    if (!written) return written.failure();
    return 0;
}

int run_fit(const FitArguments& arguments) {
    try {
        const auto status = fit(arguments);
        return status ? *status : refuse("fit", status.failure());
    } catch (const Error& error) {
        return refuse("fit", {error.status(), error.what()});
    }
}

}  // namespace

void add_fit_command(CLI::App& app, int& exit_status) {
    auto arguments = std::make_shared<FitArguments>();
    CLI::App& command = add_command(
        app, "fit", "measure what puts cost on the nodes of this job (start it with weft run)");
    add_option(command, "--output", arguments->output,
               "write a file of parameters for --params of cost, simulate and explain");
    add_option(command, "--repetitions", arguments->repetitions, "samples of each figure")
        .within(3, 100'000)
        .shows_default();
    on_run(command, exit_status, [arguments] { return run_fit(*arguments); });
}

}  // namespace weft::front
