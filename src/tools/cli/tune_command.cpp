// SPDX-License-Identifier: BSD-3-Clause
// tune_command.cpp - `weft tune`: measures the fastest algorithms and stores them in a file.
//
// Idea     The ranks of a job measure one point (a collective and a size) after another, with the
//          algorithms whose predicted times are not much longer than the best. Rank 0 writes each
//          result to the file at once. Outside of a job, the command starts several jobs for each
//          number of ranks and each layout, because the results of a job depend on the placement of
//          its processes and memory. The winner is the fastest algorithm over all of them.
// Holds    Without --again, a point with results of --jobs jobs is not measured, so a repeated
//          command continues an interrupted one.
// Next     tune.hpp for one point; docs/selection.md.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/element_types.hpp"
#include "base/read_file.hpp"
#include "base/units.hpp"
#include "run/job/measured_files.hpp"
#include "run/team/choice.hpp"
#include "tools/cli/job_command.hpp"
#include "tools/cli/program_options.hpp"
#include "tools/cli/tune.hpp"
#include "tools/lab/cost/tuned_points.hpp"
#include "tools/lab/oracle/samples.hpp"
#include "tools/measure/statistics.hpp"

namespace weft::tools {

namespace {

struct TunePlan {
    std::vector<std::string> collectives;
    std::vector<std::uint64_t> bytes;
    Type type = Type::float64;
    Op op = Op::sum;
};

/// Returns the collectives with equal blocks. v-collectives use the choice for the mean count.
std::vector<std::string> names_of_collectives() {
    std::vector<std::string> names;
    for (const collectives::CollectiveTraits& traits : collectives::kCollectives)
        if (!traits.has_counts()) names.emplace_back(traits.name);
    return names;
}

TunePlan read_plan(const TuneArguments& arguments) {
    TunePlan plan{.collectives = arguments.collectives,
                  .bytes = need(base::parse_bytes_list(arguments.bytes), "--bytes"),
                  .type = need(base::parse_type(arguments.type), "--type"),
                  .op = need(base::parse_op(arguments.op), "--op")};
    if (plan.collectives.empty()) plan.collectives = names_of_collectives();
    for (const std::uint64_t value : plan.bytes)
        if (value == 0 || value % base::size_of(plan.type) != 0)
            refuse("--bytes: {} is not a positive multiple of the {} bytes of {}", value,
                   base::size_of(plan.type), arguments.type);
    if (!oracle::has_operation(plan.type, plan.op))
        refuse("--op: {} does not exist for {}, which has {}", arguments.op, arguments.type,
               run::operations_of(plan.type));
    return plan;
}

/// Returns the ranks of each node, such as 3,1; empty if the ranks of a node are not consecutive.
std::string layout_of(Team world) {
    Team node = world.split_by_node();
    int first = world.rank();
    node.broadcast(&first, 1, Type::int32, 0);
    node.free();
    std::vector<Rank> node_of(static_cast<std::size_t>(world.size()));
    world.allgather(&first, node_of.data(), 1, Type::int32);
    return plan::layout_text(node_of, world.size());
}

Json to_json(const plan::TunedCase& of) {
    return {{"collective", of.collective},
            {"layout", of.layout},
            {"provider", of.provider},
            {"same_bits", of.same_bits}};
}

lab::TunedPoint point_of(const Json& point) {
    return {.of = {.collective = point.at("collective"),
                   .layout = point.at("layout"),
                   .provider = point.at("provider"),
                   .same_bits = point.value("same_bits", false)},
            .bytes = point.at("bytes"),
            .algorithm = point.at("algorithm"),
            .median_us = point.at("median_us")};
}

bool has_case(const Json& point, const plan::TunedCase& of, std::uint64_t bytes) {
    const lab::TunedPoint found = point_of(point);
    return found.of == of && found.bytes == bytes;
}

Json choices_of(const Json& points) {
    std::vector<lab::TunedPoint> measured;
    for (const Json& point : points) measured.push_back(point_of(point));
    Json choices = Json::array();
    for (const plan::TunedChoice& choice : lab::choices_of(measured)) {
        choices.push_back(to_json(choice.of));
        choices.back().update(Json{{"from_bytes", choice.from_bytes},
                                   {"to_bytes", choice.to_bytes},
                                   {"algorithm", choice.algorithm},
                                   {"median_us", choice.median_us}});
    }
    return choices;
}

bool is_tuning(const Json& object) {
    try {
        for (const Json& point : object.at("points")) {
            static_cast<void>(point_of(point));
            for (const Json& tried : point.value("tried", Json::array())) {
                static_cast<void>(tried.at("algorithm").get<std::string>());
                static_cast<void>(tried.value("jobs_us", std::vector<double>()));
            }
            if (!point["bytes"].is_number_unsigned() ||
                !point.value("jobs", Json(1U)).is_number_unsigned())
                return false;
        }
        return object.at("schema") == run::kTuningSchema;
    } catch (const Json::exception&) {
        return false;
    }
}

/// The file of measurements (`points`, one for each measured case and size) and choices, which jobs
/// read. The choices are derived again from all points whenever one is added, so runs for other
/// collectives, sizes, ranks and layouts extend a file.
class TuningFile {
  public:
    /// Reads the file if it exists.
    explicit TuningFile(const std::string& path) : path_(path) {
        std::error_code unknown;
        if (!std::filesystem::exists(path, unknown)) {
            object_ = {{"schema", run::kTuningSchema},
                       {"machine", machine_name()},
                       {"choices", Json::array()},
                       {"points", Json::array()}};
            return;
        }
        object_ = lab::read_json(need(base::read_file(path, run::kMeasuredBytesMax), "--output"));
        if (object_.is_discarded() || !is_tuning(object_))
            refuse("--output {}: exists, but is no JSON object of the schema {} with points", path,
                   run::kTuningSchema);
    }

