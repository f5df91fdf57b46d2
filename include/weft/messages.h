// SPDX-License-Identifier: BSD-3-Clause
// messages.h - active messages of the C interface: short data for a function (handler) at the peer.
//
// weft.h includes this header; its introduction also applies here. A message names a handler by the
// number under which the peer has registered it (weft_am_register()). Handlers run during the
// peer's calls into the library, one at a time, on the thread that drives the runtime; with
// WEFT_PROGRESS=thread this may be the progress thread. A handler may send any number of messages
// to any rank; these sends never wait. It must not make other calls of this library, and must not
// throw. Messages between two ranks are handled once, in the order of sending.
#ifndef WEFT_MESSAGES_H
#define WEFT_MESSAGES_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_am weft_am;  ///< a message that is being handled

/// Receives `bytes` bytes at `data`, aligned to 8 and valid until the handler returns.
typedef void (*weft_am_handler)(void* arg, const weft_am* message, const void* data, size_t bytes);

/// Sets the handler for messages with the number `handler` (0 to 255), including those that have
/// already arrived. fn NULL removes the handler. Not collective. A message without a handler waits,
/// and delays later messages of the same sender.
WEFT_API weft_status weft_am_register(weft_runtime* runtime, int handler, weft_am_handler fn,
                                      void* arg);
/// Returns the largest size of a message in bytes: 2048, or 256 in jobs of more than 1024 ranks; 0
/// if the runtime is not usable.
WEFT_API size_t weft_am_bytes_max(const weft_runtime* runtime);
/// Sends a message to a peer or to this rank itself. data may be changed when the call has
/// returned. Outside handlers, the call may wait until the peer has received earlier messages, and
/// drives all transfers meanwhile.
WEFT_API weft_status weft_am_request(weft_team* team, int peer, int handler, const void* data,
                                     size_t bytes);
/// Sends a message to the sender of `message`. Only handlers may call it.
WEFT_API weft_status weft_am_reply(const weft_am* message, int handler, const void* data,
                                   size_t bytes);
/// Returns the sender of a message, as a rank of the world. Only handlers may call it.
WEFT_API int weft_am_peer(const weft_am* message);

#ifdef __cplusplus
}
#endif

#endif
