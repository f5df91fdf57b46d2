// SPDX-License-Identifier: BSD-3-Clause
// simulate_command.cpp - `weft simulate`: completion times of the ranks under a message model.
//
// Idea     The question determines the engine. generate_s is the time to make the engine's input,
//          simulate_s the time of the engine. Programs of many ranks are generated on all
//          processors, and each is compressed at once.
// Holds    Nanoseconds are parsed digit by digit (base/units.hpp). Long work reports
//          its progress on stderr, only on a terminal.
// Next     docs/selection.md for models, engines and topologies.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>
#include <variant>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "plan/schedule/stages.hpp"
#include "plan/select/put_models.hpp"
#include "plan/select/select.hpp"
#include "tools/cli/model_options.hpp"
#include "tools/simulate/events.hpp"
#include "tools/simulate/goal.hpp"
#include "tools/simulate/noise.hpp"
#include "tools/simulate/simulate.hpp"
#include "tools/simulate/timeline.hpp"
#include "tools/verify/verify.hpp"

namespace weft::tools {

namespace {

struct SimulateArguments {
    ProgramArguments programs;
    ModelArguments model;
    MachineArguments machine;
    std::string program;
    std::string noise;
    std::uint64_t seed = 1;
    std::string skew;
    std::string topology;
    std::string contention = "none";
    std::string engine = "auto";
    std::string timeline;
    std::string trace;
    std::string goal;
    bool json = false;

    /// Returns the option that requests the activities of ranks; nullptr without one.
    [[nodiscard]] const char* trace_option() const {
        return !timeline.empty() ? "--timeline" : !trace.empty() ? "--trace" : nullptr;
    }
};

/// A picture of more ranks would not be readable.
constexpr Rank kTimelineRanksMax = 1024;

/// Parses "RANK:NS,RANK:NS": ranks that enter late.
std::vector<std::pair<Rank, plan::Time>> read_skew(const std::string& text, Rank size) {
    std::vector<std::pair<Rank, plan::Time>> starts;
    for (const std::string_view part : base::split_list(text)) {
        const std::size_t colon = part.find(':');
        if (colon == std::string_view::npos) refuse("--skew: '{}': expected RANK:NS", part);
        const auto rank = need(
            base::parse_count(part.substr(0, colon), {.max = static_cast<std::uint64_t>(size) - 1}),
            "--skew");
        const auto start = need(base::parse_nanoseconds(part.substr(colon + 1)), "--skew");
        starts.emplace_back(static_cast<Rank>(rank), start);
    }
    return starts;
}

/// Prints the progress of long work, once a second, on a terminal.
class Progress {
  public:
    void operator()(const char* what, double done) {
        const std::uint64_t now = base::monotonic_ns();
        if (!terminal_ || now < next_) return;
        next_ = now + 1'000'000'000;
        fmt::print(stderr, "weft simulate: {} {:3.0f} %\n", what, 100 * done);
    }

