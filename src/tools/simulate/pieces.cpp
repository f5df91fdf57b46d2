// SPDX-License-Identifier: BSD-3-Clause
#include "tools/simulate/pieces.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace weft::lab {

namespace {

__extension__ using Wide = unsigned __int128;

std::uint64_t pair_at(const std::uint32_t* words) {
    std::uint64_t pair = 0;
    std::memcpy(&pair, words, sizeof pair);
    return pair;
}

}  // namespace

void Pieces::begin_run(std::uint32_t key, std::uint32_t busy) {
    begin_action();
    run_ = used_;
    run_key_ = key;
    run_busy_ = busy;
    append(word_of(Word::send, key));
    append(busy);
    append(0);
}

void Pieces::publish(std::uint32_t key, std::uint32_t busy) {
    begin_action();
    append(word_of(Word::publish, key));
    append(busy);
    ++raises_;
    has_cells_ = true;
}

void Pieces::await_cell(std::uint32_t key, Rank owner) {
    if (!receiving_) begin_reception();
    if (cells_++ == 0)  // shift earlier keys to make room for the mark
        for (std::size_t i = reception_ + 1; i < used_; ++i) open_[i] <<= 1;
    append(key << 1 | 1);
    append(distance(rank_, owner, size_));
    has_cells_ = true;
}

void Pieces::end_lane() {
    end_run();
    end_reception();
    if (reception_ == 0) open_[1] = static_cast<std::uint32_t>(used_);
    append(word_of(Word::end, 0));
    close();
}

void Pieces::begin_reception() {
    begin_action();
    receiving_ = true;
    counted_ = false;
    cells_ = 0;
    reception_ = used_;
    open_[1] = static_cast<std::uint32_t>(reception_);
    append(0);
}

void Pieces::close() {
    end_reception();
    open_[0] = static_cast<std::uint32_t>(used_);
    while (used_ % kGrain != 0) append(0);
    rows_.push_back(find_or_add());
    used_ = kHead;
    reception_ = 0;
    receiving_ = false;
}

bool Pieces::is_open_piece(std::uint32_t at) const {
    const std::uint32_t* const words = words_.data() + at;
    if (words[0] != open_[0]) return false;
    std::uint64_t differs = 0;
    for (std::size_t i = 0; i < used_ && differs == 0; i += kGrain)
        differs = (pair_at(words + i) ^ pair_at(&open_[i])) |
                  (pair_at(words + i + 2) ^ pair_at(&open_[i + 2]));
    return differs == 0;
}

std::uint32_t Pieces::find_or_add() {
    if (guess_ < guess_end_) {
        const std::uint32_t guess = rows_[guess_++];
        if (is_open_piece(guess)) return guess;
    }
    if (2 * distinct_ >= table_.size()) rehash();
    const std::size_t mask = table_.size() - 1;
    std::size_t slot = hash(open_.data(), used_) & mask;
    for (; table_[slot] != 0; slot = (slot + 1) & mask)
        if (is_open_piece(table_[slot] - 1)) return table_[slot] - 1;
    if (words_.size() + used_ >= std::numeric_limits<std::uint32_t>::max()) {
        overflowed_ = true;
        return 0;
    }
    const auto start = static_cast<std::uint32_t>(words_.size());
    words_.insert(words_.end(), open_.data(), open_.data() + used_);
    table_[slot] = start + 1;
    ++distinct_;
    return start;
}

void Pieces::rehash() {
    const std::vector<std::uint32_t> old = std::move(table_);
    table_.assign(std::max<std::size_t>(1024, 2 * old.size()), 0);
    const std::size_t mask = table_.size() - 1;
    for (const std::uint32_t entry : old) {
        if (entry == 0) continue;
        const std::uint32_t* const words = words_.data() + (entry - 1);
        const std::size_t count = (words[0] + kGrain - 1) / kGrain * kGrain;
        std::size_t slot = hash(words, count) & mask;
        while (table_[slot] != 0) slot = (slot + 1) & mask;
        table_[slot] = entry;
    }
}

/// Each step folds the two halves of a product of two words, so every bit affects the low bits.
std::uint64_t Pieces::hash(const std::uint32_t* words, std::size_t count) {
    std::uint64_t state = 0x9e3779b97f4a7c15U;
    for (std::size_t i = 0; i < count; i += kGrain) {
        const Wide product =
            Wide{pair_at(words + i) ^ state} * (pair_at(words + i + 2) ^ 0xd1342543de82ef95U);
        state = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^
                state >> 7;
    }
    return state;
}

}  // namespace weft::lab
