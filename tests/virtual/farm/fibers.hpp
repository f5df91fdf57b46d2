// SPDX-License-Identifier: BSD-3-Clause
// fibers.hpp - ranks of a virtual job as fibers of one thread, which switch only at pauses.
//
// Idea     Each rank has its own stack (ucontext). It runs until it calls pause(), and continues
//          from that call when the scheduler picks it again. So blocking and fused calls run
//          unchanged, and the seed alone determines the order of execution.
// Limits   All fibers run in one thread. A body must not throw.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

namespace weft::farm {

/// The fibers of all ranks and their scheduler's context.
class Fibers {
  public:
    Fibers() = default;
    Fibers(const Fibers&) = delete;
    Fibers& operator=(const Fibers&) = delete;

    /// Adds a fiber, which runs `body` at its first run().
    void add(std::function<void()> body);
    /// Runs a fiber until it pauses or ends.
    void run(std::size_t number);
    /// Pauses the running fiber.
    void pause();
    [[nodiscard]] bool ended(std::size_t number) const { return fibers_[number].ended; }
    /// Returns true in a fiber, false in the scheduler.
    [[nodiscard]] bool running() const { return running_ != nullptr; }

  private:
    static constexpr std::size_t kStackBytes = std::size_t{256} << 10;
    struct Fiber {
        std::function<void()> body;
        std::unique_ptr<std::byte[]> stack;
        ucontext_t context{};
        bool ended = false;
    };
    /// First function of a fiber; the arguments are the halves of its address.
    static void enter(unsigned high, unsigned low);

    std::deque<Fiber> fibers_;
    Fiber* running_ = nullptr;
    ucontext_t scheduler_{};
};

}  // namespace weft::farm
