// SPDX-License-Identifier: BSD-3-Clause
// watchdog.hpp - how a wait waits, and what it does when it takes too long.
//
// Idea     After each failed poll the wire pauses or yields. Every few hundred polls the watchdog
//          reads the clock: after a second it asks the peer whether both mean the same call
//          (inquiry.hpp), after WEFT_TIMEOUT it reports which rank waits for which. Failures of the
//          wire and answers of peers end the wait; on a request for status it prints what it waits
//          for (turn.hpp).
// Why      A wire fails because a peer has died. The launcher should see that peer's end first, and
//          this rank's SIGTERM report should say what it waited for: so it waits on for a moment
//          (linger_ns).
// Holds    A wait that is short costs a pause per poll and nothing else. A report does not end a
//          wait unless the user asked for that.
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

/// Whether who polls waits for what is in flight: only then can it take too long.
enum class Caller : std::uint8_t { waits, passes_by };

/// How long one wait has been going on.
struct WaitState {
    unsigned failures = 0;  ///< polls in a row without effect
    std::uint64_t started_ns = 0;
    std::uint64_t next_inquiry_ns = 0;
    std::uint64_t next_report_ns = 0;
    unsigned reports = 0;  ///< of this wait
};

/// One lane that waits, for reports and inquiries.
struct WaitingLane {
    TeamState* team = nullptr;
    const BoundProgram* program = nullptr;
    Epoch epoch = 0;
    Digest digest = 0;
    std::uint32_t step = 0;
    Rank peer = 0;  ///< team rank; < 0 where no peer is meant
    base::FlagWord have = 0;
    base::FlagWord want = 0;
    bool waits_for_flush = false;  ///< for room (with a peer) or local completion (without)
    std::string text;              ///< what a wait that is not a lane's waits for
};

/// A lane of the operation that waits at this step, without flags; past the last step: for earlier
/// puts.
[[nodiscard]] WaitingLane describe_step(const Operation& op, std::uint32_t step);
/// All steps are done; what was put last is still being read.
[[nodiscard]] WaitingLane describe_last(const Operation& op);
/// Adds what a queued call waits for whose gate is closed for lack of a credit.
void describe_gate(const Operation& op, std::vector<WaitingLane>& lines);
/// "rank 3: COLLECTIVE a2,a4 epoch 17 step 4: waiting for rank 5 (have 16, want 17)", ranks of the
/// job. Where barriers were inserted, the user's own number of the call stands behind that.
[[nodiscard]] std::string to_text(const WaitingLane& lane, Rank job_rank);
/// Whether the flag of some lane has arrived since it was tested: the lane can move on.
[[nodiscard]] bool has_arrival(const std::vector<WaitingLane>& lanes);
/// Whether the cell that it awaits holds a signal that no rank that agrees would have raised there
/// before it has moved on: of this call by another digest, or of a later turn or call.
[[nodiscard]] bool has_other_call(const WaitingLane& lane);
/// One line about all of a rank's lanes: the oldest that waits for a peer's signal, if any does.
[[nodiscard]] std::string status_line(const std::vector<WaitingLane>& lanes, Rank job_rank);
/// The call that an inquiry is about and the one before it, as the user of this rank counts.
struct CallNumbers {
    Epoch asked = 0;
    Epoch before = 0;
};
[[nodiscard]] CallNumbers numbers_of(const TeamState& team, Epoch epoch);
/// Both sides of a disagreement, as text.
[[nodiscard]] std::string disagreement_text(const Inquiry& theirs, const Inquiry& mine,
                                            const CallNumbers& numbers);
/// The same about what two ranks have for each other in one call; empty if they agree.
[[nodiscard]] std::string pair_disagreement_text(const Inquiry& theirs, const Inquiry& mine,
                                                 const CallNumbers& numbers);
