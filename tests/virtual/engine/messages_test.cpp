// SPDX-License-Identifier: BSD-3-Clause
// Goal: on every fabric, each active message is handled once and in order, and nested messages
// between all pairs complete. Malformed messages fail the wire.
// Method: the real wire runs over the virtual fabric, with one seed for each run. Each message has
// a number and a depth, and its handler sends more messages to random ranks.
#include "run/onesided/messages.hpp"

#include "tests/support/onesided_ranks.hpp"

namespace weft::test {
namespace {

/// Ranks on several nodes that send messages to handler kHandler of their peers.
class Talkers {
  public:
    static constexpr std::uint32_t kHandler = 7;
    /// Start of a message; a filler follows.
    struct Head {
        std::uint64_t number = 0;  ///< index among the sender's messages to this rank, from 1
        std::uint32_t depth = 0;   ///< generations of messages that follow from this one
        std::uint32_t bytes = 0;   ///< length of the filler, which repeats the number's lowest byte
    };
    static constexpr std::uint32_t kNested = 3;  ///< depth of the messages that the test starts
    static constexpr std::size_t kChildren = 2;  ///< messages that each handler sends

    Talkers(const FabricSetting& setting, std::vector<int> nodes, std::uint64_t seed)
        : random_(base::Random(seed).stream(33)),
          network_({.segment_bytes = kSegment, .node_of_rank = std::move(nodes), .seed = seed}),
          fabric_(fabric_over(network_, setting, seed, random_)) {
        const run::MessageArea area{.offset = 0, .ranks = size()};
        WEFT_CHECK(area.bytes() <= kSegment, area.bytes());
        for (Rank rank = 0; rank < size(); ++rank) {
            link::Wire& wire = open_wire(wires_, network_, fabric_, rank);
            ranks_.emplace_back(std::make_unique<Talker>(*this, wire, area, rank));
        }
        for (const auto& talker : ranks_) talker->listen();
    }

    [[nodiscard]] Rank size() const { return network_.size(); }
    [[nodiscard]] std::uint64_t handled() const { return handled_; }
    /// Returns a description of the last wrong message; empty if no message was wrong.
    [[nodiscard]] const std::string& wrong() const { return wrong_; }
    [[nodiscard]] std::uint64_t sent() const { return sent_; }

    /// Sends a message from a random rank to a random rank.
    void start(std::uint32_t depth) {
        const auto from = random_.below(ranks_.size());
        ranks_[from]->send(static_cast<Rank>(random_.below(ranks_.size())), depth);
    }
    /// Drives random ranks until all messages have been handled or one was wrong. Returns false if
    /// a limit of turns is reached first.
    bool drive() {
        for (std::uint64_t turns = 0; handled_ != sent_ && wrong_.empty(); ++turns) {
            if (turns == 4'000'000 + 100 * sent_) return false;
            wires_[random_.below(wires_.size())].progress();
        }
        return true;
    }
    /// Returns the maximum number of messages that a rank had queued for one peer.
    [[nodiscard]] std::size_t queued_max() const { return queued_max_; }

  private:
    static constexpr std::uint64_t kSegment = std::uint64_t{1} << 20;

    class Talker {
      public:
        Talker(Talkers& group, link::Wire& wire, const run::MessageArea& area, Rank rank)
            : group_(group),
              wire_(wire),
              messages_(wire, area, rank),
              sent_(static_cast<std::size_t>(area.ranks)),
              received_(sent_.size()) {}

        void listen() {
            messages_.set_handler(
                kHandler, {[](void* self, Rank peer, const std::byte* data, std::size_t bytes) {
                               static_cast<Talker*>(self)->handle(peer, data, bytes);
                           },
                           this});
            wire_.set_service(
                [](void* self) { return static_cast<Talker*>(self)->messages_.serve(); },
                [](void*, std::uint64_t) {}, this);
        }
        void send(Rank peer, std::uint32_t depth) {
            std::vector<std::byte> bytes(sizeof(Head));
            Head head{++sent_[static_cast<std::size_t>(peer)], depth, 0};
            if (group_.random_.below(4) == 0)
                head.bytes = static_cast<std::uint32_t>(
                    group_.random_.below(messages_.bytes_max() - sizeof head));
            bytes.resize(sizeof head + head.bytes, static_cast<std::byte>(head.number));
            std::memcpy(bytes.data(), &head, sizeof head);
            ++group_.sent_;
            messages_.send(peer, kHandler, bytes.data(), bytes.size());
            group_.queued_max_ = std::max(group_.queued_max_, messages_.queued(peer));
        }
        void handle(Rank peer, const std::byte* data, std::size_t bytes) {
            Head head;
            std::memcpy(&head, data, sizeof head);
            if (head.number != ++received_[static_cast<std::size_t>(peer)])
                group_.wrong_ =
                    fmt::format("message {} of rank {} arrived as number {}", head.number, peer,
                                received_[static_cast<std::size_t>(peer)]);
            if (bytes != sizeof head + head.bytes) group_.wrong_ = "a message has a wrong length";
            for (std::size_t i = sizeof head; i < bytes; ++i)
                if (data[i] != static_cast<std::byte>(head.number)) group_.wrong_ = "wrong filler";
            ++group_.handled_;
            if (head.depth == 0) return;
            for (std::size_t child = 0; child < kChildren; ++child)
                send(static_cast<Rank>(group_.random_.below(group_.ranks_.size())), head.depth - 1);
        }

