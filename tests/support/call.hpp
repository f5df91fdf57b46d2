// SPDX-License-Identifier: BSD-3-Clause
// call.hpp - a collective call as all members of a team make it, and what must come out.
//
// Idea     A call names a collective, an algorithm and sizes; bind_call() makes every member's
//          bound program. The reference folds the members' inputs in rank order as the collective's
//          contract says, one element after the other; it knows no algorithm.
// Holds    Inputs are a function of (seed, call, rank, element), so nothing is stored to compare
//          with.
// Next     script.hpp for many calls at once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "plan/schedule/contract.hpp"
#include "run/bind/bound_program.hpp"
#include "run/reduce/reduce.hpp"
#include "tests/support/virtual_job.hpp"

namespace weft::test {

/// How elements are combined.
enum class Algebra : std::uint8_t {
    sum64,   ///< int64, sum
    affine,  ///< x -> a*x + b modulo 2^64 under composition: associative, does not commute
    sumf64,  ///< double, sum: shows the order of operations in its bits
    sum_longdouble,
    prod_cfloat,
    xor_bool,
    sum_float16,
    max_bfloat16,
    minloc_double_int,
    maxloc_int16_int,
};
/// Those of types that are no C integers, float or double.
inline constexpr Algebra kTypedAlgebras[] = {Algebra::sum_longdouble,  Algebra::prod_cfloat,
                                             Algebra::xor_bool,        Algebra::sum_float16,
                                             Algebra::max_bfloat16,    Algebra::minloc_double_int,
                                             Algebra::maxloc_int16_int};
[[nodiscard]] std::uint32_t element_bytes(Algebra algebra);
[[nodiscard]] run::Reducer reducer_of(Algebra algebra);

struct CallPlan {
    std::string collective;
    std::string algorithm;
    std::uint64_t elements = 0;
    Algebra algebra = Algebra::sum64;
    Rank root = plan::kNoRank;
    std::uint32_t segments = 1;
    bool localized = true;  ///< near peers read published cells
    bool fuse = false;
    bool lies_synchronizing = false;  ///< for negative controls: the header says what is not so
};

/// A call bound for all members of a team.
struct TeamCall {
    CallPlan plan;
    std::uint32_t team = 0;
    const plan::Contract* contract = nullptr;
    std::deque<run::BoundProgram> programs;  ///< by team rank
    run::Reducer reducer;

    [[nodiscard]] std::size_t bytes() const { return plan.elements * element_bytes(plan.algebra); }
    /// Whether all members must have made the call when it ends for one. If it exposes buffers it
    /// may trail then, and what the member has read shows that only where it is of all others.
    [[nodiscard]] bool ends_after_all_entered() const;
};

/// Generates, localizes and binds; a refusal is a failed check of the test.
[[nodiscard]] TeamCall bind_call(VirtualJob& job, const VirtualTeam& team, CallPlan plan);

/// Binds programs that are already there, by team rank.
[[nodiscard]] TeamCall bind_programs(VirtualJob& job, const VirtualTeam& team, CallPlan plan,
                                     const std::vector<plan::Program>& programs,
                                     const plan::Contract& contract);

/// Names one execution of a call: what inputs follow from.
struct Occurrence {
    std::uint64_t seed = 0;
    std::uint64_t number = 0;
};

/// The input vector of a member.
void fill_input(const TeamCall& call, Occurrence occurrence, Rank team_rank, std::byte* input);

/// Empty if the member's output is right, else what is wrong.
[[nodiscard]] std::string check_output(const TeamCall& call, Occurrence occurrence, Rank team_rank,
                                       const std::byte* output);

}  // namespace weft::test
