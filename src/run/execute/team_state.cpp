// SPDX-License-Identifier: BSD-3-Clause
#include "run/execute/team_state.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

#include "base/check.hpp"

namespace weft::run {

TeamState::TeamState(TeamSetup made_from)
    : setup(std::move(made_from)), next_tick(setup.first_tick & base::kTickMask) {
    constexpr std::size_t kHistoryMin = 256;
    history.resize(std::max<std::size_t>(kHistoryMin, 2 * setup.shape.banks));
    history_mask = history.size() - 1;
    WEFT_CHECK(std::has_single_bit(setup.shape.banks), setup.shape.banks);
    cells = setup.cell_window ? std::move(setup.cell_window)
                              : std::make_unique<Window>(setup.shape.banks);
    for (std::size_t number = 0; number < bulk.size(); ++number) {
        const base::BankClass banks = setup.shape.bulk_class(number);
        if (banks.banks == 0) continue;
        WEFT_CHECK(std::has_single_bit(banks.banks), banks.banks, number);
        std::unique_ptr<Window>& window = setup.bulk_windows[number];
        bulk[number] = {
            .window = window ? std::move(window) : std::make_unique<Window>(banks.banks),
            .start = setup.shape.start_of_class(number),
            .bytes = banks.bytes};
    }
    set_bank_masks();
    unchecked_peers.store(size(), std::memory_order_relaxed);
}

/// Sets the masks for the smaller of window and region: a test's window may have more banks.
void TeamState::set_bank_masks() {
    cell_bank_mask = std::min(cells->banks(), setup.shape.banks) - 1;
    for (std::size_t number = 0; number < bulk.size(); ++number) {
        if (bulk[number].window == nullptr) continue;
        const std::uint32_t banks = setup.shape.bulk_class(number).banks;
        bulk[number].mask = std::min(bulk[number].window->banks(), banks) - 1;
    }
}

void TeamState::share_credits() {
    own_region = near(setup.rank);
    if (std::ranges::find(regions(), nullptr) != regions().end()) return;
    fused_limit = FusedTeams::one_node;
    const auto share = [&](std::unique_ptr<Window>& window, std::uint32_t banks_max, auto word_of,
                           Credits::HashOf hash_of) {
        if (window == nullptr) return;
        if (window->banks() > banks_max && window->next() == 0)
            window = std::make_unique<Window>(banks_max);
        std::vector<Credits::Word*> words;
        for (std::byte* region : regions())
            words.push_back(
                &word_of(*reinterpret_cast<base::CreditLine*>(region + setup.shape.credits())));
        window->use_credits(std::make_unique<Credits>(
            std::move(words), setup.rank, setup.first_tick, window->next(), std::move(hash_of)));
    };
    const auto hash_of = [this](Epoch epoch) {
        const PastCall call = recall(epoch);
        return call.program == nullptr ? std::uint16_t{0} : base::flag_hash(call.digest);
    };
    share(
        cells, kNearBanks, [](base::CreditLine& line) -> Credits::Word& { return line.cells; },
        hash_of);
    for (std::size_t number = 0; number < bulk.size(); ++number)
        share(bulk[number].window, kNearBulkBanks[number],
              [number](base::CreditLine& line) -> Credits::Word& { return line.bulk[number]; }, {});
    set_bank_masks();
}

base::Failure failure_of_user(const BoundProgram& program) {
    constexpr const char* kFormat = "{}: the user's operation threw: {}";
    try {
        throw;
    } catch (const std::exception& problem) {
        return base::fail(Status::argument, kFormat, program.description, problem.what());
    } catch (...) {
        return base::fail(Status::argument, kFormat, program.description,
                          "an object that is not a std::exception");
    }
}

PastCall TeamState::recall(Epoch epoch) const {
    if (epoch < 0 || epoch >= cells->next()) return {};
    if (!queue.empty() && epoch >= queue.front()->epoch) {
        const Operation& op = *queue[epoch - queue.front()->epoch];
        return {op.program, op.digest};
    }
    const Epoch started = queue.empty() ? cells->next() : queue.front()->epoch;
    if (epoch < started - static_cast<Epoch>(history.size())) return {};
    return history[static_cast<std::size_t>(epoch) & history_mask];
}

Epoch TeamState::number_for_user(Epoch epoch) const {
    Epoch inserted_before = inserted;
    for (Epoch at = epoch; inserted_before > 0 && at < cells->next(); ++at)
        if (recall(at).program == setup.barrier) --inserted_before;
    return epoch - inserted_before;
}

}  // namespace weft::run
