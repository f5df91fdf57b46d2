// SPDX-License-Identifier: BSD-3-Clause
// active_sets.cpp - active sets: sets of PEs that a call names by start, stride and size.
//
// Idea     The members of a set make a team of weft in their first call with the set, and keep it.
//          weft_team_create() needs an allgather among the members. exchange() makes it from puts
//          with signals: each PE has two cells for each peer and alternates between them.
// Holds    Two cells suffice. A peer sends exchange k + 2 after it has received this PE's data of
//          exchange k + 1. This PE sends that data after it has read the peer's data of exchange k.
//          The program's work arrays pSync and pWrk are not used.
#include <map>
#include <mutex>
#include <tuple>

#include "faces/shmem/collective.hpp"

namespace weft::shmem {

namespace {

constexpr std::size_t kDataBytes = 56;  ///< weft_team_create() exchanges less

struct Cell {
    std::uint64_t number = 0;  ///< number of the exchange with this peer, from 1; also the signal
    std::byte data[kDataBytes];
};

struct ActiveSets {
    std::map<std::tuple<int, int, int>, weft_shmem_team> teams;
    Cell* cells = nullptr;                 ///< in the heap: two for each PE, which writes them
    std::vector<std::uint64_t> exchanges;  ///< for each PE: number of exchanges with that PE
};
ActiveSets sets;
std::mutex teams_mutex;     ///< guards `sets.teams`; never held during a wait
std::mutex creation_mutex;  ///< guards `sets.exchanges` and the cells; held while a team is made

/// Returns the team of a set, or nullptr if it has not been made.
const weft_shmem_team* known_team(const std::tuple<int, int, int>& set) {
    const std::scoped_lock lock(teams_mutex);
    const auto found = sets.teams.find(set);
    return found == sets.teams.end() ? nullptr : &found->second;
}

/// Does the allgather for weft_team_create(). world_ranks: the members. Returns -1 on failure.
int exchange(void* world_ranks, const void* mine, void* all, std::size_t bytes) {
    const auto& members = *static_cast<const std::vector<int>*>(world_ranks);
    if (bytes > kDataBytes) return -1;
    const auto own = static_cast<std::size_t>(job.rank);
    for (const int member : members) {
        const auto pe = static_cast<std::size_t>(member);
        const std::uint64_t number = ++sets.exchanges[pe];
        Cell& cell = sets.cells[2 * own + number % 2];
        if (weft_put_signal(job.world, cell.data, mine, bytes, &cell.number, number, /*add=*/0,
                            member) != WEFT_OK)
            return -1;
    }
    auto* out = static_cast<std::byte*>(all);
    for (const int member : members) {
        const auto pe = static_cast<std::size_t>(member);
        const Cell& cell = sets.cells[2 * pe + sets.exchanges[pe] % 2];
        if (weft_wait_until(job.world, &cell.number, WEFT_GE, sets.exchanges[pe]) != WEFT_OK)
            return -1;
        std::memcpy(out, cell.data, bytes);
        out += bytes;
    }
    return 0;
}

}  // namespace

void start_active_sets() {
    const auto pes = static_cast<std::size_t>(job.size);
    void* memory = nullptr;
    check("init", weft_alloc(job.world, 2 * pes * sizeof(Cell), &memory));
    std::memset(memory, 0, 2 * pes * sizeof(Cell));
    sets.cells = static_cast<Cell*>(memory);
    sets.exchanges.assign(pes, 0);
}

void end_active_sets() {
    sets = {};
}

const weft_shmem_team& active_set(const char* routine, int start, int log_stride, int size) {
    require_job(routine);
    const long stride = log_stride < 0 || log_stride > 30 ? 0 : 1L << log_stride;
    const long last = start + stride * (static_cast<long>(size) - 1);
    const auto refuse_set = [&](const std::string& problem) {
        refuse(routine, "PE_start " + std::to_string(start) + ", logPE_stride " +
                            std::to_string(log_stride) + ", PE_size " + std::to_string(size) +
                            ": " + problem);
    };
    if (start < 0 || size < 1 || stride == 0 || last >= job.size)
        refuse_set("expected PE_size >= 1, logPE_stride 0..30 and PEs in 0.." +
                   std::to_string(job.size - 1));
    if (start == 0 && size == job.size) return *find_team(SHMEM_TEAM_WORLD);
    const std::tuple set{start, log_stride, size};
    if (const weft_shmem_team* const known = known_team(set)) return *known;
    const std::scoped_lock creation(creation_mutex);
    if (const weft_shmem_team* const known = known_team(set)) return *known;
    weft_shmem_team team;
    team.size = size;
    for (int i = 0; i < size; ++i) {
        team.world_ranks.push_back(static_cast<int>(start + i * stride));
        if (team.world_ranks.back() == job.rank) team.rank = i;
    }
    if (team.rank < 0) refuse_set("this PE is not in the set");
    check(routine, weft_team_create(job.runtime, team.world_ranks.data(), size, exchange,
                                    &team.world_ranks, &team.team));
    const std::scoped_lock lock(teams_mutex);
    return sets.teams[set] = std::move(team);
}

}  // namespace weft::shmem