      private:
        Talkers& group_;
        link::Wire& wire_;
        run::Messages<link::Wire> messages_;
        std::vector<std::uint64_t> sent_;      ///< number of messages, by peer
        std::vector<std::uint64_t> received_;  ///< number of messages, by peer
    };

    base::Random random_;
    VirtualNetwork network_;
    VirtualFabric fabric_;
    std::deque<link::Wire> wires_;
    std::vector<std::unique_ptr<Talker>> ranks_;
    std::uint64_t sent_ = 0;
    std::uint64_t handled_ = 0;
    std::size_t queued_max_ = 0;
    std::string wrong_;
};

TEST(Messages, MessagesAreHandledOnceAndInOrderOverEveryFabric) {
    for (const FabricSetting& setting :
         {counted(), delivered(), ordered(), ordered_cells(), with_signals(), counted_torn()}) {
        for (std::uint64_t seed = 1; seed <= seed_count() && !HasFailure(); ++seed) {
            Talkers talkers(setting, layout(seed), seed);
            for (int i = 0; i < 40; ++i) talkers.start(Talkers::kNested);
            ASSERT_TRUE(talkers.drive())
                << "seed " << seed << " " << talkers.handled() << " of " << talkers.sent();
            EXPECT_EQ(talkers.wrong(), "") << "seed " << seed;
            EXPECT_EQ(talkers.handled(), 40U * 15);  // 1 + 2 + 4 + 8 messages each
        }
    }
}

/// Trees of messages whose handlers send further messages, between all pairs in parallel: many more
/// messages than a ring has slots. Half a million messages in the long form.
TEST(Messages, NestedMessagesBetweenAllPairsComplete) {
    const std::uint64_t trees = full_mode() ? 1 << 10 : 1 << 3;
    for (const FabricSetting& setting : {ordered_cells(), counted()}) {
        Talkers talkers(setting, {0, 0, 1, 1, 2}, 5);
        for (std::uint64_t i = 0; i < trees; ++i) talkers.start(8);
        ASSERT_TRUE(talkers.drive()) << talkers.handled() << " of " << talkers.sent();
        EXPECT_EQ(talkers.wrong(), "");
        EXPECT_EQ(talkers.handled(), trees * 511);  // 2^9 - 1 messages in each tree
        EXPECT_GT(talkers.queued_max(), run::MessageArea::kSlots) << "no sender lacked credits";
    }
}

TEST(Messages, MalformedMessagesAreRefused) {
    constexpr std::uint64_t kSegment = std::uint64_t{1} << 18;
    std::vector<base::Cell> memory(kSegment / sizeof(base::Cell));
    auto* const own = reinterpret_cast<std::byte*>(memory.data());
    const run::MessageArea area{.offset = 0, .ranks = 2};
    // Heads of a handler and a length.
    for (const auto& [head, why] : {std::pair{run::MessageHead{1, 4000}, "too long"},
                                    {run::MessageHead{300, 4}, "handler"}}) {
        link::Wire wire({own, nullptr}, nullptr,
                        {.rank = 0, .segment_bytes = kSegment, .cells_end = kSegment});
        run::Messages<link::Wire> messages(wire, area, 0);
        auto& cell = memory[area.cell(1, 1) / sizeof(base::Cell)];
        std::memcpy(cell.payload, &head, sizeof head);
        cell.flag.store(base::flag_word(1, 1), std::memory_order_release);
        EXPECT_FALSE(messages.serve());
        ASSERT_NE(wire.failure(), nullptr);
        EXPECT_NE(wire.failure()->text.find(why), std::string::npos) << wire.failure()->text;
    }
}

}  // namespace
}  // namespace weft::test
