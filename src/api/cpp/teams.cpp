// SPDX-License-Identifier: BSD-3-Clause
// teams.cpp - user operations and teams of the C++ interface, and memory of teams.
#include <fmt/ranges.h>

#include <cstring>

#include "api/cpp/links.hpp"
#include "base/suggestion.hpp"
#include "collectives/collective_traits.hpp"

namespace weft {

using detail::succeed;
using detail::team_for_call;
using detail::team_of;

namespace detail {

std::shared_ptr<TeamLink> link_to(run::Team& team, const std::shared_ptr<RuntimeLink>& runtime) {
    auto link = std::make_shared<TeamLink>(TeamLink{&team, runtime->runtime, runtime});
    const std::scoped_lock lock(runtime->mutex);
    runtime->teams.push_back(link);
    return link;
}

void empty_links(TeamLink& link) noexcept {
    const run::Team* const team = link.team;  // copies, because `link` is emptied, too
    const auto runtime = link.runtime;
    const std::scoped_lock lock(runtime->mutex);
    std::erase_if(runtime->teams, [&](const auto& other) {
        if (other->team != team) return false;
        other->team = nullptr;
        return true;
    });
}

/// Throws an Error if the handle is a context, which ends with its team, or the world, which ends
/// with the runtime.
static void check_end(const TeamLink& link, const char* call) {
    if (link.stream != nullptr)
        throw Error(Status::argument,
                    fmt::format("{}: the handle is a context, which ends with its team", call));
    if (link.team->id() == 0)
        throw Error(Status::argument,
                    fmt::format("{}: the world team ends with the runtime", call));
}

}  // namespace detail

namespace {

Collective collective_named(std::string_view name) {
    if (const auto* const traits = collectives::find_collective(name)) return traits->collective;
    throw Error(Status::argument,
                fmt::format("no collective \"{}\", expected one of: {}{}", name,
                            fmt::join(collectives::kCollectiveNames, " "),
                            base::did_you_mean(name, collectives::kCollectiveNames)));
}

}  // namespace

// --- user operations -----------------------------------------------------------------------------

UserOp::UserOp(UserFunction function, void* argument, std::size_t element_bytes, bool commutative)
    : held_(std::make_shared<const run::UserOperation>(
          run::UserOperation{.function = function,
                             .argument = argument,
                             .commutative = commutative,
                             .element_bytes = element_bytes})) {
    if (function == nullptr) throw Error(Status::argument, "UserOp: function is null");
    if (element_bytes == 0)
        throw Error(Status::argument, "UserOp: element_bytes is 0, expected 1 or more");
}

// --- teams ---------------------------------------------------------------------------------------

Rank Team::rank() const {
    return team_of(link_).rank();
}
Rank Team::size() const {
    return team_of(link_).size();
}

void Team::run(const Call& call) {
    run::Team& team = team_for_call(link_);
    const run::Team::LastCall* const last = team.repeated(call);
    const base::Failure* const failure = last != nullptr ? team.run(*last) : team.run(call);
    if (failure != nullptr) [[unlikely]]
        detail::raise(*failure);
}

std::optional<Team> Team::split(int color, int key) {
    run::Team& parent = team_for_call(link_);
    run::Team* team = succeed(link_->owner->teams().split(parent, color, key));
    if (team == nullptr) return std::nullopt;
    return Team(detail::link_to(*team, link_->runtime));
}

Team Team::split_by_node() {
    run::Team& parent = team_for_call(link_);
    run::Team* team = succeed(link_->owner->teams().split_node(parent));
    return Team(detail::link_to(*team, link_->runtime));
}

void Team::revoke() {
    succeed(run::revoke(team_for_call(link_)));
}

AgreedWord Team::agree(std::uint64_t word) {
    const run::Ballot agreed = succeed(run::agree(team_for_call(link_), word));
    return {agreed.word, agreed.dead.count()};
}

Team Team::shrink() {
    run::Team& parent = team_for_call(link_);
    run::Team* team = succeed(link_->owner->teams().shrink(parent));
    return Team(detail::link_to(*team, link_->runtime));
}

std::vector<Rank> Team::dead() const {
    return run::dead_members(team_for_call(link_)).members();
}

std::optional<Team> Team::split_strided(Rank start, Rank stride, Rank size) {
    run::Team& parent = team_for_call(link_);
    run::Team* team = succeed(link_->owner->teams().split_strided(parent, start, stride, size));
    if (team == nullptr) return std::nullopt;
    return Team(detail::link_to(*team, link_->runtime));
}

std::pair<Team, Team> Team::split_2d(Rank columns) {
    if (columns < 1)
        throw Error(Status::argument,
                    fmt::format("split_2d: columns is {}, expected 1 or more", columns));
    OwnedTeam row(*split(rank() / columns, rank()));  // dropped if the second split fails
    Team column = *split(rank() % columns, rank());
    return {std::move(row), std::move(column)};
}

Rank Team::translate(Rank rank, const Team& other) const {
    const run::Team& from = team_of(link_);
    const run::Team& to = team_of(other.link_);
    if (link_->owner != other.link_->owner)
        throw Error(Status::argument, "translate: the teams belong to different runtimes");
    detail::check_rank("translate: rank", rank, from.size());
    for (Rank member = 0; member < to.size(); ++member)
        if (to.job_rank(member) == from.job_rank(rank)) return member;
    return -1;
}

void Team::free() {
    run::Team& team = team_for_call(link_);
    detail::check_end(*link_, "free");
    succeed(team.check_idle());
    const auto released = link_->owner->teams().release(team);
    detail::empty_links(*link_);
    succeed(released);
}

void Team::drop() {
    static_cast<void>(team_for_call(link_));  // throws if the team has ended
    detail::check_end(*link_, "drop");
    abandon();
}

void* Team::register_memory(void* memory, std::size_t bytes) {
    run::Team& team = team_for_call(link_);
    return succeed(link_->owner->registered().add(team, memory, bytes));
}
void Team::unregister_memory(const void* name) {
    run::Team& team = team_for_call(link_);
    succeed(link_->owner->registered().remove(team, name));
}
std::size_t Team::registered_bytes(const void* name, Rank peer) const {
    run::Team& team = team_for_call(link_);
    return link_->owner->registered().bytes_of(team, name, peer);
}
void* Team::allocate(std::size_t bytes, std::size_t alignment) {
    run::Team& team = team_for_call(link_);
    return succeed(link_->owner->heap().allocate(team, {bytes, alignment}));
}
void* Team::allocate_zeroed(std::size_t bytes, std::size_t alignment) {
    void* const memory = allocate(bytes, alignment);
    if (bytes != 0) std::memset(memory, 0, bytes);
    barrier();  // no member returns before all memory is cleared
    return memory;
}
void Team::release(void* memory) {
    run::Team& team = team_for_call(link_);
    if (memory == nullptr) return;
    succeed(link_->owner->heap().free(team, memory));
}
void* Team::ptr(const void* symmetric, Rank peer) const {
    run::Team& team = team_for_call(link_);
    detail::check_rank("ptr: peer", peer, team.size());
    return link_->owner->remote(team).address_on(symmetric, peer);
}

void Team::set_algorithm(std::string_view collective, std::string_view spec) {
    succeed(team_for_call(link_).force(collective_named(collective), spec));
}

std::string Team::algorithm_of(std::string_view collective, std::size_t count, Type type) const {
    Call call{.collective = collective_named(collective), .count = count, .type = type, .root = 0};
    const std::vector<std::size_t> counts(static_cast<std::size_t>(size()), count);
    if (collectives::traits_of(call.collective).has_counts())
        call.in_blocks.counts = call.out_blocks.counts = counts;
    return succeed(team_for_call(link_).plans().choose(call))->text;
}

std::vector<PredictedAlgorithm> Team::candidates_of(std::string_view collective, std::size_t count,
                                                    Type type) const {
    const Call call{.collective = collectives::traits_of(collective_named(collective)).even,
                    .count = count,
                    .type = type,
                    .root = 0};
    const plan::Choice choice = succeed(team_for_call(link_).plans().rank_algorithms(call));
    std::vector<PredictedAlgorithm> candidates;
    for (const plan::RankedCandidate& candidate : choice.candidates)
        if (candidate.fulfils)
            candidates.push_back(
                {candidate.algorithm, plan::nanoseconds(candidate.in_stream) * 1e-3});
    return candidates;
}

// --- owning handles ------------------------------------------------------------------------------

OwnedTeam::OwnedTeam(OwnedTeam&& other) noexcept : Team(std::move(other)) {}
OwnedTeam& OwnedTeam::operator=(OwnedTeam&& other) noexcept {
    if (this != &other) {
        abandon();
        Team::operator=(std::move(other));
    }
    return *this;
}
OwnedTeam::~OwnedTeam() {
    abandon();
}

/// Abandons the team, which ends after all members have done so. Ignores contexts, the world, and
/// teams that have ended.
void Team::abandon() noexcept {
    if (base::is_forked_child() || link_ == nullptr || link_->team == nullptr) return;
    if (link_->stream != nullptr || link_->team->id() == 0) return;
    link_->team->departure().abandoned = true;
    detail::empty_links(*link_);
}

Memory::Memory(Team team, std::size_t bytes, std::size_t alignment)
    : team_(std::move(team)), data_(team_.allocate(bytes, alignment)), bytes_(bytes) {}
Memory::Memory(Memory&& other) noexcept {
    *this = std::move(other);
}
Memory& Memory::operator=(Memory&& other) noexcept {
    if (this != &other) {
        abandon();
        team_ = std::move(other.team_);
        data_ = std::exchange(other.data_, nullptr);
        bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
}
Memory::~Memory() {
    abandon();
}

void Memory::free() {
    team_.release(data_);
    data_ = nullptr;
    bytes_ = 0;
}

/// Marks the memory as unused by this rank, unless the team has ended, which has freed the memory.
void Memory::abandon() noexcept {
    if (data_ != nullptr && !base::is_forked_child() && team_.link_->team != nullptr)
        team_.link_->owner->heap().abandon(*team_.link_->team, data_);
    data_ = nullptr;
}

}  // namespace weft
