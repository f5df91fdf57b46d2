// SPDX-License-Identifier: BSD-3-Clause
#include "tests/virtual/farm/remote.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tests/support/serve_onesided.hpp"

namespace weft::farm {

namespace {

constexpr std::uint64_t kLine = 64;
/// Layout of the memory that one origin has in a heap, in words: the block of puts, the signal, and
/// the data of puts with a signal.
constexpr std::uint32_t kSignal = kBlockWords;
constexpr std::uint32_t kSignalData = kBlockWords + 1;
constexpr std::uint32_t kAllWords = kSignalData + kSignalWords;

const std::byte* bytes_of(const std::vector<std::uint64_t>& words) {
    return reinterpret_cast<const std::byte*>(words.data());
}

}  // namespace

Remote::Remote(World& world)
    : world_(world),
      size_(world.scenario.size()),
      blocks_(static_cast<std::size_t>(size_ * size_)),
      tickets_(static_cast<std::size_t>(size_)),
      has_failed_(static_cast<std::size_t>(size_)) {
    test::VirtualJob& job = world.job();
    run::OneSidedArea area{.ranks = size_, .before_first = world.scenario.requests};
    const std::uint64_t heap_bytes =
        (std::uint64_t{kAllWords} * static_cast<std::uint64_t>(size_) + 1) * 8;
    for (Rank rank = 0; rank < size_; ++rank) {
        const std::byte* const at = job.allocate(rank, area.bytes() + heap_bytes + 2 * kLine);
        area.offset = static_cast<std::uint64_t>(at - job.network().segment(rank));
    }
    heap_ = (area.offset + area.bytes() + kLine - 1) / kLine * kLine;
    for (Block& new_block : blocks_) {
        new_block.words.resize(kBlockWords);
        new_block.fresh.resize(kBlockWords);
    }
    for (std::vector<bool>& returned : tickets_) returned.resize(world.scenario.acts.size() + 1);
    for (Rank rank = 0; rank < size_; ++rank) {
        link::Wire& real = *job.wire(rank).real();
        Calls& calls = calls_.emplace_back(real, job.engine(rank), area, rank);
        if (calls.service().has_origins()) test::serve_onesided(real, calls);
    }
}

std::uint64_t Remote::offset(Rank origin, std::uint32_t word) const {
    // Word 0 of a heap is the counter that add() changes.
    return heap_ + (static_cast<std::uint64_t>(origin) * kAllWords + word + 1) * 8;
}

std::uint64_t Remote::word_at(Rank peer, std::uint64_t offset) {
    std::uint64_t word = 0;
    std::memcpy(&word, world_.job().network().segment(peer) + offset, sizeof word);
    return word;
}

std::uint64_t Remote::signalled(Rank origin, Rank peer, std::uint64_t round,
                                std::uint32_t word) const {
    return base::mix(round * 1000 + word +
                     (static_cast<std::uint64_t>(origin * size_ + peer) << 40));
}

/// Records whether a call succeeded; a failure is an error unless a rank has died. Returns
/// `succeeded`.
bool Remote::record(bool succeeded, Rank origin, const char* call) {
    world_.note_progress();
    if (succeeded) return true;
    has_failed_[static_cast<std::size_t>(origin)] = true;
    if (!world_.expects_death())
        world_.fail(fmt::format("{} of rank {} failed: {}", call, origin,
                                world_.job().engine(origin).failure().text));
    return false;
}

void Remote::perform(const Act& act, std::size_t number) {
    switch (act.kind) {
        case Act::Kind::put:
            return put(act, number);
        case Act::Kind::signal:
            return signal(act);
        case Act::Kind::get:
            return get(act);
        case Act::Kind::add:
            return add(act);
        case Act::Kind::fence:
            return fence(act.rank);
        default:
            return quiet(act.rank);
    }
}

void Remote::put(const Act& act, std::size_t number) {
    Block& target = block(act.rank, act.peer);
    const auto fresh = target.fresh.begin() + act.first;
    if (std::find(fresh, fresh + act.words, true) != fresh + act.words) fence(act.rank);
    std::vector<std::uint64_t>& source = sources_.emplace_back();
    for (std::uint32_t i = 0; i < act.words; ++i) {
        source.push_back(base::mix(number * 100 + i + 1));
        target.words[act.first + i] = source.back();
        target.fresh[act.first + i] = true;
    }
    target.needs_quiet = true;
    const bool reusable = act.form == Form::blocking;
    const bool succeeded = calls_[static_cast<std::size_t>(act.rank)].put(
        act.peer, offset(act.rank, act.first), bytes_of(source), act.words * 8U,
        reusable ? run::Return::reusable : run::Return::at_once);
    if (record(succeeded, act.rank, "put") && reusable) std::ranges::fill(source, 0);
}

void Remote::signal(const Act& act) {
    Block& target = block(act.rank, act.peer);
    // The data may be overwritten only after the peer has seen the last signal.
    if (target.seen != target.signals) {
        quiet(act.rank);
        check_signals(act.peer);
        if (target.seen != target.signals) return;
    }
    const std::uint64_t round = ++target.signals;
    std::vector<std::uint64_t>& source = sources_.emplace_back();
    const std::uint32_t words = 1 + static_cast<std::uint32_t>(round % kSignalWords);
    for (std::uint32_t i = 0; i < words; ++i)
        source.push_back(signalled(act.rank, act.peer, round, i));
    target.needs_quiet = true;
    const bool succeeded = calls_[static_cast<std::size_t>(act.rank)].put_signal(
        act.peer, offset(act.rank, kSignalData), bytes_of(source), words * 8U,
        {offset(act.rank, kSignal), round, false}, run::Return::reusable);
    if (record(succeeded, act.rank, "put with signal")) std::ranges::fill(source, 0);
}

void Remote::check_signals(Rank rank) {
    for (Rank origin = 0; origin < size_; ++origin) {
        Block& from = block(origin, rank);
        if (from.seen == from.signals) continue;
        const std::uint64_t round = word_at(rank, offset(origin, kSignal));
        if (round == from.seen) continue;
        if (round != from.signals) {
            world_.fail(fmt::format("rank {} sees signal {} of rank {} after signal {}", rank,
                                    round, origin, from.seen));
            return;
        }
        from.seen = round;
        for (std::uint32_t i = 0; i < 1 + round % kSignalWords; ++i)
            if (word_at(rank, offset(origin, kSignalData + i)) != signalled(origin, rank, round, i))
                world_.fail(
                    fmt::format("rank {} sees signal {} of rank {} before word {} of its "
                                "data",
                                rank, round, origin, i));
    }
}

void Remote::get(const Act& act) {
    const Block& target = block(act.rank, act.peer);
    if (target.needs_quiet) quiet(act.rank);
    std::vector<std::uint64_t>& into = sources_.emplace_back(act.words);
    const bool succeeded = calls_[static_cast<std::size_t>(act.rank)].get(
        act.peer, reinterpret_cast<std::byte*>(into.data()), offset(act.rank, act.first),
        act.words * 8U, run::Return::reusable);
    if (!record(succeeded, act.rank, "get") || has_failed_[static_cast<std::size_t>(act.rank)])
        return;
    if (!std::equal(into.begin(), into.end(), target.words.begin() + act.first))
        world_.fail(fmt::format("rank {} got other words from rank {} than it had put", act.rank,
                                act.peer));
}

void Remote::add(const Act& act) {
    std::uint64_t old = 0;
    const run::WordChange add_one{.kind = run::RequestKind::add, .operand = 1};
    const bool succeeded = calls_[static_cast<std::size_t>(act.rank)].change(
        act.peer, heap_, add_one, &old, run::Return::reusable);
    if (!record(succeeded, act.rank, "add")) return;
    std::vector<bool>& returned = tickets_[static_cast<std::size_t>(act.peer)];
    if (old >= returned.size() || returned[old])
        return world_.fail(
            fmt::format("ticket {} of rank {} was returned twice or is too large", old, act.peer));
    returned[old] = true;
}

void Remote::fence(Rank origin) {
    if (world_.scenario.fault != Fault::no_fence) calls_[static_cast<std::size_t>(origin)].fence();
    for (Rank peer = 0; peer < size_; ++peer)
        std::fill(block(origin, peer).fresh.begin(), block(origin, peer).fresh.end(), false);
}

void Remote::quiet(Rank origin) {
    if (!record(calls_[static_cast<std::size_t>(origin)].quiet(), origin, "quiet")) return;
    if (has_failed_[static_cast<std::size_t>(origin)]) return;
    for (Rank peer = 0; peer < size_; ++peer) {
        Block& target = block(origin, peer);
        if (!target.needs_quiet) continue;
        target.needs_quiet = false;
        std::fill(target.fresh.begin(), target.fresh.end(), false);
        for (std::uint32_t word = 0; word < kBlockWords; ++word)
            if (word_at(peer, offset(origin, word)) != target.words[word])
                return world_.fail(
                    fmt::format("after a quiet of rank {}, word {} at rank {} is not from the last "
                                "put",
                                origin, word, peer));
        if (word_at(peer, offset(origin, kSignal)) != target.signals)
            return world_.fail(fmt::format("after a quiet of rank {}, its signal is not at rank {}",
                                           origin, peer));
    }
}

}  // namespace weft::farm
