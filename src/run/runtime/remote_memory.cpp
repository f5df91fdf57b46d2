// SPDX-License-Identifier: BSD-3-Clause
#include "run/runtime/remote_memory.hpp"

#include <atomic>

#include "run/runtime/real_engine.hpp"
#include "run/runtime/runtime.hpp"

namespace weft::run {

namespace {

template <class Word>
Word load(const void* word) {
    // Acquire: pairs with the release of who changed the word, here or at this rank's service.
    auto* shared = static_cast<Word*>(const_cast<void*>(word));
    return std::atomic_ref<Word>(*shared).load(std::memory_order_acquire);
}

/// The word as wide as can be, so that one comparison serves: extended by its sign if it has one.
std::uint64_t load(const WordWait& wait) {
    if (wait.width == 8) return load<std::uint64_t>(wait.word);
    const auto narrow = load<std::uint32_t>(wait.word);
    return wait.is_signed ? static_cast<std::uint64_t>(static_cast<std::int32_t>(narrow)) : narrow;
}

bool less(std::uint64_t a, std::uint64_t b, bool is_signed) {
    return is_signed ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
}

bool holds(const WordWait& wait) {
    const std::uint64_t have = load(wait);
    switch (wait.compare) {
        case Compare::eq:
            return have == wait.value;
        case Compare::ne:
            return have != wait.value;
        case Compare::gt:
            return less(wait.value, have, wait.is_signed);
        case Compare::ge:
            return !less(have, wait.value, wait.is_signed);
        case Compare::lt:
            return less(have, wait.value, wait.is_signed);
        case Compare::le:
            break;
    }
    return !less(wait.value, have, wait.is_signed);
}

std::string describe(const WordWait& wait) {
    constexpr std::string_view kSigns[] = {"==", "!=", ">", ">=", "<", "<="};
    const auto text = [&](std::uint64_t value) {
        return wait.is_signed ? fmt::format("{}", static_cast<std::int64_t>(value))
                              : fmt::format("{}", value);
    };
    return fmt::format("wait_until word {} {} {} (is {})", wait.word,
                       kSigns[static_cast<std::size_t>(wait.compare)], text(wait.value),
                       text(load(wait)));
}

base::Result<void> check_wait(std::string_view call, const WordWait& wait) {
    if (wait.word == nullptr)
        return base::fail(Status::argument, "{}: word is null, expected a word of {} bytes", call,
                          wait.width);
    if (reinterpret_cast<std::uintptr_t>(wait.word) % wait.width != 0)
        return base::fail(Status::argument, "{}: word {} is not aligned to its {} bytes", call,
                          wait.word, wait.width);
    if (wait.compare > Compare::le)
        return base::fail(Status::argument, "{}: no comparison {}, expected one of 0..{}", call,
                          static_cast<int>(wait.compare), static_cast<int>(Compare::le));
    return {};
}

}  // namespace

base::Result<void> RemoteMemory::usable(std::string_view call) const {
    if (runtime_.finalized())
        return base::fail(Status::argument, "{}: the runtime has been finalized", call);
    return {};
}

base::Result<RemoteMemory::Place> RemoteMemory::place(std::string_view call,
                                                      std::string_view argument,
                                                      const void* address, std::size_t bytes,
                                                      Rank peer) {
    if (auto checked = usable(call); !checked) return checked.failure();
    if (peer < 0 || peer >= team_.size())
        return base::fail(Status::argument,
                          "{}: peer: {} is not a rank of the team, expected 0..{}", call, peer,
                          team_.size() - 1);
    const SegmentLayout& layout = runtime_.layout();
    const std::uint64_t offset = runtime_.offset_of(address);
    if (offset < layout.heap || offset > layout.bytes || bytes > layout.bytes - offset)
        return base::fail(
            Status::argument,
            "{}: {}: {} with {} bytes does not lie in symmetric memory ({} bytes from "
            "{}); to rank {}",
            call, argument, address, bytes, layout.bytes - layout.heap,
            static_cast<const void*>(runtime_.at(layout.heap)), peer);
    return Place{team_.job_rank(peer), offset};
}

base::Result<RemoteMemory::Place> RemoteMemory::place_of_word(std::string_view call,
                                                              std::string_view argument,
                                                              const void* address,
                                                              std::size_t width, Rank peer) {
    auto found = place(call, argument, address, width, peer);
    if (found && found->offset % width != 0)
        return base::fail(Status::argument, "{}: {}: {} is not aligned to its {} bytes; to rank {}",
                          call, argument, address, width, peer);
    return found;
}

/// Calls that only touch mapped memory share nothing with a progress thread. Now and then they
/// drive all the same: a program that spins on a near word must not keep far ranks from their
/// requests.
template <class Call>
base::Result<void> RemoteMemory::driven(Rank rank, Call call) {
    const bool near = runtime_.job().wire->near(rank) != nullptr;
    if (near) runtime_.progress_now_and_then();
    const Turn::Hold hold = near ? Turn::Hold() : runtime_.engine().take_turn();
    if (call(runtime_.onesided())) return {};
    return runtime_.engine().failure();
}

base::Result<void> RemoteMemory::put(void* to, const void* from, std::size_t bytes, Rank peer,
                                     Return when) {
    const auto found = place("put", "dst", to, bytes, peer);
    if (!found) return found.failure();
    if (from == nullptr && bytes != 0)
        return base::fail(Status::argument, "put: src is null, expected {} bytes; to rank {}",
                          bytes, peer);
    return driven(found->rank, [&](RealOneSided& onesided) {
        return onesided.put(found->rank, found->offset, static_cast<const std::byte*>(from), bytes,
                            when);
    });
}

base::Result<void> RemoteMemory::get(void* into, const void* from, std::size_t bytes, Rank peer,
                                     Return when) {
    const auto found = place("get", "src", from, bytes, peer);
    if (!found) return found.failure();
    if (into == nullptr && bytes != 0)
        return base::fail(Status::argument, "get: dst is null, expected {} bytes; from rank {}",
                          bytes, peer);
    return driven(found->rank, [&](RealOneSided& onesided) {
        return onesided.get(found->rank, static_cast<std::byte*>(into), found->offset, bytes, when);
    });
}

base::Result<void> RemoteMemory::put_signal(void* to, const void* from, std::size_t bytes,
                                            void* word, std::uint64_t value, bool adds, Rank peer,
                                            Return when) {
    const auto signal = place_of_word("put_signal", "signal", word, sizeof value, peer);
    if (!signal) return signal.failure();
    const auto found = bytes == 0 ? signal : place("put_signal", "dst", to, bytes, peer);
    if (!found) return found.failure();
    if (from == nullptr && bytes != 0)
        return base::fail(Status::argument,
                          "put_signal: src is null, expected {} bytes; to rank {}", bytes, peer);
    return driven(found->rank, [&](RealOneSided& onesided) {
        return onesided.put_signal(found->rank, found->offset, static_cast<const std::byte*>(from),
                                   bytes, {signal->offset, value, adds}, when);
    });
}

base::Result<std::uint64_t> RemoteMemory::change(RequestKind kind, void* word, std::uint8_t width,
                                                 std::uint64_t operand, std::uint64_t compare,
                                                 Rank peer) {
    const std::string_view call = kind == RequestKind::add    ? "fetch_add"
                                  : kind == RequestKind::swap ? "swap"
                                                              : "compare_swap";
    const auto found = place_of_word(call, "word", word, width, peer);
    if (!found) return found.failure();
    std::uint64_t old = 0;
    auto done = driven(found->rank, [&](RealOneSided& onesided) {
        return onesided.change(found->rank, {kind, width, found->offset, operand, compare}, old);
    });
    if (!done) return done.failure();
    return old;
}

base::Result<void> RemoteMemory::fence() {
    if (auto checked = usable("fence"); !checked) return checked;
    const Turn::Hold hold = runtime_.engine().take_turn();
    runtime_.onesided().fence();
    return {};
}

base::Result<void> RemoteMemory::quiet() {
    if (auto checked = usable("quiet"); !checked) return checked;
    const Turn::Hold hold = runtime_.engine().take_turn();
    if (runtime_.onesided().quiet()) return {};
    return runtime_.engine().failure();
}

base::Result<void> RemoteMemory::wait_until(const WordWait& wait) {
    if (auto checked = usable("wait_until"); !checked) return checked;
    if (auto checked = check_wait("wait_until", wait); !checked) return checked;
    if (holds(wait)) return {};
    RealEngine& engine = runtime_.engine();
    const Turn::Hold hold = engine.take_turn();
    if (engine.await([&] { return holds(wait); }, [&] { return describe(wait); })) return {};
    return engine.failure();
}

base::Result<bool> RemoteMemory::test_until(const WordWait& wait) {
    if (auto checked = usable("test_until"); !checked) return checked.failure();
    if (auto checked = check_wait("test_until", wait); !checked) return checked.failure();
    if (holds(wait)) return true;
    runtime_.engine().poll();
    if (const base::Failure* lost = runtime_.engine().lost()) return *lost;
    return holds(wait);
}

}  // namespace weft::run
