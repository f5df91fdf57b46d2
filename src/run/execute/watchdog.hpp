// SPDX-License-Identifier: BSD-3-Clause
// watchdog.hpp - pauses between polls, reports long waits, and detects failures.
//
// Idea     After each poll without effect, the wire pauses or yields. After 256 of them in a row,
//          the watchdog reads the clock. After a second, it sends the awaited peer an inquiry, to
//          detect different calls (inquiry.hpp). After WEFT_TIMEOUT, it reports the awaited rank.
// Why      A wire fails if a peer has died. The launcher should detect the peer's end first, and
//          the SIGTERM report should describe the wait. So the wait continues for linger_ns.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "run/execute/inquiry.hpp"
#include "run/execute/team_state.hpp"
#include "run/execute/transport.hpp"
#include "run/execute/turn.hpp"

namespace weft::run {

/// Kind of caller of poll(). Only a caller that waits for calls in flight can time out.
enum class Caller : std::uint8_t { waits, polls };

struct WaitState {
    unsigned idle_polls = 0;  ///< number of polls in a row without effect
    std::uint64_t started_ns = 0;
    std::uint64_t next_inquiry_ns = 0;
    std::uint64_t next_report_ns = 0;
    unsigned reports = 0;  ///< number of reports about this wait
};

/// A thread's wait for a call, and Operation::position_hash() at the last check.
struct OwnWait {
    WaitState state;
    std::uint64_t position_hash = 0;
};

/// Description of a waiting lane, for reports and inquiries.
struct WaitingLane {
    TeamState* team = nullptr;
    const BoundProgram* program = nullptr;
    Epoch epoch = 0;
    Digest digest = 0;
    std::uint32_t step = 0;
    Rank peer = 0;            ///< team rank; < 0: waits for no peer
    base::FlagWord have = 0;  ///< flag in the cell
    base::FlagWord want = 0;  ///< expected flag
    /// The lane waits for no flag, but for room for a put or, without a peer, for its own puts.
    bool waits_locally = false;
    std::string text;  ///< if not empty: the whole description, of a wait that is not a lane's
};

/// Describes a lane that waits at a step or, after the last step, for its puts, without flags.
[[nodiscard]] WaitingLane describe_step(const Operation& op, std::size_t step);
/// Adds a description of a queued call that waits for a credit.
void describe_gate(const Operation& op, std::vector<WaitingLane>& lanes);
/// Returns "rank 3: COLLECTIVE a2,a4 epoch 17 step 4: waiting for rank 5 (have 16, want 17)", with
/// ranks of the job. If barriers were inserted, adds the user's number of the call.
[[nodiscard]] std::string to_text(const WaitingLane& lane, Rank job_rank);
/// Returns true if the flag of a lane has arrived since the lane tested it.
[[nodiscard]] bool has_arrival(const std::vector<WaitingLane>& lanes);
/// Returns true if the lane's cell has a signal of another call: the expected tick with another
/// digest, or a later tick. If all ranks make equal calls, the lane advances before that.
[[nodiscard]] bool has_other_signal(const WaitingLane& lane);
/// Returns a line about the first lane that waits for a peer's signal, or else about the first
/// lane. Without lanes, the line states that the rank is in the application.
[[nodiscard]] std::string status_line(const std::vector<WaitingLane>& lanes, Rank job_rank);
/// Names the different calls of two ranks. `before`: the user's number of the previous call.
[[nodiscard]] std::string disagreement_text(const Inquiry& theirs, const Inquiry& mine,
                                            Epoch number, Epoch before);
/// Returns a text about different counts of two ranks for the data between them, or an empty text.
[[nodiscard]] std::string pair_disagreement_text(const Inquiry& theirs, const Inquiry& mine,
                                                 Epoch number);
/// Adds to an inquiry the counts that this rank exchanges with `peer`, a team rank.
void add_pair(Inquiry& inquiry, const BoundProgram& program, Rank peer);
/// Returns this rank's description of a call. `job_rank` is this rank.
[[nodiscard]] Inquiry make_inquiry(const TeamState& team, Epoch epoch, PastCall call,
                                   Rank job_rank);
/// Returns the team ranks that may wait for this rank in a failed call: in teams of up to 64 ranks,
/// all others; in larger teams, local ranks and the ranks to which `program`, unless null, puts.
[[nodiscard]] std::vector<Rank> ranks_that_may_wait(const TeamState& team,
                                                    const BoundProgram* program);

[[nodiscard]] inline base::Failure revocation(std::uint32_t team, Rank by) {
    return base::fail(Status::peer, "team {} was revoked by rank {}", team, by);
}

/// Ranks that are known to be dead in a job that continues after deaths.
struct Deaths {
    bool survivable = false;              ///< false: a death ends the job
    std::map<Rank, base::Failure> ranks;  ///< dead ranks, with the failure of calls that need them
    void add(Rank rank) { ranks[rank] = base::fail(Status::peer, "rank {} has died", rank); }
    [[nodiscard]] bool contains(Rank rank) const { return ranks.contains(rank); }
    /// Returns the failure of calls that need the rank, or nullptr if it is not known to be dead.
    [[nodiscard]] const base::Failure* failure_by(Rank rank) const {
        if (ranks.empty()) [[likely]]
            return nullptr;
        const auto found = ranks.find(rank);
        return found == ranks.end() ? nullptr : &found->second;
    }
    /// Returns the failure of a wait for a rank if the rank has died. It counts even if the wait's
    /// condition holds: transfers with a dead rank end without data. Waits for teams have none.
    [[nodiscard]] const base::Failure* death_of(Rank rank) const { return failure_by(rank); }
    [[nodiscard]] static const base::Failure* death_of(const TeamState*) { return nullptr; }
    /// Returns the failure of a team if its waits must not go on, or nullptr.
    [[nodiscard]] const base::Failure* failure_by(const TeamState* team) const {
        return survivable && team->failed ? &team->failure : nullptr;
    }
    void apply(TeamState& team) const {
        if (ranks.empty()) return;
        for (const Rank member : team.setup.job_ranks) {
            const base::Failure* const why = failure_by(member);
            if (why != nullptr) team.fail(*why);
        }
    }
};

struct WatchdogOptions {
    std::uint64_t inquiry_ns = 1'000'000'000;   ///< wait before the first inquiry, and between two
    std::uint64_t timeout_ns = 30'000'000'000;  ///< 0: never report
    std::uint64_t linger_ns = 0;                ///< time that a wait continues after a peer is lost
    bool abort_on_timeout = false;
    /// Returns a rank that has died and was not returned before. If empty, deaths end the job.
    std::function<std::optional<Rank>()> next_death;
    std::function<void(const std::string&)> report;  ///< prints a line for the user; may be empty
    /// Ends the job after a report if abort_on_timeout. If empty, the wait fails instead.
    std::function<void(const std::string&)> abort;
    StatusRequest* status_request = nullptr;  ///< nullptr: no requests
    /// Prints the answer to a status request. Usually does not return.
    std::function<void(const std::string&)> answer;
};

struct EngineOptions {
    WatchdogOptions watchdog;
    /// If divided, calls do not use the fused path, because it keeps the turn while it waits.
    TurnKind turn = TurnKind::own;
    Recorder* recorder = nullptr;  ///< records every call; nullptr: no records
};

template <Transport Wire>
class Watchdog {
  public:
    using Teams = std::vector<std::unique_ptr<TeamState>>;
    static constexpr unsigned kCheckEvery = 256;    ///< polls without effect between checks
    static constexpr unsigned kProgressEvery = 16;  ///< polls of a fused call between progress()
    static constexpr std::uint64_t kSpreadNs = 1'000'000'000;  ///< time limit for sending verdicts
    static constexpr std::uint64_t kDeathsNs = 2'000'000;      ///< time between checks for deaths
    static constexpr Rank kInquiriesMax = 64;  ///< limit for the members that inquire() also asks

