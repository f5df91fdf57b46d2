// SPDX-License-Identifier: BSD-3-Clause
// watchdog.hpp - waits, reports long waits, and detects failures.
//
// Idea     After each failed poll the wire pauses or yields. Every few hundred polls the watchdog
//          reads the clock. After a second it asks the peer whether both mean the same call
//          (inquiry.hpp). After WEFT_TIMEOUT it reports which rank waits for which.
// Why      A wire fails if a peer has died. The launcher should see the peer's end first, and this
//          rank's SIGTERM report should describe its wait. So the wait continues for linger_ns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "run/execute/inquiry.hpp"
#include "run/execute/team_state.hpp"
#include "run/execute/transport.hpp"
#include "run/execute/turn.hpp"

namespace weft::run {

/// Tells whether the caller of poll() waits for calls in flight. Only such waits can time out.
enum class Caller : std::uint8_t { waits, passes_by };

/// State of one wait.
struct WaitState {
    unsigned failures = 0;  ///< polls in a row without effect
    std::uint64_t started_ns = 0;
    std::uint64_t next_inquiry_ns = 0;
    std::uint64_t next_report_ns = 0;
    unsigned reports = 0;  ///< reports about this wait
};

/// One waiting lane, for reports and inquiries.
struct WaitingLane {
    TeamState* team = nullptr;
    const BoundProgram* program = nullptr;
    Epoch epoch = 0;
    Digest digest = 0;
    std::uint32_t step = 0;
    Rank peer = 0;  ///< team rank; < 0: the wait concerns no peer
    base::FlagWord have = 0;
    base::FlagWord want = 0;
    bool waits_for_flush = false;  ///< for room (with a peer) or local completion (without)
    std::string text;              ///< description of a wait that belongs to no lane
};

/// Describes a lane of the operation that waits at a step, without flags. Past the last step, the
/// lane waits for its earlier puts.
[[nodiscard]] WaitingLane describe_step(const Operation& op, std::uint32_t step);
/// Describes an operation whose steps are done but whose last puts are still being read.
[[nodiscard]] WaitingLane describe_last(const Operation& op);
/// Adds a description of a queued call that waits for a credit.
void describe_gate(const Operation& op, std::vector<WaitingLane>& lines);
/// Returns "rank 3: COLLECTIVE a2,a4 epoch 17 step 4: waiting for rank 5 (have 16, want 17)", with
/// ranks of the job. If barriers were inserted, the user's number of the call follows.
[[nodiscard]] std::string to_text(const WaitingLane& lane, Rank job_rank);
/// Returns true if some lane's flag has arrived since its last test, so that the lane can continue.
[[nodiscard]] bool has_arrival(const std::vector<WaitingLane>& lanes);
/// Returns true if the lane's cell holds a signal of another call: one with this tick and another
/// digest, or one with a later tick. Ranks that agree raise none before this rank has advanced.
[[nodiscard]] bool has_other_call(const WaitingLane& lane);
/// Returns one line about a rank's lanes: about the oldest that waits for a peer's signal, if any.
[[nodiscard]] std::string status_line(const std::vector<WaitingLane>& lanes, Rank job_rank);
/// Numbers of the call in an inquiry and of the call before it, as this rank's user counts.
struct CallNumbers {
    Epoch asked = 0;
    Epoch before = 0;
};
[[nodiscard]] CallNumbers numbers_of(const TeamState& team, Epoch epoch);
/// Returns a text with both sides of a disagreement.
[[nodiscard]] std::string disagreement_text(const Inquiry& theirs, const Inquiry& mine,
                                            const CallNumbers& numbers);
/// Returns a text about counts that two ranks do not agree on, or an empty one if they agree.
[[nodiscard]] std::string pair_disagreement_text(const Inquiry& theirs, const Inquiry& mine,
                                                 const CallNumbers& numbers);
/// Adds the counts that this rank exchanges with the peer, a team rank, to an inquiry for it.
void add_pair(Inquiry& inquiry, const BoundProgram& program, Rank peer);
/// Returns this rank's description of a call.
[[nodiscard]] Inquiry make_inquiry(const TeamState& team, Epoch epoch, PastCall call,
                                   Rank job_rank);
/// Returns the team ranks that may wait for this rank's failed call. In a small team: all ranks. In
/// a large team: the ranks of the node, and the targets of the program's signals.
[[nodiscard]] std::vector<Rank> ranks_that_may_wait(const TeamState& team,
                                                    const BoundProgram* program);

struct WatchdogOptions {
    std::uint64_t inquiry_ns = 1'000'000'000;
    std::uint64_t timeout_ns = 30'000'000'000;  ///< 0: never report
    std::uint64_t linger_ns = 0;                ///< time that a wait continues after a peer is lost
    bool abort_on_timeout = false;
    std::function<void(const std::string&)> report;  ///< prints one line for the user; may be empty
    /// Ends the job after a report if abort_on_timeout. If empty, the wait ends with the failure.
    std::function<void(const std::string&)> abort;
    StatusRequest* status_request = nullptr;  ///< null: no requests are made
    /// Prints the answer to a status request. Usually does not return.
    std::function<void(const std::string&)> answer;
};

struct EngineOptions {
    WatchdogOptions watchdog;
    /// If divided, calls never take the fused path, which keeps the turn while it waits.
    TurnKind turn = TurnKind::own;
    Recorder* recorder = nullptr;  ///< if given, every call is recorded
};

template <Transport Wire>
class Watchdog {
  public:
    using Teams = std::vector<std::unique_ptr<TeamState>>;
    static constexpr unsigned kCheckEvery = 256;
    static constexpr unsigned kProgressEvery = 16;
    static constexpr std::uint64_t kSpreadNs = 1'000'000'000;  ///< time limit for sending verdicts
    static constexpr Rank kAskMax = 64;  ///< members asked at once; others follow a second later

