// SPDX-License-Identifier: BSD-3-Clause
#include "tests/system/library/c_trial.h"

#include <string>

#include "collectives/collective_traits.hpp"
#include "tests/support/trial.hpp"

namespace {

using weft::Rank;
using weft::collectives::CollectiveTraits;
using weft::collectives::InPlace;

static_assert(kCollectives == weft::collectives::kCollectives.size());
static_assert(weft::Collective{kAllreduce} == weft::Collective::allreduce);
static_assert(kTypes == weft::kBuiltinTypes && kOps == weft::kBuiltinOps);

const CollectiveTraits& traits_of(int collective) {
    return weft::collectives::kCollectives[static_cast<std::size_t>(collective)];
}

weft::oracle::CallFacts facts_of(const trial_facts& facts, Rank size) {
    const CollectiveTraits& traits = traits_of(facts.collective);
    return {.collective = traits.collective,
            .samples = facts.user != 0
                           ? &weft::oracle::affine_samples()
                           : &weft::oracle::samples_of(static_cast<weft::Type>(facts.type)),
            .op = facts.user != 0 ? weft::Op::user : static_cast<weft::Op>(facts.op),
            .size = size,
            .root = traits.rooted() ? facts.root : -1,
            .count = weft::test::unit_counts(traits, facts.count, facts.pattern)};
}

weft::test::Arrangement arrangement_of(const trial_facts& facts, Rank rank) {
    // The spacing of the output depends on the rank: members may use different displacements.
    return {.in_place = facts.in_place != 0,
            .shift = facts.shift,
            .in_spacing = static_cast<weft::test::Spacing>(facts.spacing),
            .out_spacing = static_cast<weft::test::Spacing>((facts.spacing + rank) % 3)};
}

const std::size_t* array_of(std::span<const std::size_t> values) {
    return values.empty() ? nullptr : values.data();
}

}  // namespace

struct trial {
    trial_facts facts;
    weft::test::Trial made;
    trial_arguments arguments{};
    std::string complaint;
};

const char* trial_name(int collective) {
    return traits_of(collective).name.data();
}
int trial_is_rooted(int collective) {
    return traits_of(collective).rooted() ? 1 : 0;
}
int trial_reduces(int collective) {
    return traits_of(collective).reduces() ? 1 : 0;
}
int trial_has_counts(int collective) {
    return traits_of(collective).has_counts() ? 1 : 0;
}
int trial_patterns(void) {
    return weft::test::kCountPatterns;
}
int trial_has_operation(weft_type type, weft_op op) {
    return weft::oracle::has_operation(static_cast<weft::Type>(type), static_cast<weft::Op>(op))
               ? 1
               : 0;
}
void trial_compose(const void* in, void* inout, size_t count, void* calls) {
    ++*static_cast<std::size_t*>(calls);
    weft::oracle::affine_samples().combine(in, inout, count, nullptr);
}

trial* trial_open(const trial_facts* facts, int rank, int size) {
    return new trial{*facts,
                     weft::test::Trial(facts_of(*facts, size), rank, arrangement_of(*facts, rank)),
                     {},
                     {}};
}

const trial_arguments* trial_prepare(trial* trial, int batch) {
    trial->made.prepare(static_cast<std::uint64_t>(batch));
    const weft::Call call = trial->made.call();
    trial->arguments = {.in = call.in,
                        .out = call.out,
                        .count = call.count,
                        .in_counts = array_of(call.in_blocks.counts),
                        .in_displacements = array_of(call.in_blocks.displacements),
                        .out_counts = array_of(call.out_blocks.counts),
                        .out_displacements = array_of(call.out_blocks.displacements),
                        .type = trial->facts.type,
                        .op = trial->facts.op,
                        .root = trial->facts.root};
    if (trial->made.in_place()) {
        const InPlace where = traits_of(trial->facts.collective).in_place;
        if (where == InPlace::input) {
            trial->arguments.in = WEFT_IN_PLACE;
            trial->arguments.out = trial->made.in_place_buffer();
        }
        if (where == InPlace::output) {
            trial->arguments.in = trial->made.in_place_buffer();
            trial->arguments.out = WEFT_IN_PLACE;
        }
    }
    return &trial->arguments;
}

void trial_overwrite_arguments(trial* trial) {
    trial->made.invalidate_arrays();
}
const char* trial_check(trial* trial) {
    trial->complaint = trial->made.check();
    return trial->complaint.c_str();
}
uint64_t trial_hash(trial* trial) {
    return weft::test::hash_of(trial->made.output());
}
void trial_close(trial* trial) {
    delete trial;
}

void sample_write(weft_type type, int rank, int unit, size_t count, void* to) {
    weft::oracle::samples_of(static_cast<weft::Type>(type))
        .write(static_cast<std::byte*>(to),
               {.rank = rank, .unit = static_cast<std::uint32_t>(unit), .count = count});
}
int sample_is(weft_type type, int rank, int unit, size_t count, const void* found) {
    // The sum over one rank is the rank's contribution.
    const bool same = weft::oracle::is_reduction(
        weft::oracle::samples_of(static_cast<weft::Type>(type)), weft::Op::sum, rank, rank,
        {.unit = static_cast<std::uint32_t>(unit), .count = count},
        static_cast<const std::byte*>(found));
    return same ? 1 : 0;
}
