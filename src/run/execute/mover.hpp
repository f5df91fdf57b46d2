// SPDX-License-Identifier: BSD-3-Clause
// mover.hpp - resolves the pieces of a step to memory, and copies and reduces their data.
//
// Idea     A piece is resolved to an address in this process, or to memory of a local peer that
//          only the operating system's kernel can copy. Copies and reductions accept both. Copies
//          from peer to peer by the kernel, and reductions with such copies, pass through blocks
//          that stay in the cache.
// Holds    After the first call of a program, no function allocates. A peer's description of its
//          memory is checked against the size of that memory before use.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "base/copy.hpp"
#include "base/put.hpp"
#include "base/reach.hpp"
#include "run/execute/team_state.hpp"
#include "run/execute/transport.hpp"
#include "run/reduce/reduce.hpp"

namespace weft::run {

/// Memory of a piece, or of a part of a piece.
struct Memory {
    std::byte* data = nullptr;  ///< null: there are no bytes, or only the kernel can copy them
    base::Reach reach;          ///< location of a peer's memory
    Rank peer = plan::kNoRank;  ///< owner as a rank of the job; kNoRank: this rank
    std::size_t bytes = 0;
    bool outside = false;  ///< invalid: the owner's description exceeds its memory
    [[nodiscard]] bool of_peer() const { return peer != plan::kNoRank; }
    /// Returns true if loads and stores can access the memory.
    [[nodiscard]] bool is_addressable() const { return data != nullptr || !of_peer(); }

    [[nodiscard]] Memory at(std::size_t skipped, std::size_t count) const {
        return {data == nullptr ? nullptr : data + skipped, reach.at(skipped), peer, count,
                outside};
    }
};

struct Fault {
    Rank peer = plan::kNoRank;  ///< owner of the memory as a rank of the job
    int error = 0;              ///< errno; 0: the owner's description is invalid
};

template <Transport Wire>
class Mover {
  public:
    Mover(Wire& wire, Rank job_rank) : wire_(wire), own_segment_(wire.near(job_rank)) {}

    /// Reserves memory for the lists of any step of a program.
    void reserve(const BoundProgram& program) {
        const std::size_t target_and_source = 2 * std::size_t{program.pieces_max};
        if (memories_.capacity() >= target_and_source) return;
        memories_.reserve(target_and_source);
        packed_.reserve(target_and_source);
        parts_.reserve(program.pieces_max);
        operands_.reserve(program.pieces_max);
        targets_.reserve(program.pieces_max);
    }

    [[nodiscard]] const MappedBytes& mapped_bytes() const { return mapped_bytes_; }
    [[nodiscard]] std::byte* own_segment() const { return own_segment_; }
    [[nodiscard]] const Fault& fault() const { return fault_; }
    void count_exposed(const base::Exposure& exposure) {
        const auto method = static_cast<std::size_t>(exposure.reach.method);
        ++mapped_bytes_.buffers[method];
        mapped_bytes_.exposed[method] += exposure.bytes;
    }

    /// Sets `parts` to the source of a put, valid until the next step, and `bytes` to its size.
    /// Returns false if only the kernel can read a part.
    [[nodiscard]] bool list_parts(Operation& op, PieceList list, std::uint32_t segment,
                                  std::span<const base::PutPart>& parts, std::size_t& bytes) {
        parts_.clear();
        bytes = 0;
        bool all_addressable = true;
        walk(op, list, segment, [&](const Memory& at) {
            if (!at.is_addressable()) {
                fault_ = {at.peer, at.outside ? 0 : EOPNOTSUPP};
                all_addressable = false;
            }
            parts_.push_back({at.data, at.bytes});
            bytes += at.bytes;
        });
        parts = parts_;
        return all_addressable;
    }

    /// Copies a source for which list_parts() returned false to memory that the call keeps until
    /// its end, once for each put. Returns false if the kernel refused.
    [[nodiscard]] bool pack(Operation& op, LaneCursor& lane, PieceList list, std::size_t bytes) {
        if (lane.packed != nullptr) return true;
        if (op.packed_used == op.packed.size()) op.packed.emplace_back();
        std::vector<std::byte>& buffer = op.packed[op.packed_used++];
        if (buffer.size() < bytes) buffer.resize(bytes);
        std::byte* to = buffer.data();
        bool done = true;
        walk(op, list, lane.segment, [&](const Memory& from) {
            count(from, mapped_bytes_.read);
            done = done && move({.data = to, .bytes = from.bytes}, from);
            to += from.bytes;
        });
        if (done)
            lane.packed = buffer.data();
        else
            --op.packed_used;  // the caller may retry if the peer has ended (fail_copy())
        return done;
    }

