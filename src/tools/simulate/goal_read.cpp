// SPDX-License-Identifier: BSD-3-Clause
// goal_read.cpp - reads and simulates GOAL.
//
// Idea     An operation is possible when all operations that it requires are done and, for a recv,
//          its message has arrived. A queue orders operations by that time; each starts when its
//          rank's processor is free.
// Why      Files often have a million operations. So an operation is a small value, one table holds
//          the dependent operations, and waiting messages are linked through the operations.
// Holds    Memory grows with the length of the text, not with num_ranks: a rank without a block
//          needs no memory. A time beyond the clock's range is a failure.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "tools/simulate/goal.hpp"

namespace weft::lab {

namespace {

enum class GoalKind : std::uint8_t { calc, send, receive };

constexpr std::uint32_t kNoOperation = std::numeric_limits<std::uint32_t>::max();

struct GoalOperation {
    std::uint64_t amount = 0;  ///< picoseconds or bytes
    Time ready = 0;  ///< time at which all requirements are done; for a completed send, its arrival
    std::uint32_t rank_index = 0;       ///< index of its rank in GoalText::listed_ranks
    std::uint32_t edge = 0;             ///< for send and receive: number from Edges
    std::uint32_t requires_left = 0;    ///< number of required operations that are not done
    std::uint32_t next = kNoOperation;  ///< next operation in the queue of its edge
    GoalKind kind = GoalKind::calc;
    bool done = false;
};

/// Numbers the edges (combinations of source, target and tag) by a table with open addressing.
class Edges {
  public:
    [[nodiscard]] std::uint32_t number_of(Rank source, Rank target, std::uint32_t tag) {
        if (2 * count_ >= table_.size()) grow();
        const std::uint64_t ends =
            static_cast<std::uint64_t>(source) << 32 | static_cast<std::uint32_t>(target);
        Entry& entry = find(table_, ends, tag);
        if (entry.number == kNoOperation) entry = {ends, tag, count_++};
        return entry.number;
    }
    [[nodiscard]] std::uint32_t count() const { return count_; }

  private:
    struct Entry {
        std::uint64_t ends = 0;
        std::uint32_t tag = 0;
        std::uint32_t number = kNoOperation;
    };

    static Entry& find(std::vector<Entry>& table, std::uint64_t ends, std::uint32_t tag) {
        const std::size_t mask = table.size() - 1;
        std::size_t at = base::mix(ends ^ base::mix(tag)) & mask;
        while (table[at].number != kNoOperation && (table[at].ends != ends || table[at].tag != tag))
            at = (at + 1) & mask;
        return table[at];
    }
    void grow() {
        std::vector<Entry> larger(std::max<std::size_t>(1024, 2 * table_.size()));
        for (const Entry& entry : table_)
            if (entry.number != kNoOperation) find(larger, entry.ends, entry.tag) = entry;
        table_ = std::move(larger);
    }

    std::vector<Entry> table_;
    std::uint32_t count_ = 0;
};

/// A parsed text. `later` has the operations that require operation i, at the indices
/// first_later[i] to first_later[i + 1] - 1.
struct GoalText {
    std::int64_t ranks = 0;
    std::vector<Rank> listed_ranks;  ///< ranks with a block `rank R { }`, in text order
    std::uint32_t edges = 0;
    std::vector<GoalOperation> operations;
    std::vector<std::uint32_t> first_later;
    std::vector<std::uint32_t> later;
};

/// Parses the text word by word.
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
        goal_.first_later.push_back(static_cast<std::uint32_t>(goal_.later.size()));
        goal_.edges = edges_.count();
        return std::move(goal_);
    }