    /// Returns the point of this case and size; nullptr if it is missing.
    [[nodiscard]] const Json* find(const plan::TunedCase& of, std::uint64_t bytes) const {
        for (const Json& point : object_["points"])
            if (has_case(point, of, bytes)) return &point;
        return nullptr;
    }
    /// Adds the point of this case and size, or replaces it, and writes the file.
    void add(const plan::TunedCase& of, std::uint64_t bytes, Json point) {
        Json kept = Json::array();
        for (Json& old : object_["points"])
            if (!has_case(old, of, bytes)) kept.push_back(std::move(old));
        kept.push_back(std::move(point));
        object_["machine"] = machine_name();
        object_["choices"] = choices_of(kept);
        object_["points"] = std::move(kept);
        replace_file("--output", path_, object_.dump(1) + "\n");
    }

  private:
    std::string path_;
    Json object_;
};

/// Sets `jobs_us` of each contender: the results of earlier jobs, then that of this job. known: the
/// point in the file, or nullptr.
void add_earlier_jobs(TunedResult& result, const Json* known) {
    for (Contender& contender : result.contenders) {
        if (known != nullptr && known->contains("tried"))
            for (const Json& tried : (*known)["tried"])
                if (tried["algorithm"] == contender.algorithm)
                    contender.jobs_us = tried.value("jobs_us", std::vector<double>());
        contender.jobs_us.push_back(contender.median_us());
    }
    // If a contender was not measured in every earlier job, only this job counts.
    const std::size_t most = result.contenders.front().jobs_us.size();
    const bool all_measured = std::ranges::all_of(
        result.contenders,
        [&](const Contender& contender) { return contender.jobs_us.size() == most; });
    if (all_measured) return;
    for (Contender& contender : result.contenders)
        contender.jobs_us.erase(contender.jobs_us.begin(), contender.jobs_us.end() - 1);
}

class Tuner {
  public:
    Tuner(Runtime& runtime, const TuneArguments& arguments, const TunePlan& plan)
        : world_(runtime.world()),
          arguments_(arguments),
          plan_(plan),
          layout_(layout_of(world_)),
          provider_(runtime.provider()),
          begin_ns_(base::monotonic_ns()) {}