    [[nodiscard]] std::size_t bytes_of(Operation& op, PieceList list, std::uint32_t segment) {
        std::size_t bytes = 0;
        walk(op, list, segment, [&](const Memory& at) { bytes += at.bytes; });
        return bytes;
    }

    /// Returns the memory of piece `which`, which must be 0 for a `moving` piece of a slot or cell.
    [[nodiscard]] Memory piece_of(Operation& op, PieceList list, std::uint32_t segment,
                                  std::uint32_t which = 0) {
        std::uint64_t packed = 0;
        return resolve(op, op.program->pieces[list.start + which], segment, packed);
    }

    /// Returns the part of the user's buffer that the program accesses, if the block is in that
    /// buffer. Returns only the block if it is elsewhere, or if the buffer's blocks may have gaps.
    [[nodiscard]] Memory touched(Operation& op, PieceList list, const Memory& block) const {
        const Piece& piece = op.program->pieces[list.start];
        const bool is_output = piece.buffer == plan::Buffer::output;
        if (!is_output && piece.buffer != plan::Buffer::input) return block;
        const TouchedBuffer& range =
            is_output ? op.program->touched_output : op.program->touched_input;
        if (op.program->has_displacements(piece.buffer)) return block;
        return {.data = base_of(op, piece, 0) + range.begin, .bytes = range.bytes()};
    }

    /// Copies between lists whose pieces may differ in size. Returns false if the kernel refused.
    [[nodiscard]] bool copy(Operation& op, PieceList target, PieceList source,
                            std::uint32_t segment) {
        if (overwrites_second_source(op, target, source, segment))
            return copy_saving_second_source(op, target, source, segment);
        memories_.clear();
        walk(op, source, segment, [&](const Memory& at) {
            count(at, mapped_bytes_.read);
            memories_.push_back(at);
        });
        std::size_t part = 0;
        std::size_t used = 0;
        bool done = true;
        walk(op, target, segment, [&](const Memory& to) {
            count(to, mapped_bytes_.written);
            for (std::size_t filled = 0; filled < to.bytes && part < memories_.size();) {
                const Memory& from = memories_[part];
                const std::size_t chunk = std::min(to.bytes - filled, from.bytes - used);
                const Memory ends[] = {to.at(filled, chunk), from.at(used, chunk)};
                done = done && move(ends[0], ends[1], stores_for(op, ends));
                filled += chunk;
                used += chunk;
                if (used < from.bytes) continue;
                ++part;
                used = 0;
            }
        });
        return done;
    }

    /// Sets every target to operand 0 (op) operand 1 (op) ... Each target and operand is a list of
    /// `width` consecutive pieces. Returns false if the kernel refused a copy.
    [[nodiscard]] bool reduce(Operation& op, const BoundStep& step, std::uint32_t segment) {
        const std::uint32_t width = step.source.count / step.operands;
        if (width == 0) return true;
        const std::uint32_t target_count = step.target.count / width;
        packed_.assign(std::size_t{target_count} + step.operands, 0);
        for (std::uint32_t i = 0; i < width; ++i) {
            memories_.clear();
            bool all_addressable = true;
            const auto add_memory = [&](std::uint32_t list, PieceList pieces, std::uint32_t k) {
                const Piece& piece = op.program->pieces[pieces.start + k * width + i];
                memories_.push_back(resolve(op, piece, segment, packed_[list]));
                const bool is_target = list < target_count;
                count(memories_.back(), is_target ? mapped_bytes_.written : mapped_bytes_.read);
                all_addressable = all_addressable && memories_.back().is_addressable();
            };
            for (std::uint32_t k = 0; k < target_count; ++k) add_memory(k, step.target, k);
            for (std::uint32_t k = 0; k < step.operands; ++k)
                add_memory(target_count + k, step.source, k);
            if (all_addressable)
                reduce_directly(op, target_count);
            else if (!reduce_through_blocks(op, target_count))
                return false;
        }
        return true;
    }

