// SPDX-License-Identifier: BSD-3-Clause
// remote_memory.cpp - one-sided calls of the C++ interface.
#include <fmt/format.h>

#include <algorithm>

#include "api/cpp/links.hpp"

namespace weft {

using detail::succeed;
using detail::team_for_call;
using detail::team_of;

namespace {

run::WordWait to_wait(const detail::WordCondition& condition) {
    return {.word = condition.words,
            .width = static_cast<std::uint8_t>(condition.width),
            .is_signed = condition.is_signed,
            .compare = condition.compare,
            .value = condition.wanted,
            .count = condition.count};
}

run::RemoteMemory remote(const std::shared_ptr<detail::TeamLink>& link) {
    run::Team& team = team_for_call(link);
    return link->owner->remote(team, link->stream);
}

/// Converts an atomic operation. `wants_value`: its caller needs the former value.
run::WordChange to_change(const detail::AtomicChange& change, bool wants_value) {
    using run::RequestKind;
    // In the order of AtomicKind.
    constexpr RequestKind kKinds[] = {
        RequestKind::load, RequestKind::swap, RequestKind::compare_swap, RequestKind::add,
        RequestKind::band, RequestKind::bor,  RequestKind::bxor};
    RequestKind kind = kKinds[static_cast<std::size_t>(change.kind)];
    if (change.kind == AtomicKind::set && !wants_value) kind = RequestKind::store;
    if (change.kind == AtomicKind::add && change.is_real) kind = RequestKind::add_real;
    return {kind, static_cast<std::uint8_t>(change.width), change.operand, change.expected};
}

run::Strided to_strided(const char* call, const BlockGrid& grid) {
    const std::size_t dimensions = grid.counts.size();
    if (dimensions == 0 || dimensions > run::Strided::kDimensionsMax ||
        grid.dst_strides.size() != dimensions || grid.src_strides.size() != dimensions)
        throw Error(
            Status::argument,
            fmt::format("{}: grid: {} counts, {} dst_strides and {} src_strides, expected 1 "
                        "to {} of each",
                        call, dimensions, grid.dst_strides.size(), grid.src_strides.size(),
                        run::Strided::kDimensionsMax));
    return {grid.counts, grid.dst_strides.data(), grid.src_strides.data(), grid.bytes};
}

}  // namespace

void OneSidedCalls::put(void* dst, const void* src, std::size_t bytes, Rank peer) {
    succeed(remote(link_).put(dst, src, bytes, peer, run::Return::reusable));
}
void OneSidedCalls::put_nbi(void* dst, const void* src, std::size_t bytes, Rank peer) {
    succeed(remote(link_).put(dst, src, bytes, peer, run::Return::at_once));
}
void OneSidedCalls::get(void* dst, const void* src, std::size_t bytes, Rank peer) {
    succeed(remote(link_).get(dst, src, bytes, peer, run::Return::reusable));
}
void OneSidedCalls::get_nbi(void* dst, const void* src, std::size_t bytes, Rank peer) {
    succeed(remote(link_).get(dst, src, bytes, peer, run::Return::at_once));
}
void OneSidedCalls::put_strided(void* dst, std::ptrdiff_t dst_stride, const void* src,
                                std::ptrdiff_t src_stride, std::size_t bytes, std::size_t count,
                                Rank peer) {
    succeed(
        remote(link_).put_strided(dst, src, {{&count, 1}, &dst_stride, &src_stride, bytes}, peer));
}
void OneSidedCalls::get_strided(void* dst, std::ptrdiff_t dst_stride, const void* src,
                                std::ptrdiff_t src_stride, std::size_t bytes, std::size_t count,
                                Rank peer) {
    succeed(
        remote(link_).get_strided(dst, src, {{&count, 1}, &dst_stride, &src_stride, bytes}, peer));
}
void OneSidedCalls::put_strided_signal(void* dst, std::ptrdiff_t dst_stride, const void* src,
                                       std::ptrdiff_t src_stride, std::size_t bytes,
                                       std::size_t count, std::uint64_t* signal,
                                       std::uint64_t value, SignalOp op, Rank peer) {
    succeed(remote(link_).put_strided_signal(dst, src,
                                             {{&count, 1}, &dst_stride, &src_stride, bytes}, signal,
                                             value, op == SignalOp::add, peer));
}
void OneSidedCalls::put_grid(void* dst, const void* src, const BlockGrid& grid, Rank peer) {
    succeed(remote(link_).put_strided(dst, src, to_strided("put_grid", grid), peer));
}
void OneSidedCalls::put_grid_signal(void* dst, const void* src, const BlockGrid& grid,
                                    std::uint64_t* signal, std::uint64_t value, SignalOp op,
                                    Rank peer) {
    succeed(remote(link_).put_strided_signal(dst, src, to_strided("put_grid_signal", grid), signal,
                                             value, op == SignalOp::add, peer));
}
void OneSidedCalls::get_grid(void* dst, const void* src, const BlockGrid& grid, Rank peer) {
    succeed(remote(link_).get_strided(dst, src, to_strided("get_grid", grid), peer));
}
void OneSidedCalls::progress() {
    static_cast<void>(team_for_call(link_));  // throws if the team has ended
    link_->owner->progress().drive_if_free();
}
void OneSidedCalls::put_signal(void* dst, const void* src, std::size_t bytes, std::uint64_t* signal,
                               std::uint64_t value, SignalOp op, Rank peer) {
    succeed(remote(link_).put_signal(dst, src, bytes, signal, value, op == SignalOp::add, peer,
                                     run::Return::reusable));
}
void OneSidedCalls::put_signal_nbi(void* dst, const void* src, std::size_t bytes,
                                   std::uint64_t* signal, std::uint64_t value, SignalOp op,
                                   Rank peer) {
    succeed(remote(link_).put_signal(dst, src, bytes, signal, value, op == SignalOp::add, peer,
                                     run::Return::at_once));
}
std::uint64_t OneSidedCalls::change(const detail::AtomicChange& change, Rank peer) {
    std::uint64_t old = 0;
    succeed(remote(link_).change(change.word, to_change(change, /*wants_value=*/true), peer, &old,
                                 run::Return::reusable));
    return old;
}
void OneSidedCalls::apply(const detail::AtomicChange& change, Rank peer) {
    succeed(remote(link_).change(change.word, to_change(change, /*wants_value=*/false), peer,
                                 /*into=*/nullptr, run::Return::at_once));
}
void OneSidedCalls::start_change(const detail::AtomicChange& change, Rank peer, void* result) {
    succeed(remote(link_).change(change.word, to_change(change, /*wants_value=*/true), peer, result,
                                 run::Return::at_once));
}
void OneSidedCalls::send(Rank peer, int handler, const void* data, std::size_t bytes) {
    run::Team& team = team_of(link_);
    detail::check_rank("send: peer", peer, team.size());
    succeed(link_->owner->messages().send(team.job_rank(peer), handler, data, bytes));
}
void OneSidedCalls::fence() {
    succeed(remote(link_).fence());
}
void OneSidedCalls::quiet() {
    succeed(remote(link_).quiet());
}
void OneSidedCalls::lock(std::uint64_t* lock) {
    succeed(run::Locks(remote(link_)).lock(lock));
}
bool OneSidedCalls::try_lock(std::uint64_t* lock) {
    return succeed(run::Locks(remote(link_)).try_lock(lock));
}
void OneSidedCalls::unlock(std::uint64_t* lock) {
    succeed(run::Locks(remote(link_)).unlock(lock));
}
void OneSidedCalls::wait(const detail::WordCondition& condition) {
    succeed(remote(link_).waits().all(to_wait(condition)));
}
bool OneSidedCalls::wait_for(const detail::WordCondition& condition,
                             std::chrono::nanoseconds time) {
    const auto ns = static_cast<std::uint64_t>(std::max(time.count(), std::int64_t{0}));
    const auto found = remote(link_).waits().all(to_wait(condition), base::Deadline::after(ns));
    if (!found && found.failure().status == Status::timeout) return false;
    succeed(found);
    return true;
}
bool OneSidedCalls::test(const detail::WordCondition& condition) {
    return succeed(remote(link_).waits().test_all(to_wait(condition)));
}
std::size_t OneSidedCalls::wait_any(const detail::WordCondition& condition) {
    return succeed(remote(link_).waits().any(to_wait(condition), base::Deadline{}));
}

Team Team::make_context() {
    run::Team& team = team_for_call(link_);
    auto link = detail::link_to(team, link_->runtime);
    link->stream = link->owner->remote(team).open_stream();
    return Team(std::move(link));
}

}  // namespace weft
