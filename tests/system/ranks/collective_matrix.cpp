// SPDX-License-Identifier: BSD-3-Clause
// collective_matrix.cpp - calls collectives in many shapes and checks each result.
//
// usage: weft_collective_matrix [--sample | --full] [--notify STRATEGY,...]
//
// Idea     matrix_test.cpp launches one job for each layout. The program varies schedules, types,
//          operations, sizes, alignment and in-place calls. With --notify it starts a runtime for
//          each notify strategy. With --sample it runs each schedule with a few shapes only; all
//          schedules together cover all pairs of shapes. Floating-point sums that round have no
//          exact reference, so for them all ranks must get the same bits. Rank 0 prints the number
//          of calls of each kind as a JSON object for each runtime; the test detects missing calls.
// Fails    If a result is wrong, the program prints a line to stderr and exits with status 1.
// Next     algorithm_matrix.hpp has the named algorithms; matrix_caller.hpp makes a call and checks
//          its result.
#include <fmt/format.h>
#include <pmix.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "collectives/registry.hpp"
#include "tests/system/ranks/algorithm_matrix.hpp"
#include "tests/system/ranks/matrix_caller.hpp"
#include "tests/system/ranks/nested_specs.hpp"
#include "tools/lab/program/json.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

/// A schedule and its family.
struct Candidate {
    std::string family;
    std::string spec;
};

/// Number of schedules and shapes: with --sample, by default, with --full.
enum class Depth { sample, usual, full };

/// Arguments of one allreduce.
struct Shape {
    const oracle::Samples& samples;
    Op op;
    std::size_t count;
    bool in_place = false;
    std::size_t shift = 0;  ///< bytes between an aligned address and the buffers
};
constexpr bool kInPlace = true;
constexpr bool kSeparate = false;

class CollectiveMatrix {
  public:
    CollectiveMatrix(Runtime& runtime, Depth depth)
        : runtime_(runtime),
          caller_(runtime.world()),
          world_(runtime.world()),
          depth_(depth),
          full_(depth == Depth::full) {}

    /// Makes all calls. Returns the exit status.
    int run() {
        std::string last_family;
        for (const Candidate& candidate : candidates()) {
            const bool first = candidate.family != last_family;
            last_family = candidate.family;
            ++caller_.covered["schedules"][candidate.family];
            world_.set_algorithm("allreduce", candidate.spec);
            small_calls(candidate.spec);
            if (first || full_) large_calls(candidate.spec);
            if (depth_ == Depth::sample) continue;
            if (candidate.family == "default" || (first && (full_ || world_.size() <= 5)) ||
                (full_ && world_.size() <= 6))
                largest_calls(candidate.spec);
        }
        world_.set_algorithm("allreduce", "");
        AlgorithmMatrix algorithms(caller_, depth_ == Depth::sample ? 40 : 300,
                                   full_ || world_.size() <= 6);
        algorithms.run();
        algorithms.run_types(depth_ != Depth::sample);
        for (const std::size_t count : {3, 700}) {
            same_bits<Float16>("", count);
            same_bits<BFloat16>("", count);
            same_bits<long double>("", count);
        }
        splits();
        teams_with_reused_regions();
        short_lived_operations();
        const auto writes = world_.allreduce(runtime_.network_writes(), Op::sum);
        if (world_.rank() == 0) print_report(writes);
        return caller_.wrong == 0 ? 0 : 1;
    }

  private:
    static constexpr std::size_t kLargestBytes = std::size_t{4} << 20;

    /// Returns evenly spread schedules of each family that exists for this size.
    std::vector<Candidate> candidates() {
        using collectives::ScheduleFamily;
        const Rank n = world_.size();
        const std::size_t each_max = full_ ? 24 : depth_ == Depth::sample ? 2 : 4;
        std::vector<Candidate> found{{"default", ""}, {"doubling", "recursive-doubling"}};
        const auto add = [&](const std::string& family, const std::vector<std::string>& specs) {
            for (const std::string& spec : specs) {
                const auto parsed = collectives::parse_spec(spec);
                const bool fits =
                    parsed.ok() &&
                    collectives::generate(
                        "allreduce", *parsed,
                        {.rank = world_.rank(), .size = n, .elements = 1, .element_bytes = 8})
                        .ok();
                caller_.check(fits, fmt::format("schedule {} was refused for {} ranks", spec, n));
                if (fits) found.push_back({family, spec});
            }
        };
        if (n > 1) add("factored", evenly(schedules_of(n, ScheduleFamily::factored), each_max));
        add("split", evenly(schedules_of(n, ScheduleFamily::split), each_max));
        add("merged", evenly(schedules_of(n, ScheduleFamily::merged), each_max));
        add("nested", nested_specs(n, (each_max + 1) / 2));
        return found;
    }