    Watchdog(Wire& wire, Rank job_rank, WatchdogOptions options)
        : wire_(wire), job_rank_(job_rank), options_(std::move(options)) {}

    /// Pauses after a poll without effect. Returns false if the wait cannot succeed; see failure()
    /// and blames(). `lanes` returns the waiting lanes. It is called only if they are needed.
    template <class Lanes>
    bool wait(WaitState& wait_state, const Teams& teams, Lanes lanes) {
        wire_.relax(++wait_state.failures);
        if (wait_state.failures % kProgressEvery == 0) wire_.progress();
        if (!is_due(wait_state.failures)) return true;
        return check(wait_state, teams, lanes);
    }

    [[nodiscard]] StatusRequest& status_request() {
        return options_.status_request != nullptr ? *options_.status_request : own_request_;
    }
    /// Returns true if it is time for check(), after `failures` failed polls in a row.
    [[nodiscard]] bool is_due(unsigned failures) {
        return failures % kCheckEvery == 0 ||
               status_request().pending.load(std::memory_order_relaxed);
    }
    /// Prints a line about these lanes if a request is pending.
    template <class Lanes>
    void answer_status_request(Lanes lanes) {
        if (!status_request().pending.exchange(false, std::memory_order_relaxed)) return;
        if (options_.answer) options_.answer("weft: " + status_line(lanes(), job_rank_));
    }

    [[nodiscard]] const base::Failure& failure() const { return failure_; }
    /// Returns true if the failure concerns every wait.
    [[nodiscard]] bool blames_all() const { return blamed_team_ == nullptr; }
    [[nodiscard]] bool blames(const TeamState& team) const {
        return blames_all() || blamed_team_ == &team;
    }

