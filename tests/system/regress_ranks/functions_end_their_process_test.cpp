// SPDX-License-Identifier: BSD-3-Clause
// Bug: an rpc function whose result was larger than a message ended the called process by
// std::terminate, and the text of an exception was lost. Method: the largest result, and functions
// that throw each kind of object. tests/system/neg/rpc_result_too_large.cpp has a refused result.
// In commit 9d518da the refused result compiles, and the called rank is killed by signal 6; the
// Error of a function that throws does not have its text.
#include <array>
#include <stdexcept>
#include <string>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/rpc.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

using Largest = std::array<unsigned char, 2032>;

Largest filled(int value) {
    Largest all;
    all.fill(static_cast<unsigned char>(value));
    return all;
}
int throws_text(int length) {
    throw std::runtime_error(std::string(static_cast<std::size_t>(length), 'x') + " is the reason");
}
int throws_number(int value) {
    throw value;
}

/// Calls the function on the peer. Returns the text of the Error, or an empty string.
template <auto Function>
std::string refusal(Rpc& rpc, Rank peer, int argument) {
    try {
        static_cast<void>(rpc.call<Function>(peer, argument).get());
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

int run_rank(const Words&) {
    Runtime runtime;
    Team world = runtime.world();
    int status = 0;
    {
        Rpc rpc(runtime);
        const Rank peer = (world.rank() + 1) % world.size();
        if (rpc.call<filled>(peer, 7).get() != filled(7)) status = 3;
        if (refusal<throws_text>(rpc, peer, 1).find("x is the reason") == std::string::npos)
            status = 4;
        if (refusal<throws_text>(rpc, peer, 100000).find("xxx") == std::string::npos) status = 5;
        if (refusal<throws_number>(rpc, peer, 1).find("not a std::exception") == std::string::npos)
            status = 6;
        if (rpc.call<filled>(peer, 9).get() != filled(9)) status = 7;  // the peer still answers
        world.barrier();
    }
    runtime.finalize();
    return status;
}
const RankFunction kRankFunction("functions_end_their_process", run_rank);

TEST(FunctionsEndTheirProcess, ThrowingFunctionsFailTheirCallOnly) {
    for (const Words& options : {Words{"-n", "2"}, Words{"-n", "2", "--nodes", "2"}}) {
        const Outcome outcome = run_function(options, "functions_end_their_process");
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
    }
}

}  // namespace
}  // namespace weft::test
