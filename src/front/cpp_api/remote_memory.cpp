// SPDX-License-Identifier: BSD-3-Clause
// remote_memory.cpp - one-sided calls of the C++ interface.
#include "front/cpp_api/links.hpp"

namespace weft {

using detail::succeed;
using detail::team_of;

namespace {

run::WordWait word_wait(const void* word, std::size_t width, bool is_signed, Compare compare,
                        std::uint64_t value) {
    return {word, static_cast<std::uint8_t>(width), is_signed, compare, value};
}

}  // namespace

void Team::put(void* to, const void* from, std::size_t bytes, Rank peer) {
    succeed(team_of(link_).remote().put(to, from, bytes, peer, run::Return::reusable));
}
void Team::put_nbi(void* to, const void* from, std::size_t bytes, Rank peer) {
    succeed(team_of(link_).remote().put(to, from, bytes, peer, run::Return::at_once));
}
void Team::get(void* into, const void* from, std::size_t bytes, Rank peer) {
    succeed(team_of(link_).remote().get(into, from, bytes, peer, run::Return::reusable));
}
void Team::get_nbi(void* into, const void* from, std::size_t bytes, Rank peer) {
    succeed(team_of(link_).remote().get(into, from, bytes, peer, run::Return::at_once));
}
void Team::put_signal(void* to, const void* from, std::size_t bytes, std::uint64_t* signal,
                      std::uint64_t value, SignalOp op, Rank peer) {
    succeed(team_of(link_).remote().put_signal(to, from, bytes, signal, value, op == SignalOp::add,
                                               peer, run::Return::reusable));
}
void Team::put_signal_nbi(void* to, const void* from, std::size_t bytes, std::uint64_t* signal,
                          std::uint64_t value, SignalOp op, Rank peer) {
    succeed(team_of(link_).remote().put_signal(to, from, bytes, signal, value, op == SignalOp::add,
                                               peer, run::Return::at_once));
}
std::uint64_t Team::change(Change change, void* word, std::size_t width, std::uint64_t operand,
                           std::uint64_t compare, Rank peer) {
    const auto kind = change == Change::add    ? run::RequestKind::add
                      : change == Change::swap ? run::RequestKind::swap
                                               : run::RequestKind::compare_swap;
    return succeed(team_of(link_).remote().change(kind, word, static_cast<std::uint8_t>(width),
                                                  operand, compare, peer));
}
void Team::fence() {
    succeed(team_of(link_).remote().fence());
}
void Team::quiet() {
    succeed(team_of(link_).remote().quiet());
}
void Team::wait(const void* word, std::size_t width, bool is_signed, Compare compare,
                std::uint64_t value) {
    succeed(team_of(link_).remote().wait_until(word_wait(word, width, is_signed, compare, value)));
}
bool Team::test(const void* word, std::size_t width, bool is_signed, Compare compare,
                std::uint64_t value) {
    return succeed(
        team_of(link_).remote().test_until(word_wait(word, width, is_signed, compare, value)));
}

}  // namespace weft
