// SPDX-License-Identifier: BSD-3-Clause
// Goal: every algorithm that exchanges data in stages keeps several segments in flight, and its
// programs are right. Faulty programs are rejected.
// Method: the verifier, for numbers of segments that divide the data and that do not, for no data,
// for one rank, prime numbers of ranks and nodes. Faults: a slot that is used again one segment too
// early, half the copies of a slot, a wait or a signal for another segment, a credit that is too
// early.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/region.hpp"
#include "plan/schedule/program.hpp"
#include "plan/schedule/step.hpp"
#include "tests/model/collectives/proof.hpp"
#include "tools/text/text.hpp"

namespace weft::collectives {
namespace {

struct Exchange {
    std::string_view collective;
    std::string spec;
    bool nodes = false;  ///< needs nodes of several ranks
};
const Exchange kExchanges[] = {
    {"allgather", "hierarchical:near=put", true},
    {"allgather", "hierarchical:net=(ring),near=mapped", true},
    {"reduce_scatter", "hierarchical:near=put", true},
    {"reduce_scatter", "hierarchical:near=mapped", true},
    {"reduce", "hierarchical:near=mapped", true},
    {"broadcast", "hierarchical:net=(scatter-allgather),near=mapped", true},
    {"scan", "hierarchical:near=mapped", true},
    {"allreduce", "multiplying:schedule=(a4,a3)"},
    {"allreduce", "multiplying:schedule=(c6m3,a3,a3,e6m3)"},
    {"allreduce", "multiplying:schedule=(m1g4a3,n1g3a4)"},
    {"allreduce", "recursive-doubling"},
    {"allreduce", "elimination"},
    {"allreduce", "halving-doubling"},
    {"allreduce", "binary-blocks"},
    {"allreduce", "ring"},
    {"allreduce", "generalized:r=1"},
    {"allreduce", "reduce-broadcast"},
    {"allreduce", "pairwise-ring"},
    {"allreduce", "census:k=3"},
    {"allgather", "gather-broadcast"},
    {"allgather", "bruck:k=3"},
    {"allgather", "ring"},
    {"allgather", "direct"},
    {"alltoall", "bruck"},
    {"alltoall", "direct"},
    {"broadcast", "scatter-allgather"},
    {"reduce", "ring"},
    {"reduce_scatter", "ring"},
    {"reduce_scatter", "circulant"},
    {"broadcast", "circulant"},
    {"reduce", "circulant:blocks=5"},
    {"reduce_scatter", "pairwise"},
    {"scan", "recursive-doubling"},
    {"exscan", "doubling-123"},
    {"allreduce", "hierarchical:net=(ring),near=put", true},
    {"allreduce", "hierarchical:near=mapped", true},
    {"allreduce", "multi-object-large", true},
    {"allreduce", "multi-object-small", true},
    {"allgather", "multi-object-ring", true},
    {"allgather", "multi-object-bruck", true},
};

/// Returns a request for a buffer of `count` elements, or for blocks of `count` elements.
GenerateRequest request_of(const Exchange& exchange, Rank size, std::uint32_t segments,
                           std::uint64_t count) {
    GenerateRequest request{.size = size,
                            .root = is_rooted(exchange.collective) ? size / 2 : plan::kNoRank,
                            .segments = segments,
                            .elements = contract(exchange.collective).vector_elements(size, count)};
    if (exchange.nodes) request.layout = plan::Layout(size, 3);
    return request;
}

std::string name_of(const Exchange& exchange, const GenerateRequest& request) {
    return fmt::format("{} {} on {} ranks, {} elements in {} segments", exchange.collective,
                       exchange.spec, request.size, request.elements, request.segments);
}

/// Returns the programs, or none if the algorithm does not serve this number of ranks.
std::vector<plan::Program> programs_of(const Exchange& exchange, const GenerateRequest& request) {
    return generate_if_served(exchange.collective, *parse_spec(exchange.spec), request);
}

/// Expects as many segments in flight as the cells of a team permit, up to the limit.
void expect_large_window(const plan::Program& program, const std::string& call) {
    const std::uint32_t cells = base::cells_for(static_cast<std::uint32_t>(program.size));
    EXPECT_LE(program.slots * program.depth, cells) << call;
    const std::uint32_t window = program.window();
    const std::uint32_t copies = (program.depth + window - 1) / window;
    EXPECT_TRUE(window == std::min(program.segments, plan::kWindowMax) ||
                program.slots * copies * (window + 1) > cells)
        << call;
}

TEST(PiecesProof, SegmentsInFlightAreRight) {
    for (const Exchange& exchange : kExchanges) {
        int proved = 0;
        int in_flight = 0;
        for (const Rank size : {7, 9, 12, 13, 17})
            for (const std::uint32_t segments : {2U, 3U, 5U, 8U, 16U, 31U}) {
                const GenerateRequest request = request_of(exchange, size, segments, 240);
                const auto programs = programs_of(exchange, request);
                if (programs.empty()) continue;
                const std::string call = name_of(exchange, request);
                const plan::Program& first = programs.front();
                expect_large_window(first, call);
                in_flight += first.window() > 1 ? 1 : 0;
                const auto verdict = prove(exchange.collective, programs, request.elements);
                EXPECT_TRUE(verdict.valid) << call << ": " << verdict.error;
                ++proved;
            }
        EXPECT_GE(proved, 6) << exchange.spec;
        EXPECT_GE(in_flight, 5) << exchange.spec;
    }
}

TEST(PiecesProof, AnyCountIsRight) {
    for (const Exchange& exchange : kExchanges) {
        for (const Rank size : {1, 2, 11, 12})
            for (const std::uint32_t segments : {2U, 7U, 16U})
                for (const std::uint64_t count : {0U, 1U, 5U, 97U}) {
                    const GenerateRequest request = request_of(exchange, size, segments, count);
                    const auto programs = programs_of(exchange, request);
                    if (programs.empty()) continue;
                    const auto verdict = prove(exchange.collective, programs, request.elements);
                    EXPECT_TRUE(verdict.valid)
                        << name_of(exchange, request) << ": " << verdict.error;
                }
    }
}

/// Changes all programs of each exchange. Expects that the verifier rejects the changed exchanges,
/// with this text in the reason. change() returns false if it has not changed the program. Returns
/// the number of changed exchanges.
int expect_rejected(const std::function<bool(plan::Program&)>& change, std::string_view reason) {
    int rejected = 0;
    for (const Exchange& exchange : kExchanges)
        for (const Rank size : {12, 13}) {
            const GenerateRequest request = request_of(exchange, size, 31, 240);
            auto programs = programs_of(exchange, request);
            bool changed = false;
            for (plan::Program& program : programs) changed = change(program) || changed;
            if (!changed) continue;
            const auto verdict = prove(exchange.collective, programs, request.elements);
            EXPECT_FALSE(verdict.valid) << name_of(exchange, request);
            EXPECT_NE(verdict.error.find(reason), verdict.error.npos)
                << name_of(exchange, request) << ": " << verdict.error;
            ++rejected;
        }
    return rejected;
}

TEST(PiecesProof, ASlotThatIsUsedOneSegmentTooEarlyIsRejected) {
    const auto change = [](plan::Program& program) { return --program.depth > 0; };
    EXPECT_GE(expect_rejected(change, "slot"), 40);
}

TEST(PiecesProof, HalfTheCopiesOfSlotsAreRejected) {
    const auto change = [](plan::Program& program) {
        // With omitted rounds (r=1), two copies are necessary only in small teams, and in a
        // reduce_scatter on a circulant graph only for some numbers of ranks.
        if (program.algorithm.starts_with("generalized")) return false;
        if (program.collective == "reduce_scatter" && program.algorithm == "circulant")
            return false;
        const bool has_two = program.depth > program.window();
        if (has_two) program.depth = program.window();
        return has_two;
    };
    EXPECT_EQ(expect_rejected(change, "slot"), 59);
}

TEST(PiecesProof, AWaitForAnotherSegmentIsRejected) {
    const auto change = [](plan::Program& program) {
        for (plan::Step& step : program.steps)
            if (step.kind == plan::StepKind::wait && step.lag == 0) {
                step.lag = 1;
                return true;
            }
        return false;
    };
    EXPECT_GE(expect_rejected(change, ""), 40);
}

TEST(PiecesProof, ASignalThatCountsForAnotherSegmentIsRejected) {
    const auto change = [](plan::Program& program) {
        // Shifts the first segment of each lane, except the last lane, whose first segment is 0.
        if (program.window() < 2 || program.lanes.empty()) return false;
        for (plan::Lane& lane : program.lanes) lane.start = (lane.start + 1) % program.window();
        program.lanes.back().start = 0;
        return true;
    };
    EXPECT_GE(expect_rejected(change, "does not share the steps"), 40);
}

TEST(PiecesProof, ACreditThatIsTooEarlyIsRejected) {
    const auto change = [](plan::Program& program) {
        bool changed = false;
        if (program.collective != "scan") return false;  // only a scan needs its credits
        for (plan::Step& step : program.steps)
            if (step.lag != 0) {
                --step.lag;
                changed = true;
            }
        return changed;
    };
    EXPECT_EQ(expect_rejected(change, "slot"), 4);
}

TEST(PiecesProof, TextsKeepTheWindow) {
    const auto programs = generate_all(
        "allreduce", "ring", request_of({.collective = "allreduce", .spec = "ring"}, 5, 7, 240));
    const auto read = plan::parse_programs(plan::to_text(programs));
    ASSERT_TRUE(read.ok()) << read.failure().text;
    EXPECT_EQ(plan::to_text(*read), plan::to_text(programs));
    EXPECT_EQ(read->front().lanes, programs.front().lanes);
}

}  // namespace
}  // namespace weft::collectives
