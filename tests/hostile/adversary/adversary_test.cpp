// SPDX-License-Identifier: BSD-3-Clause
// Goal: over each fabric of profiles/, weft's ports (link::FabricPort) deliver right data and obey
// the fabric's rules. A port that relies on a guarantee that the fabric does not have is caught,
// with a message that names the fault. Method: each case runs in a child process that loads the
// adversary as its libfabric provider. Three ports make random puts of each promised kind, over two
// NICs if the fabric has them. The data of each put is checked as soon as it must be delivered. A
// planted fault changes the guarantees that a port assumes, or makes the test check too early.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <thread>

#include "link/fabric/striped_port.hpp"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;
using base::PutKind;

constexpr Rank kRanks = 3;
constexpr std::uint32_t kSlots = 24;  ///< put targets of each pair of sender and target rank
constexpr std::size_t kSlotBytes = std::size_t{48} << 10;
constexpr std::size_t kSenderBytes = kSlots * kSlotBytes;
/// Offset of the sources in a rank's memory.
constexpr std::size_t kSourcesAt = kRanks * kSenderBytes;
constexpr std::size_t kMemoryBytes = 2 * kSourcesAt;
constexpr std::size_t kPieceBytes = 20'000;  ///< ports split longer puts over several NICs

/// A planted error of a port or of its caller.
struct Fault {
    std::string name;
    std::string message;  ///< expected in the output; "": any message
    std::function<void(link::Grant&)> change_grant = {};
    std::function<void(link::Profile&)> change_profile = {};
    std::vector<PutKind> kinds = {};  ///< used instead of the promised kinds
    bool assumes_delivery = false;    ///< treats local completion as delivery
    bool assumes_order = false;       ///< expects earlier puts to be delivered first
    bool reuses_sources = false;      ///< overwrites a source as soon as its put is posted
    const char* universe = nullptr;   ///< value of FI_UNIVERSE_SIZE
};

/// A fabric, and the faults to plant over it.
struct Fabric {
    std::string profile;  ///< name of a file in profiles/
    std::string provider;
    std::vector<PutKind> kinds;  ///< promised by the fabric
    std::vector<Fault> faults;
    bool unknown_to_weft = false;  ///< weft has no profile of the provider
};

/// Returns the provider's offer. For a provider that weft does not know, the profile here uses all
/// that the provider grants.
base::Result<link::Found> discover_offer(const Fabric& fabric, const link::FabricOptions& options) {
    if (!fabric.unknown_to_weft) return link::discover(options);
    link::Profile profile;
    profile.provider = options.provider;
    profile.cells = profile.delivery = profile.fence = {true, "defined by this test"};
    profile.writes_empty = profile.small_keys = profile.asks_fence = true;
    return link::discover(options, profile);
}

/// State of the put that uses a slot.
struct Slot {
    bool busy = false;
    bool delivered = false;    ///< the immediate has arrived and the data has been checked
    std::uint32_t use = 0;     ///< number of earlier puts in this slot; part of the pattern
    std::uint64_t number = 0;  ///< index among all posted puts
    PutKind kind = PutKind::with_immediate;
    std::size_t bytes = 0;
    std::uint32_t pending = 0;       ///< 0: the source may be reused (base::Put)
    std::vector<std::byte> outside;  ///< the source, if it is not in the segment
};

/// Returns byte `at` of the put that uses a slot for the `use`-th time.
std::byte pattern(Rank from, Rank to, std::uint32_t slot, std::uint32_t use, std::size_t at) {
    return static_cast<std::byte>((static_cast<std::size_t>(from) * 31 +
                                   static_cast<std::size_t>(to) * 17 + slot * 7 + use * 131 +
                                   at * 13 + (at >> 8)) &
                                  0xFF);
}

