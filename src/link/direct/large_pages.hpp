// SPDX-License-Identifier: BSD-3-Clause
// large_pages.hpp - decides whether to request large pages for an object.
//
// Idea     A page of 2 MiB takes less than half the time of 512 small ones to make, fill and map.
//          But it takes several times as long if the kernel or the hypervisor has to free or move
//          memory for it first. So each attempt is timed. After a failed or slow attempt, the next
//          kPauseMin large pages are not tried; the number doubles with each further failure, up to
//          kPauseMax. A fast success resets it.
// Holds    Slow attempts cost a small part of the time of remapping. No attempt is made if large
//          pages are disabled in the system.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "link/direct/remapped_object.hpp"

namespace weft::link {

class LargePages {
  public:
    LargePages() noexcept : allowed_(enabled_in_system()) {}

    /// Returns true if the next large page would be tried.
    [[nodiscard]] bool expected() const noexcept { return allowed_ && left_out_ == 0; }
    /// Returns true if the next large page should be tried. Otherwise counts it as left out.
    [[nodiscard]] bool worth_trying() noexcept {
        if (!allowed_) return false;
        if (left_out_ == 0) return true;
        --left_out_;
        return false;
    }
    /// Records an attempt: whether the kernel made the page, and the processor time that it took.
    void tried(bool made, std::chrono::nanoseconds took) noexcept {
        if (made && took < kSmallPagesTake) {
            pause_ = kPauseMin;
            return;
        }
        left_out_ = pause_;
        if (pause_ < kPauseMax) pause_ *= 2;
    }

  private:
    /// Limit of a fast attempt: the time that 512 small pages take beyond a ready large page.
    static constexpr std::chrono::microseconds kSmallPagesTake{600};
    static constexpr std::uint32_t kPauseMin = 32;
    static constexpr std::uint32_t kPauseMax = 1024;

    static bool enabled_in_system() noexcept {
        const base::FileDescriptor file(
            ::open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC));
        char text[64];
        const ssize_t bytes = file.open() ? ::read(file.number(), text, sizeof text) : 0;
        return bytes > 0 &&
               std::string_view(text, static_cast<std::size_t>(bytes)).find("[never]") ==
                   std::string_view::npos;
    }

    bool allowed_;
    std::uint32_t left_out_ = 0;       ///< number of large pages still to leave out
    std::uint32_t pause_ = kPauseMin;  ///< large pages to leave out after the next failure
};

}  // namespace weft::link