    Watchdog(Wire& wire, Rank job_rank, WatchdogOptions options)
        : wire_(wire), job_rank_(job_rank), options_(std::move(options)) {
        deaths_.survivable = static_cast<bool>(options_.next_death);
    }

    /// Pauses after a poll without effect. Returns false if the wait cannot succeed; see failure()
    /// and affects(). `lanes` is a function that returns the waiting lanes, called only if needed.
    template <class Lanes>
    bool wait(WaitState& wait_state, const Teams& teams, Lanes lanes) {
        wire_.relax(++wait_state.idle_polls);
        if (wait_state.idle_polls % kProgressEvery == 0) wire_.progress();
        if (!is_due(wait_state.idle_polls)) return true;
        return check(wait_state, teams, lanes);
    }

    [[nodiscard]] StatusRequest& status_request() {
        return options_.status_request != nullptr ? *options_.status_request : own_request_;
    }
    /// Returns true if it is time for check(), after `idle_polls` polls in a row without effect.
    [[nodiscard]] bool is_due(unsigned idle_polls) {
        return idle_polls % kCheckEvery == 0 ||
               status_request().pending.load(std::memory_order_relaxed);
    }
    template <class Lanes>
    void answer_status_request(Lanes lanes) {
        if (!status_request().pending.exchange(false, std::memory_order_relaxed)) return;
        if (options_.answer) options_.answer("weft: " + status_line(lanes(), job_rank_));
    }