  private:
    bool next_line() {
        if (text_.empty()) return false;
        ++line_;
        const std::size_t end = std::min(text_.find('\n'), text_.size());
        std::string_view line = text_.substr(0, end);
        text_.remove_prefix(std::min(end + 1, text_.size()));
        line = line.substr(0, line.find_first_of("#/"));  // removes a comment
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
            if (goal_.ranks != 0) return base::fail(Status::argument, "num_ranks is given twice");
            const auto ranks = WEFT_TRY(number(1, std::numeric_limits<Rank>::max()));
            if (ranks == 0) return base::fail(Status::argument, "expected num_ranks of 1 or more");
            goal_.ranks = static_cast<std::int64_t>(ranks);
            return {};
        }
        if (words_[0] == "rank") {
            const auto rank = WEFT_TRY(
                number(1, static_cast<std::uint64_t>(std::max<std::int64_t>(goal_.ranks - 1, 0))));
            if (words_.size() != 3 || words_[2] != "{" || goal_.ranks == 0 ||
                rank_ != plan::kNoRank)
                return base::fail(Status::argument, "expected 'rank R {{' after num_ranks");
            rank_ = static_cast<Rank>(rank);
            const auto next = static_cast<std::uint32_t>(goal_.listed_ranks.size());
            rank_index_ = rank_indices_.try_emplace(rank_, next).first->second;
            if (rank_index_ == next) goal_.listed_ranks.push_back(rank_);
            first_ = static_cast<std::uint32_t>(goal_.operations.size());
            return {};
        }
        if (rank_ == plan::kNoRank)
            return base::fail(Status::argument, "'{}' is outside a rank block", words_[0]);
        if (words_[0] == "}") {
            close_rank();
            return {};
        }
        if (words_.size() == 3 && words_[1] == "requires") return read_requires();
        return read_operation();
    }

    base::Result<void> read_requires() {
        const auto later = operation_named(words_[0]);
        const auto earlier = operation_named(words_[2]);
        if (later == kNoOperation || earlier == kNoOperation)
            return base::fail(Status::argument, "'{}': the rank has no operation with this label",
                              later == kNoOperation ? words_[0] : words_[2]);
        ++goal_.operations[later].requires_left;
        requires_.emplace_back(earlier, later);
        return {};
    }

    /// Returns the operation with a label. Tries the last operation first, the usual one.
    [[nodiscard]] std::uint32_t operation_named(std::string_view label) const {
        if (label == last_label_) return static_cast<std::uint32_t>(goal_.operations.size() - 1);
        const auto found = labels_.find(label);
        return found == labels_.end() ? kNoOperation : found->second;
    }

    /// Appends the open rank's requirements to the table GoalText::later.
    void close_rank() {
        const auto by_earlier = [](const auto& edge) { return edge.first; };
        if (!std::ranges::is_sorted(requires_, {}, by_earlier))
            std::ranges::stable_sort(requires_, {}, by_earlier);
        auto next = requires_.begin();
        for (std::uint32_t i = first_; i < goal_.operations.size(); ++i) {
            goal_.first_later.push_back(static_cast<std::uint32_t>(goal_.later.size()));
            for (; next != requires_.end() && next->first == i; ++next)
                goal_.later.push_back(next->second);
        }
        requires_.clear();
        labels_.clear();
        last_label_ = {};
        rank_ = plan::kNoRank;
    }

    base::Result<void> read_operation() {
        std::string_view label;
        if (words_[0].ends_with(':')) {
            label = words_[0].substr(0, words_[0].size() - 1);
            words_.erase(words_.begin());
        }
        GoalOperation operation{.rank_index = rank_index_};
        if (words_.size() >= 2 && words_[0] == "calc") {
            const auto ns = WEFT_TRY(number(1, 1'000'000'000'000));
            operation.amount = picoseconds_of(label, ns);
            WEFT_TRY(read_clauses(2));
        } else if (words_.size() >= 4 && (words_[0] == "send" || words_[0] == "recv")) {
            WEFT_TRY(read_message(operation));
        } else {
            return base::fail(Status::argument, "expected calc, send or recv");
        }
        if (label.starts_with(kSignalLabel) && operation.kind != GoalKind::calc &&
            operation.amount == 1)
            operation.amount = 0;
        const auto index = static_cast<std::uint32_t>(goal_.operations.size());
        if (!label.empty() && !labels_.emplace(label, index).second)
            return base::fail(Status::argument, "{} is given twice", label);
        last_label_ = label;
        goal_.operations.push_back(operation);
        return {};
    }

    /// Returns the picoseconds in a calc's label if they round to `ns`, else `ns` in picoseconds.
    static std::uint64_t picoseconds_of(std::string_view label, std::uint64_t ns) {
        const std::size_t mark = label.find('_');
        std::int64_t exact = 0;
        if (label.starts_with(kPicosecondLabel) && mark != std::string_view::npos) {
            const char* const end = label.data() + label.size();
            const auto read = std::from_chars(label.data() + mark + 1, end, exact);
            if (read.ec == std::errc{} && read.ptr == end && exact > 0 &&
                nearest_nanoseconds(exact) == ns)
                return static_cast<std::uint64_t>(exact);
        }
        return ns * static_cast<std::uint64_t>(plan::kPicosecondsPerNanosecond);
    }

    base::Result<void> read_message(GoalOperation& operation) {
        const bool sends = words_[0] == "send";
        operation.kind = sends ? GoalKind::send : GoalKind::receive;
        if (!words_[1].ends_with('b') || words_[2] != (sends ? "to" : "from"))
            return base::fail(Status::argument, "expected {} Nb {} R tag T", words_[0],
                              sends ? "to" : "from");
        words_[1].remove_suffix(1);
        operation.amount = WEFT_TRY(number(1, std::uint64_t{1} << 40));
        const auto peer =
            static_cast<Rank>(WEFT_TRY(number(3, static_cast<std::uint64_t>(goal_.ranks - 1))));
        const auto tag = WEFT_TRY(read_clauses(4));
        operation.edge =
            sends ? edges_.number_of(rank_, peer, tag) : edges_.number_of(peer, rank_, tag);
        return {};
    }

    /// Reads the clauses from word `at` on: tag (default 0), cpu and nic.
    base::Result<std::uint32_t> read_clauses(std::size_t at) {
        std::uint32_t tag = 0;
        for (; at + 1 < words_.size(); at += 2) {
            if (words_[at] == "tag") {
                tag = static_cast<std::uint32_t>(
                    WEFT_TRY(number(at + 1, std::numeric_limits<std::uint32_t>::max())));
            } else if ((words_[at] != "cpu" && words_[at] != "nic") || words_[at + 1] != "0") {
                return base::fail(Status::argument, "'{}': only cpu 0 and nic 0 are supported",
                                  words_[at]);
            }
        }
        if (at != words_.size())
            return base::fail(Status::argument, "unexpected '{}' at the end", words_[at]);
        return tag;
    }

    base::Result<std::uint64_t> number(std::size_t at, std::uint64_t maximum) const {
        std::uint64_t value = 0;
        if (at >= words_.size()) return base::fail(Status::argument, "a number is missing");
        const std::string_view word = words_[at];
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc{} || end != word.data() + word.size() || value > maximum)
            return base::fail(Status::argument, "'{}' is not a number from 0 to {}", word, maximum);
        return value;
    }

    std::string_view text_;
    std::vector<std::string_view> words_;
    std::size_t line_ = 0;
    std::unordered_map<Rank, std::uint32_t> rank_indices_;
    Rank rank_ = plan::kNoRank;
    // State of the open rank: first operation, labels and requirements.
    std::uint32_t first_ = 0;
    std::uint32_t rank_index_ = 0;
    std::unordered_map<std::string_view, std::uint32_t> labels_;
    std::string_view last_label_;  ///< label of the last operation
    std::vector<std::pair<std::uint32_t, std::uint32_t>> requires_;
    Edges edges_;
    GoalText goal_;
};

