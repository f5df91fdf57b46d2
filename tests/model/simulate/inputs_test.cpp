// SPDX-License-Identifier: BSD-3-Clause
// Goal: noise, topologies, contention, event queues and timelines behave as docs/selection.md says.
// Method: latencies and distributions are compared with direct computation, contention and
// timelines with handwritten cases, queues with a binary heap.
#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>

#include "base/random.hpp"
#include "simulated_call.hpp"
#include "tools/simulate/event_queue.hpp"
#include "tools/simulate/time_queue.hpp"
#include "tools/simulate/timeline.hpp"

namespace weft::lab::test {
namespace {

Topology topology(const char* text, Time latency = 500'000, Rank ranks = 64) {
    auto parsed = Topology::parse(text, latency, ranks);
    EXPECT_TRUE(parsed.ok()) << parsed.failure().text;
    return *parsed;
}

TEST(Network, LatencyFollowsCoordinates) {
    const Topology two = topology("two-level:ranks=8,near=80");
    EXPECT_EQ(two.latency(0, 7), 80'000);
    EXPECT_EQ(two.latency(7, 8), 500'000);
    const Topology tree = topology("fat-tree:radix=4,hop=10");
    EXPECT_EQ(tree.latency(0, 3), 500'000 + 2 * 10'000);
    EXPECT_EQ(tree.latency(0, 4), 500'000 + 4 * 10'000);
    EXPECT_EQ(tree.latency(3, 63), 500'000 + 6 * 10'000);
    const Topology torus = topology("torus:dims=4x4x4,hop=10");
    EXPECT_EQ(torus.latency(0, 3), 500'000 + 10'000);  // around the ring
    EXPECT_EQ(torus.latency(0, 2 + 2 * 4 + 2 * 16), 500'000 + 6 * 10'000);
    const Topology fly = topology("dragonfly:routers=4,nodes=2,hop=10,global=100");
    EXPECT_EQ(fly.latency(0, 1), 500'000);                      // one router
    EXPECT_EQ(fly.latency(0, 2), 500'000 + 10'000);             // one group
    EXPECT_EQ(fly.latency(2, 8), 500'000 + 100'000);            // router 1 has the link to group 1
    EXPECT_EQ(fly.latency(0, 15), 500'000 + 100'000 + 20'000);  // a hop at each end
}

TEST(Network, LatencyIsSymmetricAndRoutesHaveDistinctLinks) {
    for (const char* text :
         {"two-level:ranks=8,near=80", "fat-tree:radix=4,hop=10", "torus:dims=4x4x4,hop=10",
          "torus:dims=5x3x5,hop=10", "dragonfly:routers=4,nodes=2,hop=10,global=100",
          "torus:dims=8x2,hop=5,ranks=4,near=1"}) {
        const Topology net = topology(text);
        for (Rank a = 0; a < 64; ++a) {
            for (Rank b = 0; b < 64; ++b) {
                ASSERT_EQ(net.latency(a, b), net.latency(b, a)) << text << ' ' << a << ' ' << b;
                std::vector<std::uint64_t> links;
                net.route(a, b, links);
                const std::set<std::uint64_t> distinct(links.begin(), links.end());
                ASSERT_EQ(distinct.size(), links.size()) << text << ' ' << a << ' ' << b;
            }
        }
    }
    // The number of links on a torus route is its number of hops, plus the two ports.
    const Topology torus = topology("torus:dims=4x4x4,hop=10", 0);
    for (Rank b = 1; b < 64; ++b) {
        std::vector<std::uint64_t> links;
        torus.route(0, b, links);
        EXPECT_EQ(static_cast<Time>(links.size() - 2) * 10'000, torus.latency(0, b)) << b;
    }
}

TEST(Network, InvalidSpecsAreRefusedWithTheReason) {
    for (const auto& [text, reason] :
         std::vector<std::pair<std::string, std::string>>{{"ring", "unknown topology"},
                                                          {"torus:dims=4x4,hop=10", "64 ranks"},
                                                          {"torus:dims=4xx4", "dims"},
                                                          {"fat-tree:hop=10", "radix"},
                                                          {"two-level:near", "key=value"},
                                                          {"two-level:hop=10", "no such parameter"},
                                                          {"dragonfly:hop=1", "routers"}}) {
        const auto parsed = Topology::parse(text, 0, 64);
        ASSERT_FALSE(parsed.ok()) << text;
        EXPECT_NE(parsed.failure().text.find(reason), std::string::npos) << parsed.failure().text;
    }
}

TEST(NoiseDraws, DrawsFollowTheirDistribution) {
    constexpr int kDraws = 200'000;
    struct Shape {
        Distribution distribution;
        double mean, largest;
    };
    for (const Shape& shape :
         {Shape{Distribution::uniform, 0.5, 1.0}, Shape{Distribution::normal, 0.798, 6.01},
          Shape{Distribution::exponential, 1.0, 45.0}}) {
        const Noise noise = Noise(shape.distribution, 1'000'000, 3);
        double sum = 0;
        Time largest = 0;
        Time smallest = 1'000'000;
        for (int i = 0; i < kDraws; ++i) {
            const Time delay = noise.delay(i % 1000, 0, static_cast<std::uint32_t>(i / 1000));
            sum += static_cast<double>(delay);
            largest = std::max(largest, delay);
            smallest = std::min(smallest, delay);
        }
        EXPECT_NEAR(sum / kDraws / 1e6, shape.mean, 0.01);
        EXPECT_LE(static_cast<double>(largest), shape.largest * 1e6);
        EXPECT_GE(static_cast<double>(largest), 0.99e6);
        EXPECT_GE(smallest, 0);
        EXPECT_LT(smallest, 1'000);
    }
}

TEST(NoiseDraws, DrawsDependOnlyOnSeedRankLaneAndWait) {
    const Noise one = Noise(Distribution::uniform, 1'000'000, 1);
    const Noise two = Noise(Distribution::uniform, 1'000'000, 2);
    EXPECT_EQ(one.delay(5, 0, 3), one.delay(5, 0, 3));
    std::set<Time> distinct{one.delay(5, 0, 3), two.delay(5, 0, 3), one.delay(6, 0, 3),
                            one.delay(5, 1, 3), one.delay(5, 0, 4), one.delay(3, 0, 5)};
    EXPECT_EQ(distinct.size(), 6U);
    for (const char* bad : {"", "uniform", "uniform:", "gauss:3", "uniform:x"})
        EXPECT_FALSE(parse_noise(bad, 1).ok()) << bad;
}

TEST(Queue, EventsAreReturnedInOrderOfTime) {
    base::Random random(5);
    EventQueue queue;
    std::priority_queue<Time, std::vector<Time>, std::greater<>> reference;
    Time now = 0;
    for (int i = 0; i < 100'000; ++i) {
        if (reference.empty() || random.chance(52, 100)) {
            const Time time = now + static_cast<Time>(random.below(1U << random.below(31)));
            queue.push({time, static_cast<std::uint32_t>(i), 0});
            reference.push(time);
        } else {
            now = queue.pop().time;
            ASSERT_EQ(now, reference.top());
            reference.pop();
        }
    }
    EXPECT_EQ(queue.empty(), reference.empty());
}

/// Entry of a queue: a lane continues at this time.
struct Turn {
    Time time = 0;
    std::uint32_t lane = 0;

    friend bool operator>(const Turn& a, const Turn& b) {
        return std::tie(a.time, a.lane) > std::tie(b.time, b.lane);
    }
};

using BinaryHeap = std::priority_queue<Turn, std::vector<Turn>, std::greater<>>;

/// Removes the next turn from both queues. Returns true if the turns are equal, and sets `now` to
/// the time of the turn.
bool pop_equal(TimeQueue<Turn>& queue, BinaryHeap& reference, Time& now) {
    now = queue.top().time;
    const bool equal = now == reference.top().time && queue.top().lane == reference.top().lane;
    queue.pop();
    reference.pop();
    return equal;
}

TEST(Queue, TimeQueueAgreesWithABinaryHeap) {
    // Times little or much later than `now`, many of them equal, in a queue that grows and shrinks.
    base::Random random(7);
    TimeQueue<Turn> queue;
    BinaryHeap reference;
    Time now = 0;
    for (std::uint32_t i = 0; i < 200'000; ++i) {
        const bool grows = i / 10'000 % 2 == 0;
        if (reference.empty() || random.chance(grows ? 70 : 35, 100)) {
            const auto ahead = random.below(1U << random.below(31));
            const Turn turn{now + static_cast<Time>(random.chance(30, 100) ? 0 : ahead),
                            static_cast<std::uint32_t>(random.below(5'000))};
            queue.push(turn);
            reference.push(turn);
        } else {
            ASSERT_TRUE(pop_equal(queue, reference, now)) << i;
        }
        ASSERT_EQ(queue.empty(), reference.empty()) << i;
    }
}

/// New entries may precede the next entry of the queue, and may have negative times.
TEST(Queue, TimeQueueAcceptsEntriesBeforeItsFront) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        base::Random random(seed);
        TimeQueue<Turn> queue;
        BinaryHeap reference;
        Time now = random.chance(1, 2) ? -1000 : 0;
        for (int burst = 0; burst < 40; ++burst) {
            const auto ahead_max = Time{1} << random.below(20);
            for (std::uint64_t i = random.below(400); i > 0; --i) {
                const auto ahead =
                    random.below(random.chance(1, 2) ? 100 : std::uint64_t(ahead_max));
                const Turn turn{now + static_cast<Time>(ahead),
                                static_cast<std::uint32_t>(random.below(100))};
                queue.push(turn);
                reference.push(turn);
            }
            for (std::uint64_t i = random.below(400); i > 0 && !reference.empty(); --i) {
                ASSERT_TRUE(pop_equal(queue, reference, now)) << seed;
            }
            ASSERT_EQ(queue.empty(), reference.empty()) << seed;
        }
    }
}

/// With order_by_owner(), each owner's turns are in order. Turns of different owners may be out of
/// order by less than `kAhead`.
TEST(Queue, TimeQueueKeepsTheOrderOfEachOwner) {
    constexpr Time kAhead = 64;
    constexpr std::uint32_t kLanes = 600;
    std::vector<std::uint32_t> owner_of;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) owner_of.push_back(lane / 3);
    int disordered = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        base::Random random(seed);
        TimeQueue<Turn> queue;
        queue.order_by_owner(kAhead, owner_of);
        std::vector<BinaryHeap> expected(kLanes / 3);
        const auto push = [&](std::uint32_t lane, Time time) {
            queue.push({time, lane});
            expected[owner_of[lane]].push({time, lane});
        };
        for (std::uint32_t lane = 0; lane < kLanes; ++lane)
            push(lane, static_cast<Time>(random.below(2'000)));
        Time latest = 0;
        for (int taken = 0; !queue.empty(); ++taken) {
            const Turn turn = queue.top();
            queue.pop();
            BinaryHeap& own = expected[owner_of[turn.lane]];
            ASSERT_TRUE(own.top().time == turn.time && own.top().lane == turn.lane) << seed;
            own.pop();
            ASSERT_GT(turn.time + kAhead, latest) << seed;
            disordered += turn.time < latest ? 1 : 0;
            latest = std::max(latest, turn.time);
            if (taken > 20'000) continue;
            // The owner continues; its messages to other owners take at least `kAhead`.
            push(turn.lane, turn.time + static_cast<Time>(random.below(500)));
            if (taken % 20 == 0)
                push(static_cast<std::uint32_t>(random.below(kLanes)),
                     turn.time + kAhead + static_cast<Time>(random.below(100)));
        }
    }
    EXPECT_GT(disordered, 1'000);
}

/// Returns an allreduce in one stage: every rank receives from all others at the same time.
SimulatedCall all_to_all(Rank size, std::uint64_t bytes) {
    return {.spec = fmt::format("a{}", size),
            .request = {.size = size, .elements = bytes, .element_bytes = 1}};
}

TEST(ContentionModels, PortsCarryOneMessageAtATime) {
    SimulationInputs setup;
    setup.model = message_model({.latency = 1'000'000, .issue = 0, .byte_fs = 1'000'000});
    // Three ranks, 100 bytes of 1 ns each. No receiver gets two messages at the same time.
    EXPECT_EQ(events(all_to_all(3, 100), setup).makespan, 200'000 + 1'000'000);
    // A port also carries one message at a time.
    Queueing ports{Contention::ports, Topology(1'000'000)};
    const Time with_ports = events(all_to_all(3, 100), setup, ports).makespan;
    EXPECT_GE(with_ports, 1'200'000);
    // All ranks of one node share its port: eight ranks, two nodes.
    ports.topology = topology("two-level:ranks=4,near=1000", 1'000'000, 8);
    setup.network = std::make_shared<Topology>(ports.topology);
    const Time shared = events(all_to_all(8, 100), setup, ports).makespan;
    const Time without_contention = events(all_to_all(8, 100), setup).makespan;
    // A rank sends 7 messages of 100 ns. A port carries the 4 * 4 messages to the other node.
    EXPECT_EQ(without_contention, 7 * 100'000 + 1'000'000);
    EXPECT_GE(shared, 16 * 100'000 + 1'000'000);
}

TEST(ContentionModels, LinksDelayOnlyMessagesWithBytes) {
    for (const char* text : {"fat-tree:radix=4,hop=10", "torus:dims=4x4,hop=10",
                             "dragonfly:routers=4,nodes=2,hop=10,global=100"}) {
        SimulationInputs setup = paper();
        const Queueing links{Contention::links, topology(text, 500'000, 16)};
        setup.network = std::make_shared<Topology>(links.topology);
        for (const char* spec : {"a16", "a4,a4", "a2,a2,a2,a2"}) {
            const SimulatedCall call{.spec = spec,
                                     .request = {.size = 16, .elements = 4000, .element_bytes = 1}};
            const Outcome without_contention = events(call, setup);
            const Outcome queued = events(call, setup, links);
            EXPECT_GE(queued.makespan, without_contention.makespan) << text << ' ' << spec;
            EXPECT_EQ(queued.messages, without_contention.messages);
            EXPECT_GT(queued.events, without_contention.events);
        }
        // A signal has no bytes, so it uses no link and never queues.
        const SimulatedCall flags{
            .collective = "barrier", .spec = "dissemination:k=3", .request = {.size = 16}};
        const Outcome without_contention = events(flags, setup);
        EXPECT_EQ(events(flags, setup, links).makespan, without_contention.makespan) << text;
    }
}

TEST(Timeline, EveryMessageIsShownOnceUpToTheMakespan) {
    const SimulatedCall call{.spec = "a3,a2",
                             .request = {.size = 6, .elements = 1, .element_bytes = 8}};
    const SimulationInputs setup = paper();
    const ImagePart part = image_of(programs_of(call), call, setup);
    std::vector<Span> spans;
    const auto outcome =
        simulate_events({&part, 1}, setup, {}, [&](const Span& span) { spans.push_back(span); });
    ASSERT_TRUE(outcome.ok());
    const auto count = [&](Span::Kind kind) {
        return std::ranges::count(spans, kind, &Span::kind);
    };
    EXPECT_EQ(count(Span::Kind::flight), 18);  // 12 in the first stage, 6 in the second
    EXPECT_EQ(count(Span::Kind::send), 18);
    EXPECT_EQ(count(Span::Kind::compute), 12);
    EXPECT_EQ(std::ranges::max(spans, {}, &Span::end).end, outcome->makespan);
    const std::string svg = timeline_svg("six & seven", 6, spans);
    EXPECT_EQ(svg.find("<svg"), 0U);
    for (const char* text :
         {"rank 5", "six &amp; seven", ">sends<", ">message under way<", ">time in ns<"})
        EXPECT_NE(svg.find(text), std::string::npos) << text;
    EXPECT_EQ(svg.find(">noise<"), std::string::npos) << "no noise in this run";
    const std::string json = timeline_json(6, spans);
    EXPECT_EQ(std::ranges::count(json, '\n'), static_cast<std::ptrdiff_t>(spans.size()) + 2);
}

TEST(Timeline, ReceivingDiffersFromWaiting) {
    const SimulatedCall call{.spec = "a3,a2",
                             .request = {.size = 6, .elements = 1, .element_bytes = 8}};
    SimulationInputs setup = paper();
    setup.model.receive = 300'000;
    const ImagePart part = image_of(programs_of(call), call, setup);
    for (const bool events : {false, true}) {
        std::vector<Span> spans;
        const Trace trace = [&](const Span& span) { spans.push_back(span); };
        ASSERT_TRUE(events ? simulate_events({&part, 1}, setup, {}, trace).ok()
                           : simulate_generic({&part, 1}, setup, trace).ok());
        EXPECT_EQ(std::ranges::count(spans, Span::Kind::receive, &Span::kind), 18);
        EXPECT_TRUE(std::ranges::all_of(spans, [](const Span& span) {
            return span.kind != Span::Kind::receive || span.end - span.begin == 300'000;
        }));
        EXPECT_NE(timeline_svg("six", 6, spans).find(">receives<"), std::string::npos);
    }
}

TEST(Timeline, APageOfAThousandRanksHasRoundTicksAndFits) {
    std::vector<Span> spans;
    for (Rank rank = 0; rank < 1000; ++rank)
        spans.push_back({Span::Kind::flight, rank, (rank + 1) % 1000, 0, 1'234'000});
    const std::string svg = timeline_svg("ring", 1000, spans);
    for (const char* tick : {">0<", ">200<", ">1000<", ">1200<"})
        EXPECT_NE(svg.find(tick), std::string::npos) << tick;
    EXPECT_NE(svg.find("height=\"1104\""), std::string::npos) << svg.substr(0, 200);
    EXPECT_NE(svg.find(">rank 980<"), std::string::npos);
    EXPECT_EQ(svg.find(">rank 981<"), std::string::npos) << "labels would overlap";
}

// A ring of a thousand ranks has two million messages, too many lines for viewers.
TEST(Timeline, SomeOfManyMessagesAreDrawnAndAdjacentBarsJoined) {
    constexpr Rank kRanks = 300;
    constexpr Time kRound = 1000;
    std::vector<Span> spans;
    for (Time round = 0; round < 200; ++round) {
        for (Rank rank = 0; rank < kRanks; ++rank) {
            const Time begin = round * kRound;
            spans.push_back({Span::Kind::send, rank, (rank + 1) % kRanks, begin, begin + 900});
            spans.push_back(
                {Span::Kind::flight, rank, (rank + 1) % kRanks, begin + 900, begin + kRound});
        }
    }
    const std::string svg = timeline_svg("ring", kRanks, spans);
    EXPECT_LT(svg.size(), std::size_t{4} << 20U);
    EXPECT_NE(svg.find(">message under way (one of 6 drawn)<"), std::string::npos);
    const auto bars = static_cast<std::size_t>(std::ranges::count(svg, '\n'));
    EXPECT_GT(bars, 8000U) << "lines of about a sixth of the messages, and a bar for each rank";
    EXPECT_LT(bars, 13'000U);
    // Bars of 900 of 1000 ps are separated by less than a unit of the picture, so they are joined.
    EXPECT_NE(svg.find("fill-opacity=\"0.90\"><title>rank 7 sends: 0 to 199.9 ns</title>"),
              std::string::npos);
}

// --- the network and the node at the same time -------------------------------------------------

/// A call on four nodes of two ranks: copies from peers take 400 ns, a message
/// to another node 1000 ns.
struct Overlap {
    const char* collective;
    const char* spec;
    Time added = 0;  ///< time that copies from peers add to the call
};

SimulationInputs nodes_of_two(Rank ranks, Time copy) {
    SimulationInputs setup;
    setup.model = {.busy_base = 10'000, .latency = 1'000'000, .mapped = copy};
    setup.network = std::make_shared<Topology>(
        topology("two-level:ranks=2,near=20", setup.model.latency, ranks));
    return setup;
}

std::vector<Span> spans_of(const SimulatedCall& call, Time copy, Time& makespan) {
    const SimulationInputs setup = nodes_of_two(call.request.size, copy);
    const ImagePart part = image_of(programs_of(call), call, setup);
    std::vector<Span> spans;
    const auto outcome =
        simulate_events({&part, 1}, setup, {}, [&](const Span& span) { spans.push_back(span); });
    EXPECT_TRUE(outcome.ok());
    makespan = outcome ? outcome->makespan : 0;
    return spans;
}

/// Returns the number of copies of the duration `copy` during which a message between nodes is in
/// flight: to the copying rank or, if `sent`, from its node.
std::int64_t hidden_copies(const std::vector<Span>& spans, Time copy, bool sent) {
    return std::ranges::count_if(spans, [&](const Span& work) {
        if (work.kind != Span::Kind::compute || work.end - work.begin != copy) return false;
        return std::ranges::any_of(spans, [&](const Span& flight) {
            const bool is_related =
                sent ? flight.rank / 2 == work.rank / 2 : flight.peer == work.rank;
            return flight.kind == Span::Kind::flight && is_related &&
                   flight.rank / 2 != flight.peer / 2 && flight.begin <= work.begin &&
                   work.end <= flight.end;
        });
    });
}

/// Each rank copies four blocks of its local peer. The call waits for the last block, and in an
/// allreduce for the reduction in place. Ranks copy the other blocks while messages of the ring are
/// in flight.
TEST(Timeline, CopiesOverlapWithNetworkTransfers) {
    constexpr Time kCopy = 400'000;
    for (const Overlap& overlap :
         {Overlap{"allgather", "multi-object-ring:near=mapped", kCopy},
          Overlap{"allreduce", "multi-object-large:near=mapped,parts=2", 2 * kCopy}}) {
        SCOPED_TRACE(overlap.spec);
        const SimulatedCall call{
            .collective = overlap.collective,
            .spec = overlap.spec,
            .request = {
                .size = 8, .elements = 64, .element_bytes = 8, .layout = plan::Layout(8, 2)}};
        Time free_copies = 0;
        Time makespan = 0;
        static_cast<void>(spans_of(call, 0, free_copies));
        const std::vector<Span> spans = spans_of(call, kCopy, makespan);
        EXPECT_EQ(makespan - free_copies, overlap.added);
        EXPECT_EQ(hidden_copies(spans, kCopy, /*sent=*/false), 8 * 3);
    }
}

/// On nine nodes of two ranks, a scatter takes two rounds. The nodes that forward blocks copy their
/// own while these are in flight, so only the copies of the last nodes add time.
TEST(Timeline, CopiesOfAScatterOverlapWithNetworkTransfers) {
    constexpr Time kCopy = 400'000;
    const SimulatedCall call{.collective = "scatter",
                             .spec = "multi-object:near=mapped",
                             .request = {.size = 18,
                                         .root = 0,
                                         .elements = 18,
                                         .element_bytes = 8,
                                         .layout = plan::Layout(18, 2)}};
    Time free_copies = 0;
    Time makespan = 0;
    static_cast<void>(spans_of(call, 0, free_copies));
    const std::vector<Span> spans = spans_of(call, kCopy, makespan);
    EXPECT_EQ(free_copies, 2'150'000) << "two messages between nodes, and work on them";
    EXPECT_EQ(makespan - free_copies, kCopy);
    EXPECT_EQ(hidden_copies(spans, kCopy, /*sent=*/true), 3);
}

}  // namespace
}  // namespace weft::lab::test
