// SPDX-License-Identifier: BSD-3-Clause
#include "run/memory/active_messages.hpp"

#include "run/job/real_engine.hpp"
#include "run/team/team.hpp"

namespace weft::run {

namespace {

constexpr int kHandlers = static_cast<int>(RealMessages::kHandlers);
constexpr std::size_t kQueuedMax = 64;  // messages queued for one rank; send() waits for space

base::Result<void> check_handler(int handler) {
    if (handler >= 0 && handler < kHandlers) return {};
    return base::fail(Status::argument, "handler: {}, expected a number in 0..{}", handler,
                      kHandlers - 1);
}

}  // namespace

ActiveMessages::ActiveMessages(const Job& job, const MessageArea& area, RealEngine& engine,
                               RealOneSided& onesided, EngineProgress& progress)
    : job_(job), area_(area), engine_(engine), onesided_(onesided), progress_(progress) {
    if (onesided_.service().has_origins()) start_service();
}

ActiveMessages::~ActiveMessages() = default;

bool ActiveMessages::serve(void* argument) noexcept {
    ActiveMessages& self = *static_cast<ActiveMessages*>(argument);
    auto& service = self.onesided_.service();
    bool served = !service.at_rest() && service.serve();
    if (self.messages_ != nullptr) served = self.messages_->serve() || served;
    return served;
}

void ActiveMessages::on_immediate(void* argument, std::uint64_t payload) noexcept {
    static_cast<ActiveMessages*>(argument)->onesided_.service().on_immediate(payload);
}

void ActiveMessages::start_service() {
    job_.wire->set_service(&ActiveMessages::serve, &ActiveMessages::on_immediate, this);
}

/// Creates messages_ and starts the service, at the first call. The caller holds the turn.
void ActiveMessages::open() {
    if (messages_ != nullptr) return;
    messages_ = std::make_unique<RealMessages>(*job_.wire, area_, job_.bootstrap->rank());
    // Release: pairs with the acquire in in_handler().
    handler_thread_.store(&messages_->handler_thread(), std::memory_order_release);
    start_service();
}

void ActiveMessages::serve_members(const Team& team) {
    const Turn::Hold hold = engine_.take_turn();
    for (Rank member = 0; member < team.size(); ++member)
        onesided_.service().serve_near(team.job_rank(member));
    progress_.expect_requests();
    start_service();
}

base::Result<void> ActiveMessages::set_handler(int number, const MessageHandler& handler) {
    if (closed_) return base::fail(Status::argument, "the runtime has been finalized");
    WEFT_TRY(check_handler(number));
    if (in_handler()) return base::fail(Status::argument, "a handler must not set handlers");
    const Turn::Hold hold = engine_.take_turn();
    open();
    messages_->set_handler(static_cast<std::uint32_t>(number), handler);
    return {};
}

base::Result<void> ActiveMessages::send(Rank job_rank, int handler, const void* data,
                                        std::size_t bytes) {
    if (send_at_once(job_rank, handler, data, bytes)) return {};
    if (closed_) return base::fail(Status::argument, "the runtime has been finalized");
    WEFT_TRY(check_handler(handler));
    if (bytes > bytes_max())
        return base::fail(Status::argument, "bytes: {}, expected up to {}", bytes, bytes_max());
    if (data == nullptr && bytes != 0)
        return base::fail(Status::argument, "data is NULL, expected {} bytes", bytes);
    const auto number = static_cast<std::uint32_t>(handler);
    if (in_handler()) {
        messages_->send(job_rank, number, data, bytes);
        return {};
    }
    const Turn::Hold hold = engine_.take_turn();
    open();
    if (const base::Failure* const dead = engine_.deaths().failure_by(job_rank)) return *dead;
    if (messages_->queued(job_rank) >= kQueuedMax) [[unlikely]] {
        const auto waits = [&] {
            return fmt::format("am_request: waiting for rank {} to handle messages", job_rank);
        };
        if (!engine_.await([&] { return messages_->queued(job_rank) < kQueuedMax; }, waits,
                           job_rank))
            return engine_.failure();
    }
    messages_->send(job_rank, number, data, bytes);
    return {};
}

bool ActiveMessages::send_at_once(Rank job_rank, int handler, const void* data,
                                  std::size_t bytes) noexcept {
    if (engine_.shares_turn() || messages_ == nullptr || closed_ || handler < 0 ||
        handler >= kHandlers || data == nullptr || !engine_.deaths().ranks.empty()) [[unlikely]]
        return false;
    return messages_->post_at_once(job_rank, static_cast<std::uint32_t>(handler), data, bytes);
}

void ActiveMessages::close() {
    closed_ = true;
    const Turn::Hold hold = engine_.take_turn();
    if (messages_ != nullptr) messages_->drop_unhandled();
}

base::Result<void> ActiveMessages::settle() {
    if (messages_ == nullptr) return {};
    const Turn::Hold hold = engine_.take_turn();
    const auto settled = [&] {
        for (const auto& [rank, why] : engine_.deaths().ranks) messages_->forget(rank);
        return messages_->idle();
    };
    if (engine_.await(settled, [] { return std::string("waiting for ranks to handle messages"); }))
        return {};
    return engine_.failure();
}

}  // namespace weft::run