/// FIFO queues of waiting operations, one for each edge: circular lists; `last_` has their ends.
class Queues {
  public:
    Queues(std::vector<GoalOperation>& operations, std::uint32_t edges)
        : operations_(operations), last_(edges, kNoOperation) {}

    [[nodiscard]] bool empty(std::uint32_t edge) const { return last_[edge] == kNoOperation; }
    void push(std::uint32_t edge, std::uint32_t index) {
        std::uint32_t& last = last_[edge];
        operations_[index].next = last == kNoOperation ? index : operations_[last].next;
        if (last != kNoOperation) operations_[last].next = index;
        last = index;
    }
    [[nodiscard]] std::uint32_t pop(std::uint32_t edge) {
        std::uint32_t& last = last_[edge];
        const std::uint32_t first = operations_[last].next;
        if (first == last)
            last = kNoOperation;
        else
            operations_[last].next = operations_[first].next;
        return first;
    }

  private:
    std::vector<GoalOperation>& operations_;
    std::vector<std::uint32_t> last_;  ///< for each edge
};

/// Simulates one processor for each rank. Operations start in the order in which
/// they become possible.
class GoalRun {
  public:
    GoalRun(GoalText goal, const MessageModel& model)
        : goal_(std::move(goal)),
          model_(model),
          clocks_(goal_.listed_ranks.size(), Clock{.extended = Clock::extends(model)}),
          arrived_(goal_.operations, goal_.edges),
          waiting_(goal_.operations, goal_.edges) {}

