// SPDX-License-Identifier: BSD-3-Clause
// generalized.cpp - allreduce over any abelian group of the ranks, from least bytes
// to fewest rounds.
//
// Idea     Rank p holds a partial result of each block p + k, where k runs over the elements of a
//          group on the ranks. A step halves the number N of elements along one axis of the group.
//          A rank adds the upper half of its blocks to the lower half of the rank N/2 away. If N is
//          odd, block k = 0 stays as it is in that step. From then on the parts of this block
//          (*lead*) and of the others (*regular*) come from different ranks. After all steps each
//          rank has one block of the result, and the steps are repeated backwards to distribute the
//          blocks. To leave out the last r steps of the distribution, each rank fully reduces all
//          blocks that it would receive in them.
// Source   Kolmakov and Zhang, A generalization of the allreduce operation. On one axis, r = 0 is
//          Bruck and Ho's and Traeff's circulant algorithm; r = ceil(log2 n) is Bar-Noy, Kipnis
//          and Schieber's algorithm.
// Rounds   2L - r. L = ceil(log2 n) on one axis, or the sum of ceil(log2 d) for axes of d ranks.
// Bytes    On one axis 2 (n-1) + (R-1)(L-1) blocks, with n blocks in a buffer; at most n in a step.
//          R = ceil(n / 2^(L-r)) is the number of blocks that a rank fully reduces.
// Memory   Slots for arriving data; a scratch buffer for regular parts, another for r > 0
//          and odd N.
// Good for Any n without a fold: r = 0 for long buffers, r = L for short ones, others in between.
// Holds    Each rank adds in its own rotation, so operations must commute. With r = 0 each block is
//          reduced once, and results are bit-identical; with larger r they may differ. Blocks are
//          at their final positions, so no copies before or after are needed.
#include <algorithm>
#include <charconv>

#include "collectives/entries.hpp"
#include "collectives/generate/blocks.hpp"
#include "collectives/notation/cursor.hpp"

namespace weft::collectives {

namespace {

using plan::Block;
using plan::Buffer;
using BlockNumbers = std::vector<std::uint32_t>;

/// One cyclic factor of the group, of `size` elements. Neighbors along it are `stride` ranks apart.
struct Axis {
    std::uint32_t size = 1;
    std::uint32_t stride = 1;
};

/// A step of the reduction: `count` elements along an axis become the larger half of them.
struct HalvingStep {
    std::size_t axis = 0;
    std::uint32_t count = 0;

    [[nodiscard]] std::uint32_t moved() const { return count / 2; }         ///< elements sent
    [[nodiscard]] std::uint32_t left() const { return count - count / 2; }  ///< elements kept
};

/// Elements first, first + 1, ... along one axis.
struct Extent {
    std::uint32_t first = 0;
    std::uint32_t count = 1;
};
using Box = std::vector<Extent>;

class Generalized {
  public:
    Generalized(BlockWriter& writer, Rank rank, std::vector<Axis> axes, std::uint32_t left_out)
        : writer_(writer), axes_(std::move(axes)) {
        for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
            own_.push_back(as_u32(rank) / axes_[axis].stride % axes_[axis].size);
            size_ *= axes_[axis].size;
            for (std::uint32_t count = axes_[axis].size; count > 1; count -= count / 2)
                steps_.push_back({axis, count});
        }
        repeated_ = steps_.size() - left_out;
        results_ = held_before(repeated_);
        lead_.assign(size_, Buffer::input);
        regular_ = lead_;
        in_put_.assign(2 * std::size_t{size_}, false);
    }

    void write() {
        for (std::size_t step = 0; step < steps_.size(); ++step) reduce(step);
        for (std::size_t step = repeated_; step-- > 0;) distribute(step);
        if (steps_.empty()) writer_->copy(writer_.output(0), writer_.input(0));
    }

  private:
    static constexpr std::uint32_t kRegular = 0;  ///< scratch buffer of regular parts
    /// Scratch buffer of received data that is added to lead and regular parts.
    static constexpr std::uint32_t kArrived = 1;
    /// Passed to add() instead of a slot's number: the received data is in kArrived.
    static constexpr std::uint32_t kFromScratch = ~std::uint32_t{0};

