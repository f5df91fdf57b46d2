// SPDX-License-Identifier: BSD-3-Clause
// verify.hpp - the judge of a set of programs: does it keep its contract, and what is it like?
//
// Idea     The programs of all ranks are executed symbolically. A unit of data is an expression
//          tree over the ranks' inputs; equal trees are one number (hash-consing), so "the same
//          result on all ranks" is a comparison of numbers. Waits are taken in any order that the
//          programs allow; since every two accesses to one place that could disagree are required
//          to be ordered, one execution speaks for all of them.
// Why      Generators are not trusted: only steps are looked at.
// Holds    A valid verdict means: the contract is kept with each contribution exactly once; nothing
//          is overwritten before it was read or while a put may still read it; memory that is
//          mapped is touched only between its owner's expose and a signal that the owner awaits;
//          each raise is awaited by exactly one wait (a published cell by at least one); nothing
//          deadlocks; a program that says it synchronizes does. Everything is shown twice: with
//          input and output in separate memory and in the same.
// Next     execute.hpp runs the steps; order.hpp knows what happens before what; memory.hpp,
//          arrivals.hpp and places.hpp hold the rules about data; facts.hpp draws the conclusions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "plan/schedule/contract.hpp"
#include "plan/schedule/program.hpp"

namespace weft::plan {

struct VerifyInput {
    std::span<const Program> programs;   ///< of ranks 0, 1, ...
    const Contract* contract = nullptr;  ///< none: soundness alone
    std::uint64_t elements = 1;          ///< of the vector that is cut into units
    std::uint32_t element_bytes = 8;
    bool in_place = true;  ///< execute with input == output too
    bool mixed = false;    ///< and with input == output on every second rank, odd and even ones
    /// Up to so many ranks "exactly once" is shown by counting leaves; above, where the order of
    /// the ranks does not show it already, by sums of random 61-bit weights (wrong with chance
    /// 2^-60).
    Rank exact_ranks_max = 512;
    std::uint64_t seed = 0x9e3779b97f4a7c15;  ///< of the weights
};

/// The facts are those of the execution with input and output in separate memory; docs of `weft
/// verify`.
struct Verdict {
    bool valid = false;
    std::uint64_t rounds = 0;    ///< longest chain of raise-to-wait edges
    std::uint64_t messages = 0;  ///< puts (and publishes) with payload, all ranks
    std::uint64_t signals = 0;   ///< raises without payload: signal, expose, bare publish
    std::uint64_t bytes_total = 0;
    std::uint64_t bytes_sent_max = 0;
    std::uint64_t reduced_bytes_max = 0;
    bool ordered = false;         ///< every reduction is in rank order: no commutativity needed
    bool bit_identical = false;   ///< equal expectations are met by equal trees on all ranks
    bool synchronizing = false;   ///< completion anywhere implies entry everywhere
    std::uint64_t slots_max = 0;  ///< put targets of one bank in use, largest over ranks
    std::uint64_t descriptors_max = 0;  ///< raising steps of a program, largest over ranks
    std::string error;                  ///< if not valid: rank, step and reason
};

[[nodiscard]] Verdict verify(const VerifyInput& input);

}  // namespace weft::plan