/// Three ports of this process and their random puts.
class Traffic {
  public:
    Traffic(const Fabric& fabric, const Fault& fault, std::uint64_t seed)
        : kinds_(fault.kinds.empty() ? fabric.kinds : fault.kinds), fault_(fault), random_(seed) {
        for (Rank rank = 0; rank < kRanks; ++rank) {
            memory_.emplace_back(kMemoryBytes);
            link::FabricOptions options;
            options.provider = fabric.provider;
            options.rank = rank;
            options.size = kRanks;
            options.one_host = true;
            options.puts_in_flight = 24;
            options.puts_in_flight_per_peer = 12;
            options.piece_bytes = kPieceBytes;
            auto found = discover_offer(fabric, options);
            if (!found) throw std::runtime_error(found.failure().text);
            if (fault.change_grant) fault.change_grant(found->grant);
            if (fault.change_profile) fault.change_profile(found->profile);
            auto port = link::open_on_nics({memory_.back().data(), kMemoryBytes}, options,
                                           *std::move(found));
            if (!port) throw std::runtime_error(port.failure().text);
            ports_.push_back(std::move(port).value());
        }
        for (Rank rank = 0; rank < kRanks; ++rank) {
            for (Rank peer = 0; peer < kRanks; ++peer)
                if (peer != rank)
                    ports_[index(rank)]->set_peer(peer, ports_[index(peer)]->address());
        }
        for (Rank rank = 0; rank < kRanks; ++rank) {
            const auto region = ports_[index(rank)]->expose(memory_[index(rank)]);
            if (!region) throw std::runtime_error(region.failure().text);
            regions_.push_back(*region);
        }
        expose_outside();
    }

    /// Sends `count` puts. Returns a description of the first error, or an empty string.
    std::string run(int count) {
        const auto deadline = Clock::now() + std::chrono::seconds(20);
        while ((count > 0 || busy_ > 0) && problem_.empty()) {
            if (Clock::now() > deadline)
                return fmt::format("{} puts are not complete after 20 s", busy_);
            const auto from = static_cast<Rank>(random_() % kRanks);
            if (count > 0 && try_send(from)) --count;
            poll(static_cast<Rank>(random_() % kRanks));
            for (const auto& port : ports_)
                if (port->failure() != nullptr) return port->failure()->text;
            if (busy_ > 0 && random_() % 16 == 0) std::this_thread::yield();
        }
        if (problem_.empty()) ports_.clear();
        return problem_;
    }