    // --- contents --------------------------------------------------------------------------------

    /// Returns the blocks that a rank holds before a step if it fully reduces one block: one
    /// element along finished axes, and all elements along later axes.
    [[nodiscard]] Box held_before(std::size_t step) const {
        Box box(axes_.size());
        for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
            if (step == steps_.size() || axis < steps_[step].axis) continue;
            box[axis].count = axis == steps_[step].axis ? steps_[step].count : axes_[axis].size;
        }
        return box;
    }

    /// Returns the blocks of held_before(step), on the step's axis only `along`, for each block
    /// that the rank fully reduces (results_).
    [[nodiscard]] Box widened(std::size_t step, Extent along) const {
        Box box = held_before(step);
        box[steps_[step].axis] = along;
        for (std::size_t i = 0; i < box.size(); ++i)
            box[i].count = std::min(axes_[i].size, box[i].count + results_[i].count - 1);
        return box;
    }

    /// Returns the blocks of a box, shifted along an axis. Sender and receiver list them in
    /// the same order.
    [[nodiscard]] BlockNumbers blocks(const Box& box, std::size_t axis,
                                      std::uint32_t shift = 0) const {
        BlockNumbers list{0};
        for (std::size_t along = 0; along < axes_.size(); ++along) {
            const std::uint32_t size = axes_[along].size;
            const std::uint32_t ahead = box[along].first + (along == axis ? shift : 0);
            std::uint32_t place = (own_[along] + ahead) % size;
            BlockNumbers longer(list.size() * box[along].count);
            std::uint32_t* into = longer.data();
            for (std::uint32_t left = box[along].count; left > 0; place = 0) {
                const std::uint32_t end = std::min(size, place + left);  // later blocks wrap around
                left -= end - place;
                for (; place < end; ++place)
                    for (const std::uint32_t block : list)
                        *into++ = block + place * axes_[along].stride;
            }
            list = std::move(longer);
        }
        return list;
    }

    /// Returns the rank `ahead` elements further along an axis.
    [[nodiscard]] Rank peer(std::size_t axis, std::uint32_t ahead) const {
        std::uint32_t rank = 0;
        for (std::size_t i = 0; i < axes_.size(); ++i)
            rank += (own_[i] + (i == axis ? ahead : 0)) % axes_[i].size * axes_[i].stride;
        return static_cast<Rank>(rank);
    }

    // --- steps ---------------------------------------------------------------------------------

    /// Writes one step of the reduction.
    void reduce(std::size_t index) {
        const HalvingStep& step = steps_[index];
        const std::uint32_t size = axes_[step.axis].size;
        if (step.count == size) {  // first step of an axis: each block now has only its lead part
            regular_ = lead_;
            separate_ = false;
        }
        const auto number = as_u32(index);
        const Box sent = widened(index, {step.left(), step.moved()});
        put(peer(step.axis, step.moved()), number, blocks(sent, step.axis), regular_);
        writer_->wait(peer(step.axis, size - step.moved()), number);
        const BlockNumbers received = blocks(sent, step.axis, size - step.moved());
        // Values of lower ranks are the first operands, so that ranges without wrap are in order.
        const bool received_first = own_[step.axis] >= step.moved();
        if (step.count % 2 != 0) {
            add(received, number, received_first, [](std::uint32_t) { return Share::regular; });
            separate_ = true;
        } else if (!separate_) {
            add(received, number, received_first, [](std::uint32_t) { return Share::both; });
        } else {
            add_separately(index, received, received_first);
        }
    }

