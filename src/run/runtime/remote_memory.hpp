// SPDX-License-Identifier: BSD-3-Clause
// remote_memory.hpp - one-sided calls of a team: checks arguments, translates ranks and addresses.
//
// Idea     Ranks are team ranks. Addresses are this rank's addresses of symmetric memory, and refer
//          to the same offset at the peer. Calls that OpenSHMEM 1.5 has behave as defined there. A
//          context is a team with a separate stream.
// Holds    A refused call changes nothing. Calls on local peers take no lock and rarely
//          drive the engine.
// Next     run/onesided/onesided.hpp for the calls; word_waits.hpp for waits; locks.cpp for locks;
//          include/weft/weft.hpp for the user's view.
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

/// Atomic operation on a word of symmetric memory.
struct WordChange {
    RequestKind kind = RequestKind::add;
    void* word = nullptr;
    std::uint8_t width = 8;  ///< bytes: 4 or 8
    std::uint64_t operand = 0;
    std::uint64_t compare = 0;
};

class RemoteMemory {
  public:
    RemoteMemory(Runtime& runtime, const Team& team, Stream* stream = nullptr)
        : runtime_(runtime), team_(team), stream_(stream) {}

    /// Opens the stream of a new context.
    [[nodiscard]] Stream* open_stream();
    /// Closes the stream of a context, which must be quiet.
    void close_stream();

    [[nodiscard]] base::Result<void> put(void* to, const void* from, std::size_t bytes, Rank peer,
                                         Return when);
    [[nodiscard]] base::Result<void> get(void* into, const void* from, std::size_t bytes, Rank peer,
                                         Return when);
    [[nodiscard]] base::Result<void> put_strided(void* to, const void* from, const Strided& blocks,
                                                 Rank peer);
    [[nodiscard]] base::Result<void> get_strided(void* into, const void* from,
                                                 const Strided& blocks, Rank peer);
    /// Starts a get. The data has arrived when `pending` is 0 again; it must not move before.
    [[nodiscard]] base::Result<void> start_get(void* into, const void* from, std::size_t bytes,
                                               Rank peer, std::uint32_t& pending);
    /// Drives everything until `pending` is 0. Returns Status::timeout after the deadline.
    [[nodiscard]] base::Result<void> await(const std::uint32_t& pending, base::Deadline deadline);
    [[nodiscard]] base::Result<void> put_signal(void* to, const void* from, std::size_t bytes,
                                                void* word, std::uint64_t value, bool adds,
                                                Rank peer, Return when);
    /// Changes a word and returns its former value.
    [[nodiscard]] base::Result<std::uint64_t> change(const WordChange& change, Rank peer);
    /// Changes a word. The change is done before quiet() returns.
    [[nodiscard]] base::Result<void> apply(const WordChange& change, Rank peer);
    /// Starts a change. After quiet(), `into` has the word's former value, with the word's width.
    [[nodiscard]] base::Result<void> start_change(const WordChange& change, Rank peer, void* into);
    [[nodiscard]] base::Result<void> fence();
    [[nodiscard]] base::Result<void> quiet(base::Deadline deadline = {});

    /// Returns waits for words of this rank; see word_waits.hpp.
    [[nodiscard]] WordWaits waits() { return {runtime_}; }

    // A lock of the team is one word of symmetric memory, initially 0.
    [[nodiscard]] base::Result<void> lock(std::uint64_t* word);
    [[nodiscard]] base::Result<bool> try_lock(std::uint64_t* word);
    [[nodiscard]] base::Result<void> unlock(std::uint64_t* word);

  private:
    /// Rank in the job, and place in its memory.
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
    Stream* stream_;  ///< of the calling context; nullptr: the team's
};

}  // namespace weft::run