  private:
    /// Exposes memory outside the segment and revokes it: the fabric must accept the key.
    void expose_outside() {
        std::vector<std::byte> outside(kSlotBytes);
        for (const auto& port : ports_) {
            const auto region = port->expose(outside);
            if (!region) throw std::runtime_error(region.failure().text);
            port->unexpose(*region);
        }
    }
    static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }
    Slot& slot(Rank from, Rank to, std::uint32_t which) {
        return slots_[(index(from) * kRanks + index(to)) * kSlots + which];
    }
    std::byte* target(Rank from, Rank to, std::uint32_t which) {
        return memory_[index(to)].data() + index(from) * kSenderBytes + which * kSlotBytes;
    }

    std::size_t draw_bytes() {
        switch (random_() % 4) {
            case 0:
                return random_() % 17 + 1;
            case 1:
                return 1 + random_() % 200;
            case 2:
                return 1 + random_() % 5000;
            default:
                return 1 + random_() % kSlotBytes;
        }
    }

    /// Posts a put from `from` to a random rank. Returns false if the drawn slot is busy or the
    /// port refuses the put for now.
    bool try_send(Rank from) {
        const auto to = static_cast<Rank>((index(from) + 1 + random_() % (kRanks - 1)) % kRanks);
        const auto which = static_cast<std::uint32_t>(random_() % kSlots);
        Slot& put = slot(from, to, which);
        if (put.busy || put.pending != 0) return false;
        put.kind = kinds_[random_() % kinds_.size()];
        put.bytes = std::min(draw_bytes(), ports_[index(from)]->facts().message_bytes_max);
        std::byte* source =
            memory_[index(from)].data() + kSourcesAt + (index(to) * kSlots + which) * kSlotBytes;
        if (random_() % 2 == 0) {
            put.outside.resize(put.bytes);
            source = put.outside.data();
        }
        for (std::size_t i = 0; i < put.bytes; ++i)
            source[i] = pattern(from, to, which, put.use, i);
        const base::PutPart part{source, put.bytes};
        base::Put message;
        message.peer = to;
        message.parts = {&part, 1};
        message.bytes = put.bytes;
        message.target = index(from) * kSenderBytes + which * kSlotBytes;
        message.kind = put.kind;
        message.immediate = static_cast<std::uint32_t>(index(from)) << 24 | which | 0x800000U;
        message.pending = &put.pending;
        message.more = random_() % 2 == 0;
        if (random_() % 2 == 0) message.region = &regions_[index(to)];
        if (ports_[index(from)]->try_put(message) != base::Post::posted) return false;
        put.busy = true;
        put.delivered = false;
        put.number = ++posted_;
        ++busy_;
        if (put.pending != 0 && fault_.reuses_sources) std::memset(source, 0xEE, put.bytes);
        // `pending` is still 0 if the port has copied the source, which may then be freed.
        if (put.pending == 0 && put.kind == PutKind::with_immediate) {
            std::memset(source, 0xEE, put.bytes);
            std::vector<std::byte>().swap(put.outside);
        }
        return true;
    }

    /// Polls a port, and checks the puts that are delivered.
    void poll(Rank rank) {
        std::array<std::uint64_t, 8> immediates{};
        const std::size_t got = ports_[index(rank)]->poll(immediates);
        for (std::size_t i = 0; i < got; ++i) {
            const auto from = static_cast<Rank>(immediates[i] >> 24);
            Slot& put = slot(from, rank, immediates[i] & 0xFFFF);
            if (!put.busy || put.kind != PutKind::with_immediate || put.delivered)
                problem_ += "an immediate without a put in flight\n";
            put.delivered = true;
            check(from, rank, immediates[i] & 0xFFFF);
            // A fabric that keeps the order of writes would have delivered earlier puts.
            if (fault_.assumes_order) check_before(from, rank, put.number);
        }
        // Local completions of this rank's puts.
        for (Rank to = 0; to < kRanks; ++to) {
            for (std::uint32_t which = 0; which < kSlots; ++which) {
                Slot& put = slot(rank, to, which);
                if (!put.busy || put.pending != 0) continue;
                const bool waits = put.kind == PutKind::with_immediate && !put.delivered;
                if (fault_.assumes_delivery && waits) check(rank, to, which);
                if (waits) continue;
                if (put.kind != PutKind::with_immediate) check(rank, to, which);
                std::vector<std::byte>().swap(put.outside);
                put.busy = false;
                ++put.use;
                --busy_;
            }
        }
    }

    /// Checks the puts that were posted before number `number`.
    void check_before(Rank from, Rank to, std::uint64_t number) {
        for (std::uint32_t which = 0; which < kSlots; ++which) {
            const Slot& put = slot(from, to, which);
            if (put.busy && put.number < number) check(from, to, which);
        }
    }

    /// Checks the data of a put at its target.
    void check(Rank from, Rank to, std::uint32_t which) {
        const Slot& put = slot(from, to, which);
        const std::byte* at = target(from, to, which);
        for (std::size_t i = 0; i < put.bytes; ++i) {
            if (at[i] == pattern(from, to, which, put.use, i)) continue;
            problem_ += fmt::format("put of {} bytes, kind {}: byte {} is not delivered\n",
                                    put.bytes, static_cast<int>(put.kind), i);
            return;
        }
    }

    std::vector<PutKind> kinds_;
    Fault fault_;
    std::mt19937_64 random_;
    std::vector<std::vector<std::byte>> memory_;
    std::array<Slot, std::size_t{kRanks} * kRanks * kSlots> slots_{};
    std::vector<base::RemoteRegion> regions_;  ///< memory of each rank, registered once more
    std::vector<std::unique_ptr<link::FabricPort>> ports_;  // after the memory that they read
    int busy_ = 0;
    std::uint64_t posted_ = 0;
    std::string problem_;
};

