// SPDX-License-Identifier: BSD-3-Clause
// Bug: ranks in containers with separate networks on one machine were considered to be on one host.
// They bound their ports to 127.0.0.1 and waited forever for each other. docs/troubleshooting.md
// describes jobs in such containers (WEFT_NODE_ID). Method: as root, make two network namespaces
// that a pair of interfaces connects. Each has a bridge with the same address, like a container
// engine's, and no default route. Each rank enters a namespace after it has joined PMIx. In commit
// 296e588, which lacks the fix, the job ends by its timeout.
#include <fmt/format.h>
#include <unistd.h>

#include "tests/system/regress_launcher/launches.hpp"

namespace weft::test {
namespace {

/// Two network namespaces, `name`0 and `name`1. The destructor removes them with their interfaces.
struct Networks {
    explicit Networks(std::string prefix) : name(std::move(prefix)) {
        const std::string script = fmt::format(
            "set -e; for i in 0 1; do ip netns add {0}$i; ip -n {0}$i link set lo up; "
            "ip -n {0}$i link add docker0 type bridge; ip -n {0}$i link add d0 type veth peer name "
            "d1; ip -n {0}$i link set d1 up; "
            "ip -n {0}$i link set d0 master docker0; ip -n {0}$i addr add 172.17.0.1/16 dev "
            "docker0; ip -n {0}$i link set d0 up; ip -n {0}$i link set docker0 up; done; "
            "ip -n {0}0 link add eth0 type veth peer name eth0 netns {0}1; "
            "for i in 0 1; do ip -n {0}$i addr add 10.77.0.$((i+1))/24 dev eth0; "
            "ip -n {0}$i link set eth0 up; done; "
            // The kernel may report only after a second that an interface is up.
            "for i in 0 1; do for t in $(seq 50); do ip -n {0}$i link show eth0 | "
            "grep -q 'state UP' && break; sleep 0.1; done; done",
            name);
        made = RunningProgram({"sh", "-c", script}).wait();
    }
    ~Networks() {
        static_cast<void>(
            RunningProgram({"sh", "-c", fmt::format("ip netns del {0}0; ip netns del {0}1", name)})
                .wait());
    }
    std::string name;
    Outcome made;  ///< of the commands that make the namespaces
};

TEST(ContainerNetwork, RanksWithSeparateNetworksConnectByAddress) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make network namespaces";
    const Networks networks(fmt::format("weft{}-", ::getpid()));
    if (networks.made.status != 0) GTEST_SKIP() << networks.made.errors;
    const Outcome outcome = run_command(
        weft_run({"-n", "2", "--nodes", "2", "--timeout", "20", "-x", "WEFT_PROVIDER=tcp;ofi_rxm"},
                 {rank_program("rank_in_network"), "/run/netns/" + networks.name}));
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_NE(outcome.output.find("sum 3"), std::string::npos) << outcome.output;
}

// Bug: commands of weft that run as ranks (bench, fit, tune) refused all TCP connections from other
// machines, and waited for them forever. The program weft contains a check of connections to its
// PMIx server (connection_gate.cpp). The check looks for the peer's user among the sockets of this
// machine, and was applied to the connections of ranks, too.
TEST(ContainerNetwork, CommandsWithSeparateNetworksConnect) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make network namespaces";
    const Networks networks(fmt::format("weftc{}-", ::getpid()));
    if (networks.made.status != 0) GTEST_SKIP() << networks.made.errors;
    const Outcome outcome = run_command(
        weft_run({"-n", "2", "--nodes", "2", "--timeout", "20", "-x", "WEFT_PROVIDER=tcp;ofi_rxm",
                  "-x", "LD_PRELOAD=" IN_NETWORK_LIBRARY, "-x", "IN_NETWORK=" + networks.name},
                 {WEFT_PROGRAM, "bench", "barrier", "--seconds", "0.01"}));
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

}  // namespace
}  // namespace weft::test