    void call(const std::string& schedule, const Shape& shape) {
        caller_.run_and_check({.samples = &shape.samples,
                               .op = shape.op,
                               .count = shape.count,
                               .arrangement = {.in_place = shape.in_place, .shift = shape.shift}},
                              schedule);
    }
    static const oracle::Samples& samples_of(Type type) { return oracle::samples_of(type); }

    /// Makes calls of few elements.
    void small_calls(const std::string& schedule) {
        // A cell has room for 6 elements of 8 bytes.
        constexpr std::array<std::size_t, 7> kCounts{0, 1, 2, 5, 6, 7, 13};
        ++turn_;
        for (std::size_t i = 0; i < kCounts.size(); ++i) {
            if (depth_ == Depth::sample && i % 3 != turn_ % 3) continue;
            const std::size_t count = kCounts[i];
            for (const Shape& shape :
                 {Shape{samples_of(Type::float64), Op::sum, count},
                  Shape{samples_of(Type::int32), Op::max, count, kInPlace},
                  Shape{samples_of(Type::uint8), Op::bxor, count, kSeparate, 1},
                  Shape{oracle::affine_samples(), Op::user, count}})
                call(schedule, shape);
        }
        const auto count_at = [&](std::size_t step) { return kCounts[(turn_ + step) % 7]; };
        for (const Shape& shape :
             {Shape{samples_of(Type::float32), Op::prod, 3, kInPlace, 2},
              Shape{samples_of(Type::int64), Op::min, 6},
              Shape{samples_of(Type::int16), Op::lor, 9},
              Shape{samples_of(Type::int8), Op::band, count_at(0), kInPlace},
              Shape{samples_of(Type::uint32), Op::bor, count_at(3), kSeparate, 3},
              Shape{samples_of(Type::uint64), Op::sum, count_at(5), kSeparate, 8}})
            call(schedule, shape);
        same_bits<double>(schedule, 6);
        same_bits<float>(schedule, 100);
    }

