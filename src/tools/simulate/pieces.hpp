// SPDX-License-Identifier: BSD-3-Clause
// pieces.hpp - actions of lanes, as references into a table of pieces that many lanes share.
//
// Idea     A lane is cut after each reception into *pieces* of 32-bit words: sends, then a
//          reception and the computations that use it. A peer is its distance ahead, modulo the
//          number of ranks. Ranks that do the same to others at the same distances therefore have
//          the same piece. Each piece is stored once; a lane is a row of references.
// Why      Most algorithms have a few hundred different pieces on a million ranks. The table stays
//          in the cache, and a rank needs four bytes for each of its receptions. If no two pieces
//          are equal, the table needs one or two words for each step, as lists of steps would.
// Holds    Any programs can be stored. A piece has one reception, except that the last piece of a
//          lane may have none.
// Next     image.hpp makes pieces from programs; lanes.cpp runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/types.hpp"

namespace weft::lab {

/// Kind of a word of a piece: the low three bits. The other bits are the word's argument.
enum class Word : std::uint32_t {
    send,     ///< argument: key; then index of the busy time, number of targets, their distances
    publish,  ///< argument: key in the rank's own published cells; then index of the busy time
    receive,  ///< argument: number of messages; then the key of each
    /// Like `receive`, with key << 1, or with key << 1 | 1 and the distance of the cell's owner.
    receive_any,
    compute,  ///< argument: index of its time
    end,      ///< end of the lane
};

class Pieces {
  public:
    /// Number of words at the start of a piece: its length, and the index of its reception or end.
    static constexpr std::uint32_t kHead = 2;

    Pieces() : open_(kGrain) {}

    void begin_lane(Rank rank, Rank size) {
        rank_ = static_cast<std::uint32_t>(rank);
        size_ = static_cast<std::uint32_t>(size);
        guess_ = lane_first_;
        guess_end_ = rows_.size();
        lane_first_ = rows_.size();
    }
    /// Appends sends to peer_of(0), peer_of(1), ... peer_of(count - 1).
    template <class PeerOf>
    void send(std::uint32_t key, std::uint32_t busy, Rank count, const PeerOf& peer_of) {
        if (key != run_key_ || busy != run_busy_) begin_run(key, busy);
        std::uint32_t* const into = extend(static_cast<std::size_t>(count));
        const std::uint32_t rank = rank_;
        const std::uint32_t size = size_;
        for (Rank i = 0; i < count; ++i) into[i] = distance(rank, peer_of(i), size);
    }
    void send(std::uint32_t key, std::uint32_t busy, Rank peer) {
        send(key, busy, 1, [peer](Rank) { return peer; });
    }
    void publish(std::uint32_t key, std::uint32_t busy);
    /// Appends waits for `count` consecutive keys. Adjacent waits form one reception.
    void await(std::uint32_t key, std::uint32_t count = 1) {
        if (!receiving_) begin_reception();
        std::uint32_t* const into = extend(count);
        const int shift = cells_ == 0 ? 0 : 1;
        for (std::uint32_t i = 0; i < count; ++i) into[i] = (key + i) << shift;
    }
    void await_cell(std::uint32_t key, Rank owner);
    /// Ends the current reception: later waits start another one.
    void interrupt() { receiving_ = false; }
    /// Appends a computation. time: index of its time in the image.
    void compute(std::uint32_t time) {
        receiving_ = false;
        end_run();
        end_reception();
        append(word_of(Word::compute, time));
    }
    void end_lane();
    /// Reserves memory for `references` more references.
    void reserve(std::size_t references) { rows_.reserve(rows_.size() + references); }
    /// Returns the starts of pieces in words(), lane after lane.
    [[nodiscard]] const std::vector<std::uint32_t>& rows() const { return rows_; }
    [[nodiscard]] const std::vector<std::uint32_t>& words() const { return words_; }
    /// Returns true if references no longer fit 32 bits; the last addition is then invalid.
    [[nodiscard]] bool overflowed() const { return overflowed_; }
    /// Returns true if a published cell is written or awaited.
    [[nodiscard]] bool has_cells() const { return has_cells_; }
    /// Returns the number of ranks, as passed with the last lane.
    [[nodiscard]] Rank size() const { return static_cast<Rank>(size_); }

