// SPDX-License-Identifier: BSD-3-Clause
// remote_memory.hpp - the one-sided calls of a team: arguments are checked, ranks and addresses
// translated.
//
// Idea     Ranks are the team's; addresses are this rank's of symmetric memory, and mean the same
//          place at the peer. Semantics are those of OpenSHMEM 1.5 where it has the call. A context
//          is a team with a stream of its own.
// Holds    A refused call changes nothing. Calls on near peers take no lock and drive nothing.
// Next     run/onesided/onesided.hpp for the calls; word_waits.hpp for waits; locks.cpp for locks;
//          include/weft/weft.hpp for what users see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "run/onesided/place.hpp"
#include "run/onesided/request.hpp"
#include "run/runtime/word_waits.hpp"
#include "weft/types.hpp"

namespace weft::run {

class Runtime;
class Team;
struct Stream;

/// What an atomic call does to a word of symmetric memory.
struct WordChange {
    RequestKind kind = RequestKind::add;
    void* word = nullptr;
    std::uint8_t width = 8;  ///< 4 or 8
    std::uint64_t operand = 0;
    std::uint64_t compare = 0;
};

class RemoteMemory {
  public:
    RemoteMemory(Runtime& runtime, const Team& team, Stream* stream = nullptr)
        : runtime_(runtime), team_(team), stream_(stream) {}

    [[nodiscard]] base::Result<void> put(void* to, const void* from, std::size_t bytes, Rank peer,
                                         Return when);
    [[nodiscard]] base::Result<void> get(void* into, const void* from, std::size_t bytes, Rank peer,
                                         Return when);
    [[nodiscard]] base::Result<void> put_strided(void* to, const void* from, const Strided& blocks,
                                                 Rank peer);
    [[nodiscard]] base::Result<void> get_strided(void* into, const void* from,
                                                 const Strided& blocks, Rank peer);
    /// The data is there when `pending`, which stays where it is, is 0 again.
    [[nodiscard]] base::Result<void> start_get(void* into, const void* from, std::size_t bytes,
                                               Rank peer, std::uint32_t& pending);
    /// Drives everything until `pending` is 0; late if that takes longer.
    [[nodiscard]] base::Result<void> await(const std::uint32_t& pending, base::Deadline deadline);
    [[nodiscard]] base::Result<void> put_signal(void* to, const void* from, std::size_t bytes,
                                                void* word, std::uint64_t value, bool adds,
                                                Rank peer, Return when);
    /// The word's value before.
    [[nodiscard]] base::Result<std::uint64_t> change(const WordChange& change, Rank peer);
    /// The same without the value, some time before a quiet().
    [[nodiscard]] base::Result<void> apply(const WordChange& change, Rank peer);
    /// The same: the value is in `into`, of the word's width, when quiet() returns.
    [[nodiscard]] base::Result<void> start_change(const WordChange& change, Rank peer, void* into);
    [[nodiscard]] base::Result<void> fence();
    [[nodiscard]] base::Result<void> quiet(base::Deadline deadline = {});

    /// Words of this rank that others change; see word_waits.hpp.
    [[nodiscard]] WordWaits waits() { return {runtime_}; }

    // Locks: one word of symmetric memory, 0 at first, is one lock of the team.
    [[nodiscard]] base::Result<void> lock(std::uint64_t* word);
    [[nodiscard]] base::Result<bool> try_lock(std::uint64_t* word);
    [[nodiscard]] base::Result<void> unlock(std::uint64_t* word);

  private:
    /// Where a call goes: rank of the job, place in its memory.
    struct Target {
        Rank rank = 0;
        Place place = 0;
    };

    [[nodiscard]] base::Result<Target> place(std::string_view call, std::string_view argument,
                                             const void* address, std::size_t bytes, Rank peer);
    [[nodiscard]] base::Result<Target> place_of_word(std::string_view call,
                                                     std::string_view argument, const void* address,
                                                     std::size_t width, Rank peer);
    [[nodiscard]] base::Result<Target> place_of_blocks(std::string_view call,
                                                       std::string_view argument,
                                                       const void* address, std::int64_t stride,
                                                       const Strided& blocks, Rank peer);
    [[nodiscard]] base::Result<Rank> job_rank(std::string_view call, Rank peer) const;
    template <class Call>
    [[nodiscard]] base::Result<void> driven(const Target& target, Call call);
    template <class Call>
    [[nodiscard]] base::Result<void> driven(bool near, Call call);
    [[nodiscard]] bool is_near(const Target& target) const;
    [[nodiscard]] base::Failure misplaced(std::string_view call, std::string_view argument,
                                          const void* address, std::size_t bytes, Rank peer) const;
    [[nodiscard]] base::Result<void> usable(std::string_view call) const;
    [[nodiscard]] base::Result<Rank> home_of(std::string_view call, std::uint64_t* word);

    Runtime& runtime_;
    const Team& team_;
    Stream* stream_;  ///< of the context that calls; nullptr: the team itself
};

}  // namespace weft::run
