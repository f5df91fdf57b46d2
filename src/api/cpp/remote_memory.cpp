// SPDX-License-Identifier: BSD-3-Clause
// remote_memory.cpp - one-sided calls of the C++ interface.
#include <fmt/format.h>

#include <algorithm>

#include "api/cpp/links.hpp"

namespace weft {

using detail::succeed;
using detail::team_of;

namespace {

run::WordWait word_wait(const void* word, std::size_t width, bool is_signed, Compare compare,
                        std::uint64_t value, std::size_t count = 1) {
    return {.word = word,
            .width = static_cast<std::uint8_t>(width),
            .is_signed = is_signed,
            .compare = compare,
            .value = value,
            .count = count};
}

run::RemoteMemory remote(const std::shared_ptr<detail::TeamLink>& link) {
    run::Team& team = team_of(link);
    return link->owner->remote(team, link->stream);
}

/// Returns a change of a word. `wants_value`: the caller gets the old value.
run::WordChange word_change(AtomicKind kind, void* word, std::size_t width, std::uint64_t operand,
                            std::uint64_t compare, bool wants_value) {
    constexpr run::RequestKind kKinds[] = {run::RequestKind::load,         run::RequestKind::swap,
                                           run::RequestKind::compare_swap, run::RequestKind::add,
                                           run::RequestKind::band,         run::RequestKind::bor,
                                           run::RequestKind::bxor};
    const bool stores = kind == AtomicKind::set && !wants_value;
    return {stores ? run::RequestKind::store : kKinds[static_cast<std::size_t>(kind)], word,
            static_cast<std::uint8_t>(width), operand, compare};
}

run::WordChange word_sum(void* word, std::size_t width, std::uint64_t operand) {
    return {run::RequestKind::add_real, word, static_cast<std::uint8_t>(width), operand, 0};
}

/// Converts a grid; `rows` receives its outer dimensions.
run::Strided blocks_of(const char* call, const BlockGrid& grid, run::Rows& rows) {
    const std::size_t dimensions = grid.counts.size();
    if (dimensions == 0 || dimensions > run::Rows::kDimensionsMax + 1 ||
        grid.dst_strides.size() != dimensions || grid.src_strides.size() != dimensions)
        throw Error(
            Status::argument,
            fmt::format("{}: grid: {} counts, {} dst_strides and {} src_strides, expected 1 "
                        "to {} of each",
                        call, dimensions, grid.dst_strides.size(), grid.src_strides.size(),
                        run::Rows::kDimensionsMax + 1));
    return run::strided_of(grid.counts, grid.dst_strides.data(), grid.src_strides.data(),
                           grid.bytes, rows);
}

}  // namespace

void OneSidedCalls::put(void* to, const void* from, std::size_t bytes, Rank peer) {
    succeed(remote(link_).put(to, from, bytes, peer, run::Return::reusable));
}
void OneSidedCalls::put_nbi(void* to, const void* from, std::size_t bytes, Rank peer) {
    succeed(remote(link_).put(to, from, bytes, peer, run::Return::at_once));
}
void OneSidedCalls::get(void* into, const void* from, std::size_t bytes, Rank peer) {
    succeed(remote(link_).get(into, from, bytes, peer, run::Return::reusable));
}
void OneSidedCalls::get_nbi(void* into, const void* from, std::size_t bytes, Rank peer) {
    succeed(remote(link_).get(into, from, bytes, peer, run::Return::at_once));
}
void OneSidedCalls::put_strided(void* dst, std::ptrdiff_t dst_stride, const void* src,
                                std::ptrdiff_t src_stride, std::size_t bytes, std::size_t count,
                                Rank peer) {
    succeed(remote(link_).put_strided(dst, src, {dst_stride, src_stride, bytes, count}, peer));
}
void OneSidedCalls::get_strided(void* dst, std::ptrdiff_t dst_stride, const void* src,
                                std::ptrdiff_t src_stride, std::size_t bytes, std::size_t count,
                                Rank peer) {
    succeed(remote(link_).get_strided(dst, src, {dst_stride, src_stride, bytes, count}, peer));
}
void OneSidedCalls::put_strided_signal(void* dst, std::ptrdiff_t dst_stride, const void* src,
                                       std::ptrdiff_t src_stride, std::size_t bytes,
                                       std::size_t count, std::uint64_t* signal,
                                       std::uint64_t value, SignalOp op, Rank peer) {
    succeed(remote(link_).put_strided_signal(dst, src, {dst_stride, src_stride, bytes, count},
                                             signal, value, op == SignalOp::add, peer));
}
void OneSidedCalls::put_grid(void* dst, const void* src, const BlockGrid& grid, Rank peer) {
    run::Rows rows;
    succeed(remote(link_).put_strided(dst, src, blocks_of("put_grid", grid, rows), peer));
}
void OneSidedCalls::put_grid_signal(void* dst, const void* src, const BlockGrid& grid,
                                    std::uint64_t* signal, std::uint64_t value, SignalOp op,
                                    Rank peer) {
    run::Rows rows;
    succeed(remote(link_).put_strided_signal(dst, src, blocks_of("put_grid_signal", grid, rows),
                                             signal, value, op == SignalOp::add, peer));
}
void OneSidedCalls::get_grid(void* dst, const void* src, const BlockGrid& grid, Rank peer) {
    run::Rows rows;
    succeed(remote(link_).get_strided(dst, src, blocks_of("get_grid", grid, rows), peer));
}
void OneSidedCalls::progress() {
    static_cast<void>(team_of(link_));
    link_->owner->progress().drive_if_free();
}
void OneSidedCalls::put_signal(void* to, const void* from, std::size_t bytes, std::uint64_t* signal,
                               std::uint64_t value, SignalOp op, Rank peer) {
    succeed(remote(link_).put_signal(to, from, bytes, signal, value, op == SignalOp::add, peer,
                                     run::Return::reusable));
}
void OneSidedCalls::put_signal_nbi(void* to, const void* from, std::size_t bytes,
                                   std::uint64_t* signal, std::uint64_t value, SignalOp op,
                                   Rank peer) {
    succeed(remote(link_).put_signal(to, from, bytes, signal, value, op == SignalOp::add, peer,
                                     run::Return::at_once));
}
std::uint64_t OneSidedCalls::change(AtomicKind kind, void* word, std::size_t width,
                                    std::uint64_t operand, std::uint64_t compare, Rank peer) {
    return succeed(
        remote(link_).change(word_change(kind, word, width, operand, compare, true), peer));
}
void OneSidedCalls::apply(AtomicKind kind, void* word, std::size_t width, std::uint64_t operand,
                          Rank peer) {
    succeed(remote(link_).apply(word_change(kind, word, width, operand, 0, false), peer));
}
std::uint64_t OneSidedCalls::change_sum(void* word, std::size_t width, std::uint64_t operand,
                                        Rank peer) {
    return succeed(remote(link_).change(word_sum(word, width, operand), peer));
}
void OneSidedCalls::apply_sum(void* word, std::size_t width, std::uint64_t operand, Rank peer) {
    succeed(remote(link_).apply(word_sum(word, width, operand), peer));
}
void OneSidedCalls::start_change(AtomicKind kind, void* word, std::size_t width,
                                 std::uint64_t operand, std::uint64_t compare, Rank peer,
                                 void* result) {
    succeed(remote(link_).start_change(word_change(kind, word, width, operand, compare, true), peer,
                                       result));
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
    succeed(remote(link_).lock(lock));
}
bool OneSidedCalls::try_lock(std::uint64_t* lock) {
    return succeed(remote(link_).try_lock(lock));
}
void OneSidedCalls::unlock(std::uint64_t* lock) {
    succeed(remote(link_).unlock(lock));
}
std::uint64_t OneSidedCalls::wait(const void* word, std::size_t width, bool is_signed,
                                  Compare compare, std::uint64_t value) {
    return succeed(remote(link_).waits().all(word_wait(word, width, is_signed, compare, value)));
}
bool OneSidedCalls::wait_for(const void* word, std::size_t width, bool is_signed, Compare compare,
                             std::uint64_t value, std::chrono::nanoseconds time) {
    const auto ns = static_cast<std::uint64_t>(std::max(time.count(), std::int64_t{0}));
    const auto found = remote(link_).waits().all(word_wait(word, width, is_signed, compare, value),
                                                 base::Deadline::after(ns));
    if (!found && found.failure().status == Status::timeout) return false;
    static_cast<void>(succeed(found));
    return true;
}
bool OneSidedCalls::test(const void* word, std::size_t width, bool is_signed, Compare compare,
                         std::uint64_t value) {
    return succeed(
        remote(link_).waits().test_all(word_wait(word, width, is_signed, compare, value)));
}
std::size_t OneSidedCalls::wait_any(const void* words, std::size_t count, std::size_t width,
                                    bool is_signed, Compare compare, std::uint64_t value) {
    return succeed(
        remote(link_).waits().any(word_wait(words, width, is_signed, compare, value, count)));
}
void OneSidedCalls::wait_all(const void* words, std::size_t count, std::size_t width,
                             bool is_signed, Compare compare, std::uint64_t value) {
    const run::WordWait wait = word_wait(words, width, is_signed, compare, value, count);
    static_cast<void>(succeed(remote(link_).waits().all(wait)));
}

Team Team::make_context() {
    run::Team& team = team_of(link_);
    auto link = detail::link_to(team, link_->runtime);
    link->stream = link->owner->remote(team).open_stream();
    return Team(std::move(link));
}

}  // namespace weft
