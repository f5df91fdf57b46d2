// SPDX-License-Identifier: BSD-3-Clause
// Bug: a function called by weft::Rpc whose result was larger than a message ended its process by
// std::terminate(). If a called function threw an exception, the caller did not get the text.
// Method: call a function with the largest result, and functions that throw. A larger result must
// not compile (tests/system/neg/rpc_result_too_large.cpp). In commit 9d518da, which lacks the fix,
// it compiles, and the called rank is killed by signal 6.
#include <array>
#include <stdexcept>
#include <string>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/rpc.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

using Largest = std::array<unsigned char, 2032>;  ///< largest result that fits a message

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
std::string error_of(Rpc& rpc, Rank peer, int argument) {
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
        if (error_of<throws_text>(rpc, peer, 1).find("x is the reason") == std::string::npos)
            status = 4;
        if (error_of<throws_text>(rpc, peer, 100000).find("xxx") == std::string::npos) status = 5;
        if (error_of<throws_number>(rpc, peer, 1).find("not a std::exception") == std::string::npos)
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
