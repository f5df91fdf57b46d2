// SPDX-License-Identifier: BSD-3-Clause
#include "perf/apps/cg/distributed_matrix.hpp"

#include <algorithm>

namespace apps {

namespace {

/// Returns the columns outside [begin, end) that have entries, each once, ascending.
std::vector<std::int64_t> columns_outside(const SparseRows& rows, std::int64_t begin,
                                          std::int64_t end) {
    std::vector<std::int64_t> columns;
    std::ranges::copy_if(rows.columns, std::back_inserter(columns),
                         [&](std::int64_t column) { return column < begin || column >= end; });
    std::ranges::sort(columns);
    const auto repeated = std::ranges::unique(columns);
    columns.erase(repeated.begin(), repeated.end());
    return columns;
}

}  // namespace

DistributedMatrix::DistributedMatrix(weft::Team team, const SparseRows& rows, const Blocks& blocks)
    : team_(team) {
    const std::int64_t begin = blocks.begin(team.rank());
    const std::int64_t end = blocks.end(team.rank());
    const std::vector<std::int64_t> needed = columns_outside(rows, begin, end);
    halo_elements_ = needed.size();
    split_columns(rows, needed, begin, end);

    // Symmetric memory has the same size on all ranks: the size of the largest halo.
    const std::size_t largest = team.allreduce(halo_elements_, weft::Op::max);
    halo_memory_ = weft::Memory(team, std::max<std::size_t>(largest, 1) * sizeof(double));
    halo_ = halo_memory_.as<double>();
    signal_memory_ = weft::Memory(team, sizeof(std::uint64_t));
    arrived_ = signal_memory_.as<std::uint64_t>().data();
    *arrived_ = 0;
    find_receivers(needed, blocks);  // ends with a barrier, so signals are clear before any put
}

void DistributedMatrix::split_columns(const SparseRows& rows, std::span<const std::int64_t> needed,
                                      std::int64_t begin, std::int64_t end) {
    for (std::size_t row = 0; row < rows.count(); ++row) {
        for (std::size_t at = rows.starts[row]; at < rows.starts[row + 1]; ++at) {
            const std::int64_t column = rows.columns[at];
            if (column >= begin && column < end) {
                inner_.add(column - begin, rows.values[at]);
            } else {
                const auto place = std::ranges::lower_bound(needed, column) - needed.begin();
                outer_.add(place, rows.values[at]);
            }
        }
        inner_.end_row();
        outer_.end_row();
    }
}

/// Each rank puts to every owner the position of the owner's columns in its list `needed`. The
/// owner gets these columns from the list, so it needs memory for one part of a list at a time.
void DistributedMatrix::find_receivers(std::span<const std::int64_t> needed, const Blocks& blocks) {
    struct Part {
        std::int64_t first, count;
    };
    const auto ranks = static_cast<std::size_t>(team_.size());
    const auto me = static_cast<std::size_t>(team_.rank());
    weft::Memory list_memory(team_, halo_.size() * sizeof(std::int64_t));
    weft::Memory part_memory(team_, ranks * sizeof(Part));
    const std::span<std::int64_t> list = list_memory.as<std::int64_t>();
    const std::span<Part> parts = part_memory.as<Part>();
    std::ranges::copy(needed, list.begin());
    std::ranges::fill(parts, Part{0, 0});
    team_.barrier();  // all parts are clear, all lists are complete

    for (std::size_t at = 0; at < needed.size(); ++sources_) {
        const int owner = blocks.owner(needed[at]);
        const auto end = std::ranges::lower_bound(needed, blocks.end(owner)) - needed.begin();
        const Part part{static_cast<std::int64_t>(at), end - static_cast<std::int64_t>(at)};
        team_.put(&parts[me], &part, sizeof part, owner);
        at = static_cast<std::size_t>(end);
    }
    team_.quiet();
    team_.barrier();  // all ranks have put their parts

    for (weft::Rank rank = 0; rank < team_.size(); ++rank) {
        const Part part = parts[static_cast<std::size_t>(rank)];
        if (part.count == 0) continue;
        std::vector<std::int64_t> columns(static_cast<std::size_t>(part.count));
        team_.get(std::span(columns),
                  list.subspan(static_cast<std::size_t>(part.first), columns.size()), rank);
        HaloReceiver receiver{rank, part.first, {}};
        for (const std::int64_t column : columns)
            receiver.elements.push_back(
                static_cast<std::size_t>(column - blocks.begin(team_.rank())));
        packed_.resize(std::max(packed_.size(), columns.size()));
        receivers_.push_back(std::move(receiver));
    }
    list_memory.free();  // collective: completes after all ranks have read the lists
    part_memory.free();
}

void DistributedMatrix::multiply(std::span<const double> x, std::span<double> y) {
    for (const HaloReceiver& receiver : receivers_) {
        for (std::size_t i = 0; i < receiver.elements.size(); ++i)
            packed_[i] = x[receiver.elements[i]];
        team_.put_signal(halo_.data() + receiver.place, packed_.data(),
                         receiver.elements.size() * sizeof(double), arrived_, 1,
                         weft::SignalOp::add, receiver.rank);
    }
    std::ranges::fill(y, 0.0);
    inner_.multiply_add(x, y);
    expected_ += sources_;
    team_.wait_until(arrived_, weft::Compare::ge, expected_);
    outer_.multiply_add(halo_, y);
}

}  // namespace apps
