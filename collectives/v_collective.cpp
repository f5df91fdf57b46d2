// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/v_collective.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

namespace {

/// Writes the program of one rank: one lane for each message.
class ProgramWriter {
  public:
    explicit ProgramWriter(const MessagesRequest& request)
        : request_(request), pieces_max_(1), builder_(plan::Program{}) {
        for (const auto list : {request.sent, request.received}) {
            for (const Message& message : list)
                pieces_max_ = std::max(pieces_max_, pieces(message));
        }
    }

    /// Returns true if 32 bits are enough to number all units.
    [[nodiscard]] bool fits() const {
        const std::uint64_t blocks = request_.sent.size() + request_.received.size();
        return pieces_max_ <= std::numeric_limits<std::uint32_t>::max() / (blocks + 1);
    }

    plan::Program write() && {
        builder_ = plan::Builder(header());
        bool first = true;
        const auto begin_lane_unless_first = [&] {
            if (!first) builder_.begin_lane();
            first = false;
        };
        const std::size_t sent = request_.sent.size();
        for (std::size_t i = 0; i < sent; ++i) {
            begin_lane_unless_first();
            const Message& message = request_.sent[i];
            if (message.peer == request_.rank)
                copy_to_self(i);
            else if (message.mapped)
                expose(message, unit_of(i));
            else
                send(message, unit_of(i));
        }
        for (std::size_t i = 0; i < request_.received.size(); ++i) {
            const Message& message = request_.received[i];
            if (message.peer == request_.rank) continue;
            begin_lane_unless_first();
            if (message.mapped)
                read(message, unit_of(sent + i));
            else
                receive(message, unit_of(sent + i));
        }
        reserve();
        return std::move(builder_).finish();
    }

  private:
    [[nodiscard]] std::uint64_t pieces(const Message& message) const {
        return (message.count + request_.piece_elements - 1) / request_.piece_elements;
    }
    [[nodiscard]] std::uint32_t unit_of(std::size_t block) const {
        return plan::as_u32(block * pieces_max_);
    }

    [[nodiscard]] plan::Program header() const {
        plan::Program header;
        header.collective = request_.collective;
        header.algorithm = kPairwiseAlgorithm;
        header.rank = request_.rank;
        header.size = request_.size;
        header.root = request_.root;
        header.depth = kVCollectiveDepth;
        // Segments have separate flags. Later pieces reuse the flags, because credits keep a
        // sender at most depth pieces ahead.
        header.segments = 2 * kVCollectiveDepth;
        header.pairwise = true;
        for (const auto list : {request_.sent, request_.received}) {
            for (const Message& message : list) header.unit_counts.push_back(message.count);
        }
        header.units = unit_of(header.unit_counts.size());
        header.unit_elements = header.unit_counts.empty() ? 0 : request_.piece_elements;
        return header;
    }

    /// Copies a message of this rank to itself; `block` is its index in the sent messages.
    void copy_to_self(std::size_t block) {
        const auto found = std::ranges::find_if(request_.received, [&](const Message& message) {
            return message.peer == request_.rank &&
                   message.parallel_index == request_.sent[block].parallel_index;
        });
        WEFT_CHECK(found != request_.received.end(), request_.rank);
        const auto to = static_cast<std::size_t>(found - request_.received.begin());
        const auto units = plan::as_u32(pieces(*found));
        builder_.copy(plan::output(unit_of(request_.sent.size() + to), units),
                      plan::input(unit_of(block), units));
    }

    /// Calls body(piece_of) once, to add the steps for one piece, in a loop over the pieces if the
    /// message has several. piece_of(block) returns the current piece of the message's block.
    template <class Body>
    void for_each_piece(const Message& message, Body body) {
        const auto count = plan::as_u32(pieces(message));
        if (count == 1) {
            body([](plan::Block block) { return block; });
            return;
        }
        builder_.begin_loop(count);
        body([](plan::Block block) { return plan::per_segment(block); });
        builder_.end_loop();
    }

    void send(const Message& message, std::uint32_t unit) {
        const std::uint32_t number = slot_of(request_.rank, message);
        for_each_piece(message, [&](auto piece_of) {
            if (pieces(message) > 1)
                builder_.wait(message.peer, credit_of(message.peer, message), 0, kVCollectiveDepth);
            builder_.put(message.peer, number, piece_of(plan::input(unit)));
        });
    }

    void receive(const Message& message, std::uint32_t unit) {
        const std::uint32_t number = slot_of(message.peer, message);
        for_each_piece(message, [&](auto piece_of) {
            builder_.wait(message.peer, number);
            builder_.copy(piece_of(plan::output(unit)), piece_of(plan::slot(number, unit)));
            if (pieces(message) > 1)
                builder_.signal(message.peer, credit_of(request_.rank, message), 0,
                                kVCollectiveDepth);
        });
    }

    void expose(const Message& message, std::uint32_t unit) {
        const auto units = plan::as_u32(pieces(message));
        builder_.expose(message.peer, slot_of(request_.rank, message), plan::input(unit, units));
        builder_.wait(message.peer, credit_of(message.peer, message));
    }

    void read(const Message& message, std::uint32_t unit) {
        const std::uint32_t number = slot_of(message.peer, message);
        const auto units = plan::as_u32(pieces(message));
        builder_.wait(message.peer, number);
        builder_.copy(plan::output(unit, units), plan::mapped(message.peer, number, unit, units));
        builder_.signal(message.peer, credit_of(request_.rank, message));
    }

    /// Returns the slot and signal number of messages from `sender`. For each parallel index, data
    /// has n numbers, then credits have n (n: number of ranks).
    [[nodiscard]] std::uint32_t slot_of(Rank sender, const Message& message) const {
        const auto ranks = plan::as_u32(request_.size);
        return 2 * ranks * message.parallel_index + plan::as_u32(sender);
    }
    /// Returns the number of the signals from `receiver` to the sender: a credit for each piece, or
    /// the end of a read of mapped data.
    [[nodiscard]] std::uint32_t credit_of(Rank receiver, const Message& message) const {
        return plan::as_u32(request_.size) + slot_of(receiver, message);
    }

    void reserve() {
        if (request_.size == 1) return;
        const auto ranks = plan::as_u32(request_.size);
        for (std::uint32_t parallel = 0; parallel < request_.parallel_max; ++parallel)
            builder_.reserve_capacities(2 * ranks * parallel, ranks, 1);
        builder_.reserve_slots(2 * ranks * request_.parallel_max);
    }

    const MessagesRequest& request_;
    std::uint64_t pieces_max_;
    plan::Builder builder_;
};

}  // namespace

base::Result<plan::Program> generate_v_collective(const MessagesRequest& request) {
    ProgramWriter writer(request);
    if (!writer.fits())
        return base::fail(Status::memory,
                          "{}: pieces of {} messages, of {} elements each, exceed 32-bit numbers; "
                          "increase WEFT_BANK_BYTES",
                          request.collective, request.sent.size() + request.received.size(),
                          request.piece_elements);
    return std::move(writer).write();
}

}  // namespace weft::collectives
