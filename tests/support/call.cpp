// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/element_types.hpp"
#include "base/random.hpp"
#include "collectives/registry.hpp"
#include "plan/schedule/localize.hpp"
#include "run/bind/bind.hpp"
#include "tools/lab/oracle/oracle.hpp"

namespace weft::test {

namespace {

/// Element values of an algebra, and its operation.
struct Elements {
    const oracle::Samples& samples;
    Op op;
};

Elements elements_of(Algebra algebra) {
    const auto builtin = [](Type type, Op op) { return Elements{oracle::samples_of(type), op}; };
    switch (algebra) {
        case Algebra::sum64:
            return builtin(Type::int64, Op::sum);
        case Algebra::sumf64:
            return builtin(Type::float64, Op::sum);
        case Algebra::sum_longdouble:
            return builtin(Type::longdouble, Op::sum);
        case Algebra::prod_cfloat:
            return builtin(Type::cfloat, Op::prod);
        case Algebra::xor_bool:
            return builtin(Type::boolean, Op::lxor);
        case Algebra::sum_float16:
            return builtin(Type::float16, Op::sum);
        case Algebra::max_bfloat16:
            return builtin(Type::bfloat16, Op::max);
        case Algebra::minloc_double_int:
            return builtin(Type::double_int, Op::minloc);
        case Algebra::maxloc_int16_int:
            return builtin(Type::int16_int, Op::maxloc);
        case Algebra::affine:
            break;
    }
    return {oracle::affine_samples(), Op::user};
}

std::string name_of(Algebra algebra) {
    const Elements elements = elements_of(algebra);
    return fmt::format("{} with {}", base::name_of(elements.samples.type),
                       base::name_of(elements.op));
}

/// Returns the seed of the input values of one execution of a call.
std::uint64_t input_seed(Occurrence occurrence) {
    return base::mix(occurrence.seed ^ base::mix(occurrence.number + 17));
}

/// Writes `count` doubles whose sums must be rounded.
void fill_inexact(std::uint64_t seed, std::uint64_t count, std::byte* to) {
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t drawn = base::mix(seed + i);
        const double value =
            static_cast<double>(drawn >> 11) * 0x1.0p-40 * (drawn % 2 == 0 ? 1 : -1);
        std::memcpy(to + i * sizeof value, &value, sizeof value);
    }
}

}  // namespace

std::uint32_t element_bytes(Algebra algebra) {
    return static_cast<std::uint32_t>(elements_of(algebra).samples.bytes);
}

run::Reducer reducer_of(Algebra algebra) {
    static const run::UserOperation compose{oracle::affine_samples().combine, nullptr,
                                            /*commutative=*/false, oracle::affine_samples().bytes};
    const auto& [samples, op] = elements_of(algebra);
    if (op == Op::user) return {.user = &compose, .element_bytes = element_bytes(algebra)};
    return run::select_isa("auto").value().reducer(samples.type, op);
}

TeamCall bind_call(VirtualJob& job, const VirtualTeam& team, CallPlan plan) {
    const auto spec = collectives::parse_spec(plan.algorithm);
    WEFT_CHECK(spec.ok(), spec.ok() ? "" : spec.failure().text, plan.algorithm);
    std::vector<plan::Program> programs;
    for (Rank rank = 0; rank < team.size(); ++rank) {
        auto program = collectives::generate(plan.collective, *spec,
                                             {.rank = rank,
                                              .size = team.size(),
                                              .root = plan.root,
                                              .segments = plan.segments,
                                              .elements = plan.elements,
                                              .element_bytes = element_bytes(plan.algebra)});
        WEFT_CHECK(program.ok(), program.ok() ? "" : program.failure().text, plan.algorithm);
        programs.push_back(*std::move(program));
    }
    const plan::Contract& contract = collectives::contract(plan.collective);
    return bind_programs(job, team, std::move(plan), programs, contract);
}

