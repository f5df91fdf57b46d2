// SPDX-License-Identifier: BSD-3-Clause
#include "tests/virtual/farm/fibers.hpp"

#include <cstdint>
#include <utility>

#include "base/check.hpp"

namespace weft::farm {

void Fibers::add(std::function<void()> body) {
    Fiber& fiber = fibers_.emplace_back();
    fiber.body = std::move(body);
    fiber.stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
    WEFT_CHECK(getcontext(&fiber.context) == 0, fibers_.size());
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &scheduler_;
    const auto self = reinterpret_cast<std::uintptr_t>(&fiber);
    // makecontext() passes arguments of type int, so the address is passed in two halves.
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Fibers::enter), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
}

void Fibers::enter(unsigned high, unsigned low) {
    auto* fiber = reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
    fiber->body();
    fiber->ended = true;
}

void Fibers::run(std::size_t number) {
    running_ = &fibers_[number];
    swapcontext(&scheduler_, &running_->context);
    running_ = nullptr;
}

void Fibers::pause() {
    Fiber* self = running_;
    swapcontext(&self->context, &scheduler_);
}

}  // namespace weft::farm
