// SPDX-License-Identifier: BSD-3-Clause
// goal_read.cpp - GOAL read and simulated.
//
// Idea     Operations become possible when all that they require is done and, for a recv, its
//          message is there. A queue orders them by that time; each takes its rank's processor when
//          it is free.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

#include "lab/simulate/goal.hpp"

namespace weft::lab {

namespace {

struct GoalOperation {
    enum class Kind : std::uint8_t { calc, send, receive } kind = Kind::calc;
    Rank rank = 0;
    Rank peer = plan::kNoRank;
    std::uint64_t amount = 0;  ///< nanoseconds or bytes
    std::uint64_t tag = 0;
    std::uint32_t requires_left = 0;
    std::vector<std::uint32_t> required_by;
    Time ready = 0;  ///< all that it requires is done
    bool done = false;
};

struct GoalText {
    std::int64_t ranks = 0;
    std::vector<GoalOperation> operations;
};

/// Words of a line, and the line's number for what is wrong with it.
class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    base::Result<GoalText> read() {
        while (next_line()) {
            if (words_.empty()) continue;
            if (auto done = read_line(); !done)
                return done.failure().within(fmt::format("line {}", line_));
        }
        if (goal_.ranks == 0) return base::fail(Status::argument, "num_ranks is missing");
        if (rank_ != plan::kNoRank)
            return base::fail(Status::argument, "line {}: rank {} is not closed", line_, rank_);
        return std::move(goal_);
    }

  private:
    bool next_line() {
        if (text_.empty()) return false;
        ++line_;
        const std::size_t end = std::min(text_.find('\n'), text_.size());
        std::string_view line = text_.substr(0, end);
        text_.remove_prefix(std::min(end + 1, text_.size()));
        line = line.substr(0, line.find_first_of("#/"));
        words_.clear();
        constexpr std::string_view kBlanks = " \t\r";
        while (true) {
            const std::size_t begin = line.find_first_not_of(kBlanks);
            if (begin == std::string_view::npos) return true;
            line.remove_prefix(begin);
            const std::size_t length = std::min(line.find_first_of(kBlanks), line.size());
            words_.push_back(line.substr(0, length));
            line.remove_prefix(length);
        }
    }

    base::Result<void> read_line() {
        if (words_[0] == "num_ranks") {
            const auto ranks = number(1, std::numeric_limits<Rank>::max());
            if (!ranks) return ranks.failure();
            goal_.ranks = static_cast<std::int64_t>(*ranks);
            return {};
        }
        if (words_[0] == "rank") {
            const auto rank =
                number(1, static_cast<std::uint64_t>(std::max<std::int64_t>(goal_.ranks - 1, 0)));
            if (!rank) return rank.failure();
            if (words_.size() != 3 || words_[2] != "{" || goal_.ranks == 0 ||
                rank_ != plan::kNoRank)
                return base::fail(Status::argument, "expected 'rank R {{' after num_ranks");
            rank_ = static_cast<Rank>(*rank);
            labels_.clear();
            return {};
        }
        if (words_[0] == "}") {
            rank_ = plan::kNoRank;
            return {};
        }
        if (rank_ == plan::kNoRank)
            return base::fail(Status::argument, "'{}' stands outside of ranks", words_[0]);
        if (words_.size() == 3 && words_[1] == "requires") return read_requires();
        return read_operation();
    }

    base::Result<void> read_requires() {
        const auto later = labels_.find(words_[0]);
        const auto earlier = labels_.find(words_[2]);
        if (later == labels_.end() || earlier == labels_.end())
            return base::fail(Status::argument, "no operation has that label");
        ++goal_.operations[later->second].requires_left;
        goal_.operations[earlier->second].required_by.push_back(later->second);
        return {};
    }

    base::Result<void> read_operation() {
        std::string_view label;
        if (words_[0].ends_with(':')) {
            label = words_[0].substr(0, words_[0].size() - 1);
            words_.erase(words_.begin());
        }
        GoalOperation operation{.rank = rank_};
        std::size_t at = 2;
        if (words_.size() >= 2 && words_[0] == "calc") {
            const auto ns = number(1, 1'000'000'000'000);
            if (!ns) return ns.failure();
            operation.amount = *ns;
        } else if (words_.size() >= 6 && (words_[0] == "send" || words_[0] == "recv")) {
            if (auto read = read_message(operation); !read) return read;
            at = 6;
        } else {
            return base::fail(Status::argument, "expected calc, send or recv");
        }
        for (; at + 1 < words_.size(); at += 2)
            if ((words_[at] != "cpu" && words_[at] != "nic") || words_[at + 1] != "0")
                return base::fail(Status::argument, "'{}': only cpu 0 and nic 0 are known",
                                  words_[at]);
        if (at != words_.size())
            return base::fail(Status::argument, "'{}' is too much", words_[at]);
        if (!label.empty() &&
            !labels_.emplace(label, static_cast<std::uint32_t>(goal_.operations.size())).second)
            return base::fail(Status::argument, "{} is given twice", label);
        goal_.operations.push_back(std::move(operation));
        return {};
    }

