// SPDX-License-Identifier: BSD-3-Clause
// address_query.hpp - what the kernel has mapped at an address of the calling process.
//
// Idea     PROCMAP_QUERY of /proc/self/maps (Linux 6.11) answers for one address, in 0.2 us.
//          Without it the only answer is the text of all mappings, too slow to ask before every
//          call.
// Next     remapped_ranges.hpp.
#pragma once

#include <cstdint>

#include "link/direct/kept_file.hpp"

namespace weft::link {

inline constexpr std::uint64_t kPageBytes = 4096;

/// One mapping, as the kernel describes it. Addresses are numbers here: they are not followed.
struct Mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t page_bytes = 0;
    std::uint64_t offset = 0;  ///< of `begin` in the file
    std::uint64_t inode = 0;   ///< 0: no file
    std::uint64_t device = 0;  ///< a dev_t
    bool readable = false;
    bool writable = false;
    bool executable = false;
    bool shared = false;
    char name[48] = {};  ///< cut off; only if it was asked for

    /// For mmap() and mprotect().
    [[nodiscard]] int protection() const noexcept;
};

class AddressQuery {
  public:
    enum class Names : bool { no, yes };

    AddressQuery() noexcept;

    /// Does this kernel answer?
    [[nodiscard]] bool available() const noexcept { return available_; }
    /// The mapping that covers the address or, if none does, the next one above. False: none.
    [[nodiscard]] bool ask(std::uint64_t address, Mapping& mapping,
                           Names names = Names::no) noexcept;
    /// Did the last question get no answer? Then ask() says false, and nothing is known.
    [[nodiscard]] bool unanswered() const noexcept { return unanswered_; }

  private:
    [[nodiscard]] bool open() noexcept;

    KeptFile maps_;
    bool available_;
    bool unanswered_ = false;
};

}  // namespace weft::link
