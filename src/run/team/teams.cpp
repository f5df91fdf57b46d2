// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/teams.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "run/job/real_engine.hpp"
#include "run/team/agreement_exchange.hpp"

namespace weft::run {

namespace {

/// Largest team with direct access: a step may need two link::PeerWindows for each member.
constexpr std::size_t kDirectRanksMax = 100;
static_assert(2 * kDirectRanksMax < link::PeerWindows::kWindowsMax);

/// Returns a name such as "team 1 (ranks 0, 2)": teams without common members may have equal ids.
std::string team_name(std::uint32_t id, const std::vector<Rank>& job_ranks) {
    constexpr std::size_t kShown = 4;
    if (job_ranks.size() <= kShown)
        return fmt::format("team {} (ranks {})", id, fmt::join(job_ranks, ", "));
    return fmt::format("team {} ({} ranks from rank {})", id, job_ranks.size(), job_ranks.front());
}

plan::Machine machine_of(const TeamServices& services, const std::vector<Rank>& job_ranks) {
    const Job& job = services.job;
    plan::Machine machine = services.measured.costs.over(machine_over(job.provider));
    machine.host_ranks = job.busiest_host_ranks;
    machine.host_processors = job.busiest_host_processors;
    for (const Rank rank : job_ranks) machine.node_of.push_back(job.node_of_rank[rank]);
    const bool one_node = plan::Layout::of(machine.node_of).nodes() == 1;
    const bool direct = one_node ? job.direct : job.direct_everywhere;
    const link::FabricPort* const port = job.wire->port();
    machine.direct_delivery = port && port->facts().notify.large != link::Notify::counter;
    machine.direct = direct && job_ranks.size() <= kDirectRanksMax;
    machine.bank_bytes = services.layout.shape.bulk_bytes;
    if (services.settings.direct == base::DirectMode::copy)
        machine = plan::with_kernel_copies(std::move(machine));
    return machine;
}

/// Region and first tick that all members of a future team can use.
struct CommonRegion {
    base::Tick first_tick = 1;  ///< maximum of the ticks added so far and the initial one
    std::uint64_t free_regions = ~std::uint64_t{0};  ///< bit mask: free on all members added so far