    base::Result<int> run() {
        if (layout_.empty())
            return base::fail(Status::argument,
                              "the ranks of some node do not follow each other: such layouts have "
                              "no measured choices");
        WEFT_TRY(on_first_rank([&] { file_.emplace(arguments_.output); }));
        for (const std::string& name : plan_.collectives) {
            const auto& traits = *collectives::find_collective(name);
            for (const std::uint64_t bytes :
                 traits.has_data() ? plan_.bytes : std::vector<std::uint64_t>{0}) {
                const auto status = tune({traits.collective, bytes, plan_.type, plan_.op});
                if (!status || *status != 0) return status;
            }
        }
        return 0;
    }

  private:
    /// Calls work() on rank 0. All ranks fail if it throws an Error.
    base::Result<void> on_first_rank(const std::function<void()>& work) {
        base::Result<void> done;
        if (world_.rank() == 0) {
            try {
                work();
            } catch (const Error& error) {
                done = base::Failure{error.status(), error.what()};
            }
        }
        std::int32_t good = done ? 1 : 0;
        world_.broadcast(&good, 1, Type::int32, 0);
        if (good == 1 || !done) return done;
        return base::fail(Status::argument, "rank 0 cannot use the file");
    }

    [[nodiscard]] plan::TunedCase case_of(const TuneCall& call) const {
        const auto& traits = collectives::traits_of(call.collective);
        const std::uint64_t count = call.bytes / base::size_of(call.type);
        return {.collective = std::string(traits.name),
                .layout = layout_,
                .provider = provider_,
                .same_bits = run::class_of({.collective = call.collective,
                                            .count = count,
                                            .type = call.type,
                                            .op = call.op})
                                 .bit_identical};
    }

    /// Returns true if the point must be measured and time is left. Rank 0 decides.
    [[nodiscard]] bool is_wanted(const plan::TunedCase& of, std::uint64_t bytes) {
        std::int32_t wanted = 1;
        if (world_.rank() == 0) {
            const double elapsed = static_cast<double>(base::monotonic_ns() - begin_ns_) * 1e-9;
            const Json* known = file_->find(of, bytes);
            const std::uint64_t jobs =
                known == nullptr ? 0 : known->value("jobs", std::uint64_t{1});
            if (jobs >= static_cast<std::uint64_t>(arguments_.jobs) && !arguments_.again)
                wanted = 0;
            if (arguments_.total_seconds > 0 && elapsed > arguments_.total_seconds) wanted = 0;
        }
        world_.broadcast(&wanted, 1, Type::int32, 0);
        return wanted == 1;
    }

    base::Result<int> tune(const TuneCall& call) {
        const plan::TunedCase of = case_of(call);
        if (!is_wanted(of, call.bytes)) return 0;
        const auto contenders = contenders_for(call);
        auto result = WEFT_TRY(tune_point(world_, call, contenders, arguments_.seconds));
        if (!result.wrong.empty()) {
            if (world_.rank() == 0)
                fmt::print(stderr, "weft tune: {} of {} bytes by {}: the result is wrong\n",
                           of.collective, call.bytes, result.wrong);
            return kAnswerIsNo;
        }
        WEFT_TRY(on_first_rank([&] { store(of, call, result); }));
        return 0;
    }

