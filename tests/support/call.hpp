// SPDX-License-Identifier: BSD-3-Clause
// call.hpp - a collective call of all members of a team, and its expected result.
//
// Idea     A CallPlan names a collective, an algorithm and sizes. bind_call() makes every member's
//          bound program. The expected result does not depend on the algorithm: each element
//          combines the members' inputs in rank order, as the collective's contract requires.
// Holds    Inputs are a function of seed, call, rank and element, so the expected result can be
//          calculated at any time.
// Next     script.hpp for many calls in one run.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "plan/schedule/contract.hpp"
#include "run/bind/bind.hpp"
#include "run/reduce/reduce.hpp"
#include "tests/support/virtual_job.hpp"

namespace weft::test {

/// Element type and operation.
enum class Algebra : std::uint8_t {
    sum64,   ///< int64, sum
    affine,  ///< composition of functions x -> a*x + b modulo 2^64: associative, not commutative
    sumf64,  ///< double, sum: the rounded result depends on the order of operations
    sum_longdouble,
    prod_cfloat,
    xor_bool,
    sum_float16,
    max_bfloat16,
    minloc_double_int,
    maxloc_int16_int,
};
/// Algebras with element types other than C integers, float and double.
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
    bool localized = true;               ///< local peers read published cells
    bool fuse = false;                   ///< also bind the fused form of the program
    bool falsely_synchronizing = false;  ///< fault: the program falsely claims to synchronize
};

/// A call bound for all members of a team.
struct TeamCall {
    CallPlan plan;
    std::uint32_t team = 0;
    const plan::Contract* contract = nullptr;
    std::deque<run::BoundProgram> programs;  ///< by team rank
    run::Reducer reducer;

    [[nodiscard]] std::size_t bytes() const { return plan.elements * element_bytes(plan.algebra); }
    /// Returns true if the call may end at one member only after all members have entered it. A
    /// call that exposes buffers may end while peers still use copies of these buffers. So for such
    /// a call the result is true only if each output needs the data of all members.
    [[nodiscard]] bool ends_after_all_entered() const;
};

/// Generates, localizes and binds the programs. Ends the test program on a failure.
[[nodiscard]] TeamCall bind_call(VirtualJob& job, const VirtualTeam& team, CallPlan plan);

/// Binds existing programs, in order of team ranks.
[[nodiscard]] TeamCall bind_programs(VirtualJob& job, const VirtualTeam& team, CallPlan plan,
                                     const std::vector<plan::Program>& programs,
                                     const plan::Contract& contract);

/// One execution of a call, from which its input values are calculated.
struct Occurrence {
    std::uint64_t seed = 0;
    std::uint64_t number = 0;  ///< index of the execution among the calls of a test
};

/// Writes the input of a member.
void fill_input(const TeamCall& call, Occurrence occurrence, Rank team_rank, std::byte* input);

/// Returns an empty text if the member's output is right, else a description of the error.
[[nodiscard]] std::string check_output(const TeamCall& call, Occurrence occurrence, Rank team_rank,
                                       const std::byte* output);

}  // namespace weft::test
