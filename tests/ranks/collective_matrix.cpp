// SPDX-License-Identifier: BSD-3-Clause
// collective_matrix.cpp - a program of real ranks that runs collectives in many shapes and checks each.
//
// Idea     One launch per layout; schedules, types, operations, sizes, alignment and in-place vary in
//          loops inside, and so does the way to notify over the network (--notify a,b,c: a runtime
//          for each, one after the other). --sample pairs each schedule with a few shapes only, so that all
//          pairs of shapes come together over the schedules. The expected value is folded serially (reference.hpp). Random floating-point
//          inputs have no exact reference: there all ranks must hold the same bits. Rank 0 prints what
//          was covered as one JSON object a line, so that the test can see that nothing was left out.
// Holds    Every rank makes the same calls in the same order. Exit status 1 and a line on stderr for a
//          wrong result.
#include <fmt/format.h>
#include <pmix.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/registry.hpp"
#include "tests/ranks/matrix_memory.hpp"
#include "tests/ranks/named_matrix.hpp"
#include "tests/ranks/nested_specs.hpp"
#include "tests/ranks/reference.hpp"
#include "tests/ranks/typed_matrix.hpp"
#include "tests/ranks/v_collectives_matrix.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

/// A schedule and the family it was taken from.
struct Candidate {
    std::string kind;
    std::string spec;
};

enum class Depth { sample, usual, full };

class Matrixer {
  public:
    explicit Matrixer(Runtime& runtime, Depth depth)
        : runtime_(runtime),
          world_(runtime.world()),
          nodes_(runtime.nodes()),
          depth_(depth),
          full_(depth == Depth::full),
          product_(&multiply_matrices, nullptr, sizeof(Matrix), false) {}

    int run() {
        std::string last_kind;
        for (const Candidate& candidate : candidates()) {
            const bool first = candidate.kind != last_kind;
            last_kind = candidate.kind;
            ++covered_["schedules"][candidate.kind];
            world_.set_algorithm("allreduce", candidate.spec);
            small_calls(candidate.spec);
            if (first || full_) large_calls(candidate.spec);
            if (depth_ == Depth::sample) continue;
            if (candidate.kind == "default" || (first && (full_ || world_.size() <= 5)) ||
                (full_ && world_.size() <= 6))
                largest_call(candidate.spec);
        }
        world_.set_algorithm("allreduce", "");
        const MatrixBook book{round_, covered_,
                              [this](bool right, const std::string& what) { judge(right, what); }};
        NamedMatrix(world_, product_, depth_ == Depth::sample ? 40 : 300, book).run();
        TypedMatrix(world_, book).run();
        RaggedMatrix(world_, product_, book).run();
        started_calls();
        splits();
        teams_that_follow_each_other();
        operations_that_come_and_go();
        const auto writes = world_.allreduce(runtime_.network_writes(), Op::sum);
        if (world_.rank() == 0) print_report(writes);
        return wrong_ == 0 ? 0 : 1;
    }

  private:
    static constexpr std::size_t kLargest = std::size_t{4} << 20;

    /// Schedules of every family that exists for this size, evenly sampled.
    std::vector<Candidate> candidates() {
        using collectives::ScheduleFamily;
        const Rank n = world_.size();
        const std::size_t most = full_ ? 24 : depth_ == Depth::sample ? 2 : 4;
        std::vector<Candidate> found{{"default", ""}, {"doubling", "recursive-doubling"}};
        const auto add = [&](const std::string& kind, const std::vector<std::string>& specs) {
            for (const std::string& spec : specs) {
                const auto parsed = collectives::parse_spec(spec);
                const bool fits =
                    parsed.ok() &&
                    collectives::generate(
                        "allreduce", *parsed,
                        {.rank = world_.rank(), .size = n, .elements = 1, .element_bytes = 8})
                        .ok();
                judge(fits, fmt::format("schedule {} was refused for {} ranks", spec, n));
                if (fits) found.push_back({kind, spec});
            }
        };
        if (n > 1) add("factored", evenly(schedules_of(n, ScheduleFamily::factored), most));
        add("split", evenly(schedules_of(n, ScheduleFamily::split), most));
        add("merged", evenly(schedules_of(n, ScheduleFamily::merged), most));
        add("nested", nested_specs(n, (most + 1) / 2));
        return found;
    }