    base::Result<void> read_message(GoalOperation& operation) {
        const bool sends = words_[0] == "send";
        operation.kind = sends ? GoalOperation::Kind::send : GoalOperation::Kind::receive;
        if (!words_[1].ends_with('b') || words_[2] != (sends ? "to" : "from") || words_[4] != "tag")
            return base::fail(Status::argument, "expected {} Nb {} R tag T", words_[0],
                              sends ? "to" : "from");
        words_[1].remove_suffix(1);
        const auto bytes = number(1, std::uint64_t{1} << 40);
        if (!bytes) return bytes.failure();
        const auto peer = number(3, static_cast<std::uint64_t>(goal_.ranks - 1));
        if (!peer) return peer.failure();
        const auto tag = number(5, std::numeric_limits<std::uint32_t>::max());
        if (!tag) return tag.failure();
        operation.amount = *bytes;
        operation.peer = static_cast<Rank>(*peer);
        operation.tag = *tag;
        return {};
    }

    base::Result<std::uint64_t> number(std::size_t at, std::uint64_t most) const {
        std::uint64_t value = 0;
        if (at >= words_.size()) return base::fail(Status::argument, "a number is missing");
        const std::string_view word = words_[at];
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc{} || end != word.data() + word.size() || value > most)
            return base::fail(Status::argument, "'{}' is not a number of 0..{}", word, most);
        return value;
    }

    std::string_view text_;
    std::vector<std::string_view> words_;
    std::size_t line_ = 0;
    Rank rank_ = plan::kNoRank;
    std::map<std::string_view, std::uint32_t> labels_;  ///< of the open rank
    GoalText goal_;
};

/// One processor a rank; operations start in the order in which they become possible.
class GoalRun {
  public:
    GoalRun(GoalText goal, const MessageModel& model)
        : goal_(std::move(goal)), model_(model), clocks_(static_cast<std::size_t>(goal_.ranks)) {}

    base::Result<Outcome> run() {
        for (std::uint32_t i = 0; i < goal_.operations.size(); ++i)
            if (goal_.operations[i].requires_left == 0) ready(i);
        while (!possible_.empty()) {
            const auto [time, index] = possible_.top();
            possible_.pop();
            execute(goal_.operations[index], time);
        }
        Outcome outcome{.earliest_finish = std::numeric_limits<Time>::max(), .messages = messages_};
        for (const GoalOperation& operation : goal_.operations) {
            if (!operation.done)
                return base::fail(Status::argument, "rank {} waits for what is never sent",
                                  operation.rank);
        }
        for (const plan::Clock& clock : clocks_) {
            outcome.makespan = std::max(outcome.makespan, clock.now);
            outcome.earliest_finish = std::min(outcome.earliest_finish, clock.now);
        }
        outcome.events = goal_.operations.size();
        return outcome;
    }

  private:
    using Edge = std::tuple<Rank, Rank, std::uint64_t>;  ///< from, to, tag
    using Possible = std::pair<Time, std::uint32_t>;

    /// All that it requires is done.
    void ready(std::uint32_t index) {
        const GoalOperation& operation = goal_.operations[index];
        if (operation.kind != GoalOperation::Kind::receive) {
            possible_.emplace(operation.ready, index);
            return;
        }
        const Edge edge{operation.peer, operation.rank, operation.tag};
        std::deque<Time>& arrived = arrived_[edge];
        if (arrived.empty()) {
            waiting_[edge].push_back(index);
            return;
        }
        possible_.emplace(std::max(operation.ready, arrived.front()), index);
        arrived.pop_front();
    }

    void arrive(const GoalOperation& sent, Time time) {
        ++messages_;
        const Edge edge{sent.rank, sent.peer, sent.tag};
        std::deque<std::uint32_t>& waiting = waiting_[edge];
        if (waiting.empty()) {
            arrived_[edge].push_back(time);
            return;
        }
        const std::uint32_t index = waiting.front();
        waiting.pop_front();
        possible_.emplace(std::max(goal_.operations[index].ready, time), index);
    }

    void execute(GoalOperation& operation, Time possible) {
        plan::Clock& clock = clocks_[static_cast<std::size_t>(operation.rank)];
        clock.now = std::max(clock.now, possible);
        if (operation.kind == GoalOperation::Kind::calc)
            clock.now += static_cast<Time>(operation.amount) * plan::kPicosecondsPerNanosecond;
        else if (operation.kind == GoalOperation::Kind::send)
            arrive(operation, clock.send(model_, model_.busy(operation.amount), model_.latency));
        else
            clock.receive(model_, clock.now);
        operation.done = true;
        for (const std::uint32_t later : operation.required_by) {
            GoalOperation& next = goal_.operations[later];
            next.ready = std::max(next.ready, clock.now);
            if (--next.requires_left == 0) ready(later);
        }
    }

    GoalText goal_;
    const MessageModel& model_;
    std::vector<plan::Clock> clocks_;
    std::priority_queue<Possible, std::vector<Possible>, std::greater<>> possible_;
    std::map<Edge, std::deque<Time>> arrived_;
    std::map<Edge, std::deque<std::uint32_t>> waiting_;
    std::uint64_t messages_ = 0;
};

}  // namespace

base::Result<Outcome> simulate_goal(std::string_view text, const MessageModel& model) {
    auto goal = Reader(text).read();
    if (!goal) return goal.failure();
    return GoalRun(*std::move(goal), model).run();
}

}  // namespace weft::lab
