// SPDX-License-Identifier: BSD-3-Clause
#include "run/memory/remote_memory.hpp"

#include <utility>

#include "run/job/real_engine.hpp"
#include "run/memory/registered_memory.hpp"

namespace weft::run {

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
    const MemoryArgument& given, std::size_t bytes) {
    const std::uint64_t offset = services_.offset_of(given.address);
    const std::uint64_t end = services_.end;
    const bool in_heap = offset >= services_.heap && offset <= end && bytes <= end - offset;
    if (given.peer >= 0 && given.peer < team_.unchecked_peers() && in_heap) [[likely]]
        return Target{team_.job_rank(given.peer), offset};
    const auto search = [&]() __attribute__((noinline, cold))->base::Result<Target> {
        const auto& [call, name, address, peer] = given;
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
                call, name, bytes, address, fmt::ptr(services_.segment + services_.heap),
                fmt::ptr(services_.segment + services_.end), peer);
        if (*named) return Target{rank, **named};
        return base::fail(Status::argument, "{}: {}: {}; peer: rank {}", call, name,
                          named->failure().text, peer);
    };
    return search();
}

static base::Failure exceeds_space(const MemoryArgument& given, const Strided& blocks,
                                   const std::ptrdiff_t* strides) {
    return base::fail(Status::argument,
                      "{}: {}: {} blocks of {} bytes at a stride of {} bytes{} exceed the address "
                      "space of 2^48 bytes; peer: rank {}",
                      given.call, given.name, blocks.counts.back(), blocks.block_bytes,
                      strides[blocks.counts.size() - 1],
                      blocks.counts.size() == 1 ? "" : ", in several rows,", given.peer);
}

static base::Failure is_null(const MemoryArgument& own, std::size_t bytes, const char* unit = "") {
    return base::fail(Status::argument, "{}: {} is null, expected {}{} bytes; peer: rank {}",
                      own.call, own.name, unit, bytes, own.peer);
}

/// Translates the address of the first block. All bytes from the first to the last byte of the
/// blocks must be in the peer's memory.
base::Result<RemoteMemory::Target> RemoteMemory::find_blocks(MemoryArgument given,
                                                             const Strided& blocks,
                                                             const std::ptrdiff_t* strides) {
    if (blocks.empty()) return find(given, 0);
    const auto span = onesided::span_of(blocks, strides);
    if (!span) return exceeds_space(given, blocks, strides);
    given.address = static_cast<const std::byte*>(given.address) + span->begin;
    auto target = find(given, static_cast<std::size_t>(span->end - span->begin));
    if (target) target->remote.offset -= static_cast<std::uint64_t>(span->begin);
    return target;
}
/// Checks the blocks of this rank.
static base::Result<void> check_blocks(const MemoryArgument& own, const Strided& blocks,
                                       const std::ptrdiff_t* strides) {
    if (!onesided::span_of(blocks, strides)) return exceeds_space(own, blocks, strides);
    if (own.address == nullptr) return is_null(own, blocks.block_bytes, "blocks of ");
    return {};
}

base::Result<RemoteMemory::Target> RemoteMemory::find_word(const MemoryArgument& given,
                                                           std::size_t width) {
    auto target = find(given, width);
    if (target && target->remote.address() % width != 0)
        return base::fail(Status::argument,
                          "{}: {}: {} is not aligned to {} bytes at its owner; peer: rank {}",
                          given.call, given.name, given.address, width, given.peer);
    return target;
}

/// Returns the result of a wait. `late`: text of a failure after the deadline.
static base::Result<void> result_of(const RealEngine& engine, Waited waited, const char* late) {
    if (waited == Waited::done) return {};
    if (waited == Waited::failed) return engine.failure();
    return base::fail(Status::timeout, "{}", late);
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
    const auto target = WEFT_TRY(find({"put", "dst", to, peer}, bytes));
    if (from == nullptr && bytes != 0) return is_null({"put", "src", from, peer}, bytes);
    return run_in_stream<&RealOneSided::put>(is_mapped(target), target.rank, target.remote,
                                             static_cast<const std::byte*>(from), bytes, when);
}

