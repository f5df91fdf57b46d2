// SPDX-License-Identifier: BSD-3-Clause
// Goal: ranks use their nearest network card, equally near cards have equal numbers of ranks,
// WEFT_CARDS selects cards, and long puts over two cards deliver their data.
// Method: distances from a recorded machine of two packages with a card each; two virtual Ethernet
// interfaces in a network namespace of the test's own, if this user may make them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "link/fabric/nics.hpp"
#include "link/fabric/striped_port.hpp"
#include "tests/system/providers/fabric_job.hpp"

namespace weft::test {
namespace {

using Indices = std::vector<std::size_t>;

Indices spread(std::vector<std::vector<int>> distances) {
    return link::spread_over_nics(distances);
}

TEST(Cards, EquallyNearCardsHaveEqualNumbersOfRanks) {
    EXPECT_EQ(spread({{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}), (Indices{0, 1, 0, 1, 0}));
    EXPECT_EQ(spread({{-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}}), (Indices{0, 1, 2}));
}

TEST(Cards, ARankUsesItsNearestCard) {
    EXPECT_EQ(spread({{0, 2}, {0, 2}, {2, 0}}), (Indices{0, 0, 1}));
    EXPECT_EQ(spread({{-1, 3}}), (Indices{1}));
    // Ranks are on two packages alternately; two cards are near each package.
    const std::vector<int> first{0, 0, 1, 1};
    const std::vector<int> second{1, 1, 0, 0};
    EXPECT_EQ(spread({first, second, first, second}), (Indices{0, 2, 1, 3}));
}

TEST(Cards, NamesAreSeparatedByCommas) {
    EXPECT_EQ(link::names_in("mlx5_0, mlx5_1,"), (std::vector<std::string>{"mlx5_0", "mlx5_1"}));
    EXPECT_TRUE(link::names_in("").empty());
}

cpu_set_t processors(std::initializer_list<int> numbers) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int number : numbers) CPU_SET(number, &set);
    return set;
}

TEST(Cards, DistancesComeFromTheMachine) {
    ::setenv("HWLOC_XMLFILE", TWO_PACKAGES, 1);
    std::vector<link::Nic> nics{{.name = "a", .bus = "0000:01:00.0"},
                                {.name = "b", .bus = "0000:81:00.0"}};
    const auto first = processors({0, 1});
    const auto second = processors({2, 3});
    link::assign_nics(nics, {.processors = {first, second, second, first}, .position = 1});
    ::unsetenv("HWLOC_XMLFILE");
    EXPECT_EQ(nics[0].ranks, (Indices{0, 3}));
    EXPECT_EQ(nics[1].ranks, (Indices{1, 2}));
    EXPECT_EQ(nics[0].distance, 1);
    EXPECT_EQ(nics[1].distance, 0);
    EXPECT_FALSE(nics[0].chosen);
    EXPECT_TRUE(nics[1].chosen);
}

TEST(Cards, PiecesOfAStripedPutFollowFromTheCosts) {
    EXPECT_EQ(link::piece_bytes({.issue_ns = 340, .byte_fs = 100'000}), 131'072U);
    EXPECT_EQ(link::piece_bytes({.issue_ns = 3500, .byte_fs = 127'000}), 221'184U);
}

// --- two Ethernet interfaces ---------------------------------------------------------------------

constexpr const char* kProvider = "net";
constexpr std::size_t kPiece = std::size_t{64} << 10;

/// Makes two interfaces in a new network namespace. Returns the reason if that is not possible.
std::string make_interfaces() {
    if (::unshare(CLONE_NEWNET) != 0) return "this user may not make network namespaces";
    constexpr const char* kCommands =
        "ip link set lo up && ip link add one type veth peer name one_end && "
        "ip link add two type veth peer name two_end && ip addr add 10.77.1.1/24 dev one && "
        "ip addr add 10.77.2.1/24 dev two && ip link set one up && ip link set two up && "
        "ip link set one_end up && ip link set two_end up";
    const bool made =
        std::system((std::string("{ ") + kCommands + "; } >/dev/null 2>&1").c_str()) == 0;
    return made ? "" : "the kernel or the command ip makes no veth interfaces here";
}

/// Runs a job over both interfaces in a child. Returns its failures, "skipped: " and a reason if
/// the interfaces cannot be made, or an empty text.
std::string job_over_interfaces(Rank size, const std::function<void(Member&)>& body) {
    return in_child([&]() -> std::string {
        if (const std::string why = make_interfaces(); !why.empty()) return "skipped: " + why;
        return run_job(kProvider, size, body);
    });
}

/// Options of a rank that may use both interfaces. A rank of one host would use loopback.
link::FabricOptions over_both(const Member& me) {
    link::FabricOptions options;
    options.nics = "one,two";
    options.notify = link::Notify::immediate;  // counts pieces, so that cards need no order
    options.piece_bytes = kPiece;
    options.host.processors.resize(static_cast<std::size_t>(me.size), processors({0}));
    options.host.position = static_cast<std::size_t>(me.rank);
    return options;
}

#define WEFT_EXPECT_JOB(text)                                           \
    if (const std::string result = text; result.starts_with("skipped")) \
        GTEST_SKIP() << result;                                         \
    else                                                                \
        EXPECT_EQ(result, "")

TEST(TwoInterfaces, RanksSpreadOverThem) {
    if (const std::string why = why_unavailable(kProvider); !why.empty()) GTEST_SKIP() << why;
    WEFT_EXPECT_JOB(job_over_interfaces(4, [](Member& me) {
        me.open(link::load_port, over_both(me), 4096);
        const std::string expected = me.rank % 2 == 0 ? "one" : "two";
        expect(me.port->facts().domain == expected, "rank {} uses {}", me.rank,
               me.port->facts().domain);
        me.synchronize();
    }));
}

TEST(TwoInterfaces, PiecesOfALongPutUseBothAndArriveWhole) {
    if (const std::string why = why_unavailable(kProvider); !why.empty()) GTEST_SKIP() << why;
    WEFT_EXPECT_JOB(job_over_interfaces(2, [](Member& me) {
        constexpr std::size_t kPieces = 8;
        constexpr std::size_t kBytes = kPieces * kPiece;
        const auto open = [](const link::FabricMemory& memory, const link::FabricOptions& options) {
            return link::open_port(memory, options);
        };
        me.open(open, over_both(me), 2 * kBytes);
        expect(me.port->facts().nics == 2, "{} cards", me.port->facts().nics);
        expect(me.port->facts().message_bytes_max == kPiece, "pieces of {} bytes",
               me.port->facts().message_bytes_max);
        const Rank peer = 1 - me.rank;
        std::size_t arrived = 0;
        me.on_arrival = [&](std::uint32_t) { ++arrived; };
        const auto source = me.memory.subspan(kBytes, kBytes);
        fill(source, static_cast<std::uint64_t>(me.rank) + 7);
        std::uint32_t pending = 0;
        for (std::size_t piece = 0; piece < kPieces; ++piece)
            me.put(peer, source.subspan(piece * kPiece, kPiece), piece * kPiece,
                   static_cast<std::uint32_t>(piece), pending);
        me.until([&] { return arrived == kPieces && pending == 0; }, "all pieces");
        expect(filled(me.memory.first(kBytes), static_cast<std::uint64_t>(peer) + 7), "the data");
        for (const auto& rail : dynamic_cast<const link::StripedPort&>(*me.port).rails())
            expect(rail->writes() >= 2, "{} has written {} times", rail->facts().domain,
                   rail->writes());
        me.synchronize();
    }));
}

TEST(TwoInterfaces, AnUnknownCardIsAnErrorThatListsTheCards) {
    if (const std::string why = why_unavailable(kProvider); !why.empty()) GTEST_SKIP() << why;
    const std::string text = in_child([]() -> std::string {
        link::FabricOptions options = local_options(kProvider);
        options.nics = "lo,eth99";
        const auto found = link::discover(options);
        return found ? "found" : found.failure().text;
    });
    EXPECT_NE(text.find("WEFT_CARDS: no network card \"eth99\" of provider \"net\" on this host"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("available: "), std::string::npos) << text;
    EXPECT_NE(text.find("lo"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft::test