    /// Returns the candidates up to --within times the best prediction, or with --exhaustive all.
    [[nodiscard]] std::vector<Contender> contenders_for(const TuneCall& call) {
        const auto& traits = collectives::traits_of(call.collective);
        std::vector<Contender> contenders;
        const std::uint64_t count = call.bytes / base::size_of(call.type);
        const auto candidates = world_.candidates_of(traits.name, count, call.type);
        for (const PredictedAlgorithm& candidate : candidates) {
            const bool prunes = !arguments_.exhaustive;
            if (prunes && contenders.size() >= static_cast<std::size_t>(arguments_.candidates))
                break;
            if (prunes &&
                candidate.predicted_us > arguments_.within * candidates.front().predicted_us)
                break;
            contenders.push_back({.algorithm = candidate.algorithm,
                                  .predicted_us = candidate.predicted_us,
                                  .times_us = {}});
        }
        if (!arguments_.exhaustive) return contenders;
        using enum collectives::ScheduleFamily;
        for (const collectives::Schedule& schedule :
             schedules_for(traits.name, world_.size(), {factored, split, merged}, SIZE_MAX)) {
            std::string text = collectives::print(schedule);
            if (std::ranges::find(contenders, text, &Contender::algorithm) == contenders.end())
                contenders.push_back({.algorithm = std::move(text), .times_us = {}});
        }
        return contenders;
    }

    /// Prints the result of a point, and stores it in the file.
    void store(const plan::TunedCase& of, const TuneCall& call, TunedResult& result) {
        const Json* known = arguments_.again ? nullptr : file_->find(of, call.bytes);
        add_earlier_jobs(result, known);
        const Contender& winner = result.contenders[winner_of_jobs(result.contenders)];
        const auto model = std::ranges::find_if(
            result.contenders, [](const Contender& one) { return one.predicted_us > 0; });
        Json tried = Json::array();
        for (const Contender& contender : result.contenders)
            tried.push_back({{"algorithm", contender.algorithm},
                             {"predicted_us", contender.predicted_us},
                             {"median_us", lab::median(contender.jobs_us)},
                             {"jobs_us", contender.jobs_us},
                             {"rounds", contender.times_us.size()}});
        const double winner_us = lab::median(winner.jobs_us);
        double regret = 1.0;
        std::string comparison;  // with the algorithm that the model predicts to be the fastest
        if (model != result.contenders.end()) {
            regret = std::max(1.0, lab::median(model->jobs_us) / winner_us);
            comparison = &winner == &*model
                             ? std::string(", as predicted")
                             : fmt::format(", {:.2f} times as quick as the predicted {}", regret,
                                           model->algorithm);
        }
        fmt::print("{:15} {:8} {:>8}  {:10.3f} us  {}{}, {} of {} tried, {} rounds{}\n",
                   of.collective, of.layout, base::format_bytes(call.bytes), winner_us,
                   winner.algorithm, comparison, result.contenders.size(),
                   arguments_.exhaustive ? "all" : "the candidates", result.rounds,
                   result.stable ? "" : ", time over");
        std::fflush(stdout);
        Json point = to_json(of);
        point.update(Json{{"bytes", call.bytes},
                          {"algorithm", winner.algorithm},
                          {"median_us", winner_us},
                          {"type", arguments_.type},
                          {"op", arguments_.op},
                          {"stable", result.stable},
                          {"rounds", result.rounds},
                          {"jobs", winner.jobs_us.size()},
                          {"regret_of_model", regret},
                          {"tried", std::move(tried)}});
        file_->add(of, call.bytes, std::move(point));
    }