    void small_calls(const std::string& schedule) {
        constexpr std::array<std::size_t, 7> kCounts{0, 1, 2, 5, 6, 7, 13};
        ++turn_;
        for (std::size_t i = 0; i < kCounts.size(); ++i) {
            if (depth_ == Depth::sample && i % 3 != turn_ % 3) continue;
            const std::size_t count = kCounts[i];
            allreduce<double>(schedule, count, Op::sum, {});
            allreduce<std::int32_t>(schedule, count, Op::max, {.in_place = true});
            allreduce<std::uint8_t>(schedule, count, Op::bxor, {.shift = 1});
            allreduce<Matrix>(schedule, count, Op::user, {});
        }
        allreduce<float>(schedule, 3, Op::prod, {.in_place = true, .shift = 2});
        allreduce<std::int64_t>(schedule, 6, Op::min, {});
        allreduce<std::int16_t>(schedule, 9, Op::lor, {});
        allreduce<std::int8_t>(schedule, kCounts[turn_ % 7], Op::band, {.in_place = true});
        allreduce<std::uint32_t>(schedule, kCounts[(turn_ + 3) % 7], Op::bor, {.shift = 3});
        allreduce<std::uint64_t>(schedule, kCounts[(turn_ + 5) % 7], Op::sum, {.shift = 8});
        same_bits<double>(schedule, 6);
        same_bits<float>(schedule, 100);
    }

