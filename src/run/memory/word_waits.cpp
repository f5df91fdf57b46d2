// SPDX-License-Identifier: BSD-3-Clause
// word_waits.cpp - waits for words of this rank that other ranks change.
#include <atomic>
#include <cstring>
#include <limits>

#include "run/job/real_engine.hpp"
#include "run/memory/remote_memory.hpp"

namespace weft::run {

namespace {

std::uint64_t widened(std::uint32_t narrow, bool is_signed) {
    return is_signed ? static_cast<std::uint64_t>(static_cast<std::int32_t>(narrow)) : narrow;
}

template <class Word>
Word load_shared(const std::byte* word) {
    // Acquire: pairs with the release of a local peer or of this rank's service.
    auto* shared = reinterpret_cast<Word*>(const_cast<std::byte*>(word));
    return std::atomic_ref<Word>(*shared).load(std::memory_order_acquire);
}

/// Returns word i as 64 bits, sign-extended if it is signed.
std::uint64_t load(const WordWait& wait, std::size_t i) {
    const std::byte* const word = static_cast<const std::byte*>(wait.word) + i * wait.width;
    if (wait.width == 8) return load_shared<std::uint64_t>(word);
    return widened(load_shared<std::uint32_t>(word), wait.is_signed);
}

/// Returns the value with which word i is compared.
std::uint64_t operand_of(const WordWait& wait, std::size_t i) {
    if (wait.values == nullptr) return wait.value;
    const std::byte* const value = static_cast<const std::byte*>(wait.values) + i * wait.width;
    std::uint64_t wide = 0;
    std::uint32_t narrow = 0;
    std::memcpy(wait.width == 8 ? static_cast<void*>(&wide) : &narrow, value, wait.width);
    return wait.width == 8 ? wide : widened(narrow, wait.is_signed);
}

bool less(std::uint64_t a, std::uint64_t b, bool is_signed) {
    return is_signed ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
}

[[gnu::always_inline]] inline bool satisfies(std::uint64_t word, const WordWait& wait,
                                             std::uint64_t operand) {
    switch (wait.compare) {
        case Compare::eq:
            return word == operand;
        case Compare::ne:
            return word != operand;
        case Compare::gt:
            return less(operand, word, wait.is_signed);
        case Compare::ge:
            return !less(word, operand, wait.is_signed);
        case Compare::lt:
            return less(word, operand, wait.is_signed);
        case Compare::le:
            break;
    }
    return !less(operand, word, wait.is_signed);
}

bool holds(const WordWait& wait, std::size_t i) {
    return satisfies(load(wait, i), wait, operand_of(wait, i));
}
bool is_included(const WordWait& wait, std::size_t i) {
    return wait.skip == nullptr || wait.skip[i] == 0;
}
bool all_skipped(const WordWait& wait) {
    for (std::size_t i = 0; i < wait.count; ++i)
        if (is_included(wait, i)) return false;
    return true;
}

/// Advances `next` to the first word that is not skipped and does not satisfy the condition. Sets
/// `last` to the value of the last word compared. Returns true if no such word remains.
bool advance(const WordWait& wait, std::size_t& next, std::uint64_t& last) {
    for (; next < wait.count; ++next) {
        if (!is_included(wait, next)) continue;
        last = load(wait, next);
        if (!satisfies(last, wait, operand_of(wait, next))) return false;
    }
    return true;
}

/// Writes the indices of the first `limit` words that satisfy the condition. Returns their number.
std::size_t collect(const WordWait& wait, std::size_t* indices, std::size_t limit) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < wait.count && found < limit; ++i)
        if (is_included(wait, i) && holds(wait, i)) indices[found++] = i;
    return found;
}