    /// Reads inquiries and verdicts of peers. Returns false if a peer disagrees about a call.
    bool read_inquiries(const Teams& teams) {
        for (std::uint32_t i = 0; i < Mailboxes::kEntries; ++i) {
            const std::uint64_t offset = Mailboxes::kOffset + i * Mailboxes::kEntryBytes;
            wire_.settle(offset);
            const std::byte* entry = wire_.near(job_rank_) + offset;
            const auto* cell = reinterpret_cast<const base::Cell*>(entry);
            const base::FlagWord flag = cell->flag.load(std::memory_order_acquire);
            if (flag == seen_[i]) continue;
            seen_[i] = flag;
            Inquiry inquiry;
            std::memcpy(&inquiry, entry + Mailboxes::kInquiry, sizeof inquiry);
            inquiry.text[sizeof inquiry.text - 1] = '\0';
            if (inquiry.checksum != checksum_of(inquiry)) continue;
            if (!judge(inquiry, teams)) return false;
        }
        return true;
    }

    /// Reads and sends inquiries, and reports. Returns the same as wait().
    template <class Lanes>
    bool check(WaitState& wait_state, const Teams& teams, Lanes lanes,
               Caller caller = Caller::waits) {
        const std::uint64_t now = base::monotonic_ns();
        if (wait_state.next_inquiry_ns == 0) wait_state.next_inquiry_ns = now + options_.inquiry_ns;
        if (wait_state.started_ns == 0 || caller == Caller::passes_by) {
            wait_state.started_ns = now;
            wait_state.next_report_ns = later(now, options_.timeout_ns);
        }
        if (status_request().pending.load(std::memory_order_relaxed) && !has_arrival(lanes()))
            answer_status_request(lanes);
        if (const base::Failure* failure = wire_.failure()) {
            if (broken_since_ns_ == 0) broken_since_ns_ = now;
            if (failure->status != Status::peer || now - broken_since_ns_ >= options_.linger_ns)
                return give_up(*failure, nullptr);
        }
        static_cast<void>(finish_sending(now));
        if (!read_inquiries(teams)) return false;
        if (now >= wait_state.next_inquiry_ns) {
            wait_state.next_inquiry_ns = now + options_.inquiry_ns;
            for (const WaitingLane& lane : lanes()) ask(lane);
        }
        if (options_.timeout_ns != 0 && now >= wait_state.next_report_ns) {
            const std::uint64_t waited_ns = now - wait_state.started_ns;
            // Each report appears after twice the time of the one before.
            wait_state.next_report_ns = later(now, std::max(waited_ns, options_.timeout_ns));
            return report(lanes(), waited_ns, ++wait_state.reports);
        }
        return true;
    }

    /// Notifies all ranks that may wait for this one that a call of the team has failed here.
    void spread_failure(const TeamState& team, Epoch epoch, PastCall call) {
        const Inquiry inquiry = make_inquiry(team, epoch, call, job_rank_);
        spread_verdict(team.failure, inquiry, team, call.program);
    }

  private:
    /// Returns the sum, limited to the largest value.
    [[nodiscard]] static std::uint64_t later(std::uint64_t now_ns, std::uint64_t ns) {
        return now_ns + std::min(ns, ~now_ns);
    }