  private:
    bool terminal_ = isatty(STDERR_FILENO) == 1;
    std::uint64_t next_ = base::monotonic_ns() + 2'000'000'000;
};

/// Checks that the time of `chain` successive messages fits 64 bits of picoseconds.
void check_range(const plan::MessageModel& model, const plan::BufferSize& size, double chain) {
    const double bytes = static_cast<double>(size.elements) * size.element_bytes;
    const double bytes_fs =
        bytes * static_cast<double>(model.byte_fs + model.receive_byte_fs + model.reduce_byte_fs +
                                    model.copy_byte_fs + model.unpack_byte_fs +
                                    model.mapped_byte_fs + model.mapped_reduce_byte_fs +
                                    model.two_way_byte_fs + 4 * model.cold_byte_fs);
    const double each =
        static_cast<double>(model.busy_base + model.slot + model.latency + model.receive +
                            model.gap + model.reduce + model.expose + model.mapped +
                            model.pipeline + model.saturation + model.two_way) +
        bytes_fs * 1e-3;
    constexpr double kRangeMax = 4e18;  // less than half of 2^63
    if (each * chain < kRangeMax && bytes_fs < plan::kFemtosecondsMax) return;
    refuse(
        "{:.3g} messages of up to {:.3g} ns in sequence exceed the range of the "
        "simulator's clock (100 days)",
        chain, each * 1e-3);
}

/// Returns an upper bound of the messages that a rank sends and receives, or waits for other ranks
/// to send and receive.
double chain_of(const plan::Stages& stages) {
    double chain = 0;
    for (const plan::Stage& stage : stages.stages) {
        if (const auto* exchange = std::get_if<plan::ExchangeStage>(&stage))
            chain += 2.0 * (exchange->base + stages.remainders_of(*exchange).count_max());
        else
            chain += 2.0 * static_cast<double>(std::get<plan::ShiftStage>(stage).radix);
    }
    return chain * stages.header.segments;
}

struct SimulatedRun {
    std::string engine;
    lab::Outcome outcome;
    double generate_s = 0;
    double simulate_s = 0;
    std::optional<plan::Time> in_stream = std::nullopt;  ///< set where ranks share processors
};

/// Chooses the engine for a call, makes its input and runs it.
class Simulation {
  public:
    Simulation(const SimulateArguments& arguments, const ProgramQuestion& question,
               lab::CostParameters parameters)
        : arguments_(arguments), question_(question), size_(question.buffer()) {
        read_inputs(parameters.wire);
        complete_machine(parameters, arguments.machine, nodes_of(question.request),
                         question.request.size);
        machine_ = std::move(parameters.machine);
        if (!machine_) return;
        check_options_of_machine();
        const plan::PutModels models =
            plan::put_models(*machine_, /*waits=*/true, /*computes=*/true);
        inputs_.model = models.model;
        far_ = models.far;
    }

    SimulatedRun run() {
        if (machine_ && machine_->oversubscribed()) return run_shared();
        const std::uint64_t begin = base::monotonic_ns();
        auto stages = stages_of(question_);
        if (!stages && stages.failure().status != Status::unsupported)
            fail(in_spec(stages.failure()));
        const bool one_lane = stages && !stages->interleaves;
        if (one_lane && !far_) stages_ = *std::move(stages);  // stages have only one kind of costs
        const std::string& engine = arguments_.engine;
        const char* const traced = arguments_.trace_option();
        const bool by_stages = engine == "structured" || engine == "folded";
        if (traced != nullptr && by_stages)
            refuse("{}: the {} engine simulates no single messages; use generic or events", traced,
                   engine);
        if (by_stages && far_)
            fail(Status::unsupported, "--engine {}: near and far puts are for the generic engine",
                 engine);
        if (by_stages && !stages_)
            fail(Status::unsupported, "--engine {}: {}", engine,
                 stages ? "several segments in flight are for the generic engine"
                        : stages.failure().text);
        const bool contended = queueing_.contention != lab::Contention::none;
        if (contended && engine != "auto" && engine != "events")
            fail(Status::unsupported, "--engine {}: only the events engine simulates contention",
                 engine);
        if (stages_ && traced == nullptr && !contended && (by_stages || engine == "auto")) {
            check_range(inputs_.model, size_, chain_of(*stages_));
            generate_s_ = seconds_since(begin);
            if (engine != "structured") {
                auto folded =
                    timed("folded", [&] { return lab::simulate_folded(*stages_, size_, inputs_); });
                if (folded || engine == "folded") return need(folded);
            }
            check_ranks(question_.request.size);
            auto structured = timed(
                "structured", [&] { return lab::simulate_structured(*stages_, size_, inputs_); });
            if (structured || engine == "structured") return need(structured);
        }
        return run_programs(engine == "events" || (contended && engine == "auto"), begin);
    }

    [[nodiscard]] const std::vector<lab::Span>& spans() const { return spans_; }

  private:
    void read_inputs(const lab::ModelParameters& wire) {
        const Rank size = question_.request.size;
        inputs_.model = lab::message_model(wire);
        inputs_.progress = [this](double done) { progress_("simulated", done); };
        queueing_.topology = lab::Topology(wire.latency);
        if (!arguments_.topology.empty()) {
            queueing_.topology =
                need(lab::Topology::parse(arguments_.topology, wire.latency, size), "--topology");
            inputs_.network = std::make_shared<lab::Topology>(queueing_.topology);
        }
        if (!arguments_.noise.empty())
            inputs_.noise = need(lab::parse_noise(arguments_.noise, arguments_.seed), "--noise");
        inputs_.starts = read_skew(arguments_.skew, size);
        queueing_.contention = arguments_.contention == "ports"   ? lab::Contention::ports
                               : arguments_.contention == "links" ? lab::Contention::links
                                                                  : lab::Contention::none;
    }