    /// Return the number of sends and publications, and the number of waits, in ended lanes.
    [[nodiscard]] std::uint64_t raises() const { return raises_; }
    [[nodiscard]] std::uint64_t waits() const { return waits_; }

    /// Returns the rank at this distance ahead of `rank`, modulo the number of ranks.
    [[nodiscard]] static Rank ahead(Rank rank, std::uint32_t distance, Rank ranks) {
        const std::uint32_t to = static_cast<std::uint32_t>(rank) + distance;
        const auto size = static_cast<std::uint32_t>(ranks);
        return static_cast<Rank>(to < size ? to : to - size);
    }

  private:
    static constexpr std::size_t kGrain = 4;  ///< each piece fills a multiple of kGrain words

    [[nodiscard]] static constexpr std::uint32_t word_of(Word word, std::uint32_t argument) {
        return argument << 3 | static_cast<std::uint32_t>(word);
    }
    [[nodiscard]] static std::uint32_t distance(std::uint32_t rank, Rank peer, std::uint32_t size) {
        const auto to = static_cast<std::uint32_t>(peer);
        return to >= rank ? to - rank : to + size - rank;
    }
    /// Appends `words` words and returns their address.
    std::uint32_t* extend(std::size_t words) {
        if (used_ + words > open_.size()) open_.resize(2 * (used_ + words));
        used_ += words;
        return &open_[used_ - words];
    }
    void append(std::uint32_t word) { *extend(1) = word; }
    /// Starts a send or publication. After a reception it belongs to the next piece.
    void begin_action() {
        if (reception_ != 0) close();
        receiving_ = false;
        end_run();
    }
    void begin_run(std::uint32_t key, std::uint32_t busy);
    void end_run() {
        if (run_ == 0) return;
        open_[run_ + 2] = static_cast<std::uint32_t>(used_ - run_ - 3);
        raises_ += open_[run_ + 2];
        run_ = 0;
        run_key_ = kNoKey;
    }
    void begin_reception();
    void end_reception() {
        if (reception_ == 0 || counted_) return;
        counted_ = true;
        const auto waits = static_cast<std::uint32_t>(used_ - reception_ - 1 - cells_);
        open_[reception_] = word_of(cells_ == 0 ? Word::receive : Word::receive_any, waits);
        waits_ += waits;
    }
    /// Ends the open piece, and appends a reference to it to the lane.
    void close();
    /// Returns true if the stored piece that starts at word `at` equals the open piece.
    [[nodiscard]] bool is_open_piece(std::uint32_t at) const;
    [[nodiscard]] std::uint32_t find_or_add();
    void rehash();
    [[nodiscard]] static std::uint64_t hash(const std::uint32_t* words, std::size_t count);

    std::uint32_t rank_ = 0;
    std::uint32_t size_ = 1;
    std::vector<std::uint32_t> rows_;
    std::vector<std::uint32_t> words_;
    std::vector<std::uint32_t> table_;  ///< hash table of pieces: start of a piece plus 1, or 0
    std::size_t distinct_ = 0;
    std::size_t lane_first_ = 0;  ///< index in rows_ of the open lane's first reference
    /// Next reference of the preceding lane. Neighbors are often equal, and comparing is
    /// cheaper than hashing.
    std::size_t guess_ = 0;
    std::size_t guess_end_ = 0;
    /// The open piece: the first used_ words.
    std::vector<std::uint32_t> open_;
    std::size_t used_ = kHead;
    static constexpr std::uint32_t kNoKey = ~0U;
    std::size_t run_ = 0;  ///< index in open_ of the send to which send() adds targets, or 0
    std::uint32_t run_key_ = kNoKey;
    std::uint32_t run_busy_ = 0;
    std::size_t reception_ = 0;  ///< index in open_ of the reception, or 0
    std::size_t cells_ = 0;      ///< number of waits for published cells in the reception
    bool receiving_ = false;     ///< a following wait joins the reception
    bool counted_ = false;       ///< the reception's word has its final count
    std::uint64_t raises_ = 0;
    std::uint64_t waits_ = 0;
    bool overflowed_ = false;
    bool has_cells_ = false;
};

}  // namespace weft::lab
