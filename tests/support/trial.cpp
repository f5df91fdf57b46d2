// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random.hpp"

namespace weft::test {

namespace {

constexpr std::size_t kGuardBytes = 16;  // before and after a buffer; no call may touch them
constexpr std::size_t kInvalid = static_cast<std::size_t>(-1);  // set by invalidate_arrays()

}  // namespace

std::uint64_t count_in_pattern(int pattern, Rank a, Rank b) {
    constexpr std::uint64_t kLarge = 30'001;  // more than a slot holds
    const auto pair = static_cast<std::uint64_t>(a * 7 + b * 3);
    switch (pattern) {
        case 0:
            return pair % 4;
        case 1:  // one or two large blocks; all other blocks have at most one element
            return a == 0 && b < 2 ? kLarge : pair % 2;
        case 2:
            return 0;
        case 3:
            return 5;
        case 4:
            return pair % 3 == 0 ? 0 : pair * 41 % 700;
        default:
            return 1 + kLarge / static_cast<std::uint64_t>(1 + a + 4 * b);
    }
}

std::function<std::uint64_t(Rank rank, std::uint32_t unit)> unit_counts(
    const collectives::CollectiveTraits& traits, std::uint64_t count, int pattern) {
    if (!traits.has_counts()) return [count](Rank, std::uint32_t) { return count; };
    const bool pairwise = traits.contribution == collectives::Contribution::owner_own_block;
    return [pattern, pairwise](Rank rank, std::uint32_t unit) {
        const auto peer = static_cast<Rank>(unit);
        return pairwise ? count_in_pattern(pattern, rank, peer)
                        : count_in_pattern(pattern, peer, 0);
    };
}

std::uint64_t hash_of(std::span<const std::byte> bytes) {
    std::uint64_t hash = 1;
    for (const std::byte byte : bytes)
        hash = base::mix(hash * 31 + static_cast<std::uint64_t>(byte));
    return hash;
}

Trial::Trial(oracle::CallFacts facts, Rank rank, Arrangement arrangement)
    : oracle_(std::move(facts), rank), shift_(arrangement.shift) {
    const collectives::CollectiveTraits& traits = oracle_.traits();
    const bool takes_part = !traits.rooted() || rank == oracle_.facts().root;
    const bool one_buffer = traits.collective == Collective::broadcast;
    in_place_ = one_buffer || (arrangement.in_place && takes_part &&
                               traits.in_place != collectives::InPlace::never);
    // The blocks of a reduction have counts but no displacements.
    if (!traits.has_input_counts() || traits.reduces()) arrangement.in_spacing = Spacing::packed;
    if (!traits.has_output_counts()) arrangement.out_spacing = Spacing::packed;
    const std::vector<oracle::SizedUnit>& input = oracle_.input();
    const std::vector<oracle::SizedUnit>& output = oracle_.output();
    if (in_place_) {
        const bool output_is_longer = output.size() >= input.size() && !traits.has_input_counts();
        lay_out(input_, output_is_longer ? output : input,
                output_is_longer ? arrangement.out_spacing : arrangement.in_spacing);
    } else {
        lay_out(input_, input, arrangement.in_spacing);
        lay_out(output_, output, arrangement.out_spacing);
    }
}

void Trial::lay_out(Buffer& buffer, const std::vector<oracle::SizedUnit>& blocks, Spacing spacing) {
    buffer.blocks = blocks;
    buffer.packed = spacing == Spacing::packed;
    buffer.starts.resize(blocks.size());
    std::size_t end = buffer.packed ? 0 : 2;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const std::size_t block = spacing == Spacing::backwards ? blocks.size() - 1 - i : i;
        buffer.starts[block] = end;
        end += blocks[block].count + (buffer.packed ? 0 : 1 + block % 3);
    }
    buffer.memory.resize(end * oracle_.facts().samples->bytes + shift_ + 2 * kGuardBytes);
}

std::byte* Trial::base(Buffer& buffer) const {
    return buffer.memory.data() + kGuardBytes + shift_;
}