    /// Copies `from` to `to`, which has the same size. Returns false if the kernel refused.
    [[nodiscard]] bool move(const Memory& to, const Memory& from, Stores stores = Stores::cached) {
        if (to.is_addressable() && from.is_addressable()) {
            if (stores == Stores::streamed)
                copy_bytes(to.data, from.data, to.bytes, stores);
            else if (to.bytes > 0 && to.data != from.data)
                base::move_bytes(to.data, from.data, to.bytes);
            return true;
        }
        if (to.is_addressable()) return copy_from(from, to.data, to.bytes);
        if (from.is_addressable()) return copy_to(to, from.data, to.bytes);
        std::byte* const block = block_memory(0);
        for (std::size_t at = 0; at < to.bytes; at += kBlockBytes) {
            const std::size_t chunk = std::min(kBlockBytes, to.bytes - at);
            if (!copy_from(from.at(at, chunk), block, chunk) ||
                !copy_to(to.at(at, chunk), block, chunk))
                return false;
        }
        return true;
    }

    /// Returns the address of a slot in a bulk bank in which a local rank publishes data.
    [[nodiscard]] static std::byte* published_slot(const Operation& op, Rank owner,
                                                   std::uint32_t number, std::uint32_t segment) {
        return op.team->near(owner) + op.program->published_start + op.slot_offset(number, segment);
    }

  private:
    static constexpr std::size_t kBlockBytes = 32768;  ///< two fit in the second-level cache

    /// Streams copies of large calls with a peer's memory. Own pieces may overlap: never streamed.
    [[nodiscard]] static Stores stores_for(const Operation& op, std::span<const Memory> memories) {
        const bool large = op.program->node_bytes >= kStreamBytesMin;
        return large && std::ranges::any_of(memories, &Memory::of_peer) ? Stores::streamed
                                                                        : Stores::cached;
    }

    // Let the kernel copy. Return false if it refused.
    bool copy_from(const Memory& memory, std::byte* to, std::size_t bytes) {
        if (!memory.outside && wire_.memory().copy_from(memory.peer, memory.reach, to, bytes))
            return true;
        fault_ = {memory.peer, memory.outside ? 0 : errno};
        return false;
    }
    bool copy_to(const Memory& memory, const std::byte* from, std::size_t bytes) {
        if (!memory.outside && wire_.memory().copy_to(memory.peer, memory.reach, from, bytes))
            return true;
        fault_ = {memory.peer, memory.outside ? 0 : errno};
        return false;
    }

    std::byte* block_memory(std::size_t number) {
        if (blocks_.empty()) blocks_.resize(2 * kBlockBytes);
        return blocks_.data() + number * kBlockBytes;
    }

    /// Returns true if the first of two targets is the second of two sources, all of equal size.
    [[nodiscard]] bool overwrites_second_source(Operation& op, PieceList target, PieceList source,
                                                std::uint32_t segment) {
        if (target.count != 2 || source.count != 2) return false;
        if (op.registers.input != op.registers.output) return false;
        const Memory to = piece_of(op, target, segment);
        const Memory from = piece_of(op, source, segment, 1);
        if (to.bytes == 0 || to.data == nullptr || to.data != from.data) return false;
        return from.bytes == to.bytes && piece_of(op, source, segment).bytes == to.bytes &&
               piece_of(op, target, segment, 1).bytes == to.bytes;
    }

    /// Copies two pieces of equal size by blocks, and saves the second source in block memory.
    [[nodiscard]] bool copy_saving_second_source(Operation& op, PieceList target, PieceList source,
                                                 std::uint32_t segment) {
        const Memory to[] = {piece_of(op, target, segment), piece_of(op, target, segment, 1)};
        const Memory from[] = {piece_of(op, source, segment), piece_of(op, source, segment, 1)};
        for (const int i : {0, 1}) {
            count(to[i], mapped_bytes_.written);
            count(from[i], mapped_bytes_.read);
        }
        const Stores how = stores_for(op, to);
        for (std::size_t at = 0; at < to[0].bytes; at += kBlockBytes) {
            const std::size_t chunk = std::min(kBlockBytes, to[0].bytes - at);
            const Memory kept{.data = block_memory(1), .bytes = chunk};
            if (!move(kept, from[1].at(at, chunk)) ||
                !move(to[0].at(at, chunk), from[0].at(at, chunk), how) ||
                !move(to[1].at(at, chunk), kept, how))
                return false;
        }
        return true;
    }

