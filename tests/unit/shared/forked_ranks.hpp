// SPDX-License-Identifier: BSD-3-Clause
// forked_ranks.hpp - N real processes that exchange bytes through shared memory, for tests.
//
// Idea     The parent makes a board, forks the ranks and collects their reports. Ranks create their
//          segments after the fork, so they inherit none.
// Holds    Every rank has an alarm as its deadline. A failing rank sets Board::failed, which ends
//          the waits of the other ranks.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "link/shared/node_map.hpp"
#include "tests/support/full_mode.hpp"
#include "tests/support/shared_object.hpp"

namespace weft::link::testing {

inline constexpr int kRanksMax = 8;
inline constexpr unsigned kDeadlineSeconds = 30;

/// Memory that the ranks share. Zero at the start.
struct Board {
    std::atomic<int> arrived;  ///< ranks that have entered a fence, summed over all fences
    std::atomic<bool> failed;
    std::atomic<bool> flags[4];  ///< each test defines their use
    SegmentCard cards[kRanksMax];
    struct {
        std::size_t bytes;
        std::byte data[512];
    } verdicts[kRanksMax];
    char complaints[kRanksMax][1024];  ///< error of each rank; empty: none
};

class ForkedRank {
  public:
    ForkedRank(Board& board, Rank rank, int size) : board_(board), rank_(rank), size_(size) {}

    [[nodiscard]] Rank rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] Board& board() { return board_; }

    /// Ends this rank with a complaint unless the condition holds.
    void require(bool condition, const std::string& what) {
        if (condition) return;
        std::snprintf(board_.complaints[rank_], sizeof board_.complaints[rank_], "%s",
                      what.c_str());
        board_.failed.store(true);
        ::_exit(1);
    }

    /// Waits for the condition. Ends this rank if another rank has failed.
    template <class Condition>
    void wait_until(Condition condition) {
        while (!condition()) {
            if (board_.failed.load()) ::_exit(1);
            ::sched_yield();
        }
    }

    /// Waits until all ranks have called it.
    void fence() {
        ++fences_;
        board_.arrived.fetch_add(1);
        wait_until([this] { return board_.arrived.load() >= fences_ * size_; });
    }

    /// Publishes the card and returns all ranks' cards.
    std::vector<SegmentCard> exchange(const SegmentCard& card) {
        board_.cards[rank_] = card;
        fence();
        return {board_.cards, board_.cards + size_};
    }

    /// Publishes the map's verdict. Returns the group that follows from all verdicts.
    NodeGroup decide(const NodeMap& map) {
        const std::vector<std::byte> mine = map.verdict().to_bytes();
        auto& slot = board_.verdicts[rank_];
        require(mine.size() <= sizeof slot.data, "the verdict is too long for the board");
        slot.bytes = mine.size();
        std::memcpy(slot.data, mine.data(), mine.size());
        fence();
        std::vector<MapVerdict> verdicts;
        for (const Rank rank : map.candidates()) {
            const auto& theirs = board_.verdicts[rank];
            auto verdict = MapVerdict::from_bytes({theirs.data, theirs.bytes});
            require(verdict.ok(), "a verdict cannot be read");
            verdicts.push_back(std::move(*verdict));
        }
        return clique(verdicts, rank_);
    }

    Segment create(SegmentOptions options) {
        auto segment = Segment::create(options);
        require(segment.ok(), segment.ok() ? "" : segment.failure().text);
        return std::move(*segment);
    }
    NodeMap open(const Segment& segment, std::span<const SegmentCard> cards,
                 NodeMapOptions options = {}) {
        auto map = NodeMap::open(segment, cards, rank_, options);
        require(map.ok(), map.ok() ? "" : map.failure().text);
        return std::move(*map);
    }

    /// A segment, mapped with the segments of its group.
    struct Node {
        Segment segment;
        std::vector<SegmentCard> cards;
        NodeMap map;
        NodeGroup group;
    };
    /// Creates a segment, exchanges cards, maps the other segments and keeps those of the group.
    /// `before_open` may change the cards.
    Node map_node(SegmentOptions of_segment, NodeMapOptions of_map = {},
                  const std::function<void(std::vector<SegmentCard>&)>& before_open = nullptr) {
        Segment segment = create(of_segment);
        auto cards = exchange(segment.card());
        if (before_open) before_open(cards);
        NodeMap map = open(segment, cards, of_map);
        NodeGroup group = decide(map);
        map.settle(group);
        return {std::move(segment), std::move(cards), std::move(map), std::move(group)};
    }

  private:
    Board& board_;
    Rank rank_;
    int size_;
    int fences_ = 0;
};

using RankBody = std::function<void(ForkedRank&)>;

inline pid_t start_rank(Board& board, Rank rank, int size, const RankBody& body) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::alarm(test::full_mode() ? 60 * kDeadlineSeconds : kDeadlineSeconds);
    ForkedRank self(board, rank, size);
    body(self);
    ::_exit(0);
}

/// Waits for a rank to end; the rank's alarm bounds the wait. Returns an empty text on
/// success, else a description.
inline std::string end_of_rank(const Board& board, Rank rank, pid_t pid) {
    int status = 0;
    if (::waitpid(pid, &status, 0) != pid) return "waitpid failed";
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
    std::string text = "rank " + std::to_string(rank) + ": ";
    if (WIFSIGNALED(status)) text += "signal " + std::to_string(WTERMSIG(status)) + " ";
    return text + board.complaints[rank];
}

/// Runs the body in `size` processes. Returns the complaints, or an empty text.
inline std::string run_ranks(int size, const RankBody& body) {
    const test::SharedObject<Board> board;
    std::vector<pid_t> pids;
    for (Rank rank = 0; rank < size; ++rank) pids.push_back(start_rank(*board, rank, size, body));
    std::string complaints;
    for (Rank rank = 0; rank < size; ++rank) {
        const std::string end = end_of_rank(*board, rank, pids[static_cast<std::size_t>(rank)]);
        if (!end.empty()) {
            complaints += end + "\n";
            board->failed.store(true);
        }
    }
    return complaints;
}

inline void expect_ranks(int size, const RankBody& body) {
    EXPECT_EQ(run_ranks(size, body), "");
}

}  // namespace weft::link::testing
