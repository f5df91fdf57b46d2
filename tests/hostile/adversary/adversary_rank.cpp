// SPDX-License-Identifier: BSD-3-Clause
// adversary_rank.cpp - makes random collectives, one-sided calls and teams over the adversary.
//
// usage: weft_adversary_rank [--notify STRATEGY,...] [--first-seed S] [--seeds N] [--rounds N]
//
// Idea     One job tests a profile: it makes one runtime after another, for each seed and notify
//          strategy. The adversary uses the seed, too. From the seed all ranks draw equal calls:
//          every collective with a random algorithm, one-sided calls, teams.
// Fails    A rank with a wrong result prints a line to stderr and exits with status 1. Rank 0
//          prints its number of checks and runtimes as JSON.
#include <fmt/format.h>
#include <pmix.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "collectives/collective_traits.hpp"
#include "collectives/registry.hpp"
#include "tests/system/ranks/matrix_caller.hpp"
#include "tools/lab/program/json.hpp"

namespace weft::test {
namespace {

/// Options of the command line.
struct Options {
    std::vector<std::string> notifies{""};  ///< notify strategies; "": the default
    std::uint64_t first_seed = 1;
    std::uint64_t seeds = 1;
    std::uint64_t rounds = 1;  ///< repetitions of all calls in each runtime
};

/// Draws and makes the calls of one runtime.
class RandomCalls {
  public:
    RandomCalls(Runtime& runtime, std::uint64_t seed)
        : world_(runtime.world()), caller_(world_), random_(seed) {}

    void run() {
        for (const collectives::CollectiveTraits& traits : collectives::kCollectives) call(traits);
        call(collectives::traits_of(Collective::allreduce));
        puts();
        counters();
        half_teams();
    }
    [[nodiscard]] int checked() const { return caller_.checked; }
    [[nodiscard]] int wrong() const { return caller_.wrong; }

  private:
    using Traits = collectives::CollectiveTraits;

    [[nodiscard]] std::size_t below(std::size_t end) { return random_() % end; }

    /// Returns "" (the default), or an algorithm that works for this number of ranks on any nodes.
    std::string draw_spec(const Traits& traits) {
        const std::string_view name = collectives::traits_of(traits.even).name;
        const std::vector<std::string> specs = collectives::specs_to_try(name);
        if (specs.empty() || below(4) == 0) return {};
        const std::string& spec = specs[below(specs.size())];
        const auto parsed = collectives::parse_spec(spec);
        const bool fits = parsed.ok() && collectives::generate(name, *parsed,
                                                               {.rank = world_.rank(),
                                                                .size = world_.size(),
                                                                .root = traits.rooted() ? 0 : -1,
                                                                .elements = 1,
                                                                .element_bytes = 8})
                                             .ok();
        if (!fits || (*collectives::find_algorithm(name, *parsed))->properties_of(*parsed).direct)
            return {};  // direct algorithms only work between local peers
        return spec;
    }

    /// Makes a call of the collective with random arguments.
    void call(const Traits& traits) {
        if (!traits.has_data()) {
            for (int i = 0; i < 3; ++i) world_.barrier();
            return;
        }
        const std::string spec = traits.has_pairwise_counts() ? "" : draw_spec(traits);
        world_.set_algorithm(traits.name, spec);
        constexpr std::array<std::size_t, 8> kCounts{0, 1, 3, 6, 7, 100, 700, 6007};
        MatrixCall matrix_call{
            .collective = traits.collective,
            .count = kCounts[below(kCounts.size())],
            .root = traits.rooted() ? static_cast<Rank>(below(4)) % world_.size() : -1};
        matrix_call.arrangement.in_place = below(2) == 0;
        matrix_call.arrangement.shift = below(3) == 0 ? 1 : 0;
        if (below(2) == 0) {
            matrix_call.samples = &oracle::samples_of(Type::int32);
            matrix_call.op = Op::max;
        }
        if (traits.has_counts()) {
            matrix_call.pattern = static_cast<int>(below(kCountPatterns));
            matrix_call.count = static_cast<std::size_t>(matrix_call.pattern);
        }
        caller_.run_and_check(matrix_call, spec);
        world_.set_algorithm(traits.name, "");
    }

