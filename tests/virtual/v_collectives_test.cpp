// SPDX-License-Identifier: BSD-3-Clause
// Goal: calls whose blocks differ in size give right results whatever the network does, calls on
// end and calls without elements included; ranks that disagree about a count learn of it, both
// sides named.
// Method: random exchanges on the virtual wire with seeds, against a serial reference;
// disagreements with one thread for each rank. Counts that all ranks know: algorithms_test.cpp.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <numeric>

#include "collectives/v_collective.hpp"
#include "run/bind/bind.hpp"
#include "tests/support/draw_calls.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/virtual/disagreements.hpp"

namespace weft::test {
namespace {

using collectives::Message;

/// Counts of one call by sender and receiver.
struct Matrix {
    Rank size = 0;
    std::vector<std::uint64_t> counts;

    [[nodiscard]] std::uint64_t& at(Rank from, Rank to) {
        return counts[static_cast<std::size_t>(from * size + to)];
    }
    [[nodiscard]] std::uint64_t at(Rank from, Rank to) const {
        return counts[static_cast<std::size_t>(from * size + to)];
    }
};

/// Mostly sparse, sometimes full, sometimes nothing, sometimes from or to one rank only.
Matrix draw_matrix(base::Random& random, Rank size) {
    Matrix matrix{size, std::vector<std::uint64_t>(static_cast<std::size_t>(size * size), 0)};
    const std::uint64_t kind = random.below(5);
    const auto root = static_cast<Rank>(random.below(static_cast<std::uint64_t>(size)));
    const std::uint64_t most = random.chance(1, 4) ? 2000 : 40;
    for (Rank from = 0; from < size; ++from) {
        for (Rank to = 0; to < size; ++to) {
            if (kind == 0 || (kind == 1 && from != root) || (kind == 2 && to != root)) continue;
            if (kind == 3 || random.chance(1, 3)) matrix.at(from, to) = random.below(most);
        }
    }
    return matrix;
}

using Element = std::uint32_t;
constexpr Element kUntouched = 0xfefefefe;

Element element(std::uint64_t call, Rank from, Rank to, std::uint64_t index) {
    return static_cast<Element>(base::mix(base::mix(call * 64 + static_cast<std::uint64_t>(from)) +
                                          static_cast<std::uint64_t>(to) * 100'000 + index));
}

/// One call as one rank sees it: its program and its memory.
struct Side {
    std::vector<Message> sent;
    std::vector<Message> received;
    std::vector<std::uint64_t> in_starts;   ///< of what is sent
    std::vector<std::uint64_t> out_starts;  ///< of what is received
    std::vector<Element> input;
    std::vector<Element> output;
    std::byte* exposed = nullptr;  ///< a copy of the input that mates can read, or none
    run::BoundProgram program;
    run::Operation* op = nullptr;
};

/// Which messages are read where they lie: long ones between ranks of a node.
struct Mapping {
    std::vector<int> nodes;
    std::uint64_t least = ~std::uint64_t{0};  ///< elements

    [[nodiscard]] Message message(Rank own, Rank peer, std::uint64_t count) const {
        const bool mapped = count >= least && nodes[static_cast<std::size_t>(own)] ==
                                                  nodes[static_cast<std::size_t>(peer)];
        return {peer, count, mapped};
    }
};

/// Last block first, a gap after each.
std::vector<std::uint64_t> place(const std::vector<Message>& messages, std::uint64_t& end) {
    std::vector<std::uint64_t> starts(messages.size());
    end = 1;
    for (std::size_t i = messages.size(); i-- > 0;) {
        starts[i] = end;
        end += messages[i].count + 1;
    }
    return starts;
}

constexpr std::uint64_t kBankBytes = 4096;

/// What `sends` says goes out, what `awaits` says comes in: the same in a call that is right.
Side side_of(std::uint64_t call, Rank rank, const Matrix& sends, const Matrix& awaits,
             const base::RegionShape& shape, const Mapping& mapping = {}) {
    Side side;
    for (Rank peer = 0; peer < sends.size; ++peer) {
        const std::uint64_t sent = sends.at(rank, peer);
        const std::uint64_t awaited = awaits.at(peer, rank);
        if (sent > 0) side.sent.push_back(mapping.message(rank, peer, sent));
        if (awaited > 0) side.received.push_back(mapping.message(rank, peer, awaited));
    }
    std::uint64_t end = 0;
    side.in_starts = place(side.sent, end);
    side.input.assign(end, kUntouched);
    for (std::size_t i = 0; i < side.sent.size(); ++i)
        for (std::uint64_t k = 0; k < side.sent[i].count; ++k)
            side.input[side.in_starts[i] + k] = element(call, rank, side.sent[i].peer, k);
    side.out_starts = place(side.received, end);
    side.output.assign(end, kUntouched);
    const std::uint64_t slot = run::even_slot_bytes(shape, static_cast<std::uint32_t>(sends.size),
                                                    collectives::kVCollectiveDepth);
    auto program = collectives::generate_v_collective({.collective = "exchange",
                                                       .rank = rank,
                                                       .size = sends.size,
                                                       .piece_elements = slot / sizeof(Element),
                                                       .sent = side.sent,
                                                       .received = side.received});
    EXPECT_TRUE(program.ok());
    std::vector<std::uint64_t> in_starts = side.in_starts;
    in_starts.resize(side.sent.size() + side.received.size());
    std::vector<std::uint64_t> out_starts(side.sent.size());
    out_starts.insert(out_starts.end(), side.out_starts.begin(), side.out_starts.end());
    auto bound = run::bind(*std::move(program), {.element_bytes = sizeof(Element),
                                                 .call_hash = 77,
                                                 .description = "exchange of uint32 by direct",
                                                 .shape = shape,
                                                 .input_starts = in_starts,
                                                 .output_starts = out_starts});
    EXPECT_TRUE(bound.ok());
    side.program = *std::move(bound);
    return side;
}

run::Registers registers_of(Side& side) {
    const auto* const own = reinterpret_cast<const std::byte*>(side.input.data());
    return {.input = side.exposed != nullptr ? side.exposed : own,
            .output = reinterpret_cast<std::byte*>(side.output.data())};
}

/// Everything that was awaited is there, and nothing else was touched.
std::string check(const Side& side, std::uint64_t call, Rank rank) {
    std::vector<Element> expected(side.output.size(), kUntouched);
    for (std::size_t i = 0; i < side.received.size(); ++i)
        for (std::uint64_t k = 0; k < side.received[i].count; ++k)
            expected[side.out_starts[i] + k] = element(call, side.received[i].peer, rank, k);
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (side.output[i] != expected[i])
            return fmt::format("call {} at rank {}: element {} is {:x} instead of {:x}", call, rank,
                               i, side.output[i], expected[i]);
    return "";
}

base::RegionShape shape_for(Rank size, std::uint32_t banks) {
    return {.cells = 4 * static_cast<std::uint32_t>(size) + 16,
            .banks = banks,
            .bulk_banks = 4,
            .bulk_bytes = kBankBytes};
}

/// Calls that follow each other, as many under way as the rank likes.
class VCollectiveScript {
  public:
    VCollectiveScript(std::uint64_t seed, Rank size, std::size_t calls)
        : random_(seed), size_(size) {
        VirtualProfile profile;
        profile.lands_at_target = random_.chance(1, 2);
        profile.refuse_half_percent = 15;
        Mapping mapping{.nodes = draw_layout(random_, size)};
        if (seed % 2 == 0) mapping.least = 1 + seed % 50;
        job_.emplace(VirtualOptions{.segment_bytes = 4 << 20,
                                    .node_of_rank = mapping.nodes,
                                    .seed = seed,
                                    .profile = profile});
        const base::RegionShape shape = shape_for(size, random_.chance(1, 2) ? 4 : 128);
        team_ = &job_->add_team({.shape = shape, .first_tick = draw_first_tick(random_)});
        made_.resize(static_cast<std::size_t>(size));
        for (std::size_t call = 0; call < calls; ++call) {
            const Matrix matrix = draw_matrix(random_, size);
            std::deque<Side>& sides = calls_.emplace_back();
            for (Rank rank = 0; rank < size; ++rank) {
                Side side = side_of(call, rank, matrix, matrix, shape, mapping);
                const std::size_t bytes = side.input.size() * sizeof(Element);
                side.exposed = job_->allocate(rank, bytes);
                std::memcpy(side.exposed, side.input.data(), bytes);
                mapped_ += side.program.exposes;
                sides.push_back(std::move(side));
            }
        }
    }

    /// Messages that are read where they lie.
    [[nodiscard]] std::uint64_t mapped() const { return mapped_; }

    /// Empty, or what went wrong.
    std::string run() {
        constexpr std::uint64_t kIdleMax = 60'000;
        std::uint64_t idle = 0;
        while (!done() || job_->in_flight() > 0) {
            const bool moved = job_->step([this](Rank rank) { return turn(rank); });
            idle = moved ? 0 : idle + 1;
            if (idle > kIdleMax) return "no progress any more:\n" + job_->describe();
        }
        for (std::size_t call = 0; call < calls_.size(); ++call) {
            for (Rank rank = 0; rank < size_; ++rank) {
                Side& side = calls_[call][static_cast<std::size_t>(rank)];
                if (side.op->state != run::Operation::State::complete) return side.op->failure.text;
                if (std::string wrong = check(side, call, rank); !wrong.empty()) return wrong;
            }
        }
        for (const std::string& fault : job_->watch().faults()) return fault;
        if (!job_->watch().violations().empty()) return to_text(job_->watch().violations().front());
        return "";
    }

  private:
    bool turn(Rank rank) {
        std::size_t& made = made_[static_cast<std::size_t>(rank)];
        if (made == calls_.size() || random_.chance(1, 3)) return false;
        // Some ranks run far ahead, some wait for each call.
        const auto& before = [&](std::size_t call) -> const run::Operation& {
            return *calls_[call][static_cast<std::size_t>(rank)].op;
        };
        const std::size_t ahead = 1 + static_cast<std::size_t>(rank) % 5;
        if (made >= ahead && !before(made - ahead).ended()) return false;
        Side& side = calls_[made][static_cast<std::size_t>(rank)];
        side.op = &job_->engine(rank).issue(*team_->states[static_cast<std::size_t>(rank)],
                                            side.program, registers_of(side), {});
        job_->watch().issued(team_->id, rank, *side.op);
        ++made;
        return true;
    }
    [[nodiscard]] bool done() const {
        return std::ranges::all_of(made_,
                                   [&](std::size_t made) { return made == calls_.size(); }) &&
               std::ranges::all_of(calls_, [](const std::deque<Side>& sides) {
                   return std::ranges::all_of(sides,
                                              [](const Side& side) { return side.op->ended(); });
               });
    }

    base::Random random_;
    Rank size_;
    std::optional<VirtualJob> job_;
    const VirtualTeam* team_ = nullptr;
    std::deque<std::deque<Side>> calls_;
    std::vector<std::size_t> made_;
    std::uint64_t mapped_ = 0;
};

TEST(VCollective, GivesEachRankWhatItsPeersHaveForIt) {
    const std::uint64_t seeds = full_mode() ? 2000 : 40;
    std::uint64_t mapped = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto size = static_cast<Rank>(1 + seed % 8);
        VCollectiveScript script(seed, size, 10);
        EXPECT_EQ(script.run(), "") << "seed " << seed;
        mapped += script.mapped();
    }
    EXPECT_GT(mapped, 100U);
}

// --- disagreements -------------------------------------------------------------------------------

/// What each rank gets of a call in which some send other counts than is expected, and of a barrier
/// after it where the call itself succeeds.
std::vector<Ending> run_disagreement(const std::vector<int>& nodes, const Matrix& sends,
                                     const Matrix& awaits) {
    VirtualJob job(threaded(nodes),
                   {.inquiry_ns = kInquiryNs, .timeout_ns = kDeadlineNs, .abort_on_timeout = true});
    const auto size = static_cast<Rank>(nodes.size());
    const base::RegionShape shape = shape_for(size, 8);
    const VirtualTeam& team = job.add_team({.shape = shape});
    const TeamCall barrier =
        bind_call(job, team, {.collective = "barrier", .algorithm = "dissemination"});
    std::deque<Side> sides;
    for (Rank rank = 0; rank < size; ++rank)
        sides.push_back(side_of(0, rank, sends, awaits, shape, {.nodes = nodes, .least = 1000}));
    std::vector<Ending> endings(nodes.size());
    in_threads(job, [&](Rank rank) {
        const auto at = static_cast<std::size_t>(rank);
        VirtualEngine& engine = job.engine(rank);
        bool good = engine.run(*team.states[at], sides[at].program, registers_of(sides[at]), {});
        if (good) good = engine.run(*team.states[at], barrier.programs[at], {}, {});
        if (!good) endings[at] = {engine.failure().status, engine.failure().text};
    });
    return endings;
}

void expect_named(Rank from, Rank to, std::uint64_t sent, std::uint64_t awaited) {
    Matrix sends{4, std::vector<std::uint64_t>(16, 3)};
    Matrix awaits = sends;
    sends.at(from, to) = sent;
    awaits.at(from, to) = awaited;
    expect_all_fail(
        [&](const std::vector<int>& nodes) { return run_disagreement(nodes, sends, awaits); },
        {fmt::format("rank {} sends {} elements to rank {}, which expects {}", from, sent, to,
                     awaited)});
}

TEST(VCollectiveDisagreement, AnotherCountIsNamedOnAllRanks) {
    expect_named(1, 2, 3, 4);
    expect_named(3, 0, 5, 2);
}

TEST(VCollectiveDisagreement, AMessageThatIsNeverSentIsNamed) {
    expect_named(1, 2, 0, 4);
}

TEST(VCollectiveDisagreement, MorePiecesThanAwaitedAreNamedAndDoNoHarm) {
    expect_named(2, 1, 5000, 3);
    expect_named(0, 3, 700, 5000);
}

}  // namespace
}  // namespace weft::test
