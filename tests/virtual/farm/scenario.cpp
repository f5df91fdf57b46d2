// SPDX-License-Identifier: BSD-3-Clause
#include "tests/virtual/farm/scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "collectives/collective_traits.hpp"
#include "collectives/registry.hpp"
#include "run/bind/bind.hpp"
#include "tests/support/draw_calls.hpp"

namespace weft::farm {

namespace {

using base::Random;
using Kind = Act::Kind;

constexpr std::uint64_t kBankBytes = 32768;  ///< bytes of each bulk bank

plan::Layout layout_of(const Scenario& scenario, const TeamSketch& team) {
    std::vector<Rank> node_of;
    for (const Rank rank : team.members)
        node_of.push_back(scenario.nodes[static_cast<std::size_t>(rank)]);
    return plan::Layout::of(node_of);
}

/// Returns true if the programs fit into the banks. Assumes that the team has all necessary cells.
bool fits(const TeamSketch& team, const CallSketch& call,
          const std::vector<plan::Program>& programs) {
    const std::uint32_t bytes = test::element_bytes(call.plan.algebra);
    base::RegionShape shape = team.shape;
    shape.cells = programs.front().slots * programs.front().depth + 1;
    return std::ranges::all_of(programs, [&](const plan::Program& program) {
        return run::bind(program, {.elements = call.plan.elements,
                                   .element_bytes = bytes,
                                   .call_hash = 1,
                                   .shape = shape})
            .ok();
    });
}

/// Draws an algorithm of the collective.
std::string draw_spec(Random& random, std::string_view collective, Rank size) {
    if (collective == "allreduce" && random.chance(1, 4)) return fmt::format("a{}", size);
    const std::vector<std::string> specs = collectives::specs_to_try(collective);
    return specs[random.below(specs.size())];
}

/// Draws a call of this collective, or of any if `collective` is empty. The algorithm may not serve
/// the call.
CallSketch draw_call(Random& random, std::string_view collective, const Scenario& scenario,
                     const TeamSketch& team) {
    constexpr std::uint64_t kElements[] = {0, 1, 2, 3, 9, 40};
    const auto size = static_cast<Rank>(team.members.size());
    if (collective.empty()) {
        const auto all = collectives::collectives();
        collective = all[random.below(all.size())];
    }
    CallSketch call;
    call.plan.collective = collective;
    call.plan.algorithm = draw_spec(random, collective, size);
    call.plan.algebra = random.chance(1, 3) ? test::Algebra::affine : test::Algebra::sum64;
    if (random.chance(1, 6))
        call.plan.algebra = test::kTypedAlgebras[random.below(std::size(test::kTypedAlgebras))];
    call.plan.localized = random.chance(3, 4);
    call.plan.fuse = !scenario.watched && random.chance(1, 2);
    if (collectives::is_rooted(collective))
        call.plan.root = static_cast<Rank>(random.below(static_cast<std::uint64_t>(size)));
    if (collective == "barrier") return call;
    call.plan.elements = kElements[random.below(std::size(kElements))];
    // More than eight segments use copies of slots several times (plan/schedule/program.hpp).
    if (random.chance(1, 3)) call.plan.segments = 2 + static_cast<std::uint32_t>(random.below(20));
    const bool has_blocks = collective == "allgather" || collective == "reduce_scatter";
    if (has_blocks && random.chance(1, 3)) {
        call.plan.elements = 0;
        for (Rank rank = 0; rank < size; ++rank)
            call.plan.elements += call.counts.emplace_back(random.below(9) * random.below(2));
        if (call.plan.elements == 0) call.plan.elements = call.counts.front() = 5;
        return call;
    }
    call.plan.elements =
        collectives::contract(collective).vector_elements(size, call.plan.elements);
    return call;
}

/// Draws a call that the algorithm serves and that fits into the banks. Raises `cells` to the
/// number of cells that the call needs.
CallSketch draw_valid_call(Random& random, std::string_view collective, const Scenario& scenario,
                           const TeamSketch& team, std::uint32_t& cells) {
    while (true) {
        CallSketch call = draw_call(random, collective, scenario, team);
        const auto programs = programs_of(scenario, team, call);
        if (programs.empty() || !fits(team, call, programs)) continue;
        cells = std::max(cells, programs.front().slots * programs.front().depth);
        return call;
    }
}

/// Draws a tick shortly before the 28 tick bits of a word's tag wrap, or one of draw_first_tick().
base::Tick draw_tick(Random& random) {
    constexpr base::Tick kTagTicks = base::Tick{1} << 28;
    return random.chance(1, 3) ? kTagTicks - random.below(60) : test::draw_first_tick(random);
}

/// Draws a number of earlier requests: 0, or shortly before the 28 bits of a tag wrap.
std::uint64_t draw_requests(Random random) {
    constexpr std::uint64_t kTagNumbers = std::uint64_t{1} << 28;
    return random.chance(1, 3) ? kTagNumbers - random.below(60) : 0;
}

/// Faults that need 4 banks and the bank watch.
bool is_bank_fault(Fault fault) {
    return fault == Fault::late_barrier || fault == Fault::count_only || fault == Fault::one_bank ||
           fault == Fault::one_small_bank || fault == Fault::false_synchronizing;
}
/// Faults of one-sided calls, which need a fabric.
bool is_request_fault(Fault fault) {
    return fault >= Fault::no_fence;
}
/// Faults that need later teams.
bool is_team_fault(Fault fault) {
    return fault == Fault::shared_region || fault == Fault::ticks_again ||
           fault == Fault::early_free;
}

/// Adds a team; the first one has all ranks.
void draw_team(Random& random, Scenario& scenario, bool from_start) {
    TeamSketch team;
    const Rank size = scenario.size();
    team.members = test::draw_members(random, size);
    if (scenario.teams.empty()) {
        team.members.clear();
        for (Rank rank = 0; rank < size; ++rank) team.members.push_back(rank);
    }
    team.from_start = from_start;
    team.shape = test::draw_shape(random);
    team.shape.bulk_bytes = kBankBytes;
    for (const TeamSketch& other : scenario.teams)
        if (!from_start && !other.from_start) team.shape = other.shape;  // they share a region
    if (is_bank_fault(scenario.fault)) {
        team.shape.banks = 4;
        if (scenario.fault == Fault::one_small_bank) {
            team.shape.banks = 128;
            team.shape.small = {{{.banks = 4, .bytes = 1024}}};
        }
    }
    team.first_tick = draw_tick(random);
    team.late_epochs = !scenario.watched && random.chance(1, 3);
    std::uint32_t cells = 4 * static_cast<std::uint32_t>(team.members.size());  // of an exchange
    team.calls.push_back(draw_valid_call(random, "barrier", scenario, team, cells));
    team.calls.front().plan.algorithm = "dissemination";
    // A fault of banks needs calls that do not synchronize; a forgotten failure needs a reduction.
    const bool needs_broadcasts = is_bank_fault(scenario.fault);
    const bool needs_reduction = scenario.fault == Fault::forgotten_failure;
    for (int i = 0; i < 6; ++i)
        team.calls.push_back(draw_valid_call(random,
                                             needs_broadcasts && i > 0   ? "broadcast"
                                             : needs_reduction && i == 0 ? "allreduce"
                                                                         : "",
                                             scenario, team, cells));
    if (scenario.fault == Fault::false_synchronizing) {
        for (CallSketch& call : team.calls) {
            const bool without_data = call.plan.elements == 0 && call.plan.collective != "barrier";
            call.plan.falsely_synchronizing = without_data;
        }
    }
    for (TeamSketch& other : scenario.teams)
        if (!from_start && !other.from_start)
            cells = other.shape.cells = std::max(cells, other.shape.cells);
    team.shape.cells = from_start ? cells + 16 : cells;
    scenario.teams.push_back(std::move(team));
}

/// Draws nodes and network, as the planted fault requires.
void draw_network(Random& random, Scenario& scenario) {
    const Fault fault = scenario.fault;
    const auto size = static_cast<Rank>(2 + random.below(7));
    scenario.nodes = test::draw_layout(random, size);
    const bool one_per_node = fault != Fault::none && !is_team_fault(fault);
    if (one_per_node || random.chance(1, 4))
        for (Rank rank = 0; rank < size; ++rank)
            scenario.nodes[static_cast<std::size_t>(rank)] = rank;
    scenario.fabric = fault == Fault::none
                          ? random.chance(1, 2)
                          : is_request_fault(fault) || fault == Fault::ignored_arrivals;
    scenario.watched = is_bank_fault(fault) || (!scenario.fabric && random.chance(1, 2));
    test::FabricSetting (*const settings[])() = {test::counted_setting, test::delivered_setting,
                                                 test::ordered_setting, test::ordered_cells_setting,
                                                 test::signals_setting, test::counted_torn_setting};
    scenario.setting = settings[random.below(std::size(settings))]();
    if (fault == Fault::ignored_arrivals) scenario.setting = test::delivered_setting();
    if (fault == Fault::no_fence || fault == Fault::early_immediates)
        scenario.setting = test::counted_setting();
    if (fault == Fault::early_immediates) scenario.setting.conduct.keeps_immediates = false;
    if (fault == Fault::early_delivery) {
        scenario.setting = test::delivered_setting();
        scenario.setting.conduct.keeps_delivery = false;
    }
    if (fault == Fault::overtaking) {
        scenario.setting = test::ordered_setting();
        scenario.setting.conduct.keeps_order = false;
        scenario.setting.conduct.keeps_words = true;
    }
    if (fault == Fault::torn_words) {
        scenario.setting = test::counted_setting();
        scenario.setting.notify.small = link::Notify::cells;
        scenario.setting.conduct.keeps_words = false;
    }
    scenario.setting.conduct = test::harden(scenario.setting.conduct, random);
    scenario.profile = test::draw_profile(random);
}

/// Draws a one-sided act between two different ranks.
Act draw_one_sided(Random& random, const Scenario& scenario) {
    constexpr Kind kKinds[] = {Kind::put,    Kind::put,    Kind::put,  Kind::signal,
                               Kind::signal, Kind::signal, Kind::get,  Kind::add,
                               Kind::fence,  Kind::fence,  Kind::quiet};
    const auto size = static_cast<std::uint64_t>(scenario.size());
    Act act{.kind = kKinds[random.below(std::size(kKinds))]};
    act.rank = static_cast<Rank>(random.below(size));
    act.peer = static_cast<Rank>(
        (static_cast<std::uint64_t>(act.rank) + 1 + random.below(size - 1)) % size);
    act.first = static_cast<std::uint32_t>(random.below(kBlockWords));
    act.words = 1 + static_cast<std::uint32_t>(random.below(kBlockWords - act.first));
    act.form = random.chance(1, 2) ? Form::blocking : Form::started;
    return act;
}

/// Draws an act that is not a failure.
Act draw_act(Random& random, const Scenario& scenario) {
    const bool needs_one_sided = is_request_fault(scenario.fault);
    if (scenario.fabric && random.chance(needs_one_sided ? 3 : 1, 4))
        return draw_one_sided(random, scenario);
    Act act{.kind = Kind::collective};
    act.team = static_cast<std::uint32_t>(random.below(scenario.teams.size()));
    const TeamSketch& team = scenario.teams[act.team];
    // 0: make a team, 1: free it, 2: an exchange, else: a collective call.
    const std::uint64_t kind = random.below(is_team_fault(scenario.fault) ? 6 : 20);
    if (!team.from_start && kind < 2) {
        act.kind = kind == 0 ? Kind::make_team : Kind::free_team;
        return act;
    }
    if (team.from_start && kind == 2 && !is_bank_fault(scenario.fault)) {
        act.kind = Kind::exchange;
        act.seed = random();
    }
    act.call = static_cast<std::uint32_t>(random.below(team.calls.size()));
    act.form = static_cast<Form>(random.below(3));
    return act;
}

}  // namespace

std::vector<plan::Program> programs_of(const Scenario& scenario, const TeamSketch& team,
                                       const CallSketch& call) {
    const auto spec = collectives::parse_spec(call.plan.algorithm);
    WEFT_CHECK(spec.ok(), call.plan.algorithm);
    collectives::GenerateRequest request{.size = static_cast<int>(team.members.size()),
                                         .root = call.plan.root,
                                         .segments = call.plan.segments,
                                         .elements = call.plan.elements,
                                         .element_bytes = test::element_bytes(call.plan.algebra),
                                         .ordered = call.plan.algebra == test::Algebra::affine,
                                         .layout = layout_of(scenario, team),
                                         .counts = call.counts};
    const auto algorithm = collectives::find_algorithm(call.plan.collective, *spec);
    if (!algorithm) return {};
    const collectives::Properties properties = (*algorithm)->properties_of(*spec);
    if (!properties.fit(request.layout) || (request.ordered && !properties.ordered)) return {};
    std::vector<plan::Program> programs;
    for (; request.rank < request.size; ++request.rank) {
        auto program = collectives::generate(call.plan.collective, *spec, request);
        if (!program) return {};
        programs.push_back(*std::move(program));
    }
    return programs;
}

Scenario draw_scenario(std::uint64_t seed, Fault fault, std::size_t acts) {
    Random random = Random(seed).stream(31);
    Scenario scenario{.seed = seed, .fault = fault};
    draw_network(random, scenario);
    scenario.requests = draw_requests(Random(seed).stream(32));
    const std::uint64_t initial_teams = 1 + random.below(is_bank_fault(fault) ? 1 : 3);
    for (std::uint64_t i = 0; i < initial_teams; ++i)
        draw_team(random, scenario, /*from_start=*/true);
    const std::uint64_t later_teams = is_team_fault(fault) ? 2 : random.below(3);
    for (std::uint64_t i = 0; i < later_teams; ++i)
        draw_team(random, scenario, /*from_start=*/false);
    while (scenario.acts.size() < acts) scenario.acts.push_back(draw_act(random, scenario));
    if (fault != Fault::none && fault != Fault::forgotten_failure) return scenario;
    constexpr Kind kFailureKinds[] = {Kind::disagree, Kind::kill, Kind::throws};
    // Index into kFailureKinds; larger numbers mean no failure.
    const std::uint64_t failure_kind = fault == Fault::forgotten_failure ? 2 : random.below(8);
    scenario.inquires = failure_kind == 0 || failure_kind == 2 || random.chance(1, 8);
    if (failure_kind >= std::size(kFailureKinds)) return scenario;
    Act act{.kind = kFailureKinds[failure_kind]};
    act.team = static_cast<std::uint32_t>(random.below(initial_teams));
    const TeamSketch& team = scenario.teams[act.team];
    act.call = static_cast<std::uint32_t>(random.below(team.calls.size()));
    act.instead = static_cast<std::uint32_t>((act.call + 1) % team.calls.size());
    act.rank = team.members[random.below(team.members.size())];
    if (act.kind != Kind::kill) scenario.watched = false;
    const auto at = static_cast<std::ptrdiff_t>(random.below(scenario.acts.size() + 1));
    if (act.kind == Kind::throws) {
        const auto found = std::ranges::find_if(team.calls, [](const CallSketch& call) {
            return call.plan.elements > 0 &&
                   collectives::find_collective(call.plan.collective)->reduces();
        });
        if (found == team.calls.end()) return scenario;
        act.call = static_cast<std::uint32_t>(found - team.calls.begin());
        // A barrier follows the call; no rank may complete this barrier.
        scenario.acts.insert(scenario.acts.begin() + at, Act{.team = act.team});
    }
    scenario.acts.insert(scenario.acts.begin() + at, act);
    return scenario;
}

// --- text ----------------------------------------------------------------------------------------

namespace {

const char* name_of(Form form) {
    constexpr const char* kNames[] = {"blocking", "started", "persistent"};
    return kNames[static_cast<std::size_t>(form)];
}

std::string to_text(const CallSketch& call) {
    const test::CallPlan& plan = call.plan;
    std::string text = fmt::format("{} {}", plan.collective, plan.algorithm);
    if (plan.collective == "barrier") return text;
    text += fmt::format(" of {} elements of {} bytes", plan.elements,
                        test::element_bytes(plan.algebra));
    if (!call.counts.empty()) text += fmt::format(" in blocks of {}", fmt::join(call.counts, " "));
    if (plan.segments > 1) text += fmt::format(" in {} segments", plan.segments);
    if (plan.root != plan::kNoRank) text += fmt::format(", root {}", plan.root);
    return text;
}

}  // namespace

std::string to_text(const Scenario& scenario, const Act& act) {
    const TeamSketch& team = scenario.teams[act.team];
    const std::string of_team =
        fmt::format("team {} (ranks {})", act.team, fmt::join(team.members, " "));
    const auto one_sided = [&](const char* call) {
        return fmt::format("rank {}: {} rank {}", act.rank, call, act.peer);
    };
    switch (act.kind) {
        case Kind::collective:
            return fmt::format("{}: {}, {}", of_team, to_text(team.calls[act.call]),
                               name_of(act.form));
        case Kind::exchange:
            return fmt::format("{}: exchange with counts of seed {}, {}", of_team, act.seed,
                               name_of(act.form));
        case Kind::make_team:
            return fmt::format("{} is made", of_team);
        case Kind::free_team:
            return fmt::format("{} is freed", of_team);
        case Kind::put:
            return fmt::format("{}, {} words from {} on, {}", one_sided("put to"), act.words,
                               act.first, name_of(act.form));
        case Kind::signal:
            return one_sided("put with signal to");
        case Kind::get:
            return fmt::format("{}, {} words from {} on", one_sided("get from"), act.words,
                               act.first);
        case Kind::add:
            return one_sided("add to a counter of");
        case Kind::fence:
            return fmt::format("rank {}: fence", act.rank);
        case Kind::quiet:
            return fmt::format("rank {}: quiet", act.rank);
        case Kind::disagree:
            return fmt::format("{}: {}, but rank {} calls {}", of_team,
                               to_text(team.calls[act.call]), act.rank,
                               to_text(team.calls[act.instead]));
        case Kind::throws:
            return fmt::format("{}: {}, and the reduction of rank {} throws", of_team,
                               to_text(team.calls[act.call]), act.rank);
        case Kind::kill:
            return fmt::format("rank {} dies", act.rank);
    }
    return {};
}

std::string to_text(const Scenario& scenario) {
    return fmt::format("{} ranks on nodes {}, {}", scenario.size(), fmt::join(scenario.nodes, " "),
                       scenario.fabric ? "over a fabric" : "over the virtual network");
}

}  // namespace weft::farm
