// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/bank_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/schedule/step.hpp"

namespace weft::test {

namespace {

constexpr std::size_t kRecordsMax = 1000;  ///< of violations, and of faults; later ones are dropped

Rank job_rank_of(const run::TeamState& state) {
    return state.setup.job_ranks[static_cast<std::size_t>(state.setup.rank)];
}

const char* name_of(Area area) {
    switch (area) {
        case Area::cell:
            return "cell";
        case Area::published:
            return "published cell";
        case Area::bulk:
            return "bulk slot";
    }
    return "";
}

/// Returns the index (slot number * depth + copy) of the slot at an offset in a bulk bank.
std::uint32_t slot_at(const run::BoundProgram& program, std::uint64_t offset) {
    const std::vector<std::uint64_t>& starts = program.slot_starts;
    if (starts.empty()) return static_cast<std::uint32_t>(offset / program.slot_bytes);
    const auto next = std::ranges::upper_bound(starts, offset);
    const auto number = static_cast<std::uint32_t>(next - starts.begin()) - 1;
    if (number + 1 >= starts.size()) return number * program.depth;
    const std::uint64_t copy_bytes = (starts[number + 1] - starts[number]) / program.depth;
    return number * program.depth +
           static_cast<std::uint32_t>((offset - starts[number]) / copy_bytes);
}

}  // namespace

std::string to_text(const Violation& violation) {
    return fmt::format(
        "team {}: {} {} bank {} of rank {} overwritten by rank {} for epoch {} while rank {} has "
        "not completed epoch {}",
        violation.team, name_of(violation.area), violation.number, violation.bank, violation.owner,
        violation.writer, violation.epoch, violation.reader, violation.unfinished);
}

void BankWatch::record_fault(std::string text) {
    if (faults_.size() < kRecordsMax) faults_.push_back(std::move(text));
}

void BankWatch::add_team(std::vector<const run::TeamState*> states) {
    Team& team = teams_.emplace_back();
    team.issued_calls.resize(states.size());
    team.to_publish.resize(states.size());
    team.states = std::move(states);
}

void BankWatch::record_issue(std::uint32_t team_number, Rank team_rank, const run::Operation& op) {
    Team& team = teams_[team_number];
    const run::BoundProgram& barrier = *team.states[team_rank]->setup.barrier;
    if (op.epoch == team.issued_calls[team_rank] + 1) {  // the engine has inserted a barrier
        const run::Epoch bulk_epoch = op.bulk_epoch >= 0 ? op.bulk_epoch - 1 : -1;
        record(team, team_rank,
               {.epoch = op.epoch - 1,
                .bulk_epoch = bulk_epoch,
                .tick = (op.tick - barrier.segments) & base::kTickMask,
                .program = &barrier});
    }
    record(
        team, team_rank,
        {.epoch = op.epoch, .bulk_epoch = op.bulk_epoch, .tick = op.tick, .program = op.program});
}

/// Records the epochs and the tick of a call when the first rank issues it. Later ranks must use
/// the same numbers.
void BankWatch::record(Team& team, Rank team_rank, const Call& call) {
    const run::BoundProgram& program = *call.program;
    const run::Epoch expected = team.issued_calls[team_rank]++;
    if (call.epoch != expected) {
        record_fault(fmt::format("rank {} numbers its call {} as epoch {}",
                                 job_rank_of(*team.states[team_rank]), expected, call.epoch));
        return;
    }
    if (call.epoch == static_cast<run::Epoch>(team.calls.size())) {
        team.calls.push_back(call);
        team.epoch_of_tick.insert(team.epoch_of_tick.end(), program.segments, call.epoch);
    }
    const Call& known = team.calls[static_cast<std::size_t>(call.epoch)];
    if (known.bulk_epoch != call.bulk_epoch || known.tick != call.tick ||
        known.program->segments != program.segments || known.program->bulk != program.bulk ||
        known.program->bulk_class != program.bulk_class ||
        known.program->program.collective != program.program.collective)
        record_fault(
            fmt::format("rank {} numbers epoch {} differently: bulk epoch {} instead of {}, tick "
                        "{} instead of {}",
                        job_rank_of(*team.states[team_rank]), call.epoch, call.bulk_epoch,
                        known.bulk_epoch, call.tick, known.tick));
    for (const run::BoundStep& step : program.steps) {
        if (step.kind != plan::StepKind::publish) continue;
        for (std::uint32_t segment = 0; segment < program.segments; ++segment)
            team.to_publish[team_rank].push_back(
                {call.epoch, call.bulk_epoch, step.number * program.depth + segment % program.depth,
                 (call.tick + segment) & base::kTickMask, &program});
    }
}

BankWatch::Team* BankWatch::team_at(std::uint64_t offset) {
    const auto found = std::ranges::find_if(teams_, [&](const Team& team) {
        const run::TeamSetup& setup = team.states.front()->setup;
        return offset >= setup.region && offset < setup.region + setup.shape.bytes();
    });
    return found == teams_.end() ? nullptr : &*found;
}

const BankWatch::Call* BankWatch::call_of(const Team& team, base::FlagWord flag) {
    const base::Tick first = team.states.front()->setup.first_tick;
    const std::int64_t at = base::tick_distance(base::tick_of(flag), first);
    if (at < 0 || at >= static_cast<std::int64_t>(team.epoch_of_tick.size())) return nullptr;
    return &team.calls[static_cast<std::size_t>(team.epoch_of_tick[static_cast<std::size_t>(at)])];
}

std::optional<CellPlace> BankWatch::place_of(std::uint64_t cell_offset, base::FlagWord flag) const {
    const Team* team = team_at(cell_offset);
    const Call* call = team == nullptr ? nullptr : call_of(*team, flag);
    if (call == nullptr) return std::nullopt;
    const run::TeamSetup& setup = team->states.front()->setup;
    const std::uint64_t cell_index = (cell_offset - setup.region) / base::kCellStride;
    return CellPlace{.team = setup.id,
                     .number = static_cast<std::uint32_t>(cell_index / setup.shape.banks),
                     .bank = static_cast<std::uint32_t>(cell_index % setup.shape.banks),
                     .epoch = call->epoch};
}

void BankWatch::check_write(const DeliveredWrite& write) {
    Team* team = team_at(write.cell);
    if (team == nullptr) return;  // not in a team's region, for example a mailbox
    const run::TeamSetup& setup = team->states.front()->setup;
    const base::RegionShape& shape = setup.shape;
    const Call* call = call_of(*team, write.flag);
    const auto owner = std::ranges::find_if(team->states, [&](const run::TeamState* state) {
        return job_rank_of(*state) == write.target;
    });
    const std::uint64_t cell_index = (write.cell - setup.region) / base::kCellStride;
    if (call == nullptr || owner == team->states.end() ||
        cell_index >= std::uint64_t{shape.cells} * shape.banks ||
        cell_index % shape.banks != (static_cast<std::uint64_t>(call->epoch) & (shape.banks - 1))) {
        record_fault(fmt::format(
            "rank {} writes cell {} of team {} at rank {} for tick {} of no call", write.origin,
            cell_index, setup.id, write.target, base::tick_of(write.flag)));
        return;
    }
    Violation found{.team = setup.id,
                    .writer = write.origin,
                    .owner = write.target,
                    .reader = write.target,
                    .number = static_cast<std::uint32_t>(cell_index / shape.banks),
                    .bank = static_cast<std::uint32_t>(cell_index % shape.banks),
                    .epoch = call->epoch};
    const bool in_cell =
        write.offset >= write.cell && write.offset < write.cell + sizeof(base::Cell);
    if (in_cell) {
        record_if_early(found, *(*owner)->cells, shape.banks);
    } else if (team_at(write.offset) == team && call->bulk_epoch >= 0) {
        const std::size_t number = call->program->bulk_class;
        const auto [banks, bank_bytes] = shape.bulk_class(number);
        const std::uint64_t inside = write.offset - setup.region - shape.start_of_class(number);
        found.area = Area::bulk;
        found.bank = static_cast<std::uint32_t>(inside / bank_bytes);
        found.number = slot_at(*call->program, inside % bank_bytes);
        found.epoch = call->bulk_epoch;
        record_if_early(found, *(*owner)->bulk_of(*call->program), banks);
    }
}

void BankWatch::record_if_early(Violation candidate, const run::Window& window,
                                std::uint32_t banks) {
    for (run::Epoch earlier = candidate.epoch - banks; earlier >= window.first_incomplete();
         earlier -= banks) {
        if (window.is_complete(earlier)) continue;
        candidate.unfinished = earlier;
        if (violations_.size() < kRecordsMax) violations_.push_back(candidate);
        return;
    }
}

void BankWatch::check_published(const run::TeamState& owner, const Publication& publication,
                                const run::TeamState& reader) {
    const base::RegionShape& shape = owner.setup.shape;
    Violation found{.team = owner.setup.id,
                    .writer = job_rank_of(owner),
                    .owner = job_rank_of(owner),
                    .reader = job_rank_of(reader),
                    .area = Area::published,
                    .number = publication.number,
                    .bank = owner.cell_bank(publication.epoch),
                    .epoch = publication.epoch};
    record_if_early(found, *reader.cells, shape.banks);
    if (publication.program->published_start == 0) return;
    const std::uint32_t banks = shape.bulk_class(publication.program->bulk_class).banks;
    const run::Window& window = *reader.bulk_of(*publication.program);
    found.area = Area::bulk;
    found.bank = window.bank(publication.bulk_epoch) & (banks - 1);
    found.epoch = publication.bulk_epoch;
    record_if_early(found, window, banks);
}

void BankWatch::check_publications(Rank job_rank) {
    for (Team& team : teams_) {
        for (std::size_t rank = 0; rank < team.states.size(); ++rank) {
            const run::TeamState& state = *team.states[rank];
            if (job_rank_of(state) != job_rank) continue;
            std::erase_if(team.to_publish[rank], [&](const Publication& publication) {
                const std::uint32_t bank = state.cell_bank(publication.epoch);
                const base::Cell* cell =
                    state.published(static_cast<Rank>(rank), bank, publication.number);
                const base::FlagWord flag = cell->flag.load(std::memory_order_relaxed);
                // A flag's hash is 0 only in a cell that was never written.
                if (base::hash_of(flag) == 0 || base::tick_of(flag) != publication.tick)
                    return state.cells->is_complete(publication.epoch);
                for (const run::TeamState* reader : team.states)
                    if (state.near(reader->setup.rank) != nullptr)
                        check_published(state, publication, *reader);
                return true;
            });
        }
    }
}

}  // namespace weft::test
