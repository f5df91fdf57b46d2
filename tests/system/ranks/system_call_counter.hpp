// SPDX-License-Identifier: BSD-3-Clause
// system_call_counter.hpp - counts the system calls that this thread makes, by number.
//
// Idea     While a byte in memory says so, the kernel turns every system call of a thread into a
//          signal (system call user dispatch, Linux 5.11). The handler counts the call and then
//          makes it, from code that is exempt.
// Holds    Between start() and stop() the thread only runs slower. Calls that need not enter the
//          kernel (such as reading the clock) are not system calls and do not count.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace weft::test {

class SystemCallCounter {
  public:
    static constexpr std::size_t kNumbers = 512;
    using Counts = std::array<std::uint64_t, kNumbers>;  ///< by number; the last one for all above

    /// Arms the dispatch for the calling thread; if that fails, reason() says why. A process may
    /// have one object at a time.
    SystemCallCounter();
    ~SystemCallCounter();
    SystemCallCounter(const SystemCallCounter&) = delete;
    SystemCallCounter& operator=(const SystemCallCounter&) = delete;

    [[nodiscard]] const std::string& reason() const { return reason_; }
    void start();
    void stop();
    [[nodiscard]] const Counts& counts() const;
    [[nodiscard]] std::uint64_t total() const;

  private:
    std::string reason_;
};

}  // namespace weft::test