    void add(std::uint64_t free, base::Tick tick) {
        free_regions &= free;
        if (base::tick_distance(tick, first_tick) > 0) first_tick = tick;
    }
    /// Returns the first free region. At least one must be free.
    [[nodiscard]] std::uint32_t id() const {
        return static_cast<std::uint32_t>(std::countr_zero(free_regions));
    }
};

}  // namespace

/// Data that each member contributes when a team is split.
struct Teams::SplitEntry {
    std::uint64_t color = 0;  ///< color + 1; 0: the member joins no new team
    std::uint64_t key = 0;    ///< the sign bit is inverted, so unsigned order is the order of keys
    std::uint64_t free_regions = 0;  ///< bit mask
    std::uint64_t tick = 0;          ///< tick_bound()
    std::uint64_t abandoned = 0;  ///< bit mask of the ids of teams that this member has abandoned
};

Teams::Teams(const TeamServices& services, SetupLock& setup,
             std::function<void(const Team& team)> at_end)
    : services_(services), setup_(setup), at_end_(std::move(at_end)) {}

void Teams::add_world() {
    std::vector<Rank> ranks(static_cast<std::size_t>(services_.job.bootstrap->size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    add(0, std::move(ranks), 1);
}

/// Adds a team. Its members have agreed on id and first tick.
Team& Teams::add(std::uint32_t id, std::vector<Rank> job_ranks, base::Tick first_tick) {
    const Job& job = services_.job;
    const auto me = std::ranges::find(job_ranks, job.bootstrap->rank());
    PlanContext context{
        .rank = static_cast<Rank>(me - job_ranks.begin()),
        .size = static_cast<Rank>(job_ranks.size()),
        .machine = machine_of(services_, job_ranks),
        .tuning = &services_.measured.tuning,
        .provider = job.provider,
        .preference = {services_.settings.objective, services_.settings.descriptors_max},
        .region = services_.layout.shape,
        .name = team_name(id, job_ranks),
        .log = &services_.log};
    context.layout = plan::Layout::of(context.machine.node_of);
    if (job.node_ranks.size() > 1)
        context.choices =
            NodeChoices(job.wire->near(job.node_ranks.front()) + services_.layout.choices);
    for (const Rank rank : job_ranks) context.near.push_back(job.wire->near(rank) != nullptr);
    used_regions_ |= std::uint64_t{1} << id;
    const bool far = std::ranges::find(context.near, false) != context.near.end();
    // Ranks with equal nodes in their cards may still have failed to map each other's memory.
    if (far && context.layout.nodes() == 1) context.machine.direct = false;
    if (!far) SegmentLayout::keep_near_banks(context.region);
    for (const auto& [offset, bytes] : services_.layout.usual_memory(id)) {
        if (!far) break;
        if (auto done = prepare_memory(services_.engine, *job.wire, offset, bytes); !done)
            job.wire->fail(done.failure().within(context.name));
    }
    return *teams_.emplace_back(std::make_unique<Team>(
        services_, ++serials_, id, std::move(job_ranks), first_tick, std::move(context)));
}

void Teams::remove(Team& team) {
    const std::uint32_t id = team.id();
    retired_tick_ = tick_bound();
    at_end_(team);
    services_.engine.remove_team(team.state());
    if (services_.recorder != nullptr) {  // the addresses of its programs are about to be reused
        const Turn::Hold hold = services_.engine.take_turn();  // another thread may be recording
        services_.recorder->forget_programs();
    }
    std::erase_if(teams_, [&](const auto& held) { return held.get() == &team; });
    used_regions_ &= ~(std::uint64_t{1} << id);
}

base::Result<Team*> Teams::create(std::vector<Rank> job_ranks, const Exchange& exchange) {
    struct Offer {
        std::uint64_t free_regions;
        std::uint64_t tick;
        std::uint64_t members;  ///< hash of the members' ranks
    };
    const SetupLock::Hold setup = setup_.take();
    const std::string_view text(reinterpret_cast<const char*>(job_ranks.data()),
                                job_ranks.size() * sizeof(Rank));
    const Offer mine{free_regions(), tick_bound(), std::hash<std::string_view>{}(text)};
    std::vector<Offer> offers(job_ranks.size());
    if (!exchange(&mine, offers.data(), sizeof mine))
        return base::fail(Status::environment, "the caller's allgather has failed");
    CommonRegion common{.first_tick = mine.tick};
    for (const Offer& offer : offers) {
        if (offer.members != mine.members)
            return base::fail(
                Status::argument,
                "the members of the team pass different lists of members, expected equal lists");
        common.add(offer.free_regions, offer.tick);
    }
    if (common.free_regions == 0)
        return base::fail(Status::memory,
                          "no region is free on all members of the team; each rank can be in {} "
                          "teams at a time",
                          SegmentLayout::kTeams);
    return &add(common.id(), std::move(job_ranks), common.first_tick);
}

base::Result<std::vector<Teams::SplitEntry>> Teams::exchange(Team& parent, const SplitEntry& mine) {
    const auto members = static_cast<std::size_t>(parent.size());
    std::vector<SplitEntry> entries(members);
    entries[parent.rank()] = mine;
    // Each member sets only its own entry, so a bitwise or combines all entries.
    const std::size_t words = members * sizeof(SplitEntry) / sizeof(std::uint64_t);
    if (const base::Failure* const why = parent.run(
            Call::allreduce(entries.data(), entries.data(), words, Type::uint64, Op::bor),
            Purpose::split))
        return *why;
    return entries;
}

Teams::SplitEntry Teams::own_entry(int color, int key) {
    return {.color = color < 0 ? 0 : static_cast<std::uint64_t>(color) + 1,
            .key = static_cast<std::uint32_t>(key) ^ 0x8000'0000U,
            .free_regions = free_regions(),
            .tick = tick_bound()};
}

/// Exchanges the entries of a split. If all members of a team within the parent have abandoned that
/// team, first ends it, so that the entries include its region as free.
base::Result<std::vector<Teams::SplitEntry>> Teams::gather_entries(Team& parent, int color,
                                                                   int key) {
    SplitEntry mine = own_entry(color, key);
    const std::vector<Team*> abandoned = abandoned_within(parent);
    for (const Team* child : abandoned) mine.abandoned |= std::uint64_t{1} << child->id();
    auto entries = exchange(parent, mine);
    if (!entries ||
        std::ranges::all_of(*entries, [](const SplitEntry& entry) { return entry.abandoned == 0; }))
        return entries;
    const std::vector<Rank>& ranks = parent.state().setup.job_ranks;
    for (Team* child : abandoned) {  // in an order that is equal on all members: no cycle of waits
        const auto abandons = [&](Rank member) {
            const auto at = std::ranges::find(ranks, member) - ranks.begin();
            return ((*entries)[at].abandoned >> child->id() & 1) != 0;
        };
        if (std::ranges::all_of(child->state().setup.job_ranks, abandons))
            WEFT_TRY(release(*child));
    }
    return exchange(parent, own_entry(color, key));
}

base::Result<Team*> Teams::split(Team& parent, int color, int key) {
    const SetupLock::Hold setup = setup_.take();
    auto gathered = gather_entries(parent, color, key);
    if (!gathered) return gathered.failure().within("split");
    const std::vector<SplitEntry>& entries = *gathered;
    const SplitEntry& mine = entries[parent.rank()];
    std::map<std::uint64_t, CommonRegion> regions;  // by color
    std::vector<Rank> ranks;
    for (std::size_t r = 0; r < entries.size(); ++r) {
        const SplitEntry& entry = entries[r];
        if (entry.color == 0) continue;
        auto& common = regions.try_emplace(entry.color, CommonRegion{entry.tick}).first->second;
        common.add(entry.free_regions, entry.tick);
        // All members check all new teams, so all fail.
        if (common.free_regions == 0)
            return base::fail(Status::memory,
                              "split: no region is free on all members of the team of color {}; "
                              "each rank can be in {} teams at a time",
                              entry.color - 1, SegmentLayout::kTeams);
        if (entry.color == mine.color) ranks.push_back(static_cast<Rank>(r));
    }
    if (color < 0) return nullptr;
    std::ranges::stable_sort(ranks, {}, [&](Rank r) { return entries[r].key; });
    for (Rank& r : ranks) r = parent.job_rank(r);
    const CommonRegion& common = regions.at(mine.color);
    return &add(common.id(), std::move(ranks), common.first_tick);
}

/// Fails unless the members start, start + stride, ... are `size` different ranks of the team.
static base::Result<void> check_members(const Team& team, Rank start, Rank stride, Rank size) {
    using base::fail;
    if (size < 1) return fail(Status::argument, "size is {}, expected 1 or more", size);
    if (start < 0 || start >= team.size())
        return fail(Status::argument, "start: {} is not a rank of the team, expected 0..{}", start,
                    team.size() - 1);
    if (stride == 0 && size > 1)
        return fail(Status::argument, "stride is 0, expected another value for {} members", size);
    const std::int64_t last = start + std::int64_t{stride} * (size - 1);
    if (last < 0 || last >= team.size())
        return fail(Status::argument,
                    "size: the last member would be {}, which is not a rank of the team, expected "
                    "0..{}",
                    last, team.size() - 1);
    return {};
}

base::Result<Team*> Teams::split_strided(Team& parent, Rank start, Rank stride, Rank size) {
    WEFT_TRY(check_members(parent, start, stride, size));
    for (Rank index = 0; index < size; ++index)
        if (start + index * stride == parent.rank()) return split(parent, 0, index);
    return split(parent, -1, 0);
}

base::Result<Team*> Teams::split_node(Team& parent) {
    return split(parent, services_.job.node_ranks.front(), 0);
}

/// Returns the idle teams within `team` that this rank has abandoned, ordered by id.
std::vector<Team*> Teams::abandoned_within(const Team& team) const {
    const std::vector<Rank>& ranks = team.state().setup.job_ranks;
    const std::set<Rank> members(ranks.begin(), ranks.end());
    std::vector<Team*> within;
    for (const auto& held : teams_) {
        if (held.get() == &team || !held->departure().abandoned || held->failed() ||
            !services_.engine.idle(held->state()))
            continue;
        if (std::ranges::all_of(held->state().setup.job_ranks,
                                [&](Rank rank) { return members.contains(rank); }))
            within.push_back(held.get());
    }
    std::ranges::sort(within, {}, &Team::id);
    return within;
}

/// First completes this rank's puts, which could overwrite data of the next team in the region.
base::Result<void> Teams::release(Team& team) {
    const SetupLock::Hold setup = setup_.take();
    WEFT_TRY(team.check_idle());
    base::Result<void> ended;
    if (!team.failed()) {
        ended = settle(services_.engine, services_.onesided);
        if (ended) ended = team.run_free_barrier();
        if (ended) {
            remove(team);
            return ended;
        }
    }
    leave(team);
    return ended;
}

void Teams::leave(Team& team) {
    const SetupLock::Hold setup = setup_.take();
    team.departure().left = true;
    end_left_teams();
}

/// Ends teams that all members have left. A failed team may have puts in flight that no rank waits
/// for. If the network keeps the order of puts between two ranks, those puts are delivered before
/// the members' notices. Otherwise, the region of the failed team stays reserved.
void Teams::end_left_teams() {
    if (services_.job.wire == nullptr) return;  // finalized: the caller's next step reports it
    const bool keeps_order =
        services_.job.wire->remote().completion == base::RemoteCompletion::ordered;
    std::vector<Team*> ending;
    for (const auto& team : teams_) {
        Departure& departure = team->departure();
        if (departure.abandoned && team->failed()) departure.left = true;
        const bool is_delivered = !team->failed() || team->nodes() == 1 || keeps_order;
        if (departure.left && is_delivered && services_.engine.idle(team->state()))
            ending.push_back(team.get());
    }
    if (ending.empty()) return;
    Turn::Hold hold = services_.engine.take_turn();
    std::erase_if(ending, [&](Team* team) { return !all_have_left(*team); });
    if (hold.owns_lock()) hold.unlock();  // remove() takes the turn itself
    for (Team* team : ending) remove(*team);
}

/// Returns true if no member uses the region: all have left or have died. A leaving rank sets its
/// word at each member to the team's first tick. Puts of a dead rank within its node have ended;
/// its puts to other nodes may still be under way. The caller holds the turn.
bool Teams::all_have_left(Team& team) {
    const TeamSetup& setup = team.state().setup;
    const SegmentLayout& layout = services_.layout;
    if (!std::exchange(team.departure().announced, true)) {
        // Delivers puts to the team's memory before the notices. If it fails, all later calls fail.
        static_cast<void>(services_.onesided.fence());
        const Signal notice{layout.left_word(setup.id, setup.rank), setup.first_tick};
        for (const Rank member : setup.job_ranks)
            services_.onesided.put_signal(member, /*to=*/0, /*from=*/nullptr, /*bytes=*/0, notice,
                                          Return::at_once);
    }
    link::Wire& wire = *services_.job.wire;
    std::byte* const own = wire.near(services_.job.bootstrap->rank());
    for (Rank member = 0; member < team.size(); ++member) {
        // Acquire: pairs with the member's store.
        const std::atomic_ref<std::uint64_t> word(
            *reinterpret_cast<std::uint64_t*>(own + layout.left_word(setup.id, member)));
        const bool left = word.load(std::memory_order_acquire) == setup.first_tick;
        const bool died = services_.engine.deaths().contains(team.job_rank(member));
        if (!left && !(died && team.nodes() == 1)) return false;
    }
    if (team.failed())
        wire.forget_pieces(services_.layout.region(team.id()), services_.layout.region_bytes);
    return true;
}

/// Returns a tick that is not less than the next tick of any team of this rank, current or removed.
base::Tick Teams::tick_bound() const {
    const Turn::Hold hold = services_.engine.take_turn();
    base::Tick bound = retired_tick_;
    for (const auto& team : teams_) {
        const base::Tick next = team->state().next_tick & base::kTickMask;
        for (const base::Tick tick : {next, (team->last_agreement_tick() + 1) & base::kTickMask})
            if (base::tick_distance(tick, bound) > 0) bound = tick;
    }
    return bound;
}

base::Result<Team*> Teams::shrink(Team& parent) {
    const SetupLock::Hold setup = setup_.take();
    const base::Tick first = parent.state().setup.first_tick;
    const std::uint64_t ticks = (tick_bound() - first) & base::kTickMask;
    auto agreed = agree(parent, free_regions(), ticks);
    if (!agreed) return agreed.failure().within("shrink");
    if (agreed->word == 0)
        return base::fail(Status::memory,
                          "shrink: no region is free on all survivors; each rank can be in {} "
                          "teams at a time",
                          SegmentLayout::kTeams);
    std::vector<Rank> ranks;
    for (Rank member = 0; member < parent.size(); ++member)
        if (!agreed->dead.contains(member)) ranks.push_back(parent.job_rank(member));
    return &add(static_cast<std::uint32_t>(std::countr_zero(agreed->word)), std::move(ranks),
                (first + agreed->bound) & base::kTickMask);
}

// --- teams of survivors of deaths ---

static base::Result<void> check_survivable(const TeamServices& services) {
    if (services.settings.on_failure == base::FailureAction::proceed) return {};
    return base::fail(Status::unsupported,
                      "this call needs WEFT_ON_FAILURE=continue, which weft run --keep-going sets");
}

static base::Result<Ballot> agree(Team& team, std::uint64_t word, std::uint64_t bound,
                                  bool is_last) {
    const TeamServices& services = team.services();
    WEFT_TRY(check_survivable(services));
    Ballot vote{word, bound, dead_members(team)};
    RealEngine& engine = services.engine;
    const Turn::Hold hold = engine.take_turn();
    AgreementExchange<RealEngine, link::Wire> exchange(engine, *services.job.wire,
                                                       services.layout.agreements,
                                                       {.team = team.id(),
                                                        .rank = team.rank(),
                                                        .job_ranks = team.state().setup.job_ranks,
                                                        .tick = team.next_agreement()},
                                                       std::move(vote));
    if (!engine.await([&] { return exchange.advance(); }, [&] { return exchange.describe(); }))
        return engine.failure();
    Ballot decision = exchange.decision();
    const auto has_ended = [&] {
        return exchange.all_have_decided() && services.job.wire->in_flight() == 0;
    };
    if (is_last && !engine.await(has_ended, [] {
            return std::string("finalize: waiting for the last messages of all survivors");
        }))
        return engine.failure();
    return decision;
}

/// Also sets a word at each member, because a verdict can be lost: a member reads its mailbox only
/// while it waits, and another message may overwrite the verdict before that.
base::Result<void> revoke(Team& team) {
    const TeamServices& services = team.services();
    WEFT_TRY(check_survivable(services));
    const TeamSetup& setup = team.state().setup;
    const Rank me = team.job_rank(team.rank());
    services.engine.revoke(team.state(), revocation(setup.id, me));
    const Turn::Hold hold = services.engine.take_turn();
    const Signal notice{setup.revoked,
                        base::flag_word(setup.first_tick, static_cast<std::uint16_t>(me))};
    for (const Rank member : setup.job_ranks)
        if (!services.engine.deaths().contains(member))
            services.onesided.put_signal(member, /*to=*/0, /*from=*/nullptr, /*bytes=*/0, notice,
                                         Return::at_once);
    return {};
}

base::Result<Ballot> agree(Team& team, std::uint64_t word, std::uint64_t bound) {
    return agree(team, word, bound, /*is_last=*/false);
}

base::Result<void> agree_at_end(Team& world) {
    static_cast<void>(WEFT_TRY(agree(world, 0, 0, /*is_last=*/true)));
    return {};
}

RankSet dead_members(const Team& team) {
    const Turn::Hold hold = team.services().engine.take_turn();
    return dead_among(team.state().setup.job_ranks, team.services().engine.deaths());
}

}  // namespace weft::run