    /// Refuses options that are not valid with the costs of a machine.
    void check_options_of_machine() const {
        if (inputs_.network != nullptr || queueing_.contention != lab::Contention::none ||
            !arguments_.goal.empty())
            fail(Status::unsupported,
                 "--topology, --contention and --goal are not valid with separate costs of local "
                 "and remote puts, nor with ranks that share processors");
        const bool uses_times_of_ranks = !arguments_.noise.empty() || !arguments_.skew.empty() ||
                                         arguments_.trace_option() != nullptr ||
                                         arguments_.engine != "auto";
        if (machine_->oversubscribed() && uses_times_of_ranks)
            fail(Status::unsupported,
                 "--noise, --skew, --timeline, --trace and --engine are not valid with ranks that "
                 "share processors");
    }

    static double seconds_since(std::uint64_t begin) {
        return static_cast<double>(base::monotonic_ns() - begin) * 1e-9;
    }

    /// Returns a model whose costs are upper bounds for local and remote messages.
    [[nodiscard]] plan::MessageModel highest_costs() const {
        plan::MessageModel model = inputs_.model;
        if (!far_) return model;
        model.busy_base = std::max(model.busy_base, far_->model.busy_base);
        model.byte_fs = std::max(model.byte_fs, far_->model.byte_fs);
        model.receive_byte_fs = std::max(model.receive_byte_fs, far_->model.receive_byte_fs);
        model.slot = std::max(model.slot, far_->model.slot);
        model.latency = std::max(model.latency, far_->model.latency);
        return model;
    }

    template <class Engine>
    base::Result<SimulatedRun> timed(const char* name, Engine engine) {
        const std::uint64_t begin = base::monotonic_ns();
        const base::Result<lab::Outcome> outcome = engine();
        const double simulate_s = seconds_since(begin);
        if (!outcome)
            return outcome.failure().within(
                fmt::format("--engine {}", arguments_.engine == "auto" ? name : arguments_.engine));
        return SimulatedRun{name, *outcome, generate_s_, simulate_s};
    }

    /// Simulates ranks that share processors. The model's latency includes the turns of
    /// a waiting rank.
    SimulatedRun run_shared() {
        const std::uint64_t begin = base::monotonic_ns();
        double raises = 0;
        for (Rank rank = 0; rank < question_.request.size; ++rank) {
            const auto program = need_of_spec(generate_one(question_, rank));
            plan::ExecutedSteps(program, size_).for_each([&](const plan::ExecutedStep& step) {
                raises += step.message ? 1 : 0;
            });
        }
        check_range(highest_costs(), size_, raises);
        const auto cost = simulate_call(question_, *machine_);
        return SimulatedRun{.engine = "turns",
                            .outcome = {.makespan = cost.alone, .messages = cost.messages},
                            .simulate_s = seconds_since(begin),
                            .in_stream = cost.in_stream};
    }

    SimulatedRun run_programs(bool by_events, std::uint64_t begin) {
        check_ranks(question_.request.size);
        const char* const traced = arguments_.trace_option();
        if (traced != nullptr && question_.request.size > kTimelineRanksMax)
            refuse("{}: {} ranks are more than {}", traced, question_.request.size,
                   kTimelineRanksMax);
        // One message must fit before messages are counted; their number is known afterwards.
        check_range(highest_costs(), size_, 1);
        auto parts = generate_parts();
        double raises = 0;
        for (const lab::ImagePart& part : parts) raises += static_cast<double>(part.raises());
        check_range(highest_costs(), size_, stages_ ? chain_of(*stages_) : raises);
        generate_s_ = seconds_since(begin);
        lab::Trace trace;
        if (traced != nullptr) trace = [this](const lab::Span& span) { spans_.push_back(span); };
        return need(timed(by_events ? "events" : "generic", [&] {
            return by_events ? lab::simulate_events(parts, inputs_, queueing_, trace)
                             : lab::simulate_generic(parts, inputs_, trace);
        }));
    }

