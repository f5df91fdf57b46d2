// SPDX-License-Identifier: BSD-3-Clause
// verify.hpp - verifier of a set of programs: checks its contract and determines its properties.
//
// Idea     The programs of all ranks are executed symbolically. A unit of data is an expression
//          tree over the ranks' inputs. Equal trees have one number (hash-consing), so "equal
//          result on all ranks" is a comparison of numbers. Steps are executed in one order that
//          the programs allow. Programs with unordered conflicting accesses to a unit are invalid,
//          so all other allowed orders give the same result.
// Why      Generators are not trusted: the verifier reads only steps and headers.
// Holds    A valid verdict means: the contract is met with each contribution exactly once; no data
//          is overwritten before it is read, or while a put may still read it; mapped memory is
//          accessed only between its owner's expose and a signal that the owner awaits; only puts
//          reach memory of other nodes; each raise is awaited by exactly one wait (a published cell
//          by at least one); nothing deadlocks; programs that are declared synchronizing do
//          synchronize. All of this is checked with input and output in separate memory and, on
//          request, in the same memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "plan/schedule/contract.hpp"
#include "plan/schedule/layout.hpp"
#include "plan/schedule/program.hpp"

namespace weft::plan {

struct VerifyInput {
    std::span<const Program> programs;   ///< programs of ranks 0, 1, ...
    const Contract* contract = nullptr;  ///< nullptr: check soundness only
    std::uint64_t elements = 1;          ///< elements of the buffer that is cut into units
    std::uint32_t element_bytes = 8;
    bool in_place = true;  ///< also execute with input == output
    /// Also execute twice with input == output on half of the ranks: the odd, then the even ones.
    bool mixed = false;
    /// Nodes of the ranks. Only ranks of one node read each other's published cells and exposed
    /// blocks. A default layout means that all ranks share a node.
    Layout layout = {};
    /// Number of ranks up to which "exactly once" is proved by counting leaves, if rank order does
    /// not prove it. For more ranks, sums of random 61-bit weights are compared, with an error
    /// probability of 2^-60.
    Rank exact_ranks_max = 512;
    std::uint64_t seed = 0x9e3779b97f4a7c15;  ///< seed of the weights
};

/// Verdict of `weft verify`. Its counts and properties are from the execution with input and output
/// in separate memory.
struct Verdict {
    bool valid = false;
    std::uint64_t rounds = 0;             ///< longest chain of raise-to-wait edges
    std::uint64_t messages = 0;           ///< puts and publishes with payload, all ranks
    std::uint64_t signals = 0;            ///< raises without payload: signal, expose, bare publish
    std::uint64_t bytes_total = 0;        ///< bytes of all messages
    std::uint64_t bytes_sent_max = 0;     ///< most bytes that a rank sends
    std::uint64_t reduced_bytes_max = 0;  ///< most bytes that a rank combines
    /// All reductions are in rank order, so the operation need not commute.
    bool ordered = false;
    bool bit_identical = false;   ///< ranks with equal expectations have equal expression trees
    bool synchronizing = false;   ///< a rank completes only after all ranks have entered
    std::uint64_t slots_max = 0;  ///< most copies of slots that receive data at one rank
    std::uint64_t descriptors_max = 0;  ///< most put, signal, expose and publish steps of a program
    std::string error;                  ///< if not valid: rank, step and reason
};

[[nodiscard]] Verdict verify(const VerifyInput& input);

/// Returns the defect of one program and its location; empty if it is well-formed.
[[nodiscard]] std::string malformed(const Program& program);

/// Returns the name of a header field marked "same" (program.hpp) whose values in the two programs
/// differ; empty if there is none.
[[nodiscard]] std::string_view differing_field(const Program& program, const Program& first);

/// Returns the defect of a set of programs and its location, or an empty text. Checks what
/// execution requires: a program for each rank, in order, equal header fields where marked "same",
/// and valid steps in each program.
[[nodiscard]] std::string malformed(std::span<const Program> programs);

}  // namespace weft::plan