    static void count(const Memory& at, std::array<std::uint64_t, base::kAccessMethods>& bytes) {
        if (at.of_peer()) bytes[static_cast<std::size_t>(at.reach.method)] += at.bytes;
    }

    void reduce_directly(const Operation& op, std::uint32_t target_count) {
        targets_.clear();
        operands_.clear();
        for (const Memory& target : std::span(memories_).first(target_count))
            targets_.push_back(target.data);
        for (const Memory& operand : std::span(memories_).subspan(target_count))
            operands_.push_back(operand.data);
        reduce_many(op.reducer, targets_, operands_,
                    memories_.front().bytes / op.program->element_bytes, stores_for(op, memories_));
    }

    /// Reduces memories_ block by block, with copies by the kernel. The partial result stays in a
    /// block in the cache; the last reduction writes directly to a target, if loads and stores can
    /// access one. Targets of a block are written after all its operands have been read.
    bool reduce_through_blocks(const Operation& op, std::uint32_t target_count) {
        const std::size_t element = op.program->element_bytes;
        const std::size_t step = std::max<std::size_t>(kBlockBytes / element, 1) * element;
        if (step > kBlockBytes && blocks_.size() < 2 * step) blocks_.resize(2 * step);
        const auto targets = std::span(memories_).first(target_count);
        const auto operands = std::span(memories_).subspan(target_count);
        const auto direct = std::ranges::find_if(targets, &Memory::is_addressable);
        const std::size_t bytes = targets.front().bytes;
        for (std::size_t at = 0; at < bytes; at += step) {
            const std::size_t chunk = std::min(step, bytes - at);
            std::byte* const into = direct != targets.end() ? direct->data + at : nullptr;
            Memory sum{.bytes = chunk};
            if (!add_operands(op, operands, at, into, sum)) return false;
            for (const Memory& target : targets)
                if (!move(target.at(at, chunk), sum)) return false;
        }
        return true;
    }
    /// Reduces the operands of a block, at offset `at`. Sets sum.data to the result: the only
    /// operand, or else `into`, or block memory if `into` is nullptr.
    bool add_operands(const Operation& op, std::span<const Memory> operands, std::size_t at,
                      std::byte* into, Memory& sum) {
        const std::size_t elements = sum.bytes / op.program->element_bytes;
        std::byte* const result = block_memory(0);
        std::byte* const other = result + blocks_.size() / 2;
        for (std::size_t k = 0; k < operands.size(); ++k) {
            Memory operand = operands[k].at(at, sum.bytes);
            if (!operand.is_addressable()) {
                std::byte* const copy = k == 0 ? result : other;
                if (!copy_from(operand, copy, sum.bytes)) return false;
                operand.data = copy;
            }
            const std::byte* const both[] = {sum.data, operand.data};
            const bool last = k + 1 == operands.size();
            sum.data = k == 0 ? operand.data : last && into != nullptr ? into : result;
            if (k > 0) reduce_many(op.reducer, sum.data, both, elements);
        }
        return true;
    }

    template <class Visit>
    void walk(Operation& op, PieceList list, std::uint32_t segment, Visit visit) {
        std::uint64_t packed = 0;
        for (std::uint32_t i = 0; i < list.count; ++i)
            visit(resolve(op, op.program->pieces[list.start + i], segment, packed));
    }

    /// Returns the memory of a piece, and adds its size to `packed`, the bytes of earlier pieces.
    Memory resolve(Operation& op, const Piece& piece, std::uint32_t segment,
                   std::uint64_t& packed) const {
        if (!piece.moving) {
            packed += piece.bytes;
            return part_of(op, piece, segment, piece.offset, piece.bytes);
        }
        const plan::Partition& partition = op.program->partition;
        const std::uint32_t shift = piece.advance * segment;
        const std::uint64_t element = op.program->element_bytes;
        const std::uint64_t begin = partition.begin(piece.first + shift);
        const std::uint64_t bytes = partition.size(piece.first + shift, piece.count) * element;
        // Pieces of slots and published cells are packed; a mapped block keeps the owner's layout.
        const std::uint64_t before = piece.buffer == plan::Buffer::mapped ? 0 : packed;
        const std::uint64_t offset =
            is_payload(piece.buffer)
                ? before + (begin - partition.begin(piece.origin + shift)) * element
                : op.program->place(piece.buffer, piece.first + shift) * element;
        packed += bytes;
        return part_of(op, piece, segment, offset, bytes);
    }