TeamCall bind_programs(VirtualJob& job, const VirtualTeam& team, CallPlan plan,
                       const std::vector<plan::Program>& programs, const plan::Contract& contract) {
    TeamCall call{.plan = std::move(plan), .team = team.id, .contract = &contract, .programs = {}};
    call.reducer = reducer_of(call.plan.algebra);
    std::string description = fmt::format(
        "{} {} of {} elements of {}, root {}", call.plan.collective, call.plan.algorithm,
        call.plan.elements, name_of(call.plan.algebra), call.plan.root);
    // The description must have every property that is equal on all ranks (decision 6), such as the
    // counts of units, which only pairwise collectives may choose by rank.
    const plan::Program& first = programs.front();
    if (!first.pairwise && !first.unit_counts.empty())
        description += fmt::format(", in units of {}", fmt::join(first.unit_counts, " "));
    std::uint64_t hash = 0;
    for (const char letter : description)
        hash = base::mix(hash + static_cast<unsigned char>(letter));
    for (Rank rank = 0; rank < team.size(); ++rank) {
        plan::Program program = programs[static_cast<std::size_t>(rank)];
        run::BindOptions options{.elements = call.plan.elements,
                                 .element_bytes = element_bytes(call.plan.algebra),
                                 .call_hash = hash,
                                 .description = description,
                                 .shape = team.shape,
                                 .fuse = call.plan.fuse};
        const auto near = job.near(team, rank);
        bool one_node = true;
        for (Rank peer = 0; peer < team.size(); ++peer) one_node = one_node && near(peer);
        options.publishes = call.plan.localized && run::may_publish(program, options, one_node);
        if (options.publishes) program = plan::localize(program, near);
        if (call.plan.falsely_synchronizing) program.synchronizing = true;
        auto bound = run::bind(std::move(program), options);
        WEFT_CHECK(bound.ok(), bound.ok() ? "" : bound.failure().text);
        call.programs.push_back(*std::move(bound));
    }
    return call;
}

bool TeamCall::ends_after_all_entered() const {
    if (!programs.front().synchronizing || plan.falsely_synchronizing) return false;
    const bool exposes =
        std::ranges::any_of(programs, [](const auto& program) { return program.exposes > 0; });
    const auto* const traits = collectives::find_collective(plan.collective);
    if (!exposes || traits == nullptr) return true;
    using enum collectives::Contribution;
    return !traits->rooted() && traits->contribution != up_to_own &&
           traits->contribution != before_own;
}

void fill_input(const TeamCall& call, Occurrence occurrence, Rank team_rank, std::byte* input) {
    const std::uint64_t batch = input_seed(occurrence);
    if (call.plan.algebra == Algebra::sumf64)
        return fill_inexact(batch + (static_cast<std::uint64_t>(team_rank) << 40),
                            call.plan.elements, input);
    elements_of(call.plan.algebra)
        .samples.write(input, {.rank = team_rank, .count = call.plan.elements, .batch = batch});
}

std::string check_output(const TeamCall& call, Occurrence occurrence, Rank team_rank,
                         const std::byte* output) {
    WEFT_CHECK(call.plan.algebra != Algebra::sumf64);
    const run::BoundProgram& program = call.programs[static_cast<std::size_t>(team_rank)];
    const plan::Partition partition = program.partition;
    if (call.plan.elements == 0) return "";
    const auto& [samples, op] = elements_of(call.plan.algebra);
    for (const plan::Expectation& expected : call.contract->expected(program.program)) {
        const std::uint64_t begin = partition.begin(expected.unit);
        const oracle::SampleRange range{.first = partition.begin(expected.source_unit),
                                        .count = partition.size(expected.unit),
                                        .batch = input_seed(occurrence)};
        if (!oracle::is_reduction(samples, op, expected.first_rank, expected.last_rank, range,
                                  output + begin * samples.bytes))
            return fmt::format(
                "{}: call {} at rank {} of team {}: {} elements from {} on have wrong values",
                program.description, occurrence.number, team_rank, call.team, range.count, begin);
    }
    return "";
}

}  // namespace weft::test
