// SPDX-License-Identifier: BSD-3-Clause
// messages.cpp - active messages of the C interface.
#include "api/c/handles.hpp"

using namespace weft;
using namespace weft::c_api;

/// Message whose handler runs.
struct weft_am {
    run::ActiveMessages* messages = nullptr;
    Rank peer = 0;  ///< sender, as a rank of the world
};

namespace {

/// Calls the program's handler, an AmHandler in `argument`, for a message.
void call(void* argument, Rank peer, const std::byte* data, std::size_t bytes) {
    const auto& handler = *static_cast<const AmHandler*>(argument);
    const Context::Handling handling(*handler.context);
    const weft_am message{&handler.context->runtime().messages(), peer};
    handler.function(handler.argument, &message, data, bytes);
}

}  // namespace

extern "C" weft_status weft_am_register(weft_runtime* runtime, int handler, weft_am_handler fn,
                                        void* arg) {
    return on(__func__, runtime, [&](Context* context) {
        run::ActiveMessages& messages = context->runtime().messages();
        if (fn == nullptr) return messages.set_handler(handler, {});
        AmHandler& record = context->add_handler({context, fn, arg});
        return messages.set_handler(handler, {&call, &record});
    });
}

extern "C" size_t weft_am_bytes_max(const weft_runtime* runtime) {
    return value_or(std::size_t{0}, __func__, runtime,
                    [](Context* context) { return context->runtime().messages().bytes_max(); });
}

extern "C" weft_status weft_am_request(weft_team* team, int peer, int handler, const void* data,
                                       size_t bytes) {
    Context* const context = Context::find_fast(team);
    run::Team* const known = context == nullptr ? nullptr : context->team_of(team);
    if (known != nullptr && peer >= 0 && peer < known->size() &&
        context->runtime().messages().send_at_once(known->job_rank(peer), handler, data, bytes))
        [[likely]]
        return WEFT_OK;
    return caught(__func__, [&]() -> Result<void> {
        const auto found = WEFT_TRY(find(team, Callers::program_and_handlers));
        WEFT_TRY(check_rank(*found.team, "peer", peer));
        return found.context->runtime().messages().send(found.team->job_rank(peer), handler, data,
                                                        bytes);
    });
}

extern "C" weft_status weft_am_reply(const weft_am* message, int handler, const void* data,
                                     size_t bytes) {
    if (message != nullptr && !base::is_forked_child() &&
        message->messages->send_at_once(message->peer, handler, data, bytes)) [[likely]]
        return WEFT_OK;
    return guarded(__func__, [&]() -> Result<void> {
        if (message == nullptr) return fail(Status::argument, "message is NULL");
        return message->messages->send(message->peer, handler, data, bytes);
    });
}

extern "C" int weft_am_peer(const weft_am* message) {
    return message == nullptr ? -1 : message->peer;
}