    base::Result<void> generate_range(lab::ImagePart& part, Rank first, Rank last, bool reports) {
        const auto report = [&](Rank rank) {
            if (reports) progress_("generated", static_cast<double>(rank - first) / (last - first));
        };
        if (stages_) return lab::add_programs(part, *stages_, first, last, report);
        for (Rank rank = first; rank < last; ++rank) {
            const plan::Program program = WEFT_TRY(generate_one(question_, rank));
            WEFT_TRY(part.add(program));
            // The first 64 ranks show how much memory the others need.
            if (rank == first + 63) part.reserve(static_cast<std::size_t>(last - first));
            if ((rank & 0xfff) == 0) report(rank);
        }
        return base::Done{};
    }

    std::vector<lab::ImagePart> generate_parts() {
        constexpr Rank kRanksPerThread = 4096;
        const Rank size = question_.request.size;
        const Rank threads = std::clamp(size / kRanksPerThread, 1, usable_processors());
        std::vector<lab::ImagePart> parts(static_cast<std::size_t>(threads),
                                          lab::ImagePart(inputs_.model, size_, far_));
        std::vector<base::Result<void>> results(parts.size());
        std::vector<std::thread> workers;
        const auto work = [&](Rank t) {
            const auto bound = [&](Rank at) {
                return static_cast<Rank>(std::int64_t{size} * at / threads);
            };
            const auto index = static_cast<std::size_t>(t);
            results[index] = generate_range(parts[index], bound(t), bound(t + 1), t == 0);
        };
        for (Rank t = 1; t < threads; ++t) workers.emplace_back(work, t);
        work(0);
        for (std::thread& worker : workers) worker.join();
        for (const auto& result : results) need(result);
        return parts;
    }