std::byte* Trial::block_at(Buffer& buffer, std::uint32_t unit) const {
    const std::size_t start = buffer.starts[unit - buffer.blocks.front().unit];
    return base(buffer) + start * oracle_.facts().samples->bytes;
}

void Trial::prepare(std::uint64_t batch) {
    batch_ = batch;
    const auto filler = static_cast<std::byte>(0x90 + oracle_.rank() % 64);
    for (Buffer* buffer : {&input_, &output_})
        std::fill(buffer->memory.begin(), buffer->memory.end(), filler);
    for (const oracle::SizedUnit& block : oracle_.input())
        oracle_.write(block, batch, block_at(input_, block.unit));
    for (Buffer* buffer : {&input_, &output_}) buffer->before = buffer->memory;
}

Blocks Trial::blocks_of(Buffer& buffer) {
    buffer.counts.clear();
    for (const oracle::SizedUnit& block : buffer.blocks) buffer.counts.push_back(block.count);
    buffer.displacements = buffer.starts;
    Blocks argument{.counts = buffer.counts};
    if (!buffer.packed) argument.displacements = buffer.displacements;
    return argument;
}

void Trial::invalidate_arrays() {
    for (Buffer* buffer : {&input_, &output_})
        for (std::vector<std::size_t>* array : {&buffer->counts, &buffer->displacements})
            std::fill(array->begin(), array->end(), kInvalid);
}

Call Trial::call() {
    const oracle::CallFacts& facts = oracle_.facts();
    const collectives::CollectiveTraits& traits = oracle_.traits();
    Call call{.collective = facts.collective,
              .type = facts.samples->type,
              .op = facts.samples->type == Type::user ? Op::user : facts.op,
              .root = facts.root};
    const std::vector<oracle::SizedUnit>& input = oracle_.input();
    const std::vector<oracle::SizedUnit>& output = oracle_.output();
    Buffer& out = output_buffer();
    if (!input.empty())
        call.in = traits.has_input_counts() ? base(input_) : block_at(input_, input.front().unit);
    if (!output.empty())
        call.out = traits.has_output_counts() ? base(out) : block_at(out, output.front().unit);
    else if (!traits.rooted())
        call.out = base(out);  // rank 0 of an exclusive scan
    if (!traits.has_counts())
        call.count = facts.count(oracle_.rank(), 0);
    else if (traits.rooted())
        call.count = (traits.has_output_counts() ? input : output).front().count;
    if (traits.has_input_counts() && !input.empty()) call.in_blocks = blocks_of(input_);
    if (traits.has_output_counts() && !output.empty()) call.out_blocks = blocks_of(out);
    return call;
}

std::string Trial::check() {
    Buffer& out = output_buffer();
    const std::size_t bytes = oracle_.facts().samples->bytes;
    // Makes the comparisons of whole buffers below ignore a block.
    const auto accept = [bytes](Buffer& buffer, const oracle::SizedUnit& block,
                                const std::byte* at) {
        std::copy_n(at, block.count * bytes, buffer.before.data() + (at - buffer.memory.data()));
    };
    for (std::size_t i = 0; i < oracle_.output().size(); ++i) {
        const oracle::SizedUnit& block = oracle_.output()[i];
        const std::byte* const found = block_at(out, block.unit);
        if (!oracle_.is_expected(i, batch_, found))
            return fmt::format("block {} is wrong at rank {}", block.unit, oracle_.rank());
        accept(out, block, found);
    }
    // A reduction in place may overwrite its operands with any values.
    if (in_place_ && oracle_.traits().reduces())
        for (const oracle::SizedUnit& block : oracle_.input())
            accept(input_, block, block_at(input_, block.unit));
    if (output_.memory != output_.before)
        return fmt::format("rank {} has written outside of its output", oracle_.rank());
    if (input_.memory != input_.before)
        return fmt::format("the input of rank {} was changed", oracle_.rank());
    return "";
}

std::span<const std::byte> Trial::output() {
    const std::vector<oracle::SizedUnit>& output = oracle_.output();
    if (output.empty()) return {};
    return {block_at(output_buffer(), output.front().unit),
            output.front().count * oracle_.facts().samples->bytes};
}

}  // namespace weft::test