    void large_calls(const std::string& schedule) {
        allreduce<Matrix>(schedule, 300, Op::user, {.in_place = true});
        allreduce<double>(schedule, 4097, Op::sum, {.shift = 4});
        same_bits<double>(schedule, 8192);
        allreduce<std::uint16_t>(schedule, 100'003, Op::sum, {.in_place = true, .shift = 1});
        allreduce<std::int8_t>(schedule, 5000, Op::lxor, {});
        allreduce<std::uint32_t>(schedule, 3001, Op::max, {.in_place = true});
        allreduce<std::uint64_t>(schedule, 2049, Op::prod, {});
    }

    void largest_call(const std::string& schedule) {
        allreduce<double>(schedule, kLargest / sizeof(double), Op::max, {});
        allreduce<Matrix>(schedule, kLargest / sizeof(Matrix), Op::user, {.in_place = true});
    }

    template <class T>
    void call(void* in, void* out, std::size_t count, Op op) {
        if constexpr (std::is_same_v<T, Matrix>) {
            world_.allreduce(in, out, count, product_);
        } else {
            world_.allreduce(in, out, count, type_of<T>(), op);
        }
    }

    template <class T>
    void allreduce(const std::string& schedule, std::size_t count, Op op, Place place) {
        ++round_;
        count_shape<T>(count, place);
        Vector<T> in(count, place.shift);
        Vector<T> out(count, place.shift);
        in.set(contributions<T>(world_.rank(), count, round_));
        out.spoil();
        Vector<T>& result = place.in_place ? in : out;
        call<T>(in.data(), result.data(), count, op);
        judge(result.equals(reduction<T>(world_.size(), count, round_, op)),
              fmt::format("allreduce {} of {} elements of {} bytes, op {}", schedule, count,
                          sizeof(T), static_cast<int>(op)));
        if (!place.in_place)
            judge(in.equals(contributions<T>(world_.rank(), count, round_)),
                  "the input of " + schedule + " was changed");
    }

    /// Random values whose sums round: every rank must round alike.
    template <class T>
    void same_bits(const std::string& schedule, std::size_t count) {
        ++round_;
        std::vector<T> values(count);
        for (std::size_t i = 0; i < count; ++i)
            values[i] = static_cast<T>(
                static_cast<double>(
                    mix(round_ * 77 + i * 7 + static_cast<std::uint64_t>(world_.rank()) * 1013)) *
                1e-9);
        world_.allreduce<T>(std::span<T>(values), Op::sum);
        std::uint64_t hash = 1;
        for (const T value : values) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, &value, sizeof value);
            hash = mix(hash + bits);
        }
        const std::uint64_t least = world_.allreduce(hash, Op::min);
        const std::uint64_t most = world_.allreduce(hash, Op::max);
        judge(least == most,
              fmt::format("bits of {} differ between ranks ({} elements)", schedule, count));
    }

    /// Many started calls at once, completed in another order.
    void started_calls() {
        constexpr std::size_t kCalls = 200;
        std::vector<std::vector<double>> values(kCalls);
        std::vector<Request> requests;
        const std::uint64_t first = round_ + 1;
        for (std::size_t i = 0; i < kCalls; ++i) {
            values[i] = contributions<double>(world_.rank(), i % 9 * i, ++round_);
            const auto root = static_cast<Rank>(i) % world_.size();
            if (i % 3 == 2)
                requests.push_back(world_.start(
                    Call::broadcast(values[i].data(), values[i].size(), Type::float64, root)));
            else
                requests.push_back(world_.start(Call::allreduce(
                    values[i].data(), values[i].data(), values[i].size(), Type::float64, Op::sum)));
        }
        for (std::size_t k = 0; k < kCalls; ++k) requests[(k * 77) % kCalls].wait();
        for (std::size_t i = 0; i < kCalls; ++i) {
            const auto root = static_cast<Rank>(i) % world_.size();
            const auto expected =
                i % 3 == 2 ? contributions<double>(root, values[i].size(), first + i)
                           : reduction<double>(world_.size(), values[i].size(), first + i, Op::sum);
            judge(values[i] == expected, fmt::format("started call {}", i));
        }
    }

    /// Overlapping teams, used in opposite orders.
    void splits() {
        for (int repeat = 0; repeat < (depth_ == Depth::sample ? 8 : 40); ++repeat) {
            const Rank me = world_.rank();
            auto halves = world_.split(me % 2, -me);
            auto some = world_.split(me % 3 == 0 ? 7 : -1, me);
            judge(halves.has_value() && some.has_value() == (me % 3 == 0), "split gave no team");
            std::vector<Request> requests;
            std::int64_t in_half = me;
            std::int64_t in_some = 1;
            std::int64_t in_world = 1;
            const auto start_half = [&] {
                requests.push_back(
                    halves->start(Call::allreduce(&in_half, &in_half, 1, Type::int64, Op::sum)));
            };
            if (me % 4 < 2) start_half();
            if (some)
                requests.push_back(
                    some->start(Call::allreduce(&in_some, &in_some, 1, Type::int64, Op::sum)));
            requests.push_back(
                world_.start(Call::allreduce(&in_world, &in_world, 1, Type::int64, Op::sum)));
            if (me % 4 >= 2) start_half();
            for (Request& request : requests) request.wait();
            std::int64_t expected = 0;
            for (Rank r = me % 2; r < world_.size(); r += 2) expected += r;
            judge(in_half == expected && in_world == world_.size(), "sums over split teams");
            judge(!some || in_some == (world_.size() + 2) / 3, "sum over the thirds");
            // Reversed keys reverse the order of ranks.
            judge(halves->rank() == halves->size() - 1 - me / 2, "rank order by key");
            halves->free();
            if (some) some->free();
        }
    }

    template <class T>
    void count_shape(std::size_t count, Place place) {
        ++covered_["calls"][std::is_same_v<T, Matrix> ? "user" : kTypeNames[index_of<T>()]];
        ++covered_["calls"][place.in_place ? "in_place" : "separate"];
        if (place.shift % alignof(T) != 0) ++covered_["calls"]["unaligned"];
        bytes_min_ = std::min(bytes_min_, count * sizeof(T));
        bytes_max_ = std::max(bytes_max_, count * sizeof(T));
    }

    static constexpr std::array<const char*, 10> kTypeNames{"int8",  "int16",  "int32",  "int64",
                                                            "uint8", "uint16", "uint32", "uint64",
                                                            "float", "double"};
    template <class T>
    static constexpr std::size_t index_of() {
        if constexpr (std::is_same_v<T, Matrix>)
            return 0;
        else
            return static_cast<std::size_t>(type_of<T>());
    }

    /// What was run, for whoever wants to know that nothing was left out.
    void print_report(std::uint64_t writes) const {
        nlohmann::ordered_json report{{"ranks", world_.size()},
                                      {"nodes", nodes_},
                                      {"provider", runtime_.provider()},
                                      {"notify", runtime_.notify()},
                                      {"writes", writes}};
        for (const auto& [what, counts] : covered_) report[what] = counts;
        report["bytes_min"] = bytes_min_;
        report["bytes_max"] = bytes_max_;
        report["checked"] = checked_;
        report["wrong"] = wrong_;
        fmt::print("{}\n", report.dump());
    }

    /// A region is used again by a team that lacks a member of the one before, while that member may
    /// still be on its way out.
    void teams_that_follow_each_other() {
        if (world_.size() < 3) return;
        const Rank me = world_.rank();
        auto rest = world_.split(me != 1 ? 0 : -1, me);
        for (int repeat = 0; repeat < (depth_ == Depth::sample ? 8 : 60); ++repeat) {
            auto pair = world_.split(me < 2 ? 0 : -1, me);
            if (pair) pair->free();
            if (!rest) continue;
            auto next = rest->split(0, me);
            judge(next->allreduce(std::int64_t{1}, Op::sum) == rest->size(),
                  "sum over a reused region");
            next->free();
        }
        if (rest) rest->free();
    }

    /// Operations that are gone before the next call, which may get the same address.
    void operations_that_come_and_go() {
        for (int repeat = 0; repeat < 4; ++repeat) {
            ++round_;
            const std::size_t count = 3;
            auto matrices = contributions<Matrix>(world_.rank(), count, round_);
            world_.allreduce(matrices.data(), matrices.data(), count,
                             UserOp(&multiply_matrices, nullptr, sizeof(Matrix), false));
            judge(matrices == reduction<Matrix>(world_.size(), count, round_, Op::user),
                  "matrices by a short-lived operation");
            auto words = contributions<std::int64_t>(world_.rank(), count, round_);
            const auto add = [](const void* in, void* inout, std::size_t n, void*) {
                for (std::size_t i = 0; i < n; ++i)
                    static_cast<std::int64_t*>(inout)[i] += static_cast<const std::int64_t*>(in)[i];
            };
            world_.allreduce(words.data(), words.data(), count,
                             UserOp(add, nullptr, sizeof(std::int64_t), true));
            judge(words == reduction<std::int64_t>(world_.size(), count, round_, Op::sum),
                  "words by a short-lived operation");
        }
    }

    void judge(bool right, const std::string& what) {
        ++checked_;
        if (right) return;
        if (++wrong_ <= 5)
            fmt::print(stderr, "rank {} of {}: {}\n", world_.rank(), world_.size(), what);
    }

    Runtime& runtime_;
    Team world_;
    int nodes_;
    Depth depth_;
    bool full_;
    std::size_t turn_ = 0;
    UserOp product_;
    std::uint64_t round_ = 0;
    Covered covered_;
    std::size_t bytes_min_ = kLargest;
    std::size_t bytes_max_ = 0;
    int checked_ = 0;
    int wrong_ = 0;
};

}  // namespace
}  // namespace weft::test

namespace {

/// The options after the program's name.
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
    // Runtimes follow each other in a job that the process stays in: one that has left it for a moment
    // would be taken for dead by ranks that are further.
    pmix_proc_t self;
    if (options.notifies.size() > 1 && PMIx_Init(&self, nullptr, 0) != PMIX_SUCCESS) return 3;
    int status = 0;
    for (const std::string& notify : options.notifies) {
        if (!notify.empty()) ::setenv("WEFT_NOTIFY", notify.c_str(), 1);
        try {
            weft::Runtime runtime;
            status |= weft::test::Matrixer(runtime, options.depth).run();
            runtime.finalize();
        } catch (const weft::Error& error) {
            fmt::print(stderr, "{}\n", error.what());
            return 3;
        }
    }
    if (options.notifies.size() > 1) PMIx_Finalize(nullptr, 0);
    return status;
}
