// SPDX-License-Identifier: BSD-3-Clause
// word_waits.hpp - waits for words of this rank that other ranks change.
//
// Idea     Drives everything until one, some or all words of an array satisfy a comparison, with
//          one value for all words or one for each.
// Holds    A wait with a deadline ends with Status::timeout. A test drives everything once.
// Next     remote_memory.hpp for the changes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "weft/types.hpp"

namespace weft::run {

class Runtime;

/// An array of this rank's words that other ranks change, and the awaited condition.
struct WordWait {
    const void* word = nullptr;  ///< the first
    std::uint8_t width = 8;      ///< bytes: 4 or 8
    bool is_signed = false;
    Compare compare = Compare::eq;
    std::uint64_t value = 0;  ///< for all words; sign-extended if signed
    std::size_t count = 1;
    const void* values = nullptr;  ///< if not null: one value for each word, of its width
    const int* skip = nullptr;     ///< if not null: words with a nonzero entry are ignored
};

class WordWaits {
  public:
    /// No word: all are skipped, or no word satisfies the condition.
    static constexpr std::size_t kNone = ~std::size_t{0};

    WordWaits(Runtime& runtime) : runtime_(runtime) {}

    /// Waits until each word has satisfied the condition at some time. Returns the
    /// last word's value.
    [[nodiscard]] base::Result<std::uint64_t> all(const WordWait& wait,
                                                  base::Deadline deadline = {});
    /// Waits for one word and returns its index, or kNone if all words are skipped.
    [[nodiscard]] base::Result<std::size_t> any(const WordWait& wait, base::Deadline deadline = {});
    /// Waits for at least one word. Writes the indices of all words that satisfy the condition, and
    /// returns their number, or 0 if all words are skipped.
    [[nodiscard]] base::Result<std::size_t> some(const WordWait& wait, std::size_t* indices,
                                                 base::Deadline deadline = {});

    // Test the condition, and if necessary drive everything once and test again.
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