/// Ends the process without destructors, which would print messages for puts in flight.
[[noreturn]] void end_with(const std::string& problem) {
    [[maybe_unused]] const ssize_t done = ::write(STDERR_FILENO, problem.data(), problem.size());
    std::_Exit(problem.empty() ? 0 : 1);
}

/// Runs the traffic over the adversary in a child process. Returns the child's error, or "".
std::string message_of_child(const Fabric& fabric, const Fault& fault, std::uint64_t seed,
                             int puts) {
    int pipe_ends[2];
    if (::pipe(pipe_ends) != 0) return "no pipe";
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(pipe_ends[1], STDERR_FILENO);
        ::setenv("FI_PROVIDER_PATH", ADVERSARY_FOLDER, 1);
        const std::string path = std::string(ADVERSARY_PROFILES) + "/" + fabric.profile + ".txt";
        ::setenv("ADVERSARY_PROFILE", path.c_str(), 1);
        ::setenv("ADVERSARY_SEED", std::to_string(seed).c_str(), 1);
        if (fault.universe != nullptr) ::setenv("FI_UNIVERSE_SIZE", fault.universe, 1);
        try {
            Traffic traffic(fabric, fault, seed);
            end_with(traffic.run(puts));
        } catch (const std::exception& error) {
            end_with(error.what());
        }
    }
    ::close(pipe_ends[1]);
    std::string text;
    std::array<char, 512> buffer;
    for (ssize_t got = 0; (got = ::read(pipe_ends[0], buffer.data(), buffer.size())) > 0;)
        text.append(buffer.data(), static_cast<std::size_t>(got));
    ::close(pipe_ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0 && text.empty()) text = fmt::format("ended with status {:#x}", status);
    return text;
}

constexpr auto kImmediate = PutKind::with_immediate;
constexpr auto kDelivered = PutKind::delivered;
constexpr auto kFenced = PutKind::fenced;

// Faults. Each message is weft's, libfabric's or the adversary's.

const Fault kDelivery{.name = "completion_taken_for_delivery",
                      .message = "is not delivered",
                      .assumes_delivery = true};
const Fault kOrder{.name = "order_assumed", .message = "is not delivered", .assumes_order = true};
const Fault kSource{.name = "source_reused_early",
                    .message = "was changed before its operation was complete",
                    .reuses_sources = true};
const Fault kInject{.name = "more_injected_than_granted",
                    .message = "Message too long",
                    .change_grant = [](link::Grant& grant) { grant.inject_bytes = 4000; }};
const Fault kFence{
    .name = "fence_not_granted", .message = "a fence, without the capability", .kinds = {kFenced}};
const Fault kUnregistered{
    .name = "sources_not_registered",
    .message = "FI_MR_LOCAL",
    .change_grant = [](link::Grant& grant) { grant.local_registration = false; }};
// The next two faults fail in a write, or when the target closes the region: the message varies.
const Fault kOffsets{.name = "offsets_for_addresses",
                     .message = "",
                     .change_grant = [](link::Grant& grant) { grant.virtual_addresses = false; }};
const Fault kUnbound{
    .name = "region_not_bound", .message = "", .change_grant = [](link::Grant& grant) {
        grant.endpoint_registration = false;
    }};
const Fault kWideImmediate{.name = "immediate_too_wide",
                           .message = "an immediate is wider",
                           .change_grant = [](link::Grant& grant) { grant.immediate_bytes = 8; }};
const Fault kReceives{.name = "receives_not_posted",
                      .message = "found no posted receive",
                      .change_grant = [](link::Grant& grant) { grant.consumes_receives = false; }};
const Fault kLargeKeys{
    .name = "keys_off_the_fast_path",
    .message = "is off the fast path",
    .change_profile = [](link::Profile& profile) { profile.small_keys = false; }};
const Fault kWideKeys{.name = "keys_too_wide",
                      .message = "fi_mr_reg of ",
                      .change_grant = [](link::Grant& grant) { grant.key_bytes = 8; },
                      .change_profile = [](link::Profile& profile) { profile.small_keys = false; }};