/// Adds to an inquiry what this rank has for the peer (a rank of the team) that it goes to.
void add_pair(Inquiry& inquiry, const BoundProgram& program, Rank peer);
/// What this rank believes call `epoch` to be.
[[nodiscard]] Inquiry make_inquiry(const TeamState& team, Epoch epoch, PastCall call,
                                   Rank job_rank);
/// Team ranks that a failure of this rank's call may keep waiting: all in a small team, else those
/// on the node and those that the program raises signals at.
[[nodiscard]] std::vector<Rank> ranks_that_may_wait(const TeamState& team,
                                                    const BoundProgram* program);

struct WatchdogOptions {
    std::uint64_t inquiry_ns = 1'000'000'000;
    std::uint64_t timeout_ns = 30'000'000'000;  ///< 0: never report
    std::uint64_t linger_ns = 0;                ///< how long a wait outlives a peer that is lost
    bool abort_on_timeout = false;
    std::function<void(const std::string&)> report;  ///< one line for the user; may be empty
    /// Ends the job after a report if abort_on_timeout; if empty, the wait ends with the failure.
    std::function<void(const std::string&)> abort;
    StatusRequest* status_request = nullptr;  ///< null: there are no requests
    /// Prints the answer to a status request; usually does not return.
    std::function<void(const std::string&)> answer;
};

template <Transport Wire>
class Watchdog {
  public:
    using Teams = std::vector<std::unique_ptr<TeamState>>;
    static constexpr unsigned kCheckEvery = 256;
    static constexpr unsigned kProgressEvery = 16;
    static constexpr std::uint64_t kSpreadNs = 1'000'000'000;  ///< to send verdicts
    static constexpr Rank kAskMax = 64;  ///< members asked at once, the next ones a second later

    Watchdog(Wire& wire, Rank job_rank, WatchdogOptions options)
        : wire_(wire), job_rank_(job_rank), options_(std::move(options)) {}

    /// Passes the time after a poll without effect. False: the wait cannot succeed, see failure()
    /// and blames(). `lanes` gives the waiting lanes; called only when they are needed.
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
    /// Whether it is time for check(), after so many failed polls in a row.
    [[nodiscard]] bool is_due(unsigned failures) {
        return failures % kCheckEvery == 0 ||
               status_request().pending.load(std::memory_order_relaxed);
    }
    /// Prints what these lanes wait for, if a request is pending.
    template <class Lanes>
    void answer_status_request(Lanes lanes) {
        if (!status_request().pending.exchange(false, std::memory_order_relaxed)) return;
        if (options_.answer) options_.answer("weft: " + status_line(lanes(), job_rank_));
    }

    [[nodiscard]] const base::Failure& failure() const { return failure_; }
    /// Whether the failure concerns this team.
    [[nodiscard]] bool blames(const TeamState& team) const {
        return blamed_team_ == nullptr || blamed_team_ == &team;
    }

    /// Whether it concerns every wait.
    [[nodiscard]] bool blames_all() const { return blamed_team_ == nullptr; }

    /// Reads inquiries and verdicts of peers. False if one of them disagrees about a call.
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

