// SPDX-License-Identifier: BSD-3-Clause
// messages.cpp - active messages of the C interface.
//
// Holds    A handler's record is kept until its runtime ends: a replaced handler may still run.

#include "api/c/handles.hpp"

using namespace weft;
using namespace weft::c_api;

/// State of a message while its handler runs.
struct weft_am {
    run::ActiveMessages* messages = nullptr;
    Rank peer = 0;
};

namespace {

/// Returns the messages of a team's runtime. The handle must be valid.
run::ActiveMessages& messages_of(const weft_team* team) {
    return Context::head_of(team).context->runtime().messages();
}

Result<void> send(weft_team* handle, const run::Team& team, int peer, int handler, const void* data,
                  std::size_t bytes) {
    WEFT_TRY(check_rank(team, "peer", peer));
    return messages_of(handle).send(team.job_rank(peer), handler, data, bytes);
}

/// Calls the program's handler, an AmHandler in `argument`, for a message.
void call(void* argument, Rank peer, const std::byte* data, std::size_t bytes) {
    const auto& handler = *static_cast<const AmHandler*>(argument);
    const weft_am message{handler.messages, peer};
    handler.function(handler.argument, &message, data, bytes);
}

}  // namespace

extern "C" weft_status weft_am_register(weft_runtime* runtime, int handler, weft_am_handler fn,
                                        void* arg) {
    return on(__func__, runtime, [&](Context* context) {
        run::ActiveMessages& found = context->runtime().messages();
        if (fn == nullptr) return found.set_handler(handler, {});
        AmHandler& record = context->add_handler({&found, fn, arg});
        return found.set_handler(handler, {&call, &record});
    });
}

extern "C" size_t weft_am_bytes_max(const weft_runtime* runtime) {
    return value_or(std::size_t{0}, __func__, runtime,
                    [](Context* context) { return context->runtime().messages().bytes_max(); });
}

extern "C" weft_status weft_am_request(weft_team* team, int peer, int handler, const void* data,
                                       size_t bytes) {
    if (run::Team* const found = team_at_once(team);
        found != nullptr && peer >= 0 && peer < found->size() &&
        messages_of(team).send_at_once(found->job_rank(peer), handler, data, bytes)) [[likely]]
        return WEFT_OK;
    return guarded(__func__, [&]() -> Result<void> {
        run::Team* const found = team_at_once(team);
        if (found == nullptr) [[unlikely]] {
            const auto refused = WEFT_TRY(find(team, Caller::handler));
            return send(team, *refused.team, peer, handler, data, bytes);
        }
        return send(team, *found, peer, handler, data, bytes);
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
