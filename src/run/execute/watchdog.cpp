// SPDX-License-Identifier: BSD-3-Clause
#include "run/execute/watchdog.hpp"

#include <cstring>
#include <span>

namespace weft::run {

void set_text(Inquiry& inquiry, std::string_view text, std::string_view before) {
    constexpr std::size_t kRoom = sizeof inquiry.text - 2;  // without the two terminators
    text = text.substr(0, before.empty() ? kRoom : kRoom / 2);
    before = before.substr(0, kRoom - text.size());
    char* const end = std::copy(text.begin(), text.end(), inquiry.text);
    *end = '\0';
    *std::copy(before.begin(), before.end(), end + 1) = '\0';
    inquiry.checksum = checksum_of(inquiry);
}

std::string_view text_of(const Inquiry& inquiry) {
    return {inquiry.text, strnlen(inquiry.text, sizeof inquiry.text)};
}

std::string_view text_before(const Inquiry& inquiry) {
    const std::size_t start = std::min(text_of(inquiry).size() + 1, sizeof inquiry.text);
    return {inquiry.text + start, strnlen(inquiry.text + start, sizeof inquiry.text - start)};
}

std::uint32_t checksum_of(const Inquiry& inquiry) {
    Inquiry copy = inquiry;
    copy.checksum = 0;
    std::uint32_t sum = 2166136261U;  // FNV-1a
    for (const std::byte byte : std::as_bytes(std::span(&copy, 1)))
        sum = (sum ^ static_cast<std::uint32_t>(byte)) * 16777619U;
    return sum | 1U;  // never 0, so an entry of zeros is not an inquiry
}

WaitingLane describe_step(const Operation& op, std::size_t step) {
    WaitingLane waiting{.team = op.team,
                        .program = op.program,
                        .epoch = op.epoch,
                        .digest = op.digest,
                        .step = static_cast<std::uint32_t>(step),
                        .peer = -1,
                        .waits_locally = true};
    if (step == op.program->steps.size()) return waiting;
    const BoundStep& at = op.program->steps[step];
    waiting.waits_locally = at.kind != plan::StepKind::wait;
    if (puts_to_peer(at.kind) || !waiting.waits_locally) waiting.peer = at.peer;
    return waiting;
}

void describe_gate(const Operation& op, std::vector<WaitingLane>& lanes) {
    TeamState& team = *op.team;
    const Credits* credits = team.cells->awaited(op.epoch, team.cells->may_start(op.epoch));
    Epoch epoch = op.epoch;
    if (credits == nullptr && op.bulk != nullptr)
        credits = op.bulk->awaited(op.bulk_epoch, may_use_bulk(op));
    if (credits == nullptr) return;
    // If the peer's last completed call differs from this rank's call of that number, describe that
    // call, so that the inquiry detects the disagreement.
    if (credits->mismatched_call() >= 0) epoch = credits->mismatched_call();
    const PastCall call = team.recall(epoch);
    if (call.program == nullptr) return;
    const Rank peer = credits->lagging_rank();
    const Rank job_rank = team.setup.job_ranks[peer];
    lanes.push_back(
        {.team = &team,
         .program = call.program,
         .epoch = epoch,
         .digest = call.digest,
         .peer = peer,
         .want = 1,  // differs from `have`, so the lane counts as waiting
         .text = fmt::format("{} {} epoch {}: waiting for rank {} to complete earlier calls (has "
                             "completed {})",
                             op.program->program.collective, op.program->program.algorithm,
                             op.epoch, job_rank, credits->count_from(peer))});
}

/// Returns the description of a call. For an inserted barrier, describes the user's call after it.
static const std::string& description_of(const TeamState& team, Epoch epoch,
                                         const BoundProgram& program) {
    if (&program != team.setup.barrier) return program.description;
    const BoundProgram* const next = team.recall(epoch + 1).program;
    return next != nullptr ? next->description : program.description;
}

/// Returns a text with the user's number of a call, or an empty one if it equals the epoch.
static std::string user_number_text(const WaitingLane& lane) {
    const TeamState& team = *lane.team;
    if (team.inserted == 0) return "";
    const Epoch number = team.number_for_user(lane.epoch);
    if (lane.program != team.setup.barrier)
        return number == lane.epoch ? ""
                                    : fmt::format("; call {} of team {}", number, team.setup.id);
    return fmt::format("; a barrier before call {} of team {}, {}", number, team.setup.id,
                       description_of(team, lane.epoch, *lane.program));
}

std::string to_text(const WaitingLane& lane, Rank job_rank) {
    if (!lane.text.empty()) return fmt::format("rank {}: {}", job_rank, lane.text);
    const std::string user_number = user_number_text(lane);
    std::string algorithm = lane.program->program.algorithm;
    if (lane.team->setup.id != 0)  // not the world
        algorithm += fmt::format(" of team {}", lane.team->setup.id);
    const std::string text =
        fmt::format("rank {}: {} {} epoch {} step {}: ", job_rank, lane.program->program.collective,
                    algorithm, lane.epoch, lane.step);
    if (lane.peer < 0)
        return text + "waiting for earlier puts of its own to complete" + user_number;
    const Rank peer = lane.team->setup.job_ranks[lane.peer];
    if (lane.waits_locally)
        return text + fmt::format("waiting for room to put to rank {}{}", peer, user_number);
    return text + fmt::format("waiting for rank {} (have {}, want {}){}{}", peer,
                              base::tick_of(lane.have), base::tick_of(lane.want),
                              has_other_signal(lane) ? ", has the signal of another call" : "",
                              user_number);
}

bool has_other_signal(const WaitingLane& lane) {
    return lane.have != lane.want && base::hash_of(lane.have) != 0 &&
           base::tick_distance(base::tick_of(lane.have), base::tick_of(lane.want)) >= 0;
}

bool has_arrival(const std::vector<WaitingLane>& lanes) {
    return std::ranges::any_of(lanes, [](const WaitingLane& lane) {
        return !lane.waits_locally && lane.peer >= 0 && lane.have == lane.want;
    });
}

std::string status_line(const std::vector<WaitingLane>& lanes, Rank job_rank) {
    if (lanes.empty())
        return fmt::format("rank {}: in the application, outside any weft call", job_rank);
    const auto waits_for_peer = [](const WaitingLane& lane) {
        return !lane.waits_locally && lane.peer >= 0 && lane.have != lane.want;
    };
    const auto found = std::ranges::find_if(lanes, waits_for_peer);
    return to_text(found != lanes.end() ? *found : lanes.front(), job_rank);
}

std::string disagreement_text(const Inquiry& theirs, const Inquiry& mine, Epoch number,
                              Epoch before) {
    const bool in_this = theirs.call_hash != mine.call_hash;
    const bool just_before = !in_this && theirs.hash_before != mine.hash_before && theirs.epoch > 0;
    return fmt::format(
        "ranks disagree about {}call {} of team {}: rank {} called {}; rank {} called {}",
        in_this || just_before ? "" : "a call before ", just_before ? before : number, theirs.team,
        mine.rank, just_before ? text_before(mine) : text_of(mine), theirs.rank,
        just_before ? text_before(theirs) : text_of(theirs));
}

std::string pair_disagreement_text(const Inquiry& theirs, const Inquiry& mine, Epoch number) {
    if (theirs.sends == Inquiry::kAny || mine.sends == Inquiry::kAny) return "";
    std::string text;
    const auto add = [&](const Inquiry& from, const Inquiry& to) {
        if (from.sends == to.awaits) return;
        text += fmt::format("{} rank {} sends {} elements to rank {}, which expects {}",
                            text.empty() ? "" : ";", from.rank, from.sends, to.rank, to.awaits);
    };
    add(theirs, mine);
    add(mine, theirs);
    if (text.empty()) return text;
    return fmt::format("ranks disagree about call {} of team {}, {}:{}", number, theirs.team,
                       text_of(mine), text);
}

void add_pair(Inquiry& inquiry, const BoundProgram& program, Rank peer) {
    if (!program.program.pairwise) return;
    const auto pair = std::ranges::find(program.pairs, peer, &PairCounts::peer);
    inquiry.sends = pair == program.pairs.end() ? 0 : pair->sends;
    inquiry.awaits = pair == program.pairs.end() ? 0 : pair->awaits;
    inquiry.checksum = checksum_of(inquiry);
}

Inquiry make_inquiry(const TeamState& team, Epoch epoch, PastCall call, Rank job_rank) {
    Inquiry inquiry;
    inquiry.rank = job_rank;
    inquiry.team = team.setup.id;
    inquiry.team_since = team.setup.first_tick;
    inquiry.epoch = epoch;
    inquiry.digest = call.digest;
    inquiry.call_hash = call.program->call_hash;
    const BoundProgram* before = team.recall(epoch - 1).program;
    if (before != nullptr) inquiry.hash_before = before->call_hash;
    set_text(inquiry, description_of(team, epoch, *call.program),
             before == nullptr ? std::string_view()
                               : std::string_view(description_of(team, epoch - 1, *before)));
    return inquiry;
}

std::vector<Rank> ranks_that_may_wait(const TeamState& team, const BoundProgram* program) {
    constexpr Rank kNotifyAllMax = 64;  // larger teams would take too long to notify
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < team.size(); ++rank) {
        const bool near = team.near(rank) != nullptr;
        if (rank != team.setup.rank && (near || team.size() <= kNotifyAllMax))
            ranks.push_back(rank);
    }
    if (team.size() <= kNotifyAllMax || program == nullptr) return ranks;
    for (const BoundStep& step : program->steps)
        if (puts_to_peer(step.kind) && team.near(step.peer) == nullptr) ranks.push_back(step.peer);
    return ranks;
}

}  // namespace weft::run