    /// Adds received data in a step with even `count`, if lead and regular parts differ. If a block
    /// receives both a lead and a regular part, the data is copied to kArrived first.
    void add_separately(std::size_t index, const BlockNumbers& received, bool received_first) {
        const HalvingStep& step = steps_[index];
        const auto number = as_u32(index);
        const BlockNumbers leads = blocks(widened(index, {0, 1}), step.axis);
        BlockNumbers others;
        if (step.count > 2) others = blocks(widened(index, {1, step.left() - 1}), step.axis);
        std::vector<bool> is_lead(size_);
        for (const std::uint32_t block : leads) is_lead[block] = true;
        if (std::ranges::none_of(others, [&](std::uint32_t block) { return is_lead[block]; }))
            return add(received, number, received_first, [&](std::uint32_t block) {
                return is_lead[block] ? Share::lead : Share::regular;
            });
        std::vector<Block> from;
        std::vector<Block> to;
        for_each_run(received, nullptr, [&](std::uint32_t block, std::uint32_t count) {
            from.push_back(writer_.slot(number, block, count));
            to.push_back(writer_.scratch(kArrived, block, count));
        });
        writer_->copy(to, from);
        add(leads, kFromScratch, received_first, [](std::uint32_t) { return Share::lead; });
        add(others, kFromScratch, received_first, [](std::uint32_t) { return Share::regular; });
    }

    /// Part of a block that received data is added to.
    enum class Share : std::uint8_t { lead, regular, both };

    /// Adds received data, in slot `number` or in kArrived, to the parts of the listed blocks.
    /// `received_first`: the received data is the first operand.
    template <class ShareOf>
    void add(const BlockNumbers& list, std::uint32_t number, bool received_first,
             ShareOf share_of) {
        flush_before_write(list, [&](std::uint32_t block) {
            return share_of(block) == Share::regular ? Buffer::scratch : Buffer::output;
        });
        std::vector<Block> targets;
        std::vector<Block> own;
        std::vector<Block> received;
        struct OpenRun {
            Buffer target = {};
            Buffer from = {};
            std::uint32_t next = ~std::uint32_t{0};
        } run;
        for (const std::uint32_t block : list) {
            const Share share = share_of(block);
            const Buffer target = share == Share::regular ? Buffer::scratch : Buffer::output;
            const Buffer from = share == Share::lead ? lead_[block] : regular_[block];
            // All three lists are cut at the same positions.
            if (block == run.next && target == run.target && from == run.from) {
                ++targets.back().count;
                ++own.back().count;
                ++received.back().count;
            } else {
                targets.push_back(part(target, block));
                own.push_back(part(from, block));
                received.push_back(number == kFromScratch ? writer_.scratch(kArrived, block)
                                                          : writer_.slot(number, block));
            }
            run = {target, from, block + 1};
            if (share != Share::regular) lead_[block] = target;
            if (share != Share::lead) regular_[block] = target;
        }
        std::vector<Block> operands = received_first ? received : own;
        const std::vector<Block>& second = received_first ? own : received;
        operands.insert(operands.end(), second.begin(), second.end());
        writer_->reduce_lists(targets, operands);
    }

    /// Writes the reverse of a step: distributes finished blocks.
    void distribute(std::size_t index) {
        const HalvingStep& step = steps_[index];
        const auto number = as_u32(steps_.size() + index);
        const std::uint32_t size = axes_[step.axis].size;
        Box sent = held_before(index);
        sent[step.axis] = {step.left() - step.moved(), step.moved()};
        put(peer(step.axis, size - step.moved()), number, blocks(sent, step.axis), lead_);
        writer_->wait(peer(step.axis, step.moved()), number);
        const BlockNumbers received = blocks(sent, step.axis, step.moved());
        flush_before_write(received, [](std::uint32_t) { return Buffer::output; });
        std::vector<Block> from;
        std::vector<Block> to;
        for_each_run(received, nullptr, [&](std::uint32_t block, std::uint32_t count) {
            from.push_back(writer_.slot(number, block, count));
            to.push_back(writer_.output(block, count));
            std::fill_n(lead_.begin() + block, count, Buffer::output);
        });
        writer_->copy(to, from);
    }

    // --- blocks --------------------------------------------------------------------------------

