// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/mutate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/check.hpp"
#include "plan/schedule/canonical.hpp"
#include "plan/schedule/step.hpp"
#include "tools/text/text.hpp"

namespace weft::test {

using plan::Block;
using plan::Buffer;
using plan::Program;
using plan::Step;
using plan::StepKind;

namespace {

using Random = std::mt19937_64;

/// A step that can be changed.
struct Site {
    std::size_t rank = 0;
    std::size_t step = 0;  ///< index in the rank's program
};

std::size_t pick(Random& random, std::size_t count) {
    return static_cast<std::size_t>(random() % count);
}

/// Adjusts the bounds of lanes and loops before a step at index `at` is removed (change: -1) or
/// added (change: +1).
void shift(Program& program, std::size_t at, int change) {
    const auto changed = [change](std::uint32_t value) {
        return static_cast<std::uint32_t>(static_cast<int>(value) + change);
    };
    for (plan::Lane& lane : program.lanes) {
        if (lane.first > at)
            lane.first = changed(lane.first);
        else if (at < lane.first + lane.count)
            lane.count = changed(lane.count);
    }
    for (std::size_t i = 0; i < at; ++i) {
        Step& step = program.steps[i];
        if (step.kind == StepKind::loop && at <= i + step.signal)
            step.signal = changed(step.signal);
    }
}

void drop(Program& program, std::size_t at) {
    shift(program, at, -1);
    program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(at));
}

void duplicate(Program& program, std::size_t at) {
    shift(program, at, +1);
    program.steps.insert(program.steps.begin() + static_cast<std::ptrdiff_t>(at),
                         program.steps[at]);
}

/// Swaps operands `a` and `b` of a step.
void swap_operands(Program& program, Step& step, std::uint32_t a, std::uint32_t b) {
    std::vector<Block> operands(program.blocks.begin() + step.source.start,
                                program.blocks.begin() + step.source.start + step.source.count);
    const std::uint32_t each = step.source.count / step.operands;
    std::swap_ranges(operands.begin() + a * each, operands.begin() + (a + 1) * each,
                     operands.begin() + b * each);
    step.source = plan::intern_blocks(program.blocks, operands);
}

/// Changes a signal number from `from` to `to` in all puts and signals to `rank`, and in the waits
/// and slot blocks of `rank`.
void renumber(std::vector<Program>& programs, std::size_t rank, std::uint32_t from,
              std::uint32_t to) {
    for (Program& program : programs) {
        for (Step& step : program.steps) {
            const bool raises = step.kind == StepKind::put || step.kind == StepKind::signal;
            if (raises && step.signal == from && step.peer == static_cast<Rank>(rank))
                step.signal = to;
        }
    }
    Program& program = programs[rank];
    for (Step& step : program.steps) {
        if (step.kind == StepKind::wait && step.signal == from) step.signal = to;
    }
    for (Block& block : program.blocks) {
        if (block.buffer == Buffer::slot && block.index == from) block.index = to;
    }
}

/// Changes the slot of a put, at random either in all programs, to another slot that the receiver
/// awaits, or only in this put. Returns the description.
std::string reuse_slot(std::vector<Program>& programs, Step& put, Random& random) {
    const auto receiver = static_cast<std::size_t>(put.peer);
    std::vector<std::uint32_t> used;
    for (const Step& step : programs[receiver].steps) {
        const bool awaits = step.kind == StepKind::wait && (step.flags & plan::kFromPublished) == 0;
        if (awaits && step.signal != put.signal) used.push_back(step.signal);
    }
    if (!used.empty() && pick(random, 2) == 0) {
        const std::uint32_t to = used[pick(random, used.size())];
        renumber(programs, receiver, put.signal, to);
        return fmt::format("the put and its receiver use slot {} instead", to);
    }
    const std::uint32_t slots = programs[receiver].slots;
    put.signal = (put.signal + 1 + static_cast<std::uint32_t>(pick(random, slots - 1))) % slots;
    return fmt::format("sent to slot {}", put.signal);
}

/// Returns all steps of `kind` that `suits` accepts.
template <class Suits>
std::vector<Site> sites(const std::vector<Program>& programs, StepKind kind, Suits suits) {
    std::vector<Site> found;
    for (std::size_t rank = 0; rank < programs.size(); ++rank) {
        for (std::size_t i = 0; i < programs[rank].steps.size(); ++i) {
            const Step& step = programs[rank].steps[i];
            if (step.kind == kind && suits(programs[rank], step)) found.push_back({rank, i});
        }
    }
    return found;
}

/// Returns true if a mistake of this kind is possible at a step of step_kind(kind).
bool step_suits(const Program& program, const Step& step, MutationKind kind) {
    if (kind == MutationKind::swap_operands) return step.operands > 1;
    if (kind == MutationKind::retarget_put) return program.size > 1;
    if (kind == MutationKind::reuse_slot) return program.slots > 1;
    if (kind == MutationKind::one_copy) return program.depth > 1;
    return true;
}

StepKind step_kind(MutationKind kind) {
    switch (kind) {
        case MutationKind::swap_operands:
            return StepKind::reduce;
        case MutationKind::drop_wait:
            return StepKind::wait;
        case MutationKind::drop_flush:
            return StepKind::flush;
        case MutationKind::drop_signal:
            return StepKind::signal;
        default:
            return StepKind::put;
    }
}

std::string apply(std::vector<Program>& programs, MutationKind kind, const Site& site,
                  Random& random) {
    Program& program = programs[site.rank];
    Step& step = program.steps[site.step];
    switch (kind) {
        case MutationKind::drop_put:
        case MutationKind::drop_wait:
        case MutationKind::drop_flush:
        case MutationKind::drop_signal:
            drop(program, site.step);
            return "dropped";
        case MutationKind::duplicate_put:
            duplicate(program, site.step);
            return "duplicated";
        case MutationKind::retarget_put: {
            const auto ranks = static_cast<std::size_t>(program.size);
            const std::size_t ahead = 1 + pick(random, ranks - 1);
            step.peer = static_cast<Rank>((static_cast<std::size_t>(step.peer) + ahead) % ranks);
            return fmt::format("sent to rank {}", step.peer);
        }
        case MutationKind::swap_operands: {
            const auto a = static_cast<std::uint32_t>(pick(random, step.operands));
            const auto ahead = 1 + static_cast<std::uint32_t>(pick(random, step.operands - 1));
            const std::uint32_t b = (a + ahead) % step.operands;
            swap_operands(program, step, a, b);
            return fmt::format("operands {} and {} swapped", a, b);
        }
        case MutationKind::reuse_slot:
            return reuse_slot(programs, step, random);
        case MutationKind::one_copy:
            for (Program& each : programs) each.depth = 1;
            return "all programs have one copy of each slot";
    }
    return {};
}

}  // namespace