base::Result<void> RemoteMemory::get(void* into, const void* from, std::size_t bytes, Rank peer,
                                     Return when) {
    const auto target = WEFT_TRY(find({"get", "src", from, peer}, bytes));
    if (into == nullptr && bytes != 0) return is_null({"get", "dst", into, peer}, bytes);
    return run_in_stream<&RealOneSided::get>(
        is_mapped(target), target.rank, static_cast<std::byte*>(into), target.remote, bytes, when);
}

base::Result<void> RemoteMemory::put_strided(void* to, const void* from, const Strided& blocks,
                                             Rank peer, std::string_view call) {
    const auto target = WEFT_TRY(find_blocks({call, "dst", to, peer}, blocks, blocks.to_strides));
    if (blocks.empty()) return {};
    WEFT_TRY(check_blocks({call, "src", from, peer}, blocks, blocks.from_strides));
    return run_in_stream<&RealOneSided::put_strided>(is_mapped(target), target.rank, target.remote,
                                                     static_cast<const std::byte*>(from), blocks);
}

base::Result<void> RemoteMemory::get_strided(void* into, const void* from, const Strided& blocks,
                                             Rank peer) {
    constexpr std::string_view kCall = "get_strided";
    const auto target =
        WEFT_TRY(find_blocks({kCall, "src", from, peer}, blocks, blocks.from_strides));
    if (blocks.empty()) return {};
    WEFT_TRY(check_blocks({kCall, "dst", into, peer}, blocks, blocks.to_strides));
    return run_in_stream<&RealOneSided::get_strided>(
        is_mapped(target), target.rank, static_cast<std::byte*>(into), target.remote, blocks);
}

base::Result<void> RemoteMemory::put_strided_signal(void* to, const void* from,
                                                    const Strided& blocks, void* word,
                                                    std::uint64_t value, bool adds, Rank peer) {
    constexpr std::string_view kCall = "put_strided_signal";
    const auto signal = WEFT_TRY(find_word({kCall, "signal", word, peer}, sizeof value));
    WEFT_TRY(put_strided(to, from, blocks, peer, kCall));
    // If all memory is mapped, the signal is a store with release order, so it needs no fence.
    const auto target = find({kCall, "dst", to, peer}, blocks.empty() ? 0 : blocks.block_bytes);
    if (!is_mapped(signal) || !target || !is_mapped(*target)) WEFT_TRY(fence());
    return put_signal(/*to=*/nullptr, /*from=*/nullptr, /*bytes=*/0, word, value, adds, peer,
                      Return::at_once);
}

base::Result<void> RemoteMemory::start_put(void* to, const void* from, std::size_t bytes, Rank peer,
                                           Transfer& started) {
    const auto target = WEFT_TRY(find({"put", "dst", to, peer}, bytes));
    if (from == nullptr && bytes != 0) return is_null({"put", "src", from, peer}, bytes);
    return run_in_stream<&RealOneSided::start_put>(is_mapped(target), target.rank, target.remote,
                                                   static_cast<const std::byte*>(from), bytes,
                                                   started.put);
}

base::Result<void> RemoteMemory::start_get(void* into, const void* from, std::size_t bytes,
                                           Rank peer, Transfer& started,
                                           std::shared_ptr<void> kept) {
    const auto target = WEFT_TRY(find({"get", "src", from, peer}, bytes));
    if (into == nullptr && bytes != 0) return is_null({"get", "dst", into, peer}, bytes);
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
    if (transfer.get == nullptr)
        return result_of(engine, services_.onesided.deliveries().wait(transfer.put, deadline),
                         "wait: time limit exceeded: the put is in flight");
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
    const auto signal = WEFT_TRY(find_word({"put_signal", "signal", word, peer}, sizeof value));
    Target target = signal;
    if (bytes != 0) target = WEFT_TRY(find({"put_signal", "dst", to, peer}, bytes));
    if (from == nullptr && bytes != 0) return is_null({"put_signal", "src", from, peer}, bytes);
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

base::Result<void> RemoteMemory::change(void* word, const WordChange& change, Rank peer, void* into,
                                        Return when) {
    const auto target =
        WEFT_TRY(find_word({name_of(change.kind), "word", word, peer}, change.width));
    return run_in_stream<&RealOneSided::change>(is_mapped(target), target.rank, target.remote,
                                                change, into, when);
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
    return result_of(services_.engine, services_.onesided.quiet(stream_, deadline),
                     "quiet: time limit exceeded: operations are in flight");
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