std::string describe(const char* call, const WordWait& wait) {
    constexpr std::string_view kSigns[] = {"==", "!=", ">", ">=", "<", "<="};
    const auto text = [&](std::uint64_t value) {
        return wait.is_signed ? fmt::format("{}", static_cast<std::int64_t>(value))
                              : fmt::format("{}", value);
    };
    std::size_t i = 0;
    while (i + 1 < wait.count && (!is_included(wait, i) || holds(wait, i))) ++i;
    const std::string which = wait.count == 1
                                  ? fmt::format("word {}", wait.word)
                                  : fmt::format("word {} of {} at {}", i, wait.count, wait.word);
    return fmt::format("{} {} {} {} (is {})", call, which,
                       kSigns[static_cast<std::size_t>(wait.compare)], text(operand_of(wait, i)),
                       text(load(wait, i)));
}

base::Result<void> check(const char* call, const WordWait& wait, bool closed) {
    if (closed) return base::fail(Status::argument, "{}: the runtime has been finalized", call);
    if (wait.word == nullptr && wait.count != 0)
        return base::fail(Status::argument, "{}: word is null, expected {} words of {} bytes", call,
                          wait.count, wait.width);
    if (wait.count > std::numeric_limits<std::size_t>::max() / wait.width)
        return base::fail(Status::argument,
                          "{}: count: {} words of {} bytes exceed the address space", call,
                          wait.count, wait.width);
    if (reinterpret_cast<std::uintptr_t>(wait.word) % wait.width != 0)
        return base::fail(Status::argument, "{}: word at {} is not aligned to {} bytes", call,
                          wait.word, wait.width);
    if (wait.compare > Compare::le)
        return base::fail(Status::argument, "{}: unknown comparison {}, expected 0..{}", call,
                          static_cast<int>(wait.compare), static_cast<int>(Compare::le));
    return {};
}

}  // namespace

/// Waits or tests until holds() sets `found` and returns true, unless all words are skipped.
template <class Found, class Holds>
base::Result<Found> WordWaits::find(const char* call, const WordWait& wait, Patience patience,
                                    const Found& found, Holds holds) {
    WEFT_TRY(check(call, wait, services_.closed()));
    if (holds() || all_skipped(wait)) return found;
    RealEngine& engine = services_.engine;
    if (!patience) engine.poll();
    const Turn::Hold hold = engine.take_turn();
    if (!patience) {
        if (const base::Failure* lost = engine.lost()) return *lost;
        if (!holds() && engine.deaths().survivable && team_.failed()) return team_.state().failure;
        return found;
    }
    bool done = false;
    const auto ended = [&] {
        done = holds();
        return done || patience->passed();
    };
    const TeamState* const team = &team_.state();  // any member may change the word
    if (!engine.await(
            ended, [&] { return describe(call, wait); }, team))
        return engine.failure();
    if (done) return found;
    return base::fail(Status::timeout, "{}: time limit exceeded: {}", call, describe(call, wait));
}

base::Result<std::uint64_t> WordWaits::all(const WordWait& wait, base::Deadline deadline) {
    std::size_t next = 0;
    std::uint64_t last = 0;
    if (wait.count == 1 && wait.skip == nullptr && wait.values == nullptr)
        return find("wait_until", wait, deadline, last,
                    [&] { return satisfies(last = load(wait, 0), wait, wait.value); });
    return find("wait_until", wait, deadline, last, [&] { return advance(wait, next, last); });
}

base::Result<bool> WordWaits::test_all(const WordWait& wait) {
    bool found = false;
    return find("test_until", wait, std::nullopt, found, [&] {
        std::size_t next = 0;
        std::uint64_t last = 0;
        return found = advance(wait, next, last);
    });
}

base::Result<std::size_t> WordWaits::any(const WordWait& wait, Patience patience) {
    std::size_t found = kNone;
    return find(patience ? "wait_any" : "test_any", wait, patience, found,
                [&] { return collect(wait, &found, 1) != 0; });
}

base::Result<std::size_t> WordWaits::some(const WordWait& wait, std::size_t* indices,
                                          Patience patience) {
    std::size_t found = 0;
    return find(patience ? "wait_some" : "test_some", wait, patience, found,
                [&] { return (found = collect(wait, indices, wait.count)) != 0; });
}

}  // namespace weft::run