    /// Reports the lanes of a wait, or only the time if they are as in the last report.
    bool report(const std::vector<WaitingLane>& lanes, std::uint64_t waited_ns, unsigned times) {
        std::vector<std::string> lines;
        for (const WaitingLane& lane : lanes) lines.push_back(to_text(lane, job_rank_));
        if (times > 1 && lines == reported_ && !lines.empty()) {
            report_line(fmt::format("rank {}: the same after {} s (report {} of this wait)",
                                    job_rank_, waited_ns / 1'000'000'000, times));
        } else {
            for (const std::string& line : lines) report_line(line);
        }
        reported_ = std::move(lines);
        if (!options_.abort_on_timeout || lanes.empty()) return true;
        base::Failure why =
            base::fail(Status::timeout, "waited {} s: {}", waited_ns / 1'000'000'000,
                       to_text(lanes.front(), job_rank_));
        if (options_.abort) options_.abort(why.text);
        return give_up(std::move(why), nullptr);
    }

    void report_line(const std::string& line) const {
        if (options_.report) options_.report(line);
    }

    bool give_up(base::Failure why, const TeamState* team) {
        failure_ = std::move(why);
        blamed_team_ = team;
        return false;
    }

    void ask(const WaitingLane& lane) {
        if (lane.peer < 0 || lane.waits_for_flush || lane.team == nullptr) return;
        ask(lane, lane.peer);
        // Any member may have raised the signal in the cell, or may have overwritten the awaited
        // one. In its call, the cell may serve another pair.
        const Rank members = lane.team->size();
        const Rank asked = has_other_call(lane) ? std::min(members, kAskMax) : 1;
        for (Rank i = 0; i < asked; ++i) {
            next_asked_ = next_asked_ + 1 < members ? next_asked_ + 1 : 0;
            if (next_asked_ != lane.peer && next_asked_ != lane.team->setup.rank)
                ask(lane, next_asked_);
        }
    }
    void ask(const WaitingLane& lane, Rank peer) {
        Inquiry inquiry =
            make_inquiry(*lane.team, lane.epoch, {lane.program, lane.digest}, job_rank_);
        add_pair(inquiry, *lane.program, peer);
        send(inquiry, lane.team->setup.job_ranks[static_cast<std::size_t>(peer)]);
    }

    /// Compares an inquiry with this rank's call of that number. Accepts verdicts.
    bool judge(const Inquiry& inquiry, const Teams& teams) {
        for (const auto& team : teams) {
            if (team->setup.id != inquiry.team) continue;
            if (team->setup.first_tick != inquiry.team_since) continue;
            if (team->failed) {
                resend_verdict(inquiry, *team);
                return true;
            }
            const PastCall mine = team->recall(inquiry.epoch);
            base::Failure verdict{status_of(inquiry), std::string(text_of(inquiry))};
            if (inquiry.call_hash != Inquiry::kVerdict) {
                verdict.text = compare(inquiry, *team, mine);
                if (verdict.text.empty()) return true;
                report_line(verdict.text);
            }
            spread_verdict(verdict, inquiry, *team, mine.program);
            return give_up(std::move(verdict), team.get());
        }
        return true;
    }

    /// Returns a text with the difference between the two sides, or an empty one.
    [[nodiscard]] std::string compare(const Inquiry& theirs, const TeamState& team,
                                      PastCall called) const {
        if (called.program == nullptr) return "";
        Inquiry mine = make_inquiry(team, theirs.epoch, called, job_rank_);
        const CallNumbers numbers = numbers_of(team, theirs.epoch);
        if (called.digest != theirs.digest) return disagreement_text(theirs, mine, numbers);
        const Rank asker = member_of(team, theirs.rank);
        if (asker < 0) return "";
        add_pair(mine, *called.program, asker);
        return pair_disagreement_text(theirs, mine, numbers);
    }

    /// Answers an inquiry about a team that has failed here.
    void resend_verdict(Inquiry inquiry, const TeamState& team) {
        const Rank asker = inquiry.rank;
        if (inquiry.call_hash == Inquiry::kVerdict || member_of(team, asker) < 0) return;
        make_verdict(inquiry, team.failure);
        send(inquiry, asker);
    }

    /// Returns the team rank of a rank of the job, or -1.
    [[nodiscard]] static Rank member_of(const TeamState& team, Rank job_rank) {
        const auto found = std::ranges::find(team.setup.job_ranks, job_rank);
        if (found == team.setup.job_ranks.end()) return -1;
        return static_cast<Rank>(found - team.setup.job_ranks.begin());
    }
    /// Returns the status in a verdict. Disagreements are errors of arguments.
    [[nodiscard]] static Status status_of(const Inquiry& inquiry) {
        const bool known = inquiry.call_hash == Inquiry::kVerdict && inquiry.hash_before != 0 &&
                           inquiry.hash_before <= static_cast<base::CallHash>(Status::unsupported);
        return known ? static_cast<Status>(inquiry.hash_before) : Status::argument;
    }
    void make_verdict(Inquiry& inquiry, const base::Failure& why) const {
        inquiry.rank = job_rank_;
        inquiry.call_hash = Inquiry::kVerdict;
        inquiry.hash_before = static_cast<base::CallHash>(why.status);
        set_text(inquiry, why.text);
    }

    /// Sends the verdict to all ranks that may wait for this one.
    void spread_verdict(const base::Failure& why, Inquiry verdict, const TeamState& team,
                        const BoundProgram* mine) {
        const Rank asker = verdict.rank;
        make_verdict(verdict, why);
        const std::uint64_t deadline = base::monotonic_ns() + kSpreadNs;
        static_cast<void>(finish_sending(deadline));
        wait_until_sent(deadline);
        // Equal for all peers: a put may still read it while the next is posted.
        outgoing_ = verdict;
        if (asker != job_rank_ && member_of(team, asker) >= 0) start_sending(asker, deadline);
        for (const Rank rank : ranks_that_may_wait(team, mine)) {
            const Rank peer = team.setup.job_ranks[static_cast<std::size_t>(rank)];
            if (peer != asker) start_sending(peer, deadline);
        }
        wait_until_sent(deadline);
    }

    /// Sends an inquiry after the previous one has left. Drops it if that takes too long: inquiries
    /// are repeated until the wait ends.
    void send(const Inquiry& inquiry, Rank peer) {
        const std::uint64_t deadline = base::monotonic_ns() + kSpreadNs / 100;
        if (!finish_sending(deadline)) return;
        wait_until_sent(deadline);
        if (pending_ != 0) return;
        outgoing_ = inquiry;
        start_sending(peer, deadline);
    }

    void start_sending(Rank peer, std::uint64_t deadline_ns) {
        if (sending_) return;  // the previous one is partly posted: the wire is stuck
        outgoing_peer_ = peer;
        ++sent_;
        resume_ = 0;
        sending_ = true;
        static_cast<void>(finish_sending(deadline_ns));
    }

    /// Posts the rest of the current inquiry: the peer counts its pieces.
    bool finish_sending(std::uint64_t deadline_ns) {
        if (!sending_) return true;
        const base::PutPart part{reinterpret_cast<const std::byte*>(&outgoing_), sizeof outgoing_};
        base::Put put;
        put.peer = outgoing_peer_;
        put.parts = {&part, 1};
        put.bytes = sizeof outgoing_;
        put.cell = Mailboxes::entry(job_rank_);
        put.target = put.cell + Mailboxes::kInquiry;
        put.flag = base::flag_word(sent_, static_cast<std::uint16_t>(job_rank_));
        put.pending = &pending_;
        do {
            sending_ = wire_.try_put(put, resume_) == base::Post::again;
            if (sending_) wire_.progress();
        } while (sending_ && base::monotonic_ns() < deadline_ns);
        return !sending_;
    }

    /// Waits until the source of the last inquiry may be reused.
    void wait_until_sent(std::uint64_t deadline_ns) {
        while (pending_ != 0 && base::monotonic_ns() < deadline_ns) wire_.progress();
    }

    Wire& wire_;
    Rank job_rank_;
    WatchdogOptions options_;
    StatusRequest own_request_;
    std::vector<std::string> reported_;  ///< lines of the last report
    std::uint64_t broken_since_ns_ = 0;  ///< time when the wire's failure was first seen
    base::Failure failure_;
    const TeamState* blamed_team_ = nullptr;
    base::FlagWord seen_[Mailboxes::kEntries] = {};
    Inquiry outgoing_;
    Rank outgoing_peer_ = 0;
    Rank next_asked_ = 0;       ///< last member asked, if members are asked one after the other
    bool sending_ = false;      ///< outgoing_ is not completely posted
    std::uint64_t resume_ = 0;  ///< belongs to the wire while sending_
    std::uint32_t pending_ = 0;
    base::Tick sent_ = 0;
};

}  // namespace weft::run
