// SPDX-License-Identifier: BSD-3-Clause
// Goal: programs that are written as GOAL and read back take the time that the engines give, for
// all algorithms and any number of lanes on a processor. The text conforms to the grammar of
// LogGOPSim. Invalid GOAL is refused with its line.
// Method: times computed by hand, every algorithm of the list, and all small schedules.
#include "tools/simulate/goal.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "collectives/notation/enumerate.hpp"
#include "tests/model/simulate/simulated_call.hpp"
#include "tools/simulate/processors.hpp"

namespace weft::lab::test {
namespace {

Time goal_time(const SimulatedCall& call, const ModelParameters& parameters) {
    const MessageModel model = message_model(parameters);
    const auto text = to_goal(programs_of(call), size_of(call), model);
    EXPECT_TRUE(text.ok()) << text.failure().text;
    const auto outcome = simulate_goal(*text, model);
    EXPECT_TRUE(outcome.ok()) << outcome.failure().text;
    return outcome ? outcome->makespan : -1;
}

constexpr ModelParameters kInfiniband{
    .model = WireModel::loggp, .latency = 6'000'000, .overhead = 4'700'000, .byte_fs = 730'000};
constexpr ModelParameters kPaper{
    .latency = 500'000, .issue = 100'000, .reduce = 10'000, .byte_fs = 400'000};

/// Costs that are fractions of nanoseconds.
constexpr ModelParameters kFractions{.latency = 500'000,
                                     .issue = 100'000,
                                     .reduce = 10'400,
                                     .byte_fs = 401'300,
                                     .reduce_byte_fs = 60'100};

TEST(Goal, DisseminationOf16RanksMatchesAHandComputation) {
    const SimulatedCall one{
        .collective = "barrier", .spec = "dissemination", .request = {.size = 16}};
    // Four rounds of a signal: overhead, latency, overhead.
    EXPECT_EQ(goal_time(one, kInfiniband), 4 * (2 * 4'700'000 + 6'000'000));
    // Issue and latency.
    EXPECT_EQ(goal_time(one, kPaper), 4 * 600'000);
    const SimulatedCall three{
        .collective = "barrier", .spec = "dissemination:k=3", .request = {.size = 16}};
    // Two rounds of three signals. A rank sends for three overheads, longer than the first signal
    // is in flight. Then it receives three signals, one after the other.
    EXPECT_EQ(goal_time(three, kInfiniband), 2 * 6 * 4'700'000);
    EXPECT_EQ(goal_time(three, kPaper), 2 * (3 * 100'000 + 500'000));
}

TEST(Goal, AgreesWithTheEnginesOnAllSmallSchedules) {
    for (Rank size = 2; size <= 9; ++size) {
        for (int family = 0; family < 3; ++family)
            collectives::for_each_schedule(
                size, static_cast<collectives::ScheduleFamily>(family),
                [&](const collectives::Schedule& schedule) {
                    const SimulatedCall call{.spec = collectives::print(schedule),
                                             .request = {.size = size, .elements = 8}};
                    for (const ModelParameters& parameters : {kInfiniband, kPaper}) {
                        SimulationInputs setup;
                        setup.model = message_model(parameters);
                        const auto outcome = generic(call, setup);
                        EXPECT_EQ(goal_time(call, parameters), outcome.makespan) << call.spec;
                    }
                    return true;
                });
    }
    for (const char* spec : {"binomial", "flat", "binomial:segments=4"}) {
        const SimulatedCall call{.collective = "broadcast",
                                 .spec = spec,
                                 .request = {.size = 11, .root = 0, .elements = 64}};
        SimulationInputs setup;
        setup.model = message_model(kInfiniband);
        EXPECT_EQ(goal_time(call, kInfiniband), generic(call, setup).makespan) << spec;
    }
}

std::set<std::string_view> collectives_with_algorithms() {
    std::set<std::string_view> names;
    for (const collectives::Algorithm& algorithm : collectives::algorithms())
        names.insert(algorithm.collective);
    return names;
}

/// Calls visit(call, programs) for every algorithm with its usual parameters that serves `size`
/// ranks on nodes of two ranks or on one node.
template <class Visit>
void for_each_algorithm(Rank size, std::uint64_t elements, Visit visit) {
    for (const std::string_view collective : collectives_with_algorithms()) {
        for (const std::string& spec : collectives::specs_to_try(collective)) {
            SimulatedCall call{.collective = std::string(collective), .spec = spec};
            call.request = {
                .size = size,
                .root = collectives::is_rooted(collective) ? size / 2 : kNoRank,
                .elements = collectives::contract(collective).vector_elements(size, elements),
                .layout = Layout(size, 2)};
            auto programs = weft::test::generate_if_served(
                collective, *collectives::parse_spec(spec), call.request);
            if (programs.empty()) {
                call.request.layout = Layout(size, size);
                programs = weft::test::generate_if_served(
                    collective, *collectives::parse_spec(spec), call.request);
            }
            if (!programs.empty()) visit(call, programs);
        }
    }
}

TEST(Goal, AgreesWithTheEnginesForEveryAlgorithm) {
    std::size_t in_order_count = 0;  // programs that need an order of lanes
    std::set<std::string> seen;
    const auto agree = [&](const SimulatedCall& call, const std::vector<Program>& programs) {
        const auto what = call.collective + " " + call.spec;
        for (const ModelParameters& parameters : {kInfiniband, kPaper, kFractions}) {
            SimulationInputs setup;
            setup.model = message_model(parameters);
            const ImagePart image = image_of(programs, call, setup);
            if (image.pieces().has_cells()) continue;  // GOAL has no published cells
            in_order_count += needs_order({&image, 1}) ? 1 : 0;
            const auto text = to_goal(programs, size_of(call), setup.model);
            ASSERT_TRUE(text.ok()) << what << ": " << text.failure().text;
            const auto read = simulate_goal(*text, setup.model);
            const auto generic = simulate_generic({&image, 1}, setup);
            const auto in_order = simulate_events({&image, 1}, setup);
            ASSERT_TRUE(read.ok() && generic.ok() && in_order.ok()) << what;
            EXPECT_EQ(read->makespan, generic->makespan) << what << ", " << call.request.size;
            EXPECT_EQ(read->earliest_finish, generic->earliest_finish) << what;
            EXPECT_EQ(read->messages, generic->messages) << what;
            EXPECT_EQ(in_order->makespan, generic->makespan) << what;
            seen.insert(what);
        }
    };
    for (const Rank size : {2, 5, 8}) for_each_algorithm(size, 3000, agree);
    for_each_algorithm(6, 1, agree);
    EXPECT_GT(in_order_count, 20U);
    EXPECT_GT(seen.size(), 100U);
}

TEST(Goal, LanesOfARankShareItsProcessor) {
    // With a processor for each lane, the two trees would take half the time.
    const ModelParameters wire{.latency = 1'000, .issue = 1'000'000};
    const SimulatedCall trees{.collective = "broadcast",
                              .spec = "double-tree:segments=1",
                              .request = {.size = 2, .root = 0, .elements = 8}};
    SimulationInputs setup;
    setup.model = message_model(wire);
    EXPECT_EQ(generic(trees, setup).makespan, 2 * 1'000'000 + 1'000);
    // Sixteen ranks, 64 KiB, under the costs of Hoefler and Moor.
    setup.model = message_model(kInfiniband);
    const SimulatedCall sixteen{.spec = "double-tree", .request = {.size = 16, .elements = 8192}};
    EXPECT_EQ(generic(sixteen, setup).makespan, goal_time(sixteen, kInfiniband));
}

/// Returns true if LogGOPSim's scanner (txt2bin.re) accepts the line, which may not be indented.
bool is_published_grammar(const std::string& line) {
    static const std::regex grammar(
        "num_ranks [0-9]+|rank [0-9]+ \\{|\\}||"
        "[a-zA-Z][a-zA-Z0-9_]*: (calc [0-9]+|send [1-9][0-9]*b to [0-9]+ tag [0-9]+|"
        "recv [1-9][0-9]*b from [0-9]+ tag [0-9]+)|"
        "[a-zA-Z][a-zA-Z0-9_]* requires [a-zA-Z][a-zA-Z0-9_]*");
    return std::regex_match(line, grammar);
}

TEST(Goal, OutputFollowsThePublishedGrammar) {
    for_each_algorithm(5, 3, [&](const SimulatedCall& call, const std::vector<Program>& programs) {
        const auto text = to_goal(programs, size_of(call), message_model(kFractions));
        if (!text) return;  // GOAL has no published cells
        std::istringstream lines(*text);
        for (std::string line; std::getline(lines, line);)
            ASSERT_TRUE(is_published_grammar(line)) << call.spec << ": '" << line << "'";
    });
    const SimulatedCall barrier{
        .collective = "barrier", .spec = "dissemination", .request = {.size = 2}};
    const auto text = to_goal(programs_of(barrier), size_of(barrier), message_model(kPaper));
    EXPECT_NE(text->find("\ns1: send 1b to 1 tag 0\ns2: recv 1b from 1 tag 1\ns2 requires s1\n"),
              std::string::npos)
        << *text;
}

TEST(Goal, ErrorsNameTheLine) {
    const MessageModel model = message_model(kPaper);
    const auto right = simulate_goal(
        "num_ranks 2\n// two ranks\nrank 0 {\n l1: calc 100 cpu 0\n l2: send 8b to 1 tag 3 cpu 0 "
        "nic 0\n l2 requires l1\n}\nrank 1 {\nl1: recv 8b from 0 tag 3\n}\n",
        model);
    ASSERT_TRUE(right.ok()) << right.failure().text;
    EXPECT_EQ(right->makespan, 100'000 + 103'200 + 500'000);
    for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
             {"", "num_ranks is missing"},
             {"num_ranks x", "line 1: 'x' is not a number"},
             {"num_ranks 1\nrank 1 {", "line 2: '1' is not a number from 0 to 0"},
             {"num_ranks 1\ncalc 5", "line 2: 'calc' is outside a rank block"},
             {"num_ranks 1\nrank 0 {\n", "rank 0 is not closed"},
             {"num_ranks 1\nrank 0 {\njump 5\n}", "line 3: expected calc, send or recv"},
             {"num_ranks 1\nrank 0 {\ncalc 5 cpu 1\n}", "only cpu 0"},
             {"num_ranks 1\nrank 0 {\nsend 5 to 0 tag 1\n}", "expected send Nb to R tag T"},
             {"num_ranks 1\nrank 0 {\nsend 5b to 0 tag 1 tag\n}", "unexpected 'tag' at the end"},
             {"num_ranks 1\nrank 0 {\nl1 requires l2\n}",
              "line 3: 'l1': the rank has no operation with this label"},
             {"num_ranks 1\nrank 0 {\nl1: calc 1\nl1: calc 1\n}", "line 4: l1 is given twice"},
             {"num_ranks 2\nrank 0 {\nrecv 1b from 1 tag 0\n}\nrank 1 {\n}",
              "rank 0 waits for an unsent message"}}) {
        const auto refused = simulate_goal(text, model);
        ASSERT_FALSE(refused.ok()) << text;
        EXPECT_NE(refused.failure().text.find(words), std::string::npos) << refused.failure().text;
    }
}

}  // namespace
}  // namespace weft::lab::test