    [[nodiscard]] const base::Failure& failure() const { return failure_; }
    /// Returns true if the failure ends the waits of all teams.
    [[nodiscard]] bool affects_all() const {
        return affected_team_ == nullptr && affected_rank_ < 0;
    }
    [[nodiscard]] bool affects(const TeamState& team) const {
        if (affected_rank_ >= 0) return member_of(team, affected_rank_) >= 0;
        return affects_all() || affected_team_ == &team;
    }

    /// Returns the rank whose death has failed its teams, or -1 if another failure was the last.
    [[nodiscard]] Rank affected_rank() const { return affected_rank_; }
    [[nodiscard]] const Deaths& deaths() const { return deaths_; }
    /// Records a death; failure() and affects() then describe it. Returns false if it was known.
    bool note_death(Rank job_rank) {
        if (deaths_.contains(job_rank)) return false;
        deaths_.add(job_rank);
        failure_ = *deaths_.failure_by(job_rank);
        affected_team_ = nullptr;
        affected_rank_ = job_rank;
        return true;
    }
    /// Returns the team rank of a rank of the job, or -1 if it is not a member.
    [[nodiscard]] static Rank member_of(const TeamState& team, Rank job_rank) {
        const auto found = std::ranges::find(team.setup.job_ranks, job_rank);
        if (found == team.setup.job_ranks.end()) return -1;
        return static_cast<Rank>(found - team.setup.job_ranks.begin());
    }

