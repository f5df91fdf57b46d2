// SPDX-License-Identifier: BSD-3-Clause
// weft.cpp - the runtime of the C++ interface.
#include "weft/weft.hpp"

#include <unistd.h>

#include "api/cpp/links.hpp"

namespace weft {

using detail::succeed;

struct Runtime::State {
    std::unique_ptr<run::Runtime> runtime;
    std::shared_ptr<detail::RuntimeLink> link = std::make_shared<detail::RuntimeLink>();
    std::shared_ptr<detail::TeamLink> world;

    /// Returns the runtime. Throws an Error in a forked child.
    [[nodiscard]] run::Runtime& get() const {
        detail::refuse_forks();
        return *runtime;
    }

    /// In a forked child, leaks the runtime: its threads, files and network are the parent's.
    ~State() {
        if (base::is_forked_child()) {
            static_cast<void>(runtime.release());
            return;
        }
        link->runtime = nullptr;
        for (const auto& team : link->teams) team->team = nullptr;
        link->teams.clear();
    }
};

Runtime::Runtime() : Runtime(Threads::single) {}
Runtime::Runtime(Threads threads) : state_(std::make_unique<State>()) {
    const auto settings = base::with_assignment(environ, "WEFT_THREADS=multiple");
    state_->runtime =
        succeed(run::Runtime::create(threads == Threads::multiple ? settings.data() : environ));
    state_->link->runtime = state_->runtime.get();
    state_->world = detail::link_to(state_->runtime->world(), state_->link);
}
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;
Runtime::~Runtime() = default;

Team Runtime::world() {
    return Team(state_->world);
}
void Runtime::finalize() {
    succeed(state_->get().finalize());
}
void Runtime::progress() {
    state_->get().progress().drive();
}
void Runtime::on_progress(void (*function)(void* argument), void* argument) {
    state_->get().progress().set_external(function, argument);
}
void Runtime::on_message(int handler,
                         void (*function)(void* argument, Rank peer, const std::byte* data,
                                          std::size_t bytes),
                         void* argument) {
    succeed(state_->get().messages().set_handler(handler, {function, argument}));
}
void* Runtime::allocate(std::size_t bytes, std::size_t alignment) {
    return world().allocate(bytes, alignment);
}
void Runtime::release(void* memory) {
    world().release(memory);
}
int Runtime::nodes() const noexcept {
    return state_->runtime->job().nodes;
}
std::string Runtime::provider() const {
    return state_->runtime->job().provider;
}
std::string Runtime::notify() const {
    return state_->runtime->job().notify;
}
std::uint64_t Runtime::network_writes() const noexcept {
    return state_->runtime->network_writes();
}

}  // namespace weft