    Team world_;
    const TuneArguments& arguments_;
    const TunePlan& plan_;
    std::string layout_;
    std::string provider_;
    std::uint64_t begin_ns_;
    std::optional<TuningFile> file_;  ///< only on rank 0
};

/// Returns the words of this command for a job: the same options, without ranks and layouts.
Words words_in_job(const TuneArguments& arguments) {
    Words words{"tune"};
    append(words, arguments.collectives);
    append(words, {"--output", arguments.output, "--bytes", arguments.bytes, "--type",
                   arguments.type, "--op", arguments.op});
    for (const auto& [name, value] : {std::pair{"--seconds", arguments.seconds},
                                      {"--total-seconds", arguments.total_seconds},
                                      {"--within", arguments.within},
                                      {"--candidates", static_cast<double>(arguments.candidates)},
                                      {"--jobs", static_cast<double>(arguments.jobs)}})
        append(words, {name, fmt::format("{:.10g}", value)});
    if (arguments.exhaustive) words.emplace_back("--exhaustive");
    if (arguments.again) words.emplace_back("--again");
    return words;
}

int start_jobs(TuneArguments arguments) {
    Words layouts;
    if (!arguments.ranks.empty())
        for (const std::uint64_t count : need(base::parse_bytes_list(arguments.ranks), "--ranks"))
            layouts.push_back(std::to_string(count));
    append(layouts, arguments.layouts);
    if (layouts.empty())
        refuse(
            "no ranks: weft tune --ranks 2,4 (one node) --layout 2,2, or in a job: weft run -n 4 "
            "-- weft tune");
    for (int job = 0; job < arguments.jobs; ++job) {
        for (const std::string& layout : layouts)
            if (const int status =
                    run_program(words_of_job({"--layout", layout}, words_in_job(arguments)));
                status != 0)
                return status;
        arguments.again = false;
    }
    return 0;
}

int tune(const TuneArguments& arguments) {
    const TunePlan plan = read_plan(arguments);
    if (arguments.mpi) return tune_mpi(arguments, plan.collectives);
    if (!arguments.launcher.empty()) refuse("--launcher needs --mpi");
    if (std::getenv("PMIX_RANK") == nullptr) return start_jobs(arguments);
    if (!arguments.ranks.empty() || !arguments.layouts.empty())
        refuse("--ranks and --layout start jobs; use them outside of a job");
    Runtime runtime;
    auto status = Tuner(runtime, arguments, plan).run();
    runtime.finalize();
    return need(std::move(status));
}

}  // namespace

void add_tune_command(CLI::App& app) {
    const auto [command, arguments] = add_command<TuneArguments>(
        app, "tune", "measure which algorithms are quickest, for WEFT_TUNING", &tune, "weft tune");
    add_option(*command, "collectives", arguments->collectives,
               "collectives to tune; default: all with equal blocks")
        .one_of(names_of_collectives());
    add_option(*command, "--output", arguments->output,
               "the file of results; results that it already has are kept and not measured again")
        .required();
    add_option(*command, "--bytes", arguments->bytes, "sizes, as in 8,64K,1M");
    add_option(*command, "--ranks", arguments->ranks,
               "outside of a job: start jobs with these numbers of ranks on one node, as in 2,4,8");
    add_option(*command, "--layout", arguments->layouts,
               "outside of a job: start a job with these ranks on each virtual node, as in 2,2; "
               "may be given several times")
        .one_value_each();
    add_option(*command, "--type", arguments->type, "element type");
    add_option(*command, "--op", arguments->op, "reduction");
    add_option(
        *command, "--seconds", arguments->seconds,
        "largest time for each size, but at least four rounds; ends when the winner is stable")
        .within(0.01, 3600.0);
    add_option(*command, "--total-seconds", arguments->total_seconds,
               "time after which a job measures no further size; 0: no limit")
        .within(0.0, 1e6);
    add_option(*command, "--within", arguments->within,
               "leave out algorithms predicted to take longer than the best by this factor")
        .within(1.0, 1e6);
    add_option(*command, "--candidates", arguments->candidates,
               "number of candidates to measure, those with the least predicted times")
        .within(1, 1000);
    add_option(*command, "--jobs", arguments->jobs,
               "number of jobs that measure each size; outside of a job, all are started")
        .within(1, 100);
    add_flag(*command, "--exhaustive", arguments->exhaustive,
             "measure all candidates and, where schedules are algorithms, all schedules");
    add_flag(*command, "--again", arguments->again, "also measure sizes that the file already has");
    add_flag(*command, "--mpi", arguments->mpi,
             "measure whether weft or the MPI library is faster, for the layer for MPI programs");
    add_option(*command, "--launcher", arguments->launcher,
               "with --mpi: the start of the launcher's command, as in 'mpirun --hostfile hosts'; "
               "default: the launchers of all MPIs that are installed");
}

}  // namespace weft::tools
