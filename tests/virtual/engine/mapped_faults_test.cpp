// SPDX-License-Identifier: BSD-3-Clause
// Goal: ranks that use each other's memory get right results for every timing. Programs that the
// verifier rejects give wrong results.
// Method: ranks of random speed make many calls on a virtual node. Then programs run with one
// fault: a peer does not signal that it is done, an owner does not wait for that signal, or an
// owner writes to its exposed buffer. Last, a peer describes its memory wrongly, and the kernel
// refuses access to a peer's memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include "plan/schedule/builder.hpp"
#include "plan/schedule/canonical.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/support/survives.hpp"
#include "tests/virtual/engine/direct_specs.hpp"
#include "tests/virtual/engine/disagreements.hpp"

namespace weft::test {
namespace {

using plan::Program;
using plan::Step;
using plan::StepKind;
using Programs = std::vector<Program>;

constexpr std::uint64_t kElements = 24;

// --- correct programs ----------------------------------------------------------------------------

constexpr std::size_t kCalls = 400;  ///< calls of a script

/// Runs one random script of mapped calls. Returns its errors.
std::vector<std::string> errors_of_script(std::uint64_t seed, VirtualProfile profile) {
    base::Random random = base::Random(seed).stream(9);
    const auto ranks = static_cast<Rank>(2 + random.below(4));
    profile.copied_percent = static_cast<std::uint32_t>(random.below(100));
    profile.refuse_percent = static_cast<std::uint32_t>(random.below(40));
    VirtualJob job({.segment_bytes = 8 << 20,
                    .node_of_rank = std::vector<int>(static_cast<std::size_t>(ranks)),
                    .seed = seed,
                    .profile = profile});
    const VirtualTeam& team = job.add_team({.shape = draw_shape(random)});
    return errors_of_random_script(job, team, mapped_specs(), /*in_order=*/true, random, kCalls,
                                   /*keeps_memory=*/profile.omits_copy);
}
/// Runs one script of correct programs. Each error fails the test.
void run_correct_programs(std::uint64_t seed) {
    for (const std::string& error : errors_of_script(seed, {}))
        ADD_FAILURE() << "seed " << seed << ": " << error;
}

TEST(MappedFaults, UnchangedProgramsAreRight) {
    if (const auto seed = seed_to_repeat()) return run_correct_programs(*seed);
    const std::uint64_t wanted = kSlow ? 2'000 : full_mode() ? 1'000'000 : 100'000;
    std::uint64_t made = 0;
    for (std::uint64_t seed = 1; made < wanted && !HasFailure(); ++seed, made += kCalls)
        run_correct_programs(seed);
    RecordProperty("operations", static_cast<int>(made));
}

/// Peers that read a copy of a buffer do not delay the end of its owner's call, after which the
/// caller may overwrite the buffer. Results are wrong if the peers read the buffer itself.
TEST(MappedFaults, ACallMayEndBeforeItsPeersOnlyIfTheyReadACopy) {
    int wrong = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        EXPECT_TRUE(errors_of_script(seed, {.bounced_percent = 100}).empty()) << "seed " << seed;
        const auto errors = errors_of_script(seed, {.bounced_percent = 100, .omits_copy = true});
        wrong += errors.empty() ? 0 : 1;
    }
    EXPECT_GE(wrong, 6) << "a third of the scripts have buffers in the segment, without copies";
}

// --- faulty programs -----------------------------------------------------------------------------

void insert(Program& program, std::size_t at, const Step& step) {
    program.steps.insert(program.steps.begin() + static_cast<std::ptrdiff_t>(at), step);
    ++program.lanes.front().count;
}

/// Returns the index of the rank's last step of a kind, or nothing.
std::optional<std::size_t> last_step(const Program& program, StepKind kind) {
    const auto found =
        std::ranges::find(program.steps.rbegin(), program.steps.rend(), kind, &Step::kind);
    if (found == program.steps.rend()) return std::nullopt;
    return static_cast<std::size_t>(program.steps.rend() - found) - 1;
}

/// Removes a peer's done signal. Returns false if no program has one.
bool drop_done_signal(Programs& programs) {
    for (Program& program : programs) {
        const auto at = last_step(program, StepKind::signal);
        if (!at) continue;
        erase_step(program, *at);
        return true;
    }
    return false;
}

/// Makes the owner's call end while a peer may still read. Also removes the peer's signal, which
/// the verifier would reject without its wait.
bool return_early(Programs& programs) {
    for (Program& program : programs) {
        const auto at = last_step(program, StepKind::signal);
        if (!at) continue;
        const Step done = program.steps[*at];
        Program& owner = programs[static_cast<std::size_t>(done.peer)];
        const auto wait = std::ranges::find_if(owner.steps, [&](const Step& step) {
            return step.kind == StepKind::wait && step.signal == done.signal;
        });
        if (wait == owner.steps.end()) continue;
        erase_step(program, *at);
        erase_step(owner, static_cast<std::size_t>(wait - owner.steps.begin()));
        return true;
    }
    return false;
}

/// Makes the owner overwrite its buffer while peers use it, and restore the contents at its end.
bool reuse_exposed(Programs& programs) {
    for (Program& owner : programs) {
        const auto at = last_step(owner, StepKind::expose);
        if (!at) continue;
        const plan::Block block = owner.blocks[owner.steps[*at].source.start];
        if (block.buffer != plan::Buffer::output) continue;
        const plan::Block kept[] = {plan::scratch(owner.scratch, block.first, block.count)};
        const plan::Block exposed[] = {block};
        const plan::Block other[] = {plan::scratch(owner.scratch + 1, block.first, block.count)};
        const plan::Block input[] = {plan::input(block.first, block.count)};
        // Skips buffers whose expected contents are the input: `spoil` writes the input, so it
        // would change nothing.
        const bool holds_input = std::ranges::any_of(owner.steps, [&](const Step& step) {
            return step.kind == StepKind::copy && owner.blocks[step.target.start] == block &&
                   owner.blocks[step.source.start] == input[0];
        });
        if (holds_input) continue;
        owner.scratch += 2;
        const auto list = [&](const plan::Block(&blocks)[1]) {
            return plan::intern_blocks(owner.blocks, blocks);
        };
        const Step fill{.kind = StepKind::copy, .target = list(other), .source = list(input)};
        const Step keep{.kind = StepKind::copy, .target = list(kept), .source = list(exposed)};
        const Step spoil{.kind = StepKind::copy, .target = list(exposed), .source = list(other)};
        const Step restore{.kind = StepKind::copy, .target = list(exposed), .source = list(kept)};
        insert(owner, owner.steps.size(), restore);
        insert(owner, *at + 1, spoil);
        insert(owner, *at + 1, keep);
        insert(owner, 0, fill);
        return true;
    }
    return false;
}

struct Fault {
    const char* name;
    bool (*plant)(Programs& programs);
};
constexpr Fault kFaults[] = {
    {"the done signal dropped", &drop_done_signal},
    {"the owner returns early", &return_early},
    {"an exposed buffer is used by its owner", &reuse_exposed},
};

TEST(MappedFaults, RefusedProgramsGiveWrongResults) {
    for (const Fault& fault : kFaults) {
        int planted = 0;
        int wrong = 0;
        for (const DirectSpec& spec : mapped_specs()) {
            for (const Rank size : {2, 4}) {
                Programs programs = programs_of(spec, size, kElements);
                if (!fault.plant(programs)) continue;
                ++planted;
                EXPECT_FALSE(verdict_on(spec, programs, kElements).valid)
                    << spec.collective << " " << spec.text << " of " << size << ": " << fault.name;
                wrong += survives(programs, collectives::contract(spec.collective),
                                  {.seeds = 60, .elements = kElements})
                             ? 0
                             : 1;
            }
        }
        RecordProperty(fault.name, fmt::format("{} of {} give wrong results", wrong, planted));
        EXPECT_GT(planted, 3) << fault.name;
        EXPECT_GE(wrong * 10, planted * 9)
            << fault.name << ": only " << wrong << " of " << planted << " give wrong results";
    }
}

// --- failures of a peer or the kernel ------------------------------------------------------------

/// Runs one allreduce of four ranks in threads. Returns each rank's ending. Sets `revoked` to the
/// number of exposures that the failed call revoked.
std::vector<Ending> end_of_a_call(const VirtualProfile& profile, int& revoked) {
    VirtualOptions options = threaded_options({0, 0, 0, 0});
    options.profile = profile;
    options.profile.threads = true;
    VirtualJob job(options,
                   {.inquiry_ns = kInquiryNs, .timeout_ns = kDeadlineNs, .abort_on_timeout = true});
    const VirtualTeam& team =
        job.add_team({.shape = {.cells = 32, .banks = 8, .bulk_banks = 4, .bulk_bytes = 16384}});
    const TeamCall call =
        bind_call(job, team, {.collective = "allreduce", .algorithm = "mapped", .elements = 1000});
    std::vector<Ending> endings(4);
    // The buffers outlive the threads: after a failed call peers may still use buffers that
    // are not remapped.
    std::vector<std::vector<std::byte>> buffers(8, std::vector<std::byte>(call.bytes()));
    in_threads(job, [&](Rank rank) {
        const auto at = static_cast<std::size_t>(rank);
        std::byte* const input = buffers[at].data();
        std::byte* const output = buffers[4 + at].data();
        fill_input(call, {5, 0}, rank, input);
        VirtualEngine& engine = job.engine(rank);
        if (!engine.run(*team.states[at], call.programs[at], {.input = input, .output = output},
                        call.reducer))
            endings[at] = {engine.failure().status, engine.failure().text};
    });
    revoked = job.network().revoked();
    return endings;
}

void expect_all_named(const std::vector<Ending>& endings, const std::string& text) {
    for (const Ending& ending : endings) {
        EXPECT_EQ(ending.status, Status::peer) << ending.text;
        EXPECT_NE(ending.text.find(text), std::string::npos) << ending.text;
    }
}

TEST(MappedFaults, ACopyRefusedToOneRankEndsTheCallOnAll) {
    int revoked = 0;
    const auto endings = end_of_a_call({.copied_percent = 100, .copies_refused_by = 2}, revoked);
    expect_all_named(endings, "rank 2 cannot read or write memory of rank ");
    expect_all_named(endings, "Operation not permitted");
    EXPECT_GE(revoked, 4) << "each rank must revoke its exposed buffers";
}

/// The delay lets the launcher see and report the peer's exit first.
TEST(MappedFaults, AnExitedPeerIsReportedWithADelay) {
    int revoked = 0;
    const auto start = std::chrono::steady_clock::now();
    const auto endings = end_of_a_call(
        {.copied_percent = 100, .copies_refused_by = 2, .copies_error = ESRCH}, revoked);
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(950));
    expect_all_named(endings, "rank 2 cannot read or write memory of rank ");
    expect_all_named(endings, "No such process");
}

TEST(MappedFaults, ABlockOutsideItsOwnersMemoryIsRefused) {
    int revoked = 0;
    const auto endings = end_of_a_call({.copied_percent = 0, .exposes_outside = 1}, revoked);
    expect_all_named(endings, "rank 1 exposed a block that is not in its memory");
}

}  // namespace
}  // namespace weft::test
