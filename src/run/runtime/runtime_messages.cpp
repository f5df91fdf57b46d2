// SPDX-License-Identifier: BSD-3-Clause
// runtime_messages.cpp - active messages of a runtime: handlers, sending and service.
//
// Holds    Service starts when a handler is set or a message is sent. So programs without
//          messages pay nothing.
// Next     run/onesided/messages.hpp.
#include "run/job/real_engine.hpp"
#include "run/runtime/runtime.hpp"

namespace weft::run {

namespace {

constexpr int kHandlers = static_cast<int>(RealMessages::kHandlers);
constexpr std::size_t kQueuedMax = 64;  ///< to one rank, outside of handlers

base::Result<void> check_number(int handler) {
    if (handler >= 0 && handler < kHandlers) return {};
    return base::fail(Status::argument, "handler: {}, expected a number in 0..{}", handler,
                      kHandlers - 1);
}

}  // namespace

bool Runtime::serve(void* self) noexcept {
    Runtime& runtime = *static_cast<Runtime*>(self);
    auto& service = runtime.onesided_->service();
    bool served = !service.at_rest() && service.serve();
    if (runtime.messages_ != nullptr) served = runtime.messages_->serve() || served;
    return served;
}

void Runtime::on_immediate(void* self, std::uint64_t payload) noexcept {
    RealOneSided::on_immediate(static_cast<Runtime*>(self)->onesided_.get(), payload);
}

/// Opens messages. The caller holds the turn.
void Runtime::open_messages() {
    if (messages_ != nullptr) return;
    messages_ =
        std::make_unique<RealMessages>(*job_.wire, layout_.messages, job_.bootstrap->rank());
    handling_.store(&messages_->handling(), std::memory_order_release);
    job_.wire->set_service(&Runtime::serve, &Runtime::on_immediate, this);
}

void Runtime::serve_near(const Team& team) {
    const Turn::Hold hold = engine_->take_turn();
    for (Rank member = 0; member < team.size(); ++member)
        onesided_->service().serve_near(team.job_rank(member));
    serves_near_.store(true, std::memory_order_relaxed);
    job_.wire->set_service(&Runtime::serve, &Runtime::on_immediate, this);
}

base::Result<void> Runtime::set_handler(int number, const MessageHandler& handler) {
    if (finalized_) return base::fail(Status::argument, "the runtime has been finalized");
    if (auto checked = check_number(number); !checked) return checked;
    if (in_handler()) return base::fail(Status::argument, "a handler must not set handlers");
    const Turn::Hold hold = engine_->take_turn();
    open_messages();
    messages_->set_handler(static_cast<std::uint32_t>(number), handler);
    return {};
}

base::Result<void> Runtime::send_message(Rank job_rank, int handler, const void* data,
                                         std::size_t bytes) {
    if (send_at_once(job_rank, handler, data, bytes)) return {};
    if (finalized_) return base::fail(Status::argument, "the runtime has been finalized");
    if (handler < 0 || handler >= kHandlers) return check_number(handler);
    if (bytes > message_bytes_max())
        return base::fail(Status::argument, "bytes: {}, expected up to {}", bytes,
                          message_bytes_max());
    if (data == nullptr && bytes != 0)
        return base::fail(Status::argument, "data is NULL, expected {} bytes", bytes);
    const auto number = static_cast<std::uint32_t>(handler);
    if (in_handler()) {
        messages_->send(job_rank, number, data, bytes);
        return {};
    }
    const Turn::Hold hold = engine_->take_turn();
    if (messages_ == nullptr) [[unlikely]]
        open_messages();
    if (messages_->queued(job_rank) >= kQueuedMax) [[unlikely]] {
        const auto waits = [&] {
            return fmt::format("am_request: waiting for rank {} to take messages", job_rank);
        };
        if (!engine_->await([&] { return messages_->queued(job_rank) < kQueuedMax; }, waits))
            return engine_->failure();
    }
    messages_->send(job_rank, number, data, bytes);
    return {};
}

bool Runtime::send_at_once(Rank job_rank, int handler, const void* data,
                           std::size_t bytes) noexcept {
    if (engine_->shares_turn() || messages_ == nullptr || finalized_ || handler < 0 ||
        handler >= kHandlers || data == nullptr) [[unlikely]]
        return false;
    return messages_->post_at_once(job_rank, static_cast<std::uint32_t>(handler), data, bytes);
}

base::Result<void> Runtime::settle_messages() {
    if (messages_ == nullptr) return {};
    const Turn::Hold hold = engine_->take_turn();
    if (engine_->await([&] { return messages_->idle(); },
                       [] { return std::string("waiting for ranks to take messages"); }))
        return {};
    return engine_->failure();
}

}  // namespace weft::run