    /// Reads inquiries and verdicts. Returns false if a peer has made another call or has failed.
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
            if (!handle(inquiry, teams)) return false;
        }
        return true;
    }

    /// Makes all checks of a wait. Returns false if the wait cannot succeed.
    template <class Lanes>
    bool check(WaitState& wait_state, const Teams& teams, Lanes lanes,
               Caller caller = Caller::waits) {
        const std::uint64_t now = base::monotonic_ns();
        if (wait_state.next_inquiry_ns == 0) wait_state.next_inquiry_ns = now + options_.inquiry_ns;
        if (wait_state.started_ns == 0 || caller == Caller::polls) {
            wait_state.started_ns = now;
            wait_state.next_report_ns = later(now, options_.timeout_ns);
        }
        if (status_request().pending.load(std::memory_order_relaxed) && !has_arrival(lanes()))
            answer_status_request(lanes);
        if (deaths_.survivable && now >= next_deaths_ns_) {
            if (const auto dead = options_.next_death(); dead && note_death(*dead)) return false;
            next_deaths_ns_ = now + kDeathsNs;
        }
        if (const base::Failure* failure = wire_.failure()) {
            if (broken_since_ns_ == 0) broken_since_ns_ = now;
            if (failure->status != Status::peer || now - broken_since_ns_ >= options_.linger_ns)
                return give_up(*failure, nullptr);
        } else {
            broken_since_ns_ = 0;  // the job continues without the rank that caused the failure
        }
        static_cast<void>(finish_sending(now));
        if (!read_inquiries(teams) || !read_revocations(teams)) return false;
        if (now >= wait_state.next_inquiry_ns) {
            wait_state.next_inquiry_ns = now + options_.inquiry_ns;
            for (const WaitingLane& lane : lanes()) inquire(lane);
        }
        if (options_.timeout_ns != 0 && now >= wait_state.next_report_ns) {
            const std::uint64_t waited_ns = now - wait_state.started_ns;
            // Each report appears after twice the waiting time of the previous report.
            wait_state.next_report_ns = later(now, std::max(waited_ns, options_.timeout_ns));
            return report(lanes(), waited_ns, ++wait_state.reports);
        }
        return true;
    }

    /// Returns false if a member has revoked a team: an inquiry may overwrite the member's verdict.
    bool read_revocations(const Teams& teams) {
        for (const auto& team : teams) {
            if (team->failed || team->setup.revoked == 0) continue;
            const std::atomic_ref<base::FlagWord> word(
                *reinterpret_cast<base::FlagWord*>(wire_.near(job_rank_) + team->setup.revoked));
            const base::FlagWord revoked = word.load(std::memory_order_relaxed);
            if (base::tick_of(revoked) == team->setup.first_tick)
                return give_up(revocation(team->setup.id, base::hash_of(revoked)), team.get());
        }
        return true;
    }

    /// Notifies all ranks that may wait for this rank that it has failed in a call of the team.
    void spread_failure(const TeamState& team, Epoch epoch, PastCall call) {
        const Inquiry inquiry = make_inquiry(team, epoch, call, job_rank_);
        spread_verdict(team.failure, inquiry, team, call.program);
    }

  private:
    /// Returns now_ns + ns, limited to the largest value.
    [[nodiscard]] static std::uint64_t later(std::uint64_t now_ns, std::uint64_t ns) {
        return now_ns + std::min(ns, ~now_ns);
    }

    /// Reports the lanes of a wait, or only the time if the lines are equal to the last report's.
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
        affected_team_ = team;
        affected_rank_ = -1;
        return false;
    }

    void inquire(const WaitingLane& lane) {
        if (lane.peer < 0 || lane.waits_locally || lane.team == nullptr) return;
        inquire(lane, lane.peer);
        // Any member may have raised the signal of another call, because calls assign cells to
        // members differently. So send inquiries to other members, too, round robin.
        const Rank members = lane.team->size();
        const Rank inquiries = has_other_signal(lane) ? std::min(members, kInquiriesMax) : 1;
        for (Rank i = 0; i < inquiries; ++i) {
            last_inquired_ = last_inquired_ + 1 < members ? last_inquired_ + 1 : 0;
            if (last_inquired_ != lane.peer && last_inquired_ != lane.team->setup.rank)
                inquire(lane, last_inquired_);
        }
    }
    void inquire(const WaitingLane& lane, Rank peer) {
        Inquiry inquiry =
            make_inquiry(*lane.team, lane.epoch, {lane.program, lane.digest}, job_rank_);
        add_pair(inquiry, *lane.program, peer);
        send(inquiry, lane.team->setup.job_ranks[peer]);
    }

    /// Compares an inquiry with this rank's call, or accepts a verdict. Returns false on failure.
    bool handle(const Inquiry& inquiry, const Teams& teams) {
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

    /// Returns a text about the difference between two ranks' calls, or an empty text.
    [[nodiscard]] std::string compare(const Inquiry& theirs, const TeamState& team,
                                      PastCall called) const {
        if (called.program == nullptr) return "";
        Inquiry mine = make_inquiry(team, theirs.epoch, called, job_rank_);
        const Epoch number = team.number_for_user(theirs.epoch);
        const Epoch before = team.number_for_user(theirs.epoch - 1);
        if (called.digest != theirs.digest) return disagreement_text(theirs, mine, number, before);
        const Rank inquirer = member_of(team, theirs.rank);
        if (inquirer < 0) return "";
        add_pair(mine, *called.program, inquirer);
        return pair_disagreement_text(theirs, mine, number);
    }

    /// Answers an inquiry about a team that has failed on this rank.
    void resend_verdict(Inquiry inquiry, const TeamState& team) {
        const Rank inquirer = inquiry.rank;
        if (inquiry.call_hash == Inquiry::kVerdict || member_of(team, inquirer) < 0) return;
        make_verdict(inquiry, team.failure);
        send(inquiry, inquirer);
    }

    /// Returns the status in a verdict. Different calls are errors of arguments.
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

    /// Sends the verdict to the sender of the inquiry and to all ranks that may wait for this rank.
    void spread_verdict(const base::Failure& why, Inquiry verdict, const TeamState& team,
                        const BoundProgram* mine) {
        const Rank inquirer = verdict.rank;
        make_verdict(verdict, why);
        const std::uint64_t deadline = base::monotonic_ns() + kSpreadNs;
        static_cast<void>(finish_sending(deadline));
        wait_until_sent(deadline);
        outgoing_ = verdict;  // one source for the puts to all peers
        if (inquirer != job_rank_ && member_of(team, inquirer) >= 0)
            start_sending(inquirer, deadline);
        for (const Rank rank : ranks_that_may_wait(team, mine)) {
            const Rank peer = team.setup.job_ranks[rank];
            if (peer != inquirer) start_sending(peer, deadline);
        }
        wait_until_sent(deadline);
    }

    /// Sends an inquiry, unless the previous one takes more than 10 ms: inquiries are repeated.
    void send(const Inquiry& inquiry, Rank peer) {
        const std::uint64_t deadline = base::monotonic_ns() + kSpreadNs / 100;
        if (!finish_sending(deadline)) return;
        wait_until_sent(deadline);
        if (pending_ != 0) return;
        outgoing_ = inquiry;
        start_sending(peer, deadline);
    }

    void start_sending(Rank peer, std::uint64_t deadline_ns) {
        if (sending_) return;  // the previous put is only partly posted and cannot be replaced
        outgoing_peer_ = peer;
        ++sent_;
        resume_ = 0;
        sending_ = true;
        static_cast<void>(finish_sending(deadline_ns));
    }

    /// Posts the current inquiry completely. Returns false if the deadline passes before.
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
    std::uint64_t broken_since_ns_ = 0;  ///< first check that found the wire failed; 0: none
    base::Failure failure_;
    const TeamState* affected_team_ = nullptr;  ///< the failed team, unless nullptr
    Rank affected_rank_ = -1;  ///< rank whose teams have failed; -1: one team, or all teams
    Deaths deaths_;
    std::uint64_t next_deaths_ns_ = 0;               ///< time of the next check for deaths
    base::FlagWord seen_[Mailboxes::kEntries] = {};  ///< last flag of each mailbox
    Inquiry outgoing_;                               ///< the last inquiry or verdict
    Rank outgoing_peer_ = 0;
    Rank last_inquired_ = 0;     ///< last member that got a round-robin inquiry
    bool sending_ = false;       ///< outgoing_ is not completely posted
    std::uint64_t resume_ = 0;   ///< the wire's state while sending_
    std::uint32_t pending_ = 0;  ///< transfers that still read outgoing_
    base::Tick sent_ = 0;        ///< number of inquiries sent; tick of the last flag
};

}  // namespace weft::run
