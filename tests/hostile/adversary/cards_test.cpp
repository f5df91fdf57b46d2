// SPDX-License-Identifier: BSD-3-Clause
// Goal: on a host with two network cards, each rank uses its nearest card, WEFT_CARDS selects
// cards, and a card that cannot be opened is named. The adversary ends programs that use objects of
// one card with another, or post a write with FI_MORE and no write after it. Method: the adversary
// offers two cards on the PCI buses of a recorded machine of two packages (two_packages.xml). Each
// test runs libfabric in a child process.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "link/fabric/striped_port.hpp"
#include "tests/system/providers/fabric_job.hpp"

namespace weft::test {
namespace {

constexpr const char* kFirst = "cxi-adversary0";
constexpr const char* kSecond = "cxi-adversary1";

/// Returns a set of two processors.
cpu_set_t processors(int first, int second) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    CPU_SET(second, &set);
    return set;
}

/// Returns options of a rank on a host of five ranks, which are bound to packages 0, 1, 1, 0 and
/// both. Processors 0 and 1 are in package 0, 2 and 3 in package 1.
link::FabricOptions rank_of_host(std::size_t position) {
    const cpu_set_t first = processors(0, 1);
    const cpu_set_t second = processors(2, 3);
    link::FabricOptions options;
    options.provider = "cxi";
    options.size = 5;
    options.one_host = true;
    options.host = {{first, second, second, first, processors(0, 2)}, position};
    return options;
}

void use_adversary() {
    ::setenv("FI_PROVIDER_PATH", ADVERSARY_FOLDER, 1);
    ::setenv("ADVERSARY_PROFILE", ADVERSARY_PROFILES "/cxi.txt", 1);
    ::setenv("HWLOC_XMLFILE", TWO_PACKAGES, 1);
}

/// Calls a function in a child process with the adversary as provider. Returns its text.
std::string over_two_cards(const std::function<std::string()>& body) {
    return in_child([&] {
        use_adversary();
        return body();
    });
}

/// Opens a rank's port. Returns its first domain and its number of cards, or the failure.
std::string opened(const link::FabricOptions& options) {
    std::vector<std::byte> memory(4096);
    auto found = link::discover(options);
    if (!found) return found.failure().text;
    const auto port =
        link::open_on_nics({memory.data(), memory.size()}, options, *std::move(found));
    if (!port) return port.failure().text;
    return fmt::format("{} of {}", (*port)->facts().domain, (*port)->facts().nics);
}

TEST(AdversaryCards, EachRankUsesTheNearestCard) {
    const std::string domains = over_two_cards([] {
        std::string text;
        for (std::size_t position = 0; position < 5; ++position)
            text += opened(rank_of_host(position)) + "\n";
        return text;
    });
    EXPECT_EQ(domains,
              fmt::format("{0} of 2\n{1} of 2\n{1} of 2\n{0} of 2\n{0} of 2\n", kFirst, kSecond));
}

TEST(AdversaryCards, ANamedCardIsUsedAlone) {
    const std::string domain = over_two_cards([] {
        link::FabricOptions options = rank_of_host(0);
        options.nics = kSecond;
        return opened(options);
    });
    EXPECT_EQ(domain, fmt::format("{} of 1", kSecond));
}

TEST(AdversaryCards, AnUnknownCardIsAnErrorThatListsTheCards) {
    const std::string failure = over_two_cards([] {
        link::FabricOptions options = rank_of_host(0);
        options.nics = "mlx5_0";
        return opened(options);
    });
    EXPECT_EQ(failure,
              fmt::format("WEFT_CARDS: no network card \"mlx5_0\" of provider \"cxi\" on this "
                          "host; available: {}, {}",
                          kFirst, kSecond));
}

TEST(AdversaryCards, ACardThatCannotBeOpenedIsNamed) {
    for (const char* broken : {kFirst, kSecond}) {
        const std::string failure = over_two_cards([&] {
            ::setenv("ADVERSARY_BREAK", broken, 1);
            return opened(rank_of_host(0));
        });
        EXPECT_TRUE(failure.starts_with(
            fmt::format("network card {} (WEFT_CARDS can name others): ", broken)))
            << failure;
        EXPECT_NE(failure.find("fi_domain: "), std::string::npos) << failure;
    }
}

// --- violations ----------------------------------------------------------------------------------

constexpr int kViolationStatus = 86;  ///< as in report.hpp

/// Opens an endpoint on the first card of this process.
void open_endpoint(link::Endpoint& endpoint) {
    use_adversary();
    const auto found = link::discover(rank_of_host(0));
    endpoint.binds_memory = true;
    if (!found || !endpoint.open(*found->info, 1, 64)) std::exit(1);
}

void bind_addresses_of_another_card() {
    link::Endpoint first;
    open_endpoint(first);
    const auto found = link::discover(rank_of_host(1));
    link::Endpoint second;
    if (!second.open(*found->info, 1, 64)) std::exit(1);
    static_cast<void>(fi_ep_bind(first.handle.get(), &second.addresses->fid, 0));
}

/// Posts a write with FI_MORE, then only polls.
void post_no_write_after_more() {
    link::Endpoint endpoint;
    open_endpoint(endpoint);
    if (!endpoint.enable()) std::exit(1);
    const auto name = endpoint.name();
    fi_addr_t self = FI_ADDR_UNSPEC;
    fi_av_insert(endpoint.addresses.get(), name->data(), 1, &self, 0, nullptr);
    std::array<std::byte, 256> memory{};
    const auto region = endpoint.register_memory(memory, FI_REMOTE_WRITE, 5);
    const iovec source{memory.data(), 8};
    const fi_rma_iov target{128, 8, 5};
    const fi_msg_rma message{
        .msg_iov = &source, .iov_count = 1, .addr = self, .rma_iov = &target, .rma_iov_count = 1};
    while (fi_writemsg(endpoint.handle.get(), &message, FI_COMPLETION | FI_MORE) == -FI_EAGAIN)
        continue;
    fi_cq_data_entry entry;
    for (int poll = 0; poll < 1000; ++poll)
        static_cast<void>(fi_cq_read(endpoint.completions.get(), &entry, 1));
}

TEST(AdversaryCards, ViolationsAreCaught) {
    EXPECT_EXIT(bind_addresses_of_another_card(), testing::ExitedWithCode(kViolationStatus),
                "an object of domain cxi-adversary1 was bound to an endpoint of domain "
                "cxi-adversary0");
    EXPECT_EXIT(post_no_write_after_more(), testing::ExitedWithCode(kViolationStatus),
                "FI_MORE was followed by 400 polls, and by no operation without it");
}

}  // namespace
}  // namespace weft::test
