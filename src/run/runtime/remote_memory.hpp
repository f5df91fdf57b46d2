// SPDX-License-Identifier: BSD-3-Clause
// remote_memory.hpp - the one-sided calls of a team: arguments are checked, ranks and addresses
// translated.
//
// Idea     Ranks are the team's; addresses are this rank's of symmetric memory, and mean the same
//          place at the peer. Semantics are those of OpenSHMEM 1.5 where it has the call.
// Holds    A refused call changes nothing. Calls on near peers take no lock and drive nothing.
// Next     run/onesided/onesided.hpp for the calls; include/weft/weft.hpp for what users see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "run/onesided/request.hpp"
#include "weft/types.hpp"

namespace weft::run {

class Runtime;
class Team;

/// A word of this rank that others change.
struct WordWait {
    const void* word = nullptr;
    std::uint8_t width = 8;  ///< 4 or 8
    bool is_signed = false;
    Compare compare = Compare::eq;
    std::uint64_t value = 0;
};

class RemoteMemory {
  public:
    RemoteMemory(Runtime& runtime, const Team& team) : runtime_(runtime), team_(team) {}

    [[nodiscard]] base::Result<void> put(void* to, const void* from, std::size_t bytes, Rank peer,
                                         Return when);
    [[nodiscard]] base::Result<void> get(void* into, const void* from, std::size_t bytes, Rank peer,
                                         Return when);
    [[nodiscard]] base::Result<void> put_signal(void* to, const void* from, std::size_t bytes,
                                                void* word, std::uint64_t value, bool adds,
                                                Rank peer, Return when);
    /// The word's value before.
    [[nodiscard]] base::Result<std::uint64_t> change(RequestKind kind, void* word,
                                                     std::uint8_t width, std::uint64_t operand,
                                                     std::uint64_t compare, Rank peer);
    [[nodiscard]] base::Result<void> fence();
    [[nodiscard]] base::Result<void> quiet();
    [[nodiscard]] base::Result<void> wait_until(const WordWait& wait);
    /// Drives everything once and says whether the wait would end.
    [[nodiscard]] base::Result<bool> test_until(const WordWait& wait);

  private:
    /// Where a call goes: rank of the job, offset in its segment.
    struct Place {
        Rank rank = 0;
        std::uint64_t offset = 0;
    };

    [[nodiscard]] base::Result<Place> place(std::string_view call, std::string_view argument,
                                            const void* address, std::size_t bytes, Rank peer);
    [[nodiscard]] base::Result<Place> place_of_word(std::string_view call,
                                                    std::string_view argument, const void* address,
                                                    std::size_t width, Rank peer);
    template <class Call>
    [[nodiscard]] base::Result<void> driven(Rank rank, Call call);
    [[nodiscard]] base::Result<void> usable(std::string_view call) const;

    Runtime& runtime_;
    const Team& team_;
};

}  // namespace weft::run