    /// Puts the listed blocks, each from its buffer in `buffers`.
    void put(Rank to, std::uint32_t number, const BlockNumbers& list,
             const std::vector<Buffer>& buffers) {
        std::vector<Block> source;
        for_each_run(list, &buffers, [&](std::uint32_t block, std::uint32_t count) {
            source.push_back(part(buffers[block], block, count));
            std::fill_n(
                in_put_.begin() + static_cast<std::ptrdiff_t>(put_index(buffers[block], block)),
                count, true);
        });
        writer_->reserve_capacity(number, as_u32(list.size()));
        writer_->put(to, number, source);
    }

    /// Flushes puts that may still read blocks that are about to be overwritten.
    template <class TargetOf>
    void flush_before_write(const BlockNumbers& list, TargetOf target_of) {
        const auto is_in_put = [&](std::uint32_t block) {
            return in_put_[put_index(target_of(block), block)];
        };
        if (std::ranges::none_of(list, is_in_put)) return;
        writer_->flush();
        in_put_.assign(in_put_.size(), false);
    }
    /// Returns the index of a block in in_put_. Input and output have the same indices, because
    /// they may be the same memory.
    [[nodiscard]] std::size_t put_index(Buffer buffer, std::uint32_t block) const {
        return buffer == Buffer::scratch ? size_ + std::size_t{block} : block;
    }
    /// Returns blocks in a buffer; scratch means kRegular.
    [[nodiscard]] Block part(Buffer buffer, std::uint32_t block, std::uint32_t count = 1) const {
        if (buffer == Buffer::scratch) return writer_.scratch(kRegular, block, count);
        return buffer == Buffer::input ? writer_.input(block, count) : writer_.output(block, count);
    }
    /// Calls visit(first, count) for runs of consecutive blocks of the list. With `buffers`, a run
    /// has blocks of one buffer only.
    template <class Visit>
    static void for_each_run(const BlockNumbers& list, const std::vector<Buffer>* buffers,
                             Visit visit) {
        for (std::size_t first = 0; first < list.size();) {
            std::size_t next = first + 1;
            while (next < list.size() && list[next] == list[next - 1] + 1 &&
                   (buffers == nullptr || (*buffers)[list[next]] == (*buffers)[list[first]]))
                ++next;
            visit(list[first], as_u32(next - first));
            first = next;
        }
    }

    BlockWriter& writer_;
    std::vector<Axis> axes_;
    std::uint32_t size_ = 1;
    std::vector<std::uint32_t> own_;  ///< this rank's position along each axis
    std::vector<HalvingStep> steps_;
    std::size_t repeated_ = 0;     ///< number of steps that are repeated backwards
    Box results_;                  ///< blocks that this rank fully reduces, from its own on
    std::vector<Buffer> lead_;     ///< buffer of each block's lead part
    std::vector<Buffer> regular_;  ///< buffer of each block's regular part
    bool separate_ = false;        ///< leads and regular parts differ
    std::vector<bool> in_put_;     ///< blocks that puts since the last flush() may read
};

std::vector<std::uint32_t> prime_factors(std::uint32_t number) {
    std::vector<std::uint32_t> factors;
    for (std::uint32_t factor = 2; number > 1; ++factor) {
        if (factor > number / factor) factor = number;
        for (; number % factor == 0; number /= factor) factors.push_back(factor);
    }
    return factors;
}

/// Returns an axis for each factor, nearest ranks first; without factors, one axis of one rank.
std::vector<Axis> axes_of(const std::vector<std::uint32_t>& factors) {
    std::vector<Axis> axes;
    std::uint32_t stride = 1;
    for (const std::uint32_t factor : factors) {
        axes.push_back({factor, stride});
        stride *= factor;
    }
    if (axes.empty()) axes.push_back({1, 1});
    return axes;
}