    base::Result<Outcome> run() {
        for (std::uint32_t i = 0; i < goal_.operations.size(); ++i)
            if (goal_.operations[i].requires_left == 0) queue_ready(i);
        while (!possible_.empty()) {
            const auto [time, index] = possible_.top();
            possible_.pop();
            WEFT_TRY(execute(index, time));
        }
        Outcome outcome{.earliest_finish = std::numeric_limits<Time>::max(), .messages = messages_};
        for (const GoalOperation& operation : goal_.operations) {
            if (!operation.done)
                return base::fail(Status::argument, "rank {} waits for an unsent message",
                                  goal_.listed_ranks[operation.rank_index]);
        }
        for (const Clock& clock : clocks_) {
            outcome.makespan = std::max(outcome.makespan, clock.now);
            outcome.earliest_finish = std::min(outcome.earliest_finish, clock.now);
        }
        if (static_cast<std::int64_t>(clocks_.size()) < goal_.ranks) outcome.earliest_finish = 0;
        outcome.events = goal_.operations.size();
        return outcome;
    }

  private:
    using Possible = std::pair<Time, std::uint32_t>;

    /// Queues an operation whose requirements are done; a receive only when it has a message.
    void queue_ready(std::uint32_t index) {
        const GoalOperation& operation = goal_.operations[index];
        if (operation.kind != GoalKind::receive)
            possible_.emplace(operation.ready, index);
        else if (arrived_.empty(operation.edge))
            waiting_.push(operation.edge, index);
        else
            match(arrived_.pop(operation.edge), index);
    }

    void match(std::uint32_t sent, std::uint32_t received) {
        const std::vector<GoalOperation>& all = goal_.operations;
        possible_.emplace(std::max(all[received].ready, all[sent].ready), received);
    }

    void arrive(std::uint32_t index, Time time) {
        ++messages_;
        GoalOperation& sent = goal_.operations[index];
        sent.ready = time;
        if (waiting_.empty(sent.edge))
            arrived_.push(sent.edge, index);
        else
            match(index, waiting_.pop(sent.edge));
    }

    /// Less than half of the clock's range, so that one more operation cannot overflow it.
    static constexpr double kTimeMax = 4e18;

    /// Returns an upper bound of an operation's addition to any clock, in picoseconds.
    [[nodiscard]] double cost_max(const GoalOperation& operation) const {
        const auto amount = static_cast<double>(operation.amount);
        if (operation.kind == GoalKind::calc) return amount;
        const double bytes_fs = amount * static_cast<double>(model_.byte_fs);
        if (bytes_fs > plan::kFemtosecondsMax) return kTimeMax;
        return static_cast<double>(model_.busy_base + model_.latency + model_.receive + model_.gap +
                                   model_.pipeline + model_.saturation) +
               bytes_fs * 1e-3 + 1;
    }

    base::Result<void> execute(std::uint32_t index, Time possible) {
        GoalOperation& operation = goal_.operations[index];
        Clock& clock = clocks_[operation.rank_index];
        clock.now = std::max(clock.now, possible);
        if (static_cast<double>(clock.now) + cost_max(operation) >= kTimeMax)
            return base::fail(Status::argument,
                              "rank {} computes and sends beyond the range of the clock (4e6 "
                              "seconds)",
                              goal_.listed_ranks[operation.rank_index]);
        if (operation.kind == GoalKind::calc)
            clock.now += static_cast<Time>(operation.amount);
        else if (operation.kind == GoalKind::send)
            arrive(index, clock.send(model_, model_.busy(operation.amount), model_.latency));
        else
            clock.receive(model_, clock.now);
        operation.done = true;
        for (std::uint32_t i = goal_.first_later[index]; i < goal_.first_later[index + 1]; ++i) {
            GoalOperation& later = goal_.operations[goal_.later[i]];
            later.ready = std::max(later.ready, clock.now);
            if (--later.requires_left == 0) queue_ready(goal_.later[i]);
        }
        return base::Done{};
    }

    GoalText goal_;
    const MessageModel& model_;
    std::vector<Clock> clocks_;  ///< for each rank of GoalText::listed_ranks
    std::priority_queue<Possible, std::vector<Possible>, std::greater<>> possible_;
    Queues arrived_;  ///< sends with unreceived messages
    Queues waiting_;  ///< receptions without a message
    std::uint64_t messages_ = 0;
};

}  // namespace

base::Result<Outcome> simulate_goal(std::string_view text, const MessageModel& model) {
    return GoalRun(WEFT_TRY(Reader(text).read()), model).run();
}

}  // namespace weft::lab