    /// Puts along a ring: with signals, with a fence between data and flag, and read back.
    void puts() {
        constexpr std::size_t kWords = 60'000;  // long puts use several NICs
        struct Board {                          // symmetric
            std::uint64_t signal, flag;
            std::array<std::uint64_t, kWords> data;
        };
        auto* board = static_cast<Board*>(world_.allocate(sizeof(Board)));
        board->signal = board->flag = 0;
        world_.barrier();
        const Rank next = (world_.rank() + 1) % world_.size();
        const Rank previous = (world_.rank() + world_.size() - 1) % world_.size();
        std::vector<std::uint64_t> out(kWords);
        for (std::uint64_t round = 1; round <= 6; ++round) {
            const std::size_t words = round % 3 == 0 ? 1 + below(kWords) : below(40);
            const auto value = [&](Rank rank, std::size_t at) {
                return round << 40 | static_cast<std::uint64_t>(rank) << 32 | at;
            };
            for (std::size_t i = 0; i < words; ++i) out[i] = value(world_.rank(), i);
            if (round % 2 == 0) {
                world_.put_signal(board->data.data(), out.data(), words * 8, &board->signal, round,
                                  SignalOp::set, next);
                world_.wait_until(&board->signal, Compare::ge, round);
            } else {
                world_.put(board->data.data(), out.data(), words * 8, next);
                world_.fence();
                world_.put(&board->flag, &round, sizeof round, next);
                world_.wait_until(&board->flag, Compare::ge, round);
            }
            bool right = true;
            for (std::size_t i = 0; i < words; ++i)
                right = right && board->data[i] == value(previous, i);
            caller_.check(right, fmt::format("{} words that the previous rank has put", words));
            world_.quiet();
            std::vector<std::uint64_t> in(words);
            world_.get(in.data(), board->data.data(), words * 8, next);
            for (std::size_t i = 0; i < words; ++i)
                right = right && in[i] == value(world_.rank(), i);
            caller_.check(right,
                          fmt::format("{} words that this rank has put and read back", words));
            world_.barrier();
        }
        world_.release(board);
    }

    /// Adds to a counter of rank 0 from all ranks.
    void counters() {
        auto* word = static_cast<std::uint64_t*>(world_.allocate(sizeof(std::uint64_t)));
        *word = 0;
        world_.barrier();
        for (int i = 0; i < 5; ++i) (void)world_.fetch_add(word, 3, 0);
        world_.barrier();
        const std::uint64_t sum = world_.fetch_add(word, 0, 0);
        caller_.check(sum == 15 * static_cast<std::uint64_t>(world_.size()),
                      "the sum of atomic additions");
        world_.barrier();
        world_.release(word);
    }

    /// Makes two teams, of the ranks of even and odd number, and an allreduce in each.
    void half_teams() {
        const Rank me = world_.rank();
        auto half = world_.split(me % 2, -me);
        std::int64_t expected = 0;
        for (Rank rank = me % 2; rank < world_.size(); rank += 2) expected += rank;
        caller_.check(half->allreduce(std::int64_t{me}, Op::sum) == expected,
                      "the sum over a half of the ranks");
        half->free();
    }

    Team world_;
    MatrixCaller caller_;
    std::mt19937_64 random_;
};

Options read_options(int count, char** arguments) {
    Options options;
    for (int i = 1; i + 1 < count; i += 2) {
        const std::string word = arguments[i];
        if (word == "--seeds") options.seeds = std::strtoull(arguments[i + 1], nullptr, 10);
        if (word == "--rounds") options.rounds = std::strtoull(arguments[i + 1], nullptr, 10);
        if (word == "--first-seed")
            options.first_seed = std::strtoull(arguments[i + 1], nullptr, 10);
        if (word != "--notify") continue;
        options.notifies.clear();
        std::istringstream list(arguments[i + 1]);
        for (std::string notify; std::getline(list, notify, ',');)
            options.notifies.push_back(notify);
    }
    return options;
}

int run_all(const Options& options) {
    int wrong = 0;
    lab::Json report{{"checked", 0}, {"runtimes", 0}, {"writes", 0}};
    for (std::uint64_t i = 0; i < options.seeds; ++i) {
        const std::string seed = std::to_string(options.first_seed + i);
        ::setenv("ADVERSARY_SEED", seed.c_str(), 1);
        for (const std::string& notify : options.notifies) {
            if (!notify.empty()) ::setenv("WEFT_NOTIFY", notify.c_str(), 1);
            Runtime runtime;
            RandomCalls calls(runtime, options.first_seed + i);
            for (std::uint64_t round = 0; round < options.rounds; ++round) calls.run();
            wrong += calls.wrong();
            if (calls.wrong() != 0)
                fmt::print(stderr, "rank {}: seed {}, {}, {}\n", runtime.world().rank(), seed,
                           runtime.provider(), runtime.notify());
            report["checked"] = report["checked"].get<int>() + calls.checked();
            report["runtimes"] = report["runtimes"].get<int>() + 1;
            report["writes"] = report["writes"].get<std::uint64_t>() + runtime.network_writes();
            report["provider"] = runtime.provider();
            report["strategies"][runtime.notify()] = 1;
            const bool is_rank_0 = runtime.world().rank() == 0;
            const bool is_last = i + 1 == options.seeds && &notify == &options.notifies.back();
            runtime.finalize();
            if (is_rank_0 && is_last) lab::print_json(report);
        }
    }
    return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weft::test

int main(int count, char** arguments) {
    const weft::test::Options options = weft::test::read_options(count, arguments);
    // Keeps this process in the job after the end of a runtime.
    pmix_proc_t self;
    if (PMIx_Init(&self, nullptr, 0) != PMIX_SUCCESS) return 3;
    int status = 3;
    try {
        status = weft::test::run_all(options);
    } catch (const weft::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
    }
    PMIx_Finalize(nullptr, 0);
    return status;
}
