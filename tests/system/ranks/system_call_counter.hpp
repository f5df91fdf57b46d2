// SPDX-License-Identifier: BSD-3-Clause
// system_call_counter.hpp - counts the system calls that this thread makes, by number.
//
// Idea     While a byte in memory has a certain value, the kernel sends a signal instead of each
//          system call of a thread (system call user dispatch, Linux 5.11). The handler counts the
//          call and then makes it, from code that is exempt.
// Limits   Between start() and stop() the thread is slower. Calls that do not enter the kernel,
//          such as reading the clock, are not counted.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace weft::test {

class SystemCallCounter {
  public:
    static constexpr std::size_t kNumbers = 512;
    using Counts =
        std::array<std::uint64_t, kNumbers>;  ///< by number; larger numbers are in the last element

    /// Enables the dispatch for the calling thread; if that fails, reason() returns why. A process
    /// may have one object at a time.
    SystemCallCounter();
    ~SystemCallCounter();
    SystemCallCounter(const SystemCallCounter&) = delete;
    SystemCallCounter& operator=(const SystemCallCounter&) = delete;

    /// Returns why system calls cannot be counted, or an empty text.
    [[nodiscard]] const std::string& reason() const { return reason_; }
    void start();  ///< starts to count
    void stop();
    [[nodiscard]] const Counts& counts() const;
    [[nodiscard]] std::uint64_t total() const;

  private:
    std::string reason_;
};

}  // namespace weft::test
