// SPDX-License-Identifier: BSD-3-Clause
// Bug: the threads of PMIx and libfabric blocked no signals. They took signals for which a program
// waited with sigtimedwait(), and the default action ended the process. Method: a rank blocks a
// signal after start-up, as such programs do, and sends it to its process.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <ctime>

#include "tests/system/regress_ranks/rank_function.hpp"
#include "weft/weft.hpp"

namespace weft::test {
namespace {

int wait_for_own_signal(const Words&) {
    Runtime runtime;
    runtime.world().barrier();
    sigset_t awaited;
    ::sigemptyset(&awaited);
    ::sigaddset(&awaited, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
    ::kill(::getpid(), SIGUSR1);
    const timespec limit{.tv_sec = 10, .tv_nsec = 0};
    const int got = ::sigtimedwait(&awaited, nullptr, &limit);
    runtime.finalize();
    return got == SIGUSR1 ? 0 : 3;
}
const RankFunction kWait("wait_for_own_signal", wait_for_own_signal);

TEST(Signals, ThreadsOfTheRuntimeLeaveSignalsToTheProgram) {
    for (const char* const provider : {"net", "tcp;ofi_rxm", "shm"}) {
        const Outcome outcome = run_function({"-n", "2", "--nodes", "2"}, "wait_for_own_signal", {},
                                             {std::string("WEFT_PROVIDER=") + provider});
        EXPECT_EQ(outcome.status, 0) << provider << "\n" << outcome.errors;
    }
}

}  // namespace
}  // namespace weft::test
