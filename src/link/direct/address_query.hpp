// SPDX-License-Identifier: BSD-3-Clause
// address_query.hpp - queries the kernel for the mapping at an address of the calling process.
//
// Idea     PROCMAP_QUERY of /proc/self/maps (Linux 6.11) describes one mapping, in 0.2 us. Older
//          kernels only list all mappings as text, which is too slow to read before every call.
#pragma once

#include <cstdint>

#include "link/direct/kept_file.hpp"

namespace weft::link {

inline constexpr std::uint64_t kPageBytes = 4096;

struct Mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t page_bytes = 0;
    std::uint64_t offset = 0;  ///< offset in the file that is mapped at `begin`
    std::uint64_t inode = 0;   ///< 0: no file
    std::uint64_t device = 0;  ///< device of the file, as a dev_t
    bool readable = false;
    bool writable = false;
    bool executable = false;
    bool shared = false;
    char name[48] = {};  ///< name in /proc/self/maps, truncated; empty unless requested

    /// Returns the PROT_* bits for mmap() and mprotect().
    [[nodiscard]] int protection() const noexcept;
};

class AddressQuery {
  public:
    enum class Names : bool { no, yes };

    AddressQuery() noexcept;

    /// Returns true if the kernel answered a first query in the constructor.
    [[nodiscard]] bool available() const noexcept { return available_; }
    /// Fills in the mapping that covers the address or, if none does, the next one above it.
    /// Returns false if no such mapping exists, or if the query failed (see unanswered()).
    [[nodiscard]] bool find(std::uint64_t address, Mapping& mapping,
                            Names names = Names::no) noexcept;
    /// Returns true if the last find() failed for another reason than the lack of such a mapping.
    [[nodiscard]] bool unanswered() const noexcept { return unanswered_; }

  private:
    [[nodiscard]] bool open() noexcept;

    KeptFile maps_;
    bool available_;
    bool unanswered_ = false;
};

}  // namespace weft::link
