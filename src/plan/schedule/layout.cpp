// SPDX-License-Identifier: BSD-3-Clause
#include "plan/schedule/layout.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/check.hpp"

namespace weft::plan {

namespace {

std::size_t at(Rank number) {
    return static_cast<std::size_t>(number);
}

}  // namespace

Layout::Layout(Rank size, Rank per_node)
    : size_(size), nodes_((size + per_node - 1) / per_node), per_node_(per_node) {
    WEFT_CHECK(size > 0 && per_node > 0, size, per_node);
    count_sizes();
}

void Layout::count_sizes() {
    least_ = most_ = ranks_on(0);
    if (table_ == nullptr) {
        least_ = ranks_on(nodes_ - 1);
        return;
    }
    for (Rank node = 1; node < nodes_; ++node) {
        least_ = std::min(least_, ranks_on(node));
        most_ = std::max(most_, ranks_on(node));
    }
}

Layout Layout::of(std::span<const Rank> node_of_rank) {
    Layout layout;
    layout.size_ = static_cast<Rank>(node_of_rank.size());
    if (layout.size_ == 0) return layout;
    std::unordered_map<Rank, Rank> numbers;
    std::vector<std::vector<Rank>> nodes;
    Table table;
    for (Rank rank = 0; rank < layout.size_; ++rank) {
        const auto next = static_cast<Rank>(nodes.size());
        const Rank node = numbers.try_emplace(node_of_rank[at(rank)], next).first->second;
        if (node == next) nodes.emplace_back();
        nodes[at(node)].push_back(rank);
        table.node_of.push_back(node);
    }
    layout.nodes_ = static_cast<Rank>(nodes.size());
    layout.per_node_ = static_cast<Rank>(nodes.front().size());
    for (const std::vector<Rank>& ranks : nodes) {
        table.first.push_back(static_cast<Rank>(table.ranks.size()));
        table.ranks.insert(table.ranks.end(), ranks.begin(), ranks.end());
    }
    table.first.push_back(layout.size_);
    const bool even = std::all_of(nodes.begin(), nodes.end() - 1, [&](const auto& ranks) {
        return ranks.size() == nodes.front().size();
    });
    if (std::ranges::is_sorted(table.ranks)) {
        table.ranks.clear();
        table.node_of.clear();
    }
    const bool is_regular =
        table.ranks.empty() && even && nodes.back().size() <= nodes.front().size();
    if (!is_regular) layout.table_ = std::make_shared<const Table>(std::move(table));
    layout.count_sizes();
    return layout;
}

Rank Layout::node_of(Rank rank) const {
    if (table_ == nullptr) return rank / per_node_;
    if (!table_->node_of.empty()) return table_->node_of[at(rank)];
    const auto next = std::ranges::upper_bound(table_->first, rank);
    return static_cast<Rank>(next - table_->first.begin()) - 1;
}

Rank Layout::local_of(Rank rank) const {
    if (table_ == nullptr) return rank % per_node_;
    const Rank node = node_of(rank);
    const Rank first = table_->first[at(node)];
    if (table_->ranks.empty()) return rank - first;
    const auto begin = table_->ranks.begin();
    const auto found = std::lower_bound(begin + first, begin + table_->first[at(node + 1)], rank);
    return static_cast<Rank>(found - begin) - first;
}

Rank Layout::ranks_on(Rank node) const {
    if (table_ != nullptr) return table_->first[at(node + 1)] - table_->first[at(node)];
    return std::min(per_node_, size_ - node * per_node_);
}

Rank Layout::rank_at(Rank node, Rank local) const {
    if (table_ == nullptr) return node * per_node_ + local;
    const Rank index = table_->first[at(node)] + local;
    return table_->ranks.empty() ? index : table_->ranks[at(index)];
}

std::vector<Rank> Layout::sizes() const {
    if (least_ == most_) return {most_};
    if (table_ == nullptr) return {least_, most_};
    std::vector<Rank> counts;
    for (Rank node = 0; node < nodes_; ++node) counts.push_back(ranks_on(node));
    std::ranges::sort(counts);
    counts.erase(std::ranges::unique(counts).begin(), counts.end());
    return counts;
}

bool operator==(const Layout& a, const Layout& b) {
    if (a.size_ != b.size_ || a.nodes_ != b.nodes_ || a.per_node_ != b.per_node_) return false;
    if (a.table_ == nullptr || b.table_ == nullptr) return a.table_ == b.table_;
    return *a.table_ == *b.table_;
}

}  // namespace weft::plan