    [[nodiscard]] Memory part_of(Operation& op, const Piece& piece, std::uint32_t segment,
                                 std::uint64_t offset, std::uint64_t bytes) const {
        if (piece.buffer == plan::Buffer::mapped)
            return mapped(op, piece, segment, offset + bytes).at(offset, bytes);
        return Memory{.data = base_of(op, piece, segment)}.at(offset, bytes);
    }

    [[nodiscard]] std::byte* base_of(Operation& op, const Piece& piece,
                                     std::uint32_t segment) const {
        switch (piece.buffer) {
            case plan::Buffer::input:
                return const_cast<std::byte*>(op.registers.input);
            case plan::Buffer::output:
                return op.registers.output;
            case plan::Buffer::scratch:
                return scratch(op, piece.index);
            case plan::Buffer::slot:
                if (op.program->bulk && !piece.in_cell)
                    return op.team->own_region + op.slot_offset(piece.index, segment);
                return op.team->cell(op.bank, op.cell_number(piece.index, segment))->payload;
            case plan::Buffer::published:
                if (op.program->published_start != 0)
                    return published_slot(op, piece.peer, piece.index, segment);
                return op.team->published(piece.peer, op.bank, op.cell_number(piece.index, segment))
                    ->payload;
            case plan::Buffer::mapped:
                break;
        }
        return nullptr;
    }

    /// Returns the start of a block that a peer exposed, after a check of its first `bytes` bytes.
    [[nodiscard]] Memory mapped(const Operation& op, const Piece& piece, std::uint32_t segment,
                                std::uint64_t bytes) const {
        Memory memory{.peer = op.team->setup.job_ranks[static_cast<std::size_t>(piece.peer)]};
        const base::Cell* cell = op.team->cell(op.bank, op.cell_number(piece.index, segment));
        std::memcpy(&memory.reach, cell->payload, sizeof memory.reach);
        if (is_within(memory.reach, bytes)) {
            memory.data = wire_.memory().reach(memory.peer, memory.reach, bytes);
        } else {
            memory.outside = true;
            memory.reach = {};
        }
        return memory;
    }

    /// Returns the address of unit 0 of a scratch buffer; only units that steps touch have memory.
    [[nodiscard]] static std::byte* scratch(Operation& op, std::uint32_t index) {
        const BoundProgram& program = *op.program;
        if (index == program.scratch_in_output && op.registers.input != op.registers.output)
            return op.registers.output;
        if (index == program.scratch_in_input && op.registers.input != op.registers.output)
            return const_cast<std::byte*>(op.registers.input);  // no step writes to it
        const std::uint64_t stride = program.scratch_bytes / program.program.scratch;
        return op.scratch.data() + index * stride - program.touched_scratch.begin;
    }

    /// Returns true if the block is in its owner's memory. The kernel checks memory that it copies.
    [[nodiscard]] bool is_within(const base::Reach& reach, std::uint64_t bytes) const {
        if (reach.method == base::AccessMethod::copied) return true;
        std::uint64_t whole = reach.object_bytes;
        if (reach.method == base::AccessMethod::segment ||
            reach.method == base::AccessMethod::bounced)
            whole = wire_.segment_bytes();
        else if (reach.method != base::AccessMethod::remapped &&
                 reach.method != base::AccessMethod::registered)
            return false;  // invalid method
        return reach.offset <= whole && bytes <= whole - reach.offset;
    }

    Wire& wire_;
    std::byte* own_segment_;
    MappedBytes mapped_bytes_;
    Fault fault_;
    std::vector<base::PutPart> parts_;
    std::vector<Memory> memories_;  ///< source of a copy, or targets and operands of a reduction
    std::vector<std::byte*> targets_;
    std::vector<const std::byte*> operands_;
    std::vector<std::uint64_t> packed_;  ///< see resolve(); for each target and operand
    std::vector<std::byte> blocks_;      ///< two blocks of memory that stay in the cache
};

}  // namespace weft::run
