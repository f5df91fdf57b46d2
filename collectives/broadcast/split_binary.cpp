// SPDX-License-Identifier: BSD-3-Clause
// split_binary.cpp - broadcast of one half of the vector down each side of a binary tree.
//
// Idea     The root sends the first half down its left subtree and the second half down its right one;
//          then each rank exchanges its half with its counterpart on the other side. A rank without
//          one, the last on the left of an even number of ranks, gets the second half from the root.
//          Two lanes: a rank forwards its half in one and receives the other half in the other.
// Source   Pjesivac-Grbovic et al., Performance analysis of MPI collective operations; Hoefler and Moor,
//          section 3.1.2 (SB).
// Rounds   ceil(log2(n + 1)) for one piece (one more than the tree has levels below the root, but for
//          counterparts of different depth). Messages: 2 * s * (n - 1) for s pieces of each half.
// Bytes    Half a vector along each edge of the tree, and half a vector to each rank from the other side:
//          (n - 1) vectors in all. A rank sends at most 3 halves, the root at most 3.
// Memory   Two slots; with segments two copies each and three credits.
// Good for Vectors of middle size: the time of half a vector down a binary tree, and one exchange.
//          Unless given, pieces have about 8 KiB.
// Holds    Not synchronizing: the root never waits (but for credits).
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/patterns/range_tree.hpp"
#include "plan/schedule/builder.hpp"

namespace weft::collectives {

namespace {

// Numbers. The data of the own side, the other half, then credits: of two children, and of whoever
// got the other half from this rank.
constexpr std::uint32_t kOwn = 0;
constexpr std::uint32_t kOther = 1;
constexpr std::uint32_t kCredit = 2;
constexpr std::uint32_t kOtherCredit = 4;
constexpr std::uint32_t kNumbers = 5;
constexpr std::uint16_t kDepth = 2;

/// Numbers are counted from the root: 1..left are the left side, the others behind 0 the right one.
class SplitBinary {
  public:
    SplitBinary(plan::Builder& builder, const GenerateRequest& request, std::uint32_t segments)
        : builder_(builder),
          request_(request),
          segments_(segments),
          own_(request.rank < request.root ? request.rank - request.root + request.size
                                           : request.rank - request.root),
          left_(request.size / 2),
          place_(patterns::place_in(patterns::kary_tree(request.size, 2),
                                    {request.rank, request.size, request.root})) {}

    void write() {
        begin_loop();
        if (own_ == 0) {
            write_root();
        } else {
            write_inner();
        }
        end_loop();
        if (own_ == 0) return;
        builder_.begin_lane();
        begin_loop();
        take(giver(), kOther, kOtherCredit, other_half());
        end_loop();
    }

  private:
    void write_root() {
        for (const std::uint32_t half : {0U, 1U})
            builder_.copy(output(half),
                          plan::per_segment(plan::input(half * segments_), advance()));
        for (std::uint32_t child = 0; child < place_.children.size(); ++child)
            give(place_.children[child], kOwn, kCredit + child, child);
        if (request_.size % 2 == 0) give(real(left_), kOther, kOtherCredit, 1);
    }

    void write_inner() {
        take(place_.parent, kOwn, kCredit + place_.child_index, own_half());
        for (std::uint32_t child = 0; child < place_.children.size(); ++child)
            give(place_.children[child], kOwn, kCredit + child, own_half());
        if (counterpart() != 0) give(real(counterpart()), kOther, kOtherCredit, own_half());
    }

    void give(Rank peer, std::uint32_t number, std::uint32_t credit, std::uint32_t half) {
        if (pipelined()) builder_.wait(peer, credit, 0, kDepth);
        builder_.put(peer, number, output(half));
    }
    void take(Rank peer, std::uint32_t number, std::uint32_t credit, std::uint32_t half) {
        builder_.wait(peer, number);
        builder_.copy(output(half),
                      plan::per_segment(plan::slot(number, half * segments_), advance()));
        if (pipelined()) builder_.signal(peer, credit, 0, kDepth);
    }

    [[nodiscard]] std::uint32_t own_half() const { return own_ <= left_ ? 0 : 1; }
    [[nodiscard]] std::uint32_t other_half() const { return 1 - own_half(); }
    /// The number on the other side; 0 if there is none.
    [[nodiscard]] Rank counterpart() const {
        if (own_ > left_) return own_ - left_;
        return own_ + left_ < request_.size ? own_ + left_ : 0;
    }
    /// Who has the other half for this rank: the counterpart or the root.
    [[nodiscard]] Rank giver() const { return real(counterpart()); }
    [[nodiscard]] Rank real(Rank number) const {
        return static_cast<Rank>((std::int64_t{number} + request_.root) % request_.size);
    }

    [[nodiscard]] bool pipelined() const { return segments_ > 1; }
    [[nodiscard]] std::uint32_t advance() const { return pipelined() ? 1 : 0; }
    [[nodiscard]] plan::Block output(std::uint32_t half) const {
        return plan::per_segment(plan::output(half * segments_), advance());
    }
    void begin_loop() {
        if (pipelined()) builder_.begin_loop();
    }
    void end_loop() {
        if (pipelined()) builder_.end_loop();
    }

    plan::Builder& builder_;
    const GenerateRequest& request_;
    std::uint32_t segments_;
    Rank own_;
    Rank left_;  ///< ranks on the left side
    patterns::TreePlace place_;
};

base::Result<plan::Program> generate_split_binary(const AlgorithmSpec& spec,
                                                  const GenerateRequest& asked) {
    const GenerateRequest request = in_pieces(spec, asked);
    const base::Result<std::uint32_t> segments = pipeline_segments(spec, request);
    if (!segments) return segments.failure();
    plan::Program header = program_header("broadcast", spec, request);
    if (request.elements == 0) {
        header.units = 0;
        return plan::Builder(std::move(header)).finish();
    }
    header.units = 2 * *segments;
    header.segments = *segments;
    header.depth = *segments > 1 ? kDepth : 1;
    plan::Builder builder(std::move(header));
    SplitBinary(builder, request, *segments).write();
    if (request.size > 1) {
        builder.reserve_room(kOwn, 1);
        builder.reserve_room(kOther, 1);
        if (*segments > 1) builder.reserve_slots(kNumbers);
    }
    return std::move(builder).finish();
}

}  // namespace

Algorithm broadcast_split_binary() {
    return {
        .collective = "broadcast",
        .name = "split-binary",
        .summary = "half of the vector down each side of a binary tree, then counterparts exchange",
        .source = "Pjesivac-Grbovic et al.; Hoefler and Moor, section 3.1.2",
        .parameters = {{"segments", "by size", "pieces of each half that follow each other",
                        "2,5"}},
        .properties = {.ordered = true, .bit_identical = true, .rooted = true},
        .generate = &generate_split_binary,
    };
}

}  // namespace weft::collectives
