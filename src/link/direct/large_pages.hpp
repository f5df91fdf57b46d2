// SPDX-License-Identifier: BSD-3-Clause
// large_pages.hpp - decides whether to ask the kernel for large pages of an object.
//
// Idea     A page of 2 MiB takes less than half the time of 512 small ones to make, fill and map.
//          But it takes several times as long if the kernel or the hypervisor has to find memory
//          for it first. So each attempt is timed. After a failed or slow one, the next kPauseMin
//          large pages are not tried; the number doubles with each further failure.
// Holds    Slow attempts cost a small part of the time of remapping. None is made if the system has
//          large pages switched off.
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
    LargePages() noexcept : allowed_(switched_on()) {}

    /// Returns true if the next large page would be tried.
    [[nodiscard]] bool expected() const noexcept { return allowed_ && left_out_ == 0; }
    /// Returns true if the next large page should be tried; counts it otherwise.
    [[nodiscard]] bool worth_trying() noexcept {
        if (!allowed_) return false;
        if (left_out_ == 0) return true;
        --left_out_;
        return false;
    }
    /// Reports whether the kernel made a large page, and the processor time that it took.
    void tried(bool made, std::chrono::nanoseconds took) noexcept {
        if (made && took < kSmallPagesTake) {
            pause_ = kPauseMin;
            return;
        }
        left_out_ = pause_;
        if (pause_ < kPauseMax) pause_ *= 2;
    }

  private:
    /// Time of 512 small pages, less that of an existing large page.
    static constexpr std::chrono::microseconds kSmallPagesTake{600};
    static constexpr std::uint32_t kPauseMin = 32;
    static constexpr std::uint32_t kPauseMax = 1024;

    static bool switched_on() noexcept {
        const base::FileDescriptor file(
            ::open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC));
        char text[64];
        const ssize_t bytes = file.open() ? ::read(file.number(), text, sizeof text) : 0;
        return bytes > 0 &&
               std::string_view(text, static_cast<std::size_t>(bytes)).find("[never]") ==
                   std::string_view::npos;
    }

    bool allowed_;
    std::uint32_t left_out_ = 0;  ///< large pages not to try
    std::uint32_t pause_ = kPauseMin;
};

}  // namespace weft::link