const char* to_string(MutationKind kind) {
    constexpr std::array<const char*, kMutationKinds> kNames{
        "drop a put",          "duplicate a put", "retarget a put",        "swap operands",
        "reuse a slot number", "drop a wait",     "one copy of each slot", "drop a flush",
        "drop a signal"};
    return kNames.at(static_cast<std::size_t>(kind));
}

std::optional<Mutation> mutate(const std::vector<Program>& programs, MutationKind kind,
                               std::uint64_t seed) {
    Random random(seed);
    const std::vector<Site> places = sites(
        programs, step_kind(kind),
        [&](const Program& program, const Step& step) { return step_suits(program, step, kind); });
    if (places.empty()) return std::nullopt;
    const Site site = places[pick(random, places.size())];
    Mutation mutation{.kind = kind, .description = {}, .programs = programs};
    const std::string before =
        plan::to_text(programs[site.rank], programs[site.rank].steps[site.step]);
    const std::string change = apply(mutation.programs, kind, site, random);
    mutation.description =
        fmt::format("rank {} step {} ({}): {}", site.rank, site.step, before, change);
    return mutation;
}

Mutation mutate(const std::vector<Program>& programs, std::uint64_t seed) {
    Random random(seed);
    const std::size_t first = pick(random, kMutationKinds);
    for (std::size_t i = 0; i < kMutationKinds; ++i) {
        const auto kind = static_cast<MutationKind>((first + i) % kMutationKinds);
        if (auto mutation = mutate(programs, kind, random())) return *std::move(mutation);
    }
    WEFT_CHECK(false, programs.size());
    return {};
}

}  // namespace weft::test