    const SimulateArguments& arguments_;
    const ProgramQuestion& question_;
    plan::BufferSize size_;
    lab::SimulationInputs inputs_;
    lab::Queueing queueing_;
    std::optional<plan::Machine> machine_;  ///< set for local and remote costs
    std::optional<plan::FarPuts> far_;
    std::optional<plan::Stages> stages_;
    std::vector<lab::Span> spans_;
    double generate_s_ = 0;
    Progress progress_;
};

Json to_json(lab::WireModel model, const ProgramQuestion& question, const SimulatedRun& run) {
    const lab::Outcome& outcome = run.outcome;
    Json object{{"algorithm", collectives::print(question.spec)},
                {"ranks", question.request.size},
                {"bytes", question.bytes()},
                {"model", lab::name_of(model)},
                {"engine", run.engine},
                {"makespan_ns", plan::nanoseconds(outcome.makespan)},
                {"earliest_finish_ns", plan::nanoseconds(outcome.earliest_finish)},
                {"skew_ns", plan::nanoseconds(outcome.makespan - outcome.earliest_finish)},
                {"messages", outcome.messages},
                {"events", outcome.events},
                {"generate_s", run.generate_s},
                {"simulate_s", run.simulate_s}};
    if (!run.in_stream) return object;
    // Only the time of the whole call is known.
    for (const char* unknown : {"earliest_finish_ns", "skew_ns", "events"})
        object[unknown] = nullptr;
    object["in_stream_ns"] = plan::nanoseconds(*run.in_stream);
    return object;
}

std::string size_in_words(std::uint64_t bytes) {
    std::string text = base::format_bytes(bytes);
    const char last = text.back();
    if (last >= '0' && last <= '9') return text + " bytes";
    text.pop_back();
    return fmt::format("{} {}iB", text, last);
}

std::string time_in_words(double us) {
    return us < 1e4 ? fmt::format("{:.4g} us", us) : fmt::format("{:.4g} ms", us * 1e-3);
}

std::string title_of(lab::WireModel model, const ProgramQuestion& question,
                     const SimulatedRun& run) {
    return fmt::format(
        "{} by {} of {} ranks, {}: {} by the {} model", question.collective,
        collectives::print(question.spec), question.request.size, size_in_words(question.bytes()),
        time_in_words(plan::nanoseconds(run.outcome.makespan) * 1e-3), lab::name_of(model));
}

void write_pictures(const SimulateArguments& arguments, const std::string& title, Rank size,
                    const std::vector<lab::Span>& spans) {
    const std::string& path = arguments.timeline;
    if (!path.empty())
        write_file("--timeline", path,
                   path.ends_with(".json") ? lab::timeline_json(size, spans)
                                           : lab::timeline_svg(title, size, spans));
    if (!arguments.trace.empty())
        write_file("--trace", arguments.trace, lab::timeline_trace(title, size, spans));
}

/// Refuses a model without costs, because all ranks would end at once.
void check_costs(const SimulateArguments& arguments, const lab::ModelParameters& model) {
    const bool costs =
        (model.latency | model.issue | model.byte_fs | model.reduce | model.reduce_byte_fs |
         model.overhead | model.gap | model.turn | model.pipeline | model.saturation |
         model.two_way | model.two_way_byte_fs) != 0;
    if (costs || !arguments.program.empty() || !arguments.model.params.empty() ||
        !arguments.noise.empty() || !arguments.skew.empty() || !arguments.topology.empty() ||
        !arguments.goal.empty())
        return;
    refuse(
        "all costs are 0: give --params infiniband-2007 (or another set or file), or "
        "--latency-ns, --issue-ns, ...");
}

int simulate(const SimulateArguments& arguments) {
    if (!arguments.timeline.empty() && !arguments.timeline.ends_with(".svg") &&
        !arguments.timeline.ends_with(".json"))
        refuse("--timeline: {} must end in .svg or .json", arguments.timeline);
    // The folded engine keeps no data for single ranks.
    const ProgramQuestion question =
        arguments.program.empty()
            ? for_models(read_question(arguments.programs, std::numeric_limits<Rank>::max()))
            : read_given(arguments.programs, arguments.program);
    if (question.given != nullptr)
        if (const auto wrong = plan::malformed(*question.given); !wrong.empty())
            refuse("--program: {}: {}", arguments.program, wrong);
    const lab::CostParameters parameters = read_model(arguments.model);
    const lab::ModelParameters& model = parameters.wire;
    check_costs(arguments, model);
    Simulation simulation(arguments, question, parameters);
    const SimulatedRun run = simulation.run();
    write_pictures(arguments, title_of(model.model, question, run), question.request.size,
                   simulation.spans());
    if (!arguments.goal.empty())
        write_file(
            "--goal", arguments.goal,
            need(lab::to_goal(generate_all(question), question.buffer(), lab::message_model(model)),
                 "--goal"));
    print_answer(to_json(model.model, question, run), arguments.json);
    return 0;
}

}  // namespace

void add_simulate_command(CLI::App& app) {
    const auto [command, arguments] = add_command<SimulateArguments>(
        app, "simulate", "simulate a collective under a model of message costs", &simulate);
    add_program_arguments(*command, arguments->programs);
    add_model_arguments(*command, arguments->model);
    add_machine_arguments(*command, arguments->machine);
    const auto add = [&](const char* name, std::string& value, const char* help) {
        add_option(*command, name, value, help);
    };
    add("--program", arguments->program,
        "programs of all ranks in text form, such as `weft show` prints, instead of --algorithm");
    add("--noise", arguments->noise, "uniform:NS, normal:NS or exponential:NS after each wait");
    add_option(*command, "--seed", arguments->seed, "seed of the noise");
    add("--skew", arguments->skew, "RANK:NS,...: ranks that start late, and by how much");
    add("--topology", arguments->topology,
        "such as two-level:ranks=24,near=100 or torus:dims=4x4x2,hop=50");
    add_option(*command, "--contention", arguments->contention,
               "what messages queue for: none, ports or links")
        .one_of({"none", "ports", "links"});
    add_option(*command, "--engine", arguments->engine,
               "auto, structured, generic, folded or events")
        .one_of({"auto", "structured", "generic", "folded", "events"});
    add("--timeline", arguments->timeline, "write a timeline of all ranks: FILE.svg or FILE.json");
    add("--trace", arguments->trace,
        "write the same as trace events, which Perfetto opens, as WEFT_TRACE does for real jobs");
    add("--goal", arguments->goal, "also write the programs to this file, in GOAL for LogGOPSim");
    add_json_flag(*command, arguments->json);
}

}  // namespace weft::tools
