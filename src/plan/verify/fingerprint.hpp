// SPDX-License-Identifier: BSD-3-Clause
// fingerprint.hpp - the judge for thousands of ranks: does every rank end with its result?
//
// Idea     The programs of all ranks are executed on numbers instead of expression trees. Input
//          unit u of rank r is a random affine map x -> a x + b over a prime field, and a reduction
//          is the product of maps: a result is right if it is the product of the expected ranks'
//          maps, which shows every operand and their order. With a = 1 the product is a sum: every
//          operand, as often as it is in, in any order. A rank's program is made when the rank can
//          go on; if the programs of all ranks do not fit, it is forgotten while the rank waits,
//          and made again.
// Why      verify() keeps every step, raise and tree: tens of gigabytes where each of 4097 ranks
//          talks to each other.
// Holds    A valid verdict means: nothing deadlocks, each raise is awaited by exactly one wait and
//          by whom it is for, nothing is read that was not written, memory of a peer is used after
//          its expose was awaited, within it and before the peer's program ends, and every
//          expectation of the
//          contract is met (a wrong result is taken for the right one with a chance of 2^-31). Of
//          all executions that the programs allow only one is looked at, and programs are judged as
//          they are generated, before cells are published: that there are no races, that no program
//          may end too early, and who has entered when, is shown by verify(), at sizes where it
//          can.
// Next     verify.hpp; tests/unit/collectives/large_proof_test.cpp for what is judged.
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
    /// The same program each time that it is called for a rank.
    std::function<base::Result<Program>(Rank)> program_of;
    const Contract* contract = nullptr;
    bool ordered = false;   ///< operands must stand in rank order
    bool in_place = false;  ///< input and output are the same memory
    std::uint64_t program_bytes_max = std::uint64_t{1} << 30;  ///< of programs that are kept
    std::uint64_t seed = 0x9e3779b97f4a7c15;
};

struct FingerprintVerdict {
    bool valid = false;
    std::uint64_t messages = 0;    ///< puts, all ranks
    std::uint64_t signals = 0;     ///< raises without payload
    std::uint64_t units_sent = 0;  ///< payload of all puts
    std::string error;             ///< if not valid: rank, step and reason
};

[[nodiscard]] FingerprintVerdict verify_by_fingerprints(const FingerprintInput& input);

}  // namespace weft::plan
