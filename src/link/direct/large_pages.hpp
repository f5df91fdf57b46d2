// SPDX-License-Identifier: BSD-3-Clause
// large_pages.hpp - whether to ask the kernel for large pages, in which adopted memory lies.
//
// Idea     An object's page of 2 MiB is made, filled and mapped in less than half the time of 512
//          small ones, and all ranks that use it save the processor's table walks. But the kernel
//          may have to move other memory first, or the machine below it to find some, and then one
//          takes several times as long. So the time of each is taken: after one that failed, or
//          took longer than small pages would have, the next ones are small, twice as many each
//          time.
// Holds    What slow large pages cost is a small part of an adoption. Nothing is asked where the
//          system has large pages switched off.
// Next     remapped_range.hpp.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string_view>

#include "link/direct/remapped_object.hpp"
#include "link/shared/os_handles.hpp"

namespace weft::link {

class LargePages {
  public:
    LargePages() noexcept : allowed_(switched_on()) {}

    /// Would one be tried now?
    [[nodiscard]] bool expected() const noexcept { return allowed_ && left_out_ == 0; }
    /// Asked for each large page that would fit.
    [[nodiscard]] bool worth_trying() noexcept {
        if (!allowed_) return false;
        if (left_out_ == 0) return true;
        --left_out_;
        return false;
    }
    /// Says whether the kernel made one, and how much time of the processor that took.
    void tried(bool made, std::chrono::nanoseconds took) noexcept {
        if (made && took < kSmallPagesTake) {
            pause_ = kPauseMin;
            return;
        }
        left_out_ = pause_;
        if (pause_ < kPauseMax) pause_ *= 2;
    }

  private:
    /// What 512 small pages cost beyond one large page that is there.
    static constexpr std::chrono::microseconds kSmallPagesTake{600};
    static constexpr std::uint32_t kPauseMin = 32;
    static constexpr std::uint32_t kPauseMax = 1024;

    static bool switched_on() noexcept {
        const Descriptor file(
            ::open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC));
        char text[64];
        const ssize_t bytes = file.open() ? ::read(file.number(), text, sizeof text) : 0;
        return bytes > 0 &&
               std::string_view(text, static_cast<std::size_t>(bytes)).find("[never]") ==
                   std::string_view::npos;
    }

    bool allowed_;
    std::uint32_t left_out_ = 0;  ///< of the next
    std::uint32_t pause_ = kPauseMin;
};

}  // namespace weft::link