/// Returns the axes that `group` names: factors as in 4x3x2, nearest ranks first, with the product
/// `size`; `n`: one axis of all ranks; `primes`: the ascending prime factors.
base::Result<std::vector<Axis>> parse_group(const AlgorithmSpec& spec, Rank size) {
    const auto ranks = as_u32(size);
    const SpecParameter* given = spec.find("group");
    if (given == nullptr || given->value == "n") return std::vector<Axis>{{ranks, 1}};
    if (given->value == "primes") return axes_of(prime_factors(ranks));
    std::vector<Axis> axes;
    std::uint64_t product = 1;
    const char* at = given->value.data();
    const char* const end = at + given->value.size();
    while (true) {
        std::uint32_t factor = 0;
        const auto [rest, error] = std::from_chars(at, end, factor);
        if (error != std::errc{} || factor == 0)
            return fail_at(given->position,
                           "group={} is not n, primes or a list of factors such as 4x3x2",
                           given->value);
        axes.push_back({factor, as_u32(product)});
        product *= factor;
        if (rest == end && product == ranks) return axes;
        if (rest == end || product > ranks || *rest != 'x')
            return fail_at(given->position, "the product of group={} is not {} ranks", given->value,
                           size);
        at = rest + 1;
    }
}

base::Result<plan::Program> generate_generalized(const GenerateRequest& request) {
    const AlgorithmSpec& spec = *request.spec;
    std::vector<Axis> axes = WEFT_TRY(parse_group(spec, request.size));
    std::int64_t steps = 0;
    for (const Axis& axis : axes) steps += std::bit_width(axis.size - 1);
    const auto left_out =
        WEFT_TRY(number_parameter(spec, "r", {.fallback = 0, .least = 0, .most = steps}));
    return program_by_blocks(
        {.lane_depth = left_out == 0 ? 1U : BlockWriter::kDepth}, request,
        [&](BlockWriter& writer, const GenerateRequest&) {
            Generalized(writer, request.rank, std::move(axes), as_u32(left_out)).write();
        });
}

/// Returns the time of the rounds and bytes on one axis, in picoseconds (equation 36 of the paper).
std::int64_t estimate(const CandidateRequest& request, std::int64_t steps, std::int64_t left_out) {
    const std::int64_t others = request.size - 1;
    const std::int64_t results = (others >> (steps - left_out)) + 1;
    const double blocks = static_cast<double>(2 * others + (results - 1) * (steps - 1));
    return (2 * steps - left_out) * request.put_ps +
           static_cast<std::int64_t>(blocks / static_cast<double>(request.size) *
                                     static_cast<double>(request.buffer_ps));
}

/// Returns specs with r = best - 1 .. best + 1 by estimate(), except r = 0, the plain name, and the
/// best one in segments.
std::vector<std::string> generalized_variants(const CandidateRequest& request) {
    const std::int64_t steps = std::bit_width(as_u32(request.size - 1));
    std::int64_t best = 0;
    for (std::int64_t r = 1; r <= steps; ++r)
        if (estimate(request, steps, r) < estimate(request, steps, best)) best = r;
    std::vector<std::string> specs;
    for (std::int64_t r = std::max<std::int64_t>(1, best - 1); r <= std::min(best + 1, steps); ++r)
        specs.push_back(fmt::format("generalized:r={}", r));
    if (best > 0 && request.segments > 1)
        specs.push_back(fmt::format("generalized:r={},segments={}", best, request.segments));
    return specs;
}

bool leaves_nothing_out(const AlgorithmSpec& spec, const plan::Layout& /*layout*/) {
    const SpecParameter* const r = spec.find("r");
    return r == nullptr || r->value == "0";
}

}  // namespace

Algorithm allreduce_generalized() {
    return {
        .collective = "allreduce",
        .name = "generalized",
        .summary = "halving and doubling on any group of the ranks; r steps fewer for more bytes",
        .source = "Kolmakov and Zhang, A generalization of the allreduce operation",
        .parameters = {{"r", "0", "steps of the distribution that are left out", "1,2,3"},
                       {"group", "n", "factors whose product is n, nearest ranks first; or primes",
                        "2x2,2x2x2,4x2,3x3,5x1"},
                       kTriedSegments},
        .properties = {.synchronizing = true},
        .generate = &generate_generalized,
        .variants = &generalized_variants,
        .same_bits = &leaves_nothing_out};
}

}  // namespace weft::collectives
