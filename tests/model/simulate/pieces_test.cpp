// SPDX-License-Identifier: BSD-3-Clause
// Goal: segments in flight hide the latencies of an exchange.
// Method: the generic and the events engine, under LogGP with a latency of 5 us and 0.1 ns per
// byte. Times are picoseconds and have no tolerance.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "simulated_call.hpp"
#include "tools/verify/verify.hpp"

namespace weft::lab::test {
namespace {

constexpr std::array<std::uint32_t, 5> kSegments{1, 2, 4, 8, 16};

/// Simulated times of calls of 1 MiB, for each number of segments in kSegments.
struct Times {
    Rank ranks;
    std::array<Time, std::size(kSegments)> times;
    bool steady = false;  ///< one more segment takes the time of the busiest port
    /// The last of 16 segments passes through many ranks, which takes over 10 % of the time.
    bool deep = false;
};
struct Exchange {
    const char* collective;
    const char* spec;
    Rank per_node;  ///< ranks on a node
    std::vector<Times> times;
};
const Exchange kExchanges[] = {
    {"allreduce",
     "a2,a4",
     1,
     {{8, {429'430'400, 424'430'400, 424'430'400, 424'430'400, 429'430'400}, true}}},
    {"allreduce",
     "c6m3,a3,a3,e6m3",
     1,
     {{13, {749'003'200, 691'574'400, 665'360'000, 652'252'800, 645'699'200}, true}}},
    {"allreduce",
     "m1g20a3,a4,n1g12a5",
     1,
     {{61, {1'063'576'000, 1'053'576'000, 1'053'576'000, 1'053'576'000, 1'057'022'400}}}},
    {"allreduce",
     "recursive-doubling",
     1,
     {{8, {329'572'800, 319'572'800, 319'572'800, 319'572'800, 319'572'800}, true},
      {13, {549'288'000, 486'859'200, 455'644'800, 452'537'600, 455'984'000}},
      {61, {769'003'200, 701'574'400, 675'360'000, 672'252'800, 680'699'200}}}},
    {"allreduce",
     "halving-doubling",
     1,
     {{8, {213'500'800, 188'500'800, 188'500'800, 193'670'400, 209'518'400}, true},
      {13, {438'216'000, 397'001'600, 373'894'400, 379'148'800, 413'273'600}},
      {61, {477'876'800, 420'108'800, 398'724'800, 432'100'800, 506'790'400}}}},
    {"allreduce",
     "binary-blocks",
     1,
     {{8, {213'500'800, 188'500'800, 188'500'800, 193'670'400, 209'518'400}, true},
      {13, {274'036'800, 241'268'800, 231'268'800, 233'331'200, 262'766'400}, true},
      {61, {323'528'000, 279'206'400, 253'980'800, 285'788'800, 351'912'000}}}},
    {"allreduce",
     "ring",
     1,
     {{8, {253'500'800, 188'500'800, 188'500'800, 190'790'400, 328'332'800}, true},
      {13, {313'593'600, 220'840'000, 198'584'000, 291'429'600, 529'936'800}, true},
      {61, {806'304'000, 704'060'000, 652'939'200, 1'252'293'600, 2'451'972'000}, true}}},
    {"allreduce",
     "generalized",
     1,
     {{8, {213'500'800, 188'500'800, 188'500'800, 193'670'400, 209'518'400}, true},
      {13, {233'585'600, 200'520'800, 198'587'200, 210'440'000, 264'061'600}, true},
      {61, {266'280'000, 229'248'800, 222'260'800, 257'824'800, 353'436'800}, true}}},
    {"allgather",
     "bruck",
     1,
     {{8, {106'750'400, 96'750'400, 96'750'400, 96'920'000, 107'259'200}, true},
      {13, {116'796'800, 102'763'200, 101'796'800, 105'702'400, 123'648'000}, true},
      {61, {133'152'000, 117'132'000, 114'283'200, 129'180'800, 168'808'000}, true}}},
    {"broadcast",
     "scatter-allgather",
     1,
     {{8, {218'500'800, 198'500'800, 195'224'000, 197'032'000, 260'846'400}},
      {13, {253'579'200, 216'488'800, 212'536'000, 248'938'400, 375'319'200}, true},
      {61, {522'696'000, 466'844'800, 438'760'000, 749'033'600, 1'361'782'400}}}},
    {"allreduce",
     "reduce-broadcast",
     1,
     {{8, {659'145'600, 501'859'200, 418'216'000, 383'894'400, 364'233'600}},
      {13, {764'003'200, 606'716'800, 523'073'600, 483'752'000, 469'091'200}},
      {61, {1'203'433'600, 931'289'600, 795'217'600, 734'681'600, 712'252'800}}}},
    {"allreduce",
     "multi-object-large",
     4,
     {{8, {51'214'400, 46'214'400, 66'214'400, 86'468'800, 159'830'400}},
      {13, {192'286'400, 182'286'400, 182'286'400, 190'732'800, 221'496'000}},
      {61, {291'608'000, 249'009'600, 217'880'000, 306'241'600, 474'278'400}}}},
    {"allreduce",
     "hierarchical:near=put",
     4,
     {{8, {539'288'000, 481'859'200, 455'644'800, 442'537'600, 435'984'000}},
      {13, {649'145'600, 586'716'800, 560'502'400, 547'395'200, 540'841'600}},
      {61, {868'860'800, 801'432'000, 775'217'600, 757'110'400, 760'556'800}}}},
    {"allreduce",
     "hierarchical:near=mapped",
     4,
     {{13, {239'715'200, 239'715'200, 234'715'200, 239'715'200, 249'715'200}},
      {61, {459'430'400, 454'430'400, 449'430'400, 459'430'400, 469'430'400}}}},
    {"reduce",
     "hierarchical:near=mapped",
     4,
     {{13, {219'715'200, 167'286'400, 141'072'000, 129'857'600, 128'304'000}},
      {61, {439'430'400, 282'144'000, 203'500'800, 169'179'200, 159'518'400}, false, true}}},
    {"allgather",
     "hierarchical:near=put",
     4,
     {{8, {395'108'800, 383'555'200, 380'278'400, 378'640'000, 377'820'800}},
      {13, {439'452'800, 425'419'200, 423'402'400, 422'394'400, 421'890'400}},
      {61, {449'484'800, 430'184'800, 428'195'200, 430'400'800, 436'952'000}}}},
    {"allgather",
     "hierarchical:near=mapped",
     4,
     {{13, {126'796'800, 121'796'800, 121'796'800, 126'796'800, 129'780'800}},
      {61, {143'152'000, 132'676'800, 128'152'000, 140'572'800, 165'684'000}}}},
    {"reduce_scatter",
     "hierarchical:near=put",
     4,
     {{8, {211'608'000, 165'732'800, 144'688'000, 131'326'400, 130'676'800}},
      {13, {216'660'000, 169'223'200, 149'064'800, 133'984'800, 126'424'800}},
      {61, {223'023'200, 174'048'800, 147'794'400, 133'428'800, 126'672'800}}}},
    {"reduce_scatter",
     "recursive-halving",
     1,
     {{8, {106'750'400, 96'750'400, 98'473'600, 101'835'200, 107'259'200}, true},
      {13, {140'996'000, 123'895'200, 117'844'800, 124'657'600, 139'660'000}},
      {61, {153'782'400, 134'173'600, 126'431'200, 141'921'600, 187'192'800}}}},
    {"reduce_scatter",
     "halving:levels=2",
     1,
     {{12, {116'122'400, 102'384'800, 103'937'600, 111'292'800, 128'813'600}}}},
    {"allreduce",
     "halving:levels=2",
     1,
     {{12, {232'240'000, 199'764'800, 219'764'800, 273'556'800, 419'398'400}},
      {13, {451'955'200, 385'740'800, 372'633'600, 381'082'400, 410'924'800}}}},
};

SimulationInputs five_microseconds() {
    SimulationInputs setup;
    setup.model =
        message_model({.model = WireModel::loggp, .latency = 5'000'000, .byte_fs = 100'000});
    return setup;
}

/// Returns a call whose segments have `bytes` bytes each; blocks are rounded up.
SimulatedCall call_of(const Exchange& exchange, Rank ranks, std::uint32_t segments,
                      std::uint64_t bytes) {
    const bool blocks = collectives::find_collective(exchange.collective)->blocks();
    const auto unit = blocks ? static_cast<std::uint64_t>(ranks) : 1;
    const std::uint64_t elements = segments * bytes / 8;
    return {.collective = exchange.collective,
            .spec = exchange.spec,
            .request = {.size = ranks,
                        .root = collectives::is_rooted(exchange.collective) ? 0 : kNoRank,
                        .segments = segments,
                        .elements = (elements + unit - 1) / unit * unit,
                        .element_bytes = 8,
                        .layout = Layout(ranks, exchange.per_node)}};
}

TEST(Pieces, SeveralSegmentsTakeTheRecordedTimesAndLessThanOne) {
    const SimulationInputs setup = five_microseconds();
    constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;
    for (const Exchange& exchange : kExchanges)
        for (const Times& expected : exchange.times) {
            std::array<Time, std::size(kSegments)> times{};
            for (std::size_t i = 0; i < times.size(); ++i) {
                const SimulatedCall call =
                    call_of(exchange, expected.ranks, kSegments[i], kBytes / kSegments[i]);
                const Outcome outcome = generic(call, setup);
                expect_equal(events(call, setup), outcome, exchange.spec);
                times[i] = outcome.makespan;
            }
            EXPECT_EQ(times, expected.times) << exchange.spec << ' ' << expected.ranks;
            EXPECT_NE(std::ranges::min_element(times), times.begin())
                << exchange.spec << ' ' << expected.ranks << " is fastest with one segment";
        }
}

/// Returns the time for which the rank that sends most occupies its port.
Time busiest_port(const SimulatedCall& call) {
    const Verdict verdict = verify({.programs = programs_of(call),
                                    .elements = call.request.elements,
                                    .element_bytes = 8,
                                    .in_place = false});
    EXPECT_TRUE(verdict.valid) << verdict.error;
    return static_cast<Time>(verdict.bytes_sent_max) * 100;
}

/// Returns the time of the longest chain of messages if bytes take no time.
Time longest_chain(const SimulatedCall& call) {
    SimulationInputs setup = five_microseconds();
    setup.model.byte_fs = 0;
    return generic(call, setup).makespan;
}

TEST(Pieces, TheBestTimeIsNearLatenciesAndBytes) {
    constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;
    for (const Exchange& exchange : kExchanges)
        for (const Times& expected : exchange.times) {
            if (expected.deep) continue;
            const SimulatedCall call = call_of(exchange, expected.ranks, 1, kBytes);
            const Time bound = longest_chain(call) + busiest_port(call);
            EXPECT_LE(10 * std::ranges::min(expected.times), 11 * bound)
                << exchange.spec << ' ' << expected.ranks;
        }
}

TEST(Pieces, OneMoreSegmentOccupiesTheBusiestPort) {
    const SimulationInputs setup = five_microseconds();
    // Blocks of all ranks are equal, and a stage is long compared with a latency.
    constexpr std::uint64_t kBytes = std::uint64_t{61 * 13} << 15;
    int steady = 0;
    for (const Exchange& exchange : kExchanges)
        for (const Times& expected : exchange.times) {
            if (!expected.steady) continue;
            ++steady;
            const auto time = [&](std::uint32_t segments) {
                return generic(call_of(exchange, expected.ranks, segments, kBytes), setup).makespan;
            };
            const Time port = busiest_port(call_of(exchange, expected.ranks, 1, kBytes));
            EXPECT_EQ(time(3) - time(2), port) << exchange.spec << ' ' << expected.ranks;
            EXPECT_EQ(time(4) - time(3), port) << exchange.spec << ' ' << expected.ranks;
        }
    EXPECT_GE(steady, 10);
}

}  // namespace
}  // namespace weft::lab::test
