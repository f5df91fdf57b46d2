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
#include "tests/support/typed_elements.hpp"

namespace weft::test {

namespace {

struct Affine {
    std::uint64_t factor = 1;
    std::uint64_t shift = 0;
};

/// First `lower`, then `upper`: lower ranks act first.
Affine compose(Affine lower, Affine upper) {
    return {upper.factor * lower.factor, upper.factor * lower.shift + upper.shift};
}

void compose_all(const void* in, void* inout, std::size_t count, void*) {
    const auto* lower = static_cast<const Affine*>(in);
    auto* upper = static_cast<Affine*>(inout);
    for (std::size_t i = 0; i < count; ++i) upper[i] = compose(lower[i], upper[i]);
}

const run::UserOperation kCompose{&compose_all, nullptr, false, sizeof(Affine)};

bool is_typed(Algebra algebra) {
    return std::ranges::find(kTypedAlgebras, algebra) != std::end(kTypedAlgebras);
}

/// Calls use(element, operation) with an element of the type that a typed algebra is of.
template <class Use>
auto with_typed(Algebra algebra, Use use) {
    switch (algebra) {
        case Algebra::sum_longdouble:
            return use(0.0L, Op::sum);
        case Algebra::prod_cfloat:
            return use(std::complex<float>(), Op::prod);
        case Algebra::xor_bool:
            return use(false, Op::lxor);
        case Algebra::sum_float16:
            return use(Float16(), Op::sum);
        case Algebra::max_bfloat16:
            return use(BFloat16(), Op::max);
        case Algebra::minloc_double_int:
            return use(ValueIndex<double>(), Op::minloc);
        default:
            WEFT_CHECK(algebra == Algebra::maxloc_int16_int, static_cast<int>(algebra));
            return use(ValueIndex<std::int16_t>(), Op::maxloc);
    }
}

std::string name_of(Algebra algebra) {
    if (is_typed(algebra))
        return with_typed(algebra, [](auto element, Op op) {
            return fmt::format("{} with {}", base::name_of(type_of<decltype(element)>()),
                               base::name_of(op));
        });
    return algebra == Algebra::sum64    ? "int64"
           : algebra == Algebra::sumf64 ? "double"
                                        : "affine maps";
}

std::uint64_t word(Occurrence occurrence, Rank rank, std::uint64_t element) {
    const std::uint64_t place = base::mix(occurrence.seed ^ base::mix(occurrence.number + 17));
    return base::mix(place + (static_cast<std::uint64_t>(rank) << 40) + element);
}

/// The word of an element that is summed; of an affine map, the shift follows from the factor.
std::uint64_t input_word(Algebra algebra, Occurrence occurrence, Rank rank, std::uint64_t element) {
    const std::uint64_t drawn = word(occurrence, rank, element);
    if (algebra != Algebra::sumf64) return drawn;
    const double value = static_cast<double>(drawn >> 11) * 0x1.0p-40 * (drawn % 2 == 0 ? 1 : -1);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

Affine input_map(Occurrence occurrence, Rank rank, std::uint64_t element) {
    const std::uint64_t drawn = word(occurrence, rank, element);
    return {drawn | 1, base::mix(drawn)};
}

template <class T>
std::string check_typed(Op op, Occurrence occurrence, plan::Expectation expected,
                        std::uint64_t source, const std::byte* found) {
    T want = typed_element<T>(word(occurrence, expected.first_rank, source));
    for (Rank rank = expected.first_rank + 1; rank <= expected.last_rank; ++rank)
        want = typed_fold(op, want, typed_element<T>(word(occurrence, rank, source)));
    T have;
    std::memcpy(&have, found, sizeof have);
    return typed_equal(have, want) ? "" : "another value than a fold gives";
}

/// The reduction, in rank order, of one element of the ranks first..last.
std::string check_element(const TeamCall& call, Occurrence occurrence, plan::Expectation expected,
                          std::uint64_t source, const std::byte* found) {
    if (is_typed(call.plan.algebra))
        return with_typed(call.plan.algebra, [&](auto element, Op op) {
            return check_typed<decltype(element)>(op, occurrence, expected, source, found);
        });
    if (call.plan.algebra == Algebra::affine) {
        Affine want = input_map(occurrence, expected.first_rank, source);
        for (Rank rank = expected.first_rank + 1; rank <= expected.last_rank; ++rank)
            want = compose(want, input_map(occurrence, rank, source));
        Affine have;
        std::memcpy(&have, found, sizeof have);
        if (have.factor == want.factor && have.shift == want.shift) return "";
        return fmt::format("{}x + {} instead of {}x + {}", have.factor, have.shift, want.factor,
                           want.shift);
    }
    WEFT_CHECK(call.plan.algebra == Algebra::sum64);
    std::uint64_t want = 0;
    for (Rank rank = expected.first_rank; rank <= expected.last_rank; ++rank)
        want += input_word(call.plan.algebra, occurrence, rank, source);
    std::uint64_t have = 0;
    std::memcpy(&have, found, sizeof have);
    return have == want ? "" : fmt::format("{:#x} instead of {:#x}", have, want);
}

}  // namespace

std::uint32_t element_bytes(Algebra algebra) {
    if (is_typed(algebra))
        return with_typed(
            algebra, [](auto element, Op) { return static_cast<std::uint32_t>(sizeof element); });
    return algebra == Algebra::affine ? 16 : 8;
}

run::Reducer reducer_of(Algebra algebra) {
    if (is_typed(algebra))
        return with_typed(algebra, [](auto element, Op op) -> run::Reducer {
            return {.kernel = run::reduce_kernel(type_of<decltype(element)>(), op),
                    .element_bytes = sizeof element};
        });
    if (algebra == Algebra::sum64)
        return {.kernel = run::reduce_kernel(Type::int64, Op::sum), .element_bytes = 8};
    if (algebra == Algebra::sumf64)
        return {.kernel = run::reduce_kernel(Type::float64, Op::sum), .element_bytes = 8};
    return {.user = &kCompose, .element_bytes = sizeof(Affine)};
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
    const std::string description = fmt::format(
        "{} {} of {} elements of {}, root {}", call.plan.collective, call.plan.algorithm,
        call.plan.elements, name_of(call.plan.algebra), call.plan.root);
    std::uint64_t hash = 0;
    for (const char letter : description)
        hash = base::mix(hash + static_cast<unsigned char>(letter));
    for (Rank rank = 0; rank < team.size(); ++rank) {
        plan::Program program = programs[static_cast<std::size_t>(rank)];
        const std::uint64_t payload =
            run::payload_bytes_max(program, call.plan.elements, element_bytes(call.plan.algebra));
        if (call.plan.localized && payload <= base::kCellPayload)
            program = plan::localize(program, job.near(team, rank));
        if (call.plan.lies_synchronizing) program.synchronizing = true;
        auto bound =
            run::bind(std::move(program), {.elements = call.plan.elements,
                                           .element_bytes = element_bytes(call.plan.algebra),
                                           .call_hash = static_cast<std::uint16_t>(hash),
                                           .description = description,
                                           .shape = team.shape,
                                           .fuse = call.plan.fuse});
        WEFT_CHECK(bound.ok(), bound.ok() ? "" : bound.failure().text);
        call.programs.push_back(*std::move(bound));
    }
    return call;
}

void fill_input(const TeamCall& call, Occurrence occurrence, Rank team_rank, std::byte* input) {
    for (std::uint64_t i = 0; i < call.plan.elements; ++i) {
        if (is_typed(call.plan.algebra)) {
            with_typed(call.plan.algebra, [&](auto element, Op) {
                element = typed_element<decltype(element)>(word(occurrence, team_rank, i));
                std::memcpy(input + i * sizeof element, &element, sizeof element);
            });
        } else if (call.plan.algebra == Algebra::affine) {
            const Affine map = input_map(occurrence, team_rank, i);
            std::memcpy(input + i * sizeof map, &map, sizeof map);
        } else {
            const std::uint64_t bits = input_word(call.plan.algebra, occurrence, team_rank, i);
            std::memcpy(input + i * sizeof bits, &bits, sizeof bits);
        }
    }
}

std::string check_output(const TeamCall& call, Occurrence occurrence, Rank team_rank,
                         const std::byte* output) {
    const run::BoundProgram& program = call.programs[static_cast<std::size_t>(team_rank)];
    const plan::Partition partition = program.partition;
    if (call.plan.elements == 0) return "";
    for (const plan::Expectation& expected : call.contract->expected(program.program)) {
        const std::uint64_t begin = partition.begin(expected.unit);
        for (std::uint64_t i = begin; i < begin + partition.size(expected.unit); ++i) {
            const std::uint64_t source = partition.begin(expected.source_unit) + (i - begin);
            const std::string wrong = check_element(call, occurrence, expected, source,
                                                    output + i * element_bytes(call.plan.algebra));
            if (!wrong.empty())
                return fmt::format("{}: call {} at rank {} of team {}: element {} is {}",
                                   program.description, occurrence.number, team_rank, call.team, i,
                                   wrong);
        }
    }
    return "";
}

}  // namespace weft::test
