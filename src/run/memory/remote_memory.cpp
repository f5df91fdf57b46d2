// SPDX-License-Identifier: BSD-3-Clause
#include "run/memory/remote_memory.hpp"

#include <utility>

#include "run/job/real_engine.hpp"
#include "run/memory/registered_memory.hpp"
#include "run/onesided/deliveries.hpp"

namespace weft::run {

using RealDeliveries = Deliveries<link::Wire, RealEngine>;

base::Result<void> RemoteMemory::check_open(std::string_view call) const {
    if (services_.closed())
        return base::fail(Status::argument, "{}: the runtime has been finalized", call);
    return {};
}

base::Result<Rank> RemoteMemory::job_rank(std::string_view call, Rank peer) const {
    WEFT_TRY(check_open(call));
    if (peer < 0 || peer >= team_.size())
        return base::fail(Status::argument,
                          "{}: peer: {} is not a rank of the team, expected 0..{}", call, peer,
                          team_.size() - 1);
    return team_.job_rank(peer);
}

/// Translates an address. With 0 bytes, any address is valid. Only the usual case is inlined:
/// symmetric memory of a team that has not failed.
[[gnu::always_inline]] inline base::Result<RemoteMemory::Target> RemoteMemory::find(
    std::string_view call, std::string_view argument, const void* address, std::size_t bytes,
    Rank peer) {
    const std::uint64_t offset = services_.offset_of(address);
    const std::uint64_t end = services_.end;
    const bool in_heap = offset >= services_.heap && offset <= end && bytes <= end - offset;
    if (peer >= 0 && peer < team_.unchecked_peers() && in_heap) [[likely]]
        return Target{team_.job_rank(peer), offset};
    const auto search = [&]() __attribute__((noinline, cold))->base::Result<Target> {
        const auto rank = WEFT_TRY(job_rank(call, peer));
        const Turn::Hold hold = services_.engine.take_turn();
        if (const auto* const why = services_.engine.deaths().failure_by(rank))
            return why->within(call);
        if (in_heap) return Target{rank, offset};
        if (bytes == 0) return Target{rank, 0};
        const auto named = registered_.find(team_, address, bytes, peer);
        if (!named)
            return base::fail(
                Status::argument,
                "{}: {}: {} bytes at {} are not in symmetric memory ({}..{}) or registered memory; "
                "peer: rank {}",
                call, argument, bytes, address, fmt::ptr(services_.segment + services_.heap),
                fmt::ptr(services_.segment + services_.end), peer);
        if (*named) return Target{rank, **named};
        return base::fail(Status::argument, "{}: {}: {}; peer: rank {}", call, argument,
                          named->failure().text, peer);
    };
    return search();
}

static base::Failure exceeds_space(std::string_view call, std::string_view argument,
                                   const Strided& blocks, std::int64_t stride, Rank peer) {
    return base::fail(Status::argument,
                      "{}: {}: {} blocks of {} bytes at a stride of {} bytes{} exceed the address "
                      "space of 2^48 bytes; peer: rank {}",
                      call, argument, blocks.count, blocks.block_bytes, stride,
                      blocks.rows == nullptr ? "" : ", in several rows,", peer);
}

/// Translates the address of the first block. Checks the first and the last block of a single row,
/// or all bytes between the first and last bytes of several rows.
base::Result<RemoteMemory::Target> RemoteMemory::find_blocks(std::string_view call,
                                                             std::string_view argument,
                                                             const void* address, BlockSide side,
                                                             const Strided& blocks, Rank peer) {
    const std::size_t bytes = blocks.count == 0 ? 0 : blocks.block_bytes;
    const std::int64_t stride = side == BlockSide::target ? blocks.to_stride : blocks.from_stride;
    auto first = find(call, argument, address, bytes, peer);
    if (!first || bytes == 0) return first;
    const auto span = onesided::span_of(blocks, side);
    if (!span) return exceeds_space(call, argument, blocks, stride, peer);
    const auto* const begin = static_cast<const std::byte*>(address);
    if (blocks.rows != nullptr) {
        const auto spanned = static_cast<std::size_t>(span->end - span->begin);
        WEFT_TRY(find(call, argument, begin + span->begin, spanned, peer));
        return first;
    }
    const std::uint64_t steps = blocks.count - 1;
    const auto* const last = begin + static_cast<std::int64_t>(steps) * stride;
    const auto end = WEFT_TRY(find(call, argument, last, bytes, peer));
    const RemoteAddress expected = onesided::block_of(first->remote, steps, stride);
    if (end.remote.memory != expected.memory || end.remote.offset != expected.offset)
        return base::fail(Status::argument,
                          "{}: {}: {} blocks at a stride of {} bytes are not in the same symmetric "
                          "or registered memory; peer: rank {}",
                          call, argument, blocks.count, stride, peer);
    return first;
}

base::Result<RemoteMemory::Target> RemoteMemory::find_word(std::string_view call,
                                                           std::string_view argument,
                                                           const void* address, std::size_t width,
                                                           Rank peer) {
    auto target = find(call, argument, address, width, peer);
    if (target && target->remote.address() % width != 0)
        return base::fail(Status::argument,
                          "{}: {}: {} is not aligned to {} bytes at its owner; peer: rank {}", call,
                          argument, address, width, peer);
    return target;
}

static base::Failure null_buffer(std::string_view argument, std::size_t bytes, Rank peer,
                                 std::string_view unit = "") {
    return base::fail(Status::argument, "{} is null, expected {}{} bytes; peer: rank {}", argument,
                      unit, bytes, peer);
}

/// Makes a call of OneSided in this context's stream. `mapped`: it only accesses mapped memory, and
/// does not take the engine's turn. It still polls the engine from time to time, because a program
/// that polls a word of a local peer must not delay requests of remote ranks.
template <auto kCall, class... Arguments>
base::Result<void> RemoteMemory::run_in_stream(bool mapped, Arguments&&... arguments) {
    if (mapped)
        services_.progress.drive_now_and_then(stream_ != nullptr ? &stream_->mapped_calls
                                                                 : nullptr);
    const Turn::Hold hold = mapped ? Turn::Hold() : services_.engine.take_turn();
    if ((services_.onesided.*kCall)(std::forward<Arguments>(arguments)..., stream_)) return {};
    return services_.engine.failure();
}

bool RemoteMemory::is_mapped(const Target& target) const {
    return services_.onesided.reach(target.rank, target.remote) != nullptr;
}

Stream* RemoteMemory::open_stream() {
    const Turn::Hold hold = services_.engine.take_turn();
    Stream* const stream = services_.onesided.streams().open();
    stream->team = team_.serial();
    return stream;
}

void RemoteMemory::close_stream() {
    const Turn::Hold hold = services_.engine.take_turn();
    services_.onesided.streams().close(stream_);
}

base::Result<void> RemoteMemory::put(void* to, const void* from, std::size_t bytes, Rank peer,
                                     Return when) {
    const auto target = WEFT_TRY(find("put", "dst", to, bytes, peer));
    if (from == nullptr && bytes != 0) return null_buffer("put: src", bytes, peer);
    return run_in_stream<&RealOneSided::put>(is_mapped(target), target.rank, target.remote,
                                             static_cast<const std::byte*>(from), bytes, when);
}

base::Result<void> RemoteMemory::get(void* into, const void* from, std::size_t bytes, Rank peer,
                                     Return when) {
    const auto target = WEFT_TRY(find("get", "src", from, bytes, peer));
    if (into == nullptr && bytes != 0) return null_buffer("get: dst", bytes, peer);
    return run_in_stream<&RealOneSided::get>(
        is_mapped(target), target.rank, static_cast<std::byte*>(into), target.remote, bytes, when);
}

base::Result<void> RemoteMemory::put_strided(void* to, const void* from, const Strided& blocks,
                                             Rank peer, std::string_view call) {
    const auto target = WEFT_TRY(find_blocks(call, "dst", to, BlockSide::target, blocks, peer));
    if (blocks.count == 0 || blocks.block_bytes == 0) return {};
    if (!onesided::span_of(blocks, BlockSide::source))
        return exceeds_space(call, "src", blocks, blocks.from_stride, peer);
    if (from == nullptr)
        return null_buffer(fmt::format("{}: src", call), blocks.block_bytes, peer, "blocks of ");
    return run_in_stream<&RealOneSided::put_strided>(is_mapped(target), target.rank, target.remote,
                                                     static_cast<const std::byte*>(from), blocks);
}

base::Result<void> RemoteMemory::get_strided(void* into, const void* from, const Strided& blocks,
                                             Rank peer) {
    const auto target =
        WEFT_TRY(find_blocks("get_strided", "src", from, BlockSide::source, blocks, peer));
    if (blocks.count == 0 || blocks.block_bytes == 0) return {};
    if (!onesided::span_of(blocks, BlockSide::target))
        return exceeds_space("get_strided", "dst", blocks, blocks.to_stride, peer);
    if (into == nullptr)
        return null_buffer("get_strided: dst", blocks.block_bytes, peer, "blocks of ");
    return run_in_stream<&RealOneSided::get_strided>(
        is_mapped(target), target.rank, static_cast<std::byte*>(into), target.remote, blocks);
}

base::Result<void> RemoteMemory::put_strided_signal(void* to, const void* from,
                                                    const Strided& blocks, void* word,
                                                    std::uint64_t value, bool adds, Rank peer) {
    const auto signal =
        WEFT_TRY(find_word("put_strided_signal", "signal", word, sizeof value, peer));
    WEFT_TRY(put_strided(to, from, blocks, peer, "put_strided_signal"));
    // If all memory is mapped, the signal is a store with release order, so it needs no fence.
    const std::size_t bytes = blocks.count == 0 ? 0 : blocks.block_bytes;
    const auto target = find("put_strided_signal", "dst", to, bytes, peer);
    if (!is_mapped(signal) || !target || !is_mapped(*target)) WEFT_TRY(fence());
    return put_signal(/*to=*/nullptr, /*from=*/nullptr, /*bytes=*/0, word, value, adds, peer,
                      Return::at_once);
}

base::Result<void> RemoteMemory::start_put(void* to, const void* from, std::size_t bytes, Rank peer,
                                           Transfer& started) {
    const auto target = WEFT_TRY(find("put", "dst", to, bytes, peer));
    if (from == nullptr && bytes != 0) return null_buffer("put: src", bytes, peer);
    if (is_mapped(target)) return put(to, from, bytes, peer, Return::at_once);
    const Turn::Hold hold = services_.engine.take_turn();
    if (RealDeliveries(services_.onesided)
            .start_put(target.rank, target.remote, static_cast<const std::byte*>(from), bytes,
                       started.put, stream_))
        return {};
    return services_.engine.failure();
}

base::Result<void> RemoteMemory::start_get(void* into, const void* from, std::size_t bytes,
                                           Rank peer, Transfer& started,
                                           std::shared_ptr<void> kept) {
    const auto target = WEFT_TRY(find("get", "src", from, bytes, peer));
    if (into == nullptr && bytes != 0) return null_buffer("get: dst", bytes, peer);
    if (is_mapped(target)) return get(into, from, bytes, peer, Return::reusable);
    started.get =
        std::make_shared<StartedGet>(StartedGet{.rank = target.rank, .kept = std::move(kept)});
    return run_in_stream<&RealOneSided::start_unmapped_get>(
        /*mapped=*/false, target.rank, static_cast<std::byte*>(into), target.remote, bytes,
        started.get);
}

base::Result<void> RemoteMemory::await(Transfer& transfer, base::Deadline deadline) {
    RealEngine& engine = services_.engine;
    const Turn::Hold hold = engine.take_turn();
    if (transfer.get == nullptr) {
        const Waited waited = RealDeliveries(services_.onesided).wait(transfer.put, deadline);
        if (waited == Waited::done) return {};
        if (waited == Waited::failed) return engine.failure();
        return base::fail(Status::timeout, "wait: time limit exceeded: the put is in flight");
    }
    const StartedGet& get = *transfer.get;
    const auto waits = [&] { return fmt::format("get: waiting for {} transfers", get.pending); };
    if (!engine.await([&] { return get.pending == 0 || deadline.passed(); }, waits, get.rank))
        return engine.failure();
    if (get.pending == 0) return {};
    return base::fail(Status::timeout, "wait: time limit exceeded: {}", waits());
}

base::Result<void> RemoteMemory::put_signal(void* to, const void* from, std::size_t bytes,
                                            void* word, std::uint64_t value, bool adds, Rank peer,
                                            Return when) {
    const auto signal = WEFT_TRY(find_word("put_signal", "signal", word, sizeof value, peer));
    Target target = signal;
    if (bytes != 0) target = WEFT_TRY(find("put_signal", "dst", to, bytes, peer));
    if (from == nullptr && bytes != 0) return null_buffer("put_signal: src", bytes, peer);
    return run_in_stream<&RealOneSided::put_signal>(
        is_mapped(target) && is_mapped(signal), target.rank, target.remote,
        static_cast<const std::byte*>(from), bytes, Signal{signal.remote, value, adds}, when);
}

static std::string_view name_of(RequestKind kind) {
    return kind == RequestKind::add            ? "fetch_add"
           : kind == RequestKind::swap         ? "swap"
           : kind == RequestKind::compare_swap ? "compare_swap"
                                               : "atomic";
}

/// Makes a call of OneSided that changes a word. `result`: memory for the former value, if any.
template <auto kCall, class... Result>
base::Result<void> RemoteMemory::change_by(const WordChange& change, Rank peer,
                                           Result&&... result) {
    const auto target =
        WEFT_TRY(find_word(name_of(change.kind), "word", change.word, change.width, peer));
    const Atomic atomic{change.kind, change.width, target.remote, change.operand, change.compare};
    return run_in_stream<kCall>(is_mapped(target), target.rank, atomic,
                                std::forward<Result>(result)...);
}

base::Result<std::uint64_t> RemoteMemory::change(const WordChange& change, Rank peer) {
    std::uint64_t old = 0;
    WEFT_TRY(change_by<&RealOneSided::change>(change, peer, old));
    return old;
}

base::Result<void> RemoteMemory::apply(const WordChange& change, Rank peer) {
    return change_by<&RealOneSided::apply>(change, peer);
}

base::Result<void> RemoteMemory::start_change(const WordChange& change, Rank peer, void* into) {
    return change_by<&RealOneSided::start_change>(change, peer, into);
}

base::Result<void> RemoteMemory::fence() {
    WEFT_TRY(check_open("fence"));
    const Turn::Hold hold = services_.engine.take_turn();
    if (services_.onesided.fence(stream_)) return {};
    return services_.engine.failure();
}

base::Result<void> RemoteMemory::quiet(base::Deadline deadline) {
    WEFT_TRY(check_open("quiet"));
    const Turn::Hold hold = services_.engine.take_turn();
    const Waited waited = services_.onesided.quiet(stream_, deadline);
    if (waited == Waited::done) return {};
    if (waited == Waited::failed) return services_.engine.failure();
    return base::fail(Status::timeout, "quiet: time limit exceeded: operations are in flight");
}

std::byte* RemoteMemory::address_on(const void* memory, Rank member) {
    if (member < 0 || member >= team_.size() || services_.closed()) return nullptr;
    const Rank rank = team_.job_rank(member);
    const std::uint64_t offset = services_.heap_offset(memory);
    std::byte* const segment = services_.job.wire->near(rank);
    if (offset != link::kNoOffset && segment != nullptr) return segment + offset;
    const auto target = registered_.find(team_, memory, 0, member);
    if (!target || !*target) return nullptr;
    return services_.onesided.reach(rank, **target);
}

}  // namespace weft::run
