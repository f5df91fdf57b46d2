// SPDX-License-Identifier: BSD-3-Clause
// active_sets.cpp - sets of PEs that each call names by start, stride and size.
//
// Idea     The members of a set make a permanent team of weft when they first use the set. All
//          members make the same calls on it, so they agree on the first one. They exchange data by
//          puts with signals, into cells that are reserved for each pair of PEs.
// Holds    Each pair alternates between two cells. The writer reuses the cell of exchange k in k +
//          2. It starts k + 2 after this PE's k + 1, and so after this PE has read k. pSync and
//          pWrk are not used.
#include <map>
#include <mutex>
#include <tuple>

#include "faces/shmem/collective.hpp"

namespace weft::shmem {

namespace {

constexpr std::size_t kOfferBytes = 56;  ///< more than weft_team_create() exchanges

struct Cell {
    std::uint64_t exchanges = 0;  ///< number of the exchange
    std::byte offer[kOfferBytes];
};

struct ActiveSets {
    std::map<std::tuple<int, int, int>, weft_shmem_team> teams;
    Cell* cells = nullptr;                 ///< in the heap; two for each PE
    std::vector<std::uint64_t> exchanges;  ///< by PE: number of exchanges
};
ActiveSets sets;
std::mutex making;  ///< held while a set is made

int exchange(void* members_of, const void* mine, void* all, std::size_t bytes) {
    const auto& members = *static_cast<const std::vector<int>*>(members_of);
    if (bytes > kOfferBytes) return -1;
    const auto own = static_cast<std::size_t>(job.rank);
    for (const int member : members) {
        const auto pe = static_cast<std::size_t>(member);
        const std::uint64_t number = ++sets.exchanges[pe];
        Cell& cell = sets.cells[2 * own + number % 2];
        if (weft_put_signal(job.world, cell.offer, mine, bytes, &cell.exchanges, number, 0,
                            member) != WEFT_OK)
            return -1;
    }
    auto* out = static_cast<std::byte*>(all);
    for (const int member : members) {
        const auto pe = static_cast<std::size_t>(member);
        const Cell& cell = sets.cells[2 * pe + sets.exchanges[pe] % 2];
        if (weft_wait_until(job.world, &cell.exchanges, WEFT_GE, sets.exchanges[pe]) != WEFT_OK)
            return -1;
        std::memcpy(out, cell.offer, bytes);
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
    if (start < 0 || size < 1 || stride == 0 || last >= job.size)
        refuse(routine, "PE_start, logPE_stride, PE_size: not a set of PEs of this job");
    if (start == 0 && size == job.size) return *find_team(SHMEM_TEAM_WORLD);
    const std::scoped_lock lock(making);
    weft_shmem_team& team = sets.teams[{start, log_stride, size}];
    if (team.team != nullptr) return team;
    team.size = size;
    for (int i = 0; i < size; ++i) {
        team.world_ranks.push_back(static_cast<int>(start + i * stride));
        if (team.world_ranks.back() == job.rank) team.rank = i;
    }
    if (team.rank < 0)
        refuse(routine, "PE_start, logPE_stride, PE_size: this PE is not in the set");
    check(routine, weft_team_create(job.runtime, team.world_ranks.data(), size, exchange,
                                    &team.world_ranks, &team.team));
    return team;
}

}  // namespace weft::shmem
