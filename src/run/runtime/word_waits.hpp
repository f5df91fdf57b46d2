// SPDX-License-Identifier: BSD-3-Clause
// word_waits.hpp - waits for words of this rank that others change.
//
// Idea     Everything is driven until one, some or all of a row of words compare as wanted with one
//          value or with one each.
// Holds    A wait with a deadline ends with Status::timeout; a test drives everything once.
// Next     remote_memory.hpp for what changes the words.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "weft/types.hpp"

namespace weft::run {

class Runtime;

/// Words of this rank that others change, next to each other, and what is wanted of them.
struct WordWait {
    const void* word = nullptr;  ///< the first
    std::uint8_t width = 8;      ///< 4 or 8
    bool is_signed = false;
    Compare compare = Compare::eq;
    std::uint64_t value = 0;  ///< for all of them; extended by its sign if it has one
    std::size_t count = 1;
    const void* values = nullptr;  ///< if not null: one for each word, of its width
    const int* skip = nullptr;     ///< if not null: words with another entry than 0 do not count
};

class WordWaits {
  public:
    /// No word: all are skipped, or none is as wanted.
    static constexpr std::size_t kNone = ~std::size_t{0};

    WordWaits(Runtime& runtime) : runtime_(runtime) {}

    /// All of them, each at some time. Returns what the last one was.
    [[nodiscard]] base::Result<std::uint64_t> all(const WordWait& wait,
                                                  base::Deadline deadline = {});
    /// One of them: its index; kNone if all are skipped.
    [[nodiscard]] base::Result<std::size_t> any(const WordWait& wait, base::Deadline deadline = {});
    /// At least one of them: writes the indices of those that are as wanted, and returns how many;
    /// 0 if all are skipped.
    [[nodiscard]] base::Result<std::size_t> some(const WordWait& wait, std::size_t* indices,
                                                 base::Deadline deadline = {});

    // The same after everything was driven once, if that is needed.
    [[nodiscard]] base::Result<bool> test_all(const WordWait& wait);
    [[nodiscard]] base::Result<std::size_t> test_any(const WordWait& wait);
    [[nodiscard]] base::Result<std::size_t> test_some(const WordWait& wait, std::size_t* indices);

  private:
    [[nodiscard]] base::Result<void> check(const char* call, const WordWait& wait) const;
    template <class Holds>
    [[nodiscard]] base::Result<void> until(const char* call, const WordWait& wait,
                                           base::Deadline deadline, Holds holds);
    template <class Holds>
    [[nodiscard]] base::Result<void> once(Holds holds);

    Runtime& runtime_;
};

}  // namespace weft::run