    /// What a wait does now and then: reads inquiries, sends some, reports. False as wait().
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
            // Each report comes after twice the time of the one before.
            wait_state.next_report_ns = later(now, std::max(waited_ns, options_.timeout_ns));
            return report(lanes(), waited_ns, ++wait_state.reports);
        }
        return true;
    }

    /// Tells all ranks that may wait for this one that a call of the team has failed here.
    void spread_failure(const TeamState& team, Epoch epoch, PastCall call) {
        const Inquiry inquiry = make_inquiry(team, epoch, call, job_rank_);
        spread_verdict(team.failure, inquiry, team, call.program);
    }

  private:
    /// A sum that does not wrap.
    [[nodiscard]] static std::uint64_t later(std::uint64_t now_ns, std::uint64_t ns) {
        return now_ns + std::min(ns, ~now_ns);
    }

    /// What has been said of a wait is not said again, but for how long it has been so.
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
        // Any member may have raised the signal that lies there, or written an older one over the
        // one that is awaited: in its call the cell may serve another pair.
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

    /// Compares an inquiry with this rank's call of that number. A verdict is taken as it is.
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

    /// What the two sides disagree about, as text; empty if nothing.
    [[nodiscard]] std::string compare(const Inquiry& theirs, const TeamState& team,
                                      PastCall called) const {
        if (called.program == nullptr) return "";
        Inquiry mine = make_inquiry(team, theirs.epoch, called, job_rank_);
        const CallNumbers numbers = numbers_of(team, theirs.epoch);
        if (called.digest != theirs.digest) return disagreement_text(theirs, mine, numbers);
        const auto asker = std::ranges::find(team.setup.job_ranks, theirs.rank);
        if (asker == team.setup.job_ranks.end()) return "";
        add_pair(mine, *called.program, static_cast<Rank>(asker - team.setup.job_ranks.begin()));
        return pair_disagreement_text(theirs, mine, numbers);
    }

    /// Answers an inquiry about a team that has failed here.
    void resend_verdict(Inquiry inquiry, const TeamState& team) {
        if (inquiry.call_hash == Inquiry::kVerdict) return;
        const Rank asker = inquiry.rank;
        if (!is_member(team, asker)) return;
        make_verdict(inquiry, team.failure);
        send(inquiry, asker);
    }

    [[nodiscard]] static bool is_member(const TeamState& team, Rank job_rank) {
        return std::ranges::find(team.setup.job_ranks, job_rank) != team.setup.job_ranks.end();
    }
    /// Of a verdict: how the call failed. Ranks that disagree do so about arguments.
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
        outgoing_ = verdict;  // the same for all: one may still be read while the next is posted
        if (asker != job_rank_ && is_member(team, asker)) start_sending(asker, deadline);
        for (const Rank rank : ranks_that_may_wait(team, mine)) {
            const Rank peer = team.setup.job_ranks[static_cast<std::size_t>(rank)];
            if (peer != asker) start_sending(peer, deadline);
        }
        wait_until_sent(deadline);
    }

    /// Sends once the inquiry before it has left; drops it if that takes too long: inquiries are
    /// repeated as long as the wait lasts.
    void send(const Inquiry& inquiry, Rank peer) {
        const std::uint64_t deadline = base::monotonic_ns() + kSpreadNs / 100;
        if (!finish_sending(deadline)) return;
        wait_until_sent(deadline);
        if (pending_ != 0) return;
        outgoing_ = inquiry;
        start_sending(peer, deadline);
    }

    void start_sending(Rank peer, std::uint64_t deadline_ns) {
        if (sending_) return;  // the one before is posted in part: the wire is stuck
        outgoing_peer_ = peer;
        ++sent_;
        resume_ = 0;
        sending_ = true;
        static_cast<void>(finish_sending(deadline_ns));
    }

    /// Posts what is left of the inquiry under way. One that was half posted has to be finished:
    /// the peer counts its pieces.
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

    /// Until the source of the last inquiry may be reused.
    void wait_until_sent(std::uint64_t deadline_ns) {
        while (pending_ != 0 && base::monotonic_ns() < deadline_ns) wire_.progress();
    }

    Wire& wire_;
    Rank job_rank_;
    WatchdogOptions options_;
    StatusRequest own_request_;
    std::vector<std::string> reported_;  ///< the last report
    std::uint64_t broken_since_ns_ = 0;  ///< when the wire was first seen to have failed
    base::Failure failure_;
    const TeamState* blamed_team_ = nullptr;
    base::FlagWord seen_[Mailboxes::kEntries] = {};
    Inquiry outgoing_;
    Rank outgoing_peer_ = 0;
    Rank next_asked_ = 0;       ///< in a team whose members are asked in turn: the last one
    bool sending_ = false;      ///< outgoing_ is not posted as a whole yet
    std::uint64_t resume_ = 0;  ///< belongs to the wire while it is not
    std::uint32_t pending_ = 0;
    base::Tick sent_ = 0;
};

}  // namespace weft::run
