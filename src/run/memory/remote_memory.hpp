// SPDX-License-Identifier: BSD-3-Clause
// remote_memory.hpp - one-sided calls of a team: checks arguments, and translates team ranks to job
// ranks and addresses to offsets.
//
// Idea     Callers name a peer's symmetric memory by this rank's address of the same block, and
//          registered memory by its name. A context is a team with its own Stream: fence() and
//          quiet() of a context cover only its own operations.
// Holds    A call with invalid arguments has no effect. Calls on mapped memory take no lock, and
//          only one in 32 polls the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "run/memory/services.hpp"
#include "run/onesided/blocks.hpp"
#include "run/onesided/request.hpp"
#include "weft/types.hpp"

namespace weft::run {

class RegisteredMemory;
struct Stream;

/// Condition for each word of an array of this rank that other ranks change.
struct WordWait {
    const void* word = nullptr;  ///< first word of the array
    std::uint8_t width = 8;      ///< bytes: 4 or 8
    bool is_signed = false;
    Compare compare = Compare::eq;
    std::uint64_t value = 0;       ///< right operand of the comparison; sign-extended if signed
    std::size_t count = 1;         ///< number of words
    const void* values = nullptr;  ///< if not null: an operand for each word, instead of `value`
    const int* skip = nullptr;     ///< if not null: words with a nonzero entry are ignored
};

/// Waits for words of this rank that other ranks change. Waits drive the engine, and fail with
/// Status::timeout after the deadline. They end at once if all words are skipped.
class WordWaits {
  public:
    /// Result of any() if it finds no word.
    static constexpr std::size_t kNone = ~std::size_t{0};
    /// Time limit of a wait. nullopt: a test, which polls the engine once if it finds nothing.
    using Patience = std::optional<base::Deadline>;

    /// If the job continues after deaths, waits fail when a member of `team` dies or `team` fails.
    WordWaits(const MemoryServices& services, const Team& team)
        : services_(services), team_(team) {}

    /// Waits until each word has satisfied the condition once. Returns the value of the last word
    /// that is not skipped, or 0 if all are skipped.
    [[nodiscard]] base::Result<std::uint64_t> all(const WordWait& wait,
                                                  base::Deadline deadline = {});
    [[nodiscard]] base::Result<bool> test_all(const WordWait& wait);
    /// Waits until a word satisfies the condition. Returns its index, or kNone.
    [[nodiscard]] base::Result<std::size_t> any(const WordWait& wait, Patience patience);
    /// Waits until at least one word satisfies the condition. Writes the indices of all such words
    /// to `indices`, which has `count` elements. Returns their number.
    [[nodiscard]] base::Result<std::size_t> some(const WordWait& wait, std::size_t* indices,
                                                 Patience patience);

  private:
    template <class Found, class Holds>
    [[nodiscard]] base::Result<Found> find(const char* call, const WordWait& wait,
                                           Patience patience, const Found& found, Holds holds);

    const MemoryServices& services_;
    const Team& team_;
};

/// Argument of a call on memory of a peer, with its name for messages.
struct MemoryArgument {
    std::string_view call;
    std::string_view name;
    const void* address;
    Rank peer;  ///< rank of the team
};

class RemoteMemory {
  public:
    RemoteMemory(MemoryServices& services, RegisteredMemory& registered, const Team& team,
                 Stream* stream)
        : services_(services), registered_(registered), team_(team), stream_(stream) {}

    /// Opens a stream for a new context. It ends with the team, or by close_stream().
    [[nodiscard]] Stream* open_stream();
    void close_stream();

    [[nodiscard]] base::Result<void> put(void* to, const void* from, std::size_t bytes, Rank peer,
                                         Return when);
    [[nodiscard]] base::Result<void> get(void* into, const void* from, std::size_t bytes, Rank peer,
                                         Return when);
    [[nodiscard]] base::Result<void> put_strided(void* to, const void* from, const Strided& blocks,
                                                 Rank peer, std::string_view call = "put_strided");
    [[nodiscard]] base::Result<void> get_strided(void* into, const void* from,
                                                 const Strided& blocks, Rank peer);
    /// Puts blocks, then changes the peer's word like put_signal().
    [[nodiscard]] base::Result<void> put_strided_signal(void* to, const void* from,
                                                        const Strided& blocks, void* word,
                                                        std::uint64_t value, bool adds, Rank peer);
    /// Starts a put, which await() awaits.
    [[nodiscard]] base::Result<void> start_put(void* to, const void* from, std::size_t bytes,
                                               Rank peer, Transfer& started);
    /// Starts a get, which await() awaits. `kept`: see StartedGet.
    [[nodiscard]] base::Result<void> start_get(void* into, const void* from, std::size_t bytes,
                                               Rank peer, Transfer& started,
                                               std::shared_ptr<void> kept = nullptr);
    /// Drives the engine until a get has its data, or the peer has that of a put, whose source may
    /// then be changed. Fails with Status::timeout after the deadline; does not drive if the
    /// deadline has passed.
    [[nodiscard]] base::Result<void> await(Transfer& transfer, base::Deadline deadline);
    /// Puts, then sets the peer's word to `value`, or adds `value` to the word if `adds`.
    [[nodiscard]] base::Result<void> put_signal(void* to, const void* from, std::size_t bytes,
                                                void* word, std::uint64_t value, bool adds,
                                                Rank peer, Return when);
    /// Changes a peer's word. `into` and `when`: see OneSided::change().
    [[nodiscard]] base::Result<void> change(void* word, const WordChange& change, Rank peer,
                                            void* into, Return when);
    [[nodiscard]] base::Result<void> fence();
    [[nodiscard]] base::Result<void> quiet(base::Deadline deadline = {});

    /// Returns the address in this process of a member's memory, or nullptr if it is not mapped.
    [[nodiscard]] std::byte* address_on(const void* memory, Rank member);

    [[nodiscard]] WordWaits waits() { return {services_, team_}; }

  private:
    friend class Locks;

    struct Target {
        Rank rank = 0;  ///< rank of the job
        RemoteAddress remote = 0;
    };

    [[nodiscard]] base::Result<Target> find(const MemoryArgument& given, std::size_t bytes);
    [[nodiscard]] base::Result<Target> find_word(const MemoryArgument& given, std::size_t width);
    [[nodiscard]] base::Result<Target> find_blocks(MemoryArgument given, const Strided& blocks,
                                                   const std::ptrdiff_t* strides);
    [[nodiscard]] base::Result<Rank> job_rank(std::string_view call, Rank peer) const;
    template <auto kCall, class... Arguments>
    [[nodiscard]] base::Result<void> run_in_stream(bool mapped, Arguments&&... arguments);
    [[nodiscard]] bool is_mapped(const Target& target) const;
    [[nodiscard]] base::Result<void> check_open(std::string_view call) const;

    MemoryServices& services_;
    RegisteredMemory& registered_;
    const Team& team_;
    Stream* stream_;  ///< stream of this context; nullptr: the default stream of all teams
};

}  // namespace weft::run
