// SPDX-License-Identifier: BSD-3-Clause
// fingerprint.hpp - verifies that every rank ends with its result, for thousands of ranks.
//
// Idea     The programs of all ranks are executed on numbers instead of expression trees. Input
//          unit u of rank r is a random affine map x -> a x + b over a prime field, and a reduction
//          is the product of maps. A result is right if it equals the product of the expected
//          ranks' maps, which determines every operand and the order. With a = 1 the product is a
//          sum, which determines the operands and how often each occurs, but not the order. A
//          rank's program is generated when the rank can run. If the programs of all ranks do not
//          fit in memory, a waiting rank's program is freed and generated again.
// Why      verify() keeps every step, raise and tree, which takes tens of gigabytes if 4097 ranks
//          all exchange data with each other.
// Holds    A valid verdict means: nothing deadlocks; each raise is awaited by exactly one wait, at
//          its target; no unwritten data is read; memory of a peer is used within its exposed
//          block, after the wait for its expose and before the peer's program ends; and every
//          expectation of the contract is met. A wrong result passes with a probability of 2^-31.
//          Only one of the possible executions is checked, on programs before localize(). verify()
//          checks the rest at smaller sizes: races, early ends of programs and synchronization.
// Next     tools/verify/verify.hpp; tests/model/collectives/large_proof_test.cpp for the cases.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "plan/schedule/contract.hpp"
#include "plan/schedule/program.hpp"

namespace weft::plan {

struct FingerprintInput {
    Rank ranks = 1;
    /// Generates the program of a rank; must return the same program each time.
    std::function<base::Result<Program>(Rank)> program_of;
    const Contract* contract = nullptr;
    bool ordered = false;   ///< operands must be in rank order
    bool in_place = false;  ///< input and output are the same memory
    std::uint64_t program_bytes_max = std::uint64_t{1} << 30;  ///< limit for programs that are kept
    std::uint64_t seed = 0x9e3779b97f4a7c15;
};

struct FingerprintVerdict {
    bool valid = false;
    std::uint64_t messages = 0;    ///< puts of all ranks
    std::uint64_t signals = 0;     ///< raises without payload
    std::uint64_t units_sent = 0;  ///< units in the payloads of all puts
    std::string error;             ///< rank, step and reason; empty if valid
};

[[nodiscard]] FingerprintVerdict verify_by_fingerprints(const FingerprintInput& input);

}  // namespace weft::plan