const Fault kLong{.name = "longer_than_granted",
                  .message = "Message too long",
                  .change_grant = [](link::Grant& grant) { grant.message_bytes_max = 1U << 20; }};
const Fault kUniverse{.name = "universe_too_small",
                      .message = "more addresses than FI_UNIVERSE_SIZE, which is 1",
                      .universe = "1"};
/// Puts of a kind whose completion does not imply delivery on this fabric.
Fault completion_trusted() {
    return {.name = "completion_trusted", .message = "is not delivered", .kinds = {PutKind::plain}};
}
Fault delivery_trusted() {
    return {.name = "delivery_trusted", .message = "is not delivered", .kinds = {kDelivered}};
}
/// Puts of a kind that the fabric refuses.
Fault refused(PutKind kind, const char* message) {
    return {.name = "refused_writes", .message = message, .kinds = {kind}};
}

const std::vector<Fabric>& fabrics() {
    static const std::vector<Fabric> kFabrics{
        {"cxi",
         "cxi",
         {kDelivered},
         {completion_trusted(), kSource, kUnbound, kLargeKeys, kWideKeys,
          refused(kImmediate, "Operation not supported")}},
        {"psm2", "psm2", {kImmediate, kDelivered}, {kDelivery, kOrder, kSource, kInject, kFence}},
        {"psm3", "psm3", {kImmediate, kDelivered}, {kDelivery, kOrder, kSource, kInject, kFence}},
        {"verbs_ofi_rxm",
         "verbs;ofi_rxm",
         {kImmediate},
         {kDelivery, kOrder, kSource, kUnregistered, kOffsets, kUniverse, delivery_trusted()}},
        {"efa",
         "efa",
         {kImmediate},
         {kDelivery, kOrder, kSource, kUnregistered, kOffsets, delivery_trusted()}},
        {"opx",
         "opx",
         {kImmediate, kDelivered},
         {kDelivery, kOrder, kSource, kInject, kFence, kWideImmediate}},
        {"gni",
         "gni",
         {kImmediate},
         {kDelivery, kOrder, kSource, kInject, kOffsets, refused(kDelivered, "Invalid argument")}},
        {"tcp2", "tcp", {kImmediate, kDelivered}, {kDelivery, kSource, kInject, kFence}},
        {"everything",
         "everything",
         {kImmediate, kDelivered, kFenced},
         {kDelivery, kOrder, kSource, kUnregistered, kOffsets, kUnbound, kReceives, kInject, kLong},
         /*unknown_to_weft=*/true},
        {"little",
         "little",
         {kImmediate, kDelivered},
         {kDelivery, kSource, kInject},
         /*unknown_to_weft=*/true},
    };
    return kFabrics;
}

void PrintTo(const Fabric& fabric, std::ostream* out) {
    *out << fabric.profile;
}
class Adversary : public testing::TestWithParam<Fabric> {};

TEST_P(Adversary, AllDataArrivesAndNoRuleIsViolated) {
    EXPECT_EQ(message_of_child(GetParam(), {}, 1, 800), "");
}

TEST_P(Adversary, EachPlantedFaultIsCaughtAndNamed) {
    EXPECT_GE(GetParam().faults.size(), 3U) << "each fabric must have negative controls";
    for (const Fault& fault : GetParam().faults) {
        const std::string message = message_of_child(GetParam(), fault, 7, 500);
        EXPECT_NE(message, "") << fault.name;
        EXPECT_NE(message.find(fault.message), std::string::npos) << fault.name << ": " << message;
    }
}

INSTANTIATE_TEST_SUITE_P(Profiles, Adversary, testing::ValuesIn(fabrics()),
                         [](const auto& chosen) { return chosen.param.profile; });

TEST(AdversaryProfiles, EachProfileHasATest) {
    std::size_t files = 0;
    for (const auto& file : std::filesystem::directory_iterator(ADVERSARY_PROFILES))
        files += file.path().extension() == ".txt" ? 1U : 0U;
    EXPECT_EQ(files, fabrics().size());
}

}  // namespace
}  // namespace weft::test