    /// Makes calls of thousands of elements.
    void large_calls(const std::string& schedule) {
        for (const Shape& shape : {Shape{oracle::affine_samples(), Op::user, 300, kInPlace},
                                   Shape{samples_of(Type::float64), Op::sum, 4097, kSeparate, 4},
                                   Shape{samples_of(Type::uint16), Op::sum, 100'003, kInPlace, 1},
                                   Shape{samples_of(Type::int8), Op::lxor, 5000},
                                   Shape{samples_of(Type::uint32), Op::max, 3001, kInPlace},
                                   Shape{samples_of(Type::uint64), Op::prod, 2049}})
            call(schedule, shape);
        same_bits<double>(schedule, 8192);
    }

    /// Makes calls of 4 MiB.
    void largest_calls(const std::string& schedule) {
        const oracle::Samples& affine = oracle::affine_samples();
        call(schedule, {samples_of(Type::float64), Op::max, kLargestBytes / sizeof(double)});
        call(schedule, {affine, Op::user, kLargestBytes / affine.bytes, kInPlace});
    }

    /// Sums random values that round: all ranks must get the same bits.
    template <class T>
    void same_bits(const std::string& schedule, std::size_t count) {
        std::vector<T> values;
        const std::uint64_t seed =
            caller_.advance_batch() * 77 + static_cast<std::uint64_t>(world_.rank()) * 1013;
        for (std::size_t i = 0; i < count; ++i) {
            const auto bits = static_cast<double>(base::mix(seed + i * 7) >> 11);
            values.push_back(T(static_cast<float>(bits * 0x1p-53 * 300)));
        }
        world_.allreduce(values.data(), values.data(), count, type_of<T>(), Op::sum);
        if (world_.size() == 1) return;
        caller_.check(caller_.same_on_all_ranks(std::as_bytes(std::span(values))),
                      fmt::format("bits of {} differ between ranks ({} elements of {} bytes)",
                                  schedule, count, sizeof(T)));
    }

    /// Uses overlapping teams, in different orders on different ranks.
    void splits() {
        for (int repeat = 0; repeat < (depth_ == Depth::sample ? 8 : 40); ++repeat) {
            const Rank me = world_.rank();
            auto halves = world_.split(me % 2, -me);
            auto third = world_.split(me % 3 == 0 ? 7 : -1, me);
            caller_.check(halves.has_value() && third.has_value() == (me % 3 == 0),
                          "split: wrong teams");
            std::vector<Request> requests;
            std::int64_t in_half = me;
            std::int64_t in_third = 1;
            std::int64_t in_world = 1;
            const auto start_half = [&] {
                requests.push_back(
                    halves->start(Call::allreduce(&in_half, &in_half, 1, Type::int64, Op::sum)));
            };
            if (me % 4 < 2) start_half();
            if (third)
                requests.push_back(
                    third->start(Call::allreduce(&in_third, &in_third, 1, Type::int64, Op::sum)));
            requests.push_back(
                world_.start(Call::allreduce(&in_world, &in_world, 1, Type::int64, Op::sum)));
            if (me % 4 >= 2) start_half();
            for (Request& request : requests) request.wait();
            std::int64_t expected = 0;
            for (Rank r = me % 2; r < world_.size(); r += 2) expected += r;
            caller_.check(in_half == expected && in_world == world_.size(),
                          "wrong sum over a split team or over the world");
            caller_.check(!third || in_third == (world_.size() + 2) / 3,
                          "wrong sum over every third rank");
            caller_.check(halves->rank() == halves->size() - 1 - me / 2,
                          "keys in reverse order do not reverse the order of ranks");
            halves->free();
            if (third) third->free();
        }
    }

    /// Prints the number of calls of each kind.
    void print_report(std::uint64_t writes) const {
        lab::Json report{{"ranks", world_.size()},
                         {"nodes", runtime_.nodes()},
                         {"provider", runtime_.provider()},
                         {"notify", runtime_.notify()},
                         {"writes", writes}};
        for (const auto& [what, counts] : caller_.covered) report[what] = counts;
        report["bytes_min"] = caller_.bytes_min;
        report["bytes_max"] = caller_.bytes_max;
        report["checked"] = caller_.checked;
        report["wrong"] = caller_.wrong;
        lab::print_json(report);
    }

    /// Makes teams that reuse the region of the earlier team `pair`. Rank 1 is a member of `pair`
    /// only, and may still be in its free().
    void teams_with_reused_regions() {
        if (world_.size() < 3) return;
        const Rank me = world_.rank();
        auto rest = world_.split(me != 1 ? 0 : -1, me);
        for (int repeat = 0; repeat < (depth_ == Depth::sample ? 8 : 60); ++repeat) {
            auto pair = world_.split(me < 2 ? 0 : -1, me);
            if (pair) pair->free();
            if (!rest) continue;
            auto next = rest->split(0, me);
            caller_.check(next->allreduce(std::int64_t{1}, Op::sum) == rest->size(),
                          "wrong sum of a team with a reused region");
            next->free();
        }
        if (rest) rest->free();
    }

    /// Uses user operations that are destroyed after one call. The next one may have the same
    /// address, but is another operation.
    void short_lived_operations() {
        for (int repeat = 0; repeat < 8; ++repeat) {
            const bool ordered = repeat % 2 == 0;
            const oracle::Samples& samples =
                ordered ? oracle::affine_samples() : oracle::triple_samples();
            Trial trial({.collective = Collective::allreduce,
                         .samples = &samples,
                         .op = Op::user,
                         .size = world_.size(),
                         .count = [](Rank, std::uint32_t) { return std::uint64_t{3}; }},
                        world_.rank(), {.in_place = true});
            trial.prepare(caller_.advance_batch());
            const Call call = trial.call();
            world_.allreduce(call.in, call.out, call.count,
                             UserOp(samples.combine, nullptr, samples.bytes, !ordered));
            caller_.check(trial.check().empty(), "wrong allreduce by a short-lived operation");
        }
    }

    Runtime& runtime_;
    MatrixCaller caller_;
    Team world_;
    Depth depth_;
    bool full_;
    std::size_t turn_ = 0;  ///< counts small_calls(); selects counts
};

}  // namespace
}  // namespace weft::test

namespace {

/// Command-line options of the program.
struct Options {
    weft::test::Depth depth = weft::test::Depth::usual;
    std::vector<std::string> notifies{""};
};

Options read_options(int count, char** arguments) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string_view word(arguments[i]);
        if (word == "--full") options.depth = weft::test::Depth::full;
        if (word == "--sample") options.depth = weft::test::Depth::sample;
        if (word != "--notify" || i + 1 == count) continue;
        options.notifies.clear();
        std::istringstream list(arguments[++i]);
        for (std::string notify; std::getline(list, notify, ',');)
            options.notifies.push_back(notify);
    }
    return options;
}

}  // namespace

int main(int count, char** arguments) {
    const Options options = read_options(count, arguments);
    // The process must not leave PMIx between two runtimes: faster ranks would consider it dead.
    pmix_proc_t self;
    if (options.notifies.size() > 1 && PMIx_Init(&self, nullptr, 0) != PMIX_SUCCESS) return 3;
    int status = 0;
    for (const std::string& notify : options.notifies) {
        if (!notify.empty()) ::setenv("WEFT_NOTIFY", notify.c_str(), 1);
        try {
            weft::Runtime runtime;
            status |= weft::test::CollectiveMatrix(runtime, options.depth).run();
            runtime.finalize();
        } catch (const weft::Error& error) {
            fmt::print(stderr, "{}\n", error.what());
            return 3;
        }
    }
    if (options.notifies.size() > 1) PMIx_Finalize(nullptr, 0);
    return status;
}
