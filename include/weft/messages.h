// SPDX-License-Identifier: BSD-3-Clause
// messages.h - active messages of the C interface: short data for a handler function at the peer.
//
// weft.h includes this header, and its rules apply. A message names a handler by the number under
// which the peer has registered it (weft_am_register()). Handlers run during the peer's calls into
// the library, one at a time, on the thread that drives the runtime; with WEFT_PROGRESS=thread this
// may be the progress thread. A handler may send any number of messages to any rank, without
// waiting. It must not make other calls of this library, and must not throw. Each message is
// handled once; messages between two ranks are handled in the order of sending.
#ifndef WEFT_MESSAGES_H
#define WEFT_MESSAGES_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_am weft_am;  ///< a message that is being handled

/// Handles a message of `bytes` bytes at `data`, aligned to 8 bytes. arg: from weft_am_register().
/// The library owns message and data, which are valid until the handler returns.
typedef void (*weft_am_handler)(void* arg, const weft_am* message, const void* data, size_t bytes);

/// Sets the handler of messages with the number `handler`, 0 to 255. NULL as fn removes the
/// handler. Not collective. A message that arrives without a handler waits for one, and delays
/// later messages of its sender.
WEFT_API weft_status weft_am_register(weft_runtime* runtime, int handler, weft_am_handler fn,
                                      void* arg);
/// Returns the largest size of a message in bytes: 2048, or 256 in jobs of more than 1024 ranks; 0
/// if the runtime is not usable.
WEFT_API size_t weft_am_bytes_max(const weft_runtime* runtime);
/// Sends a message of up to weft_am_bytes_max() bytes to a peer or to this rank itself. Returns
/// when data may be changed. Outside handlers, the call may wait until the peer has received
/// earlier messages, and drives all transfers meanwhile.
WEFT_API weft_status weft_am_request(weft_team* team, int peer, int handler, const void* data,
                                     size_t bytes);
/// Sends a message to the sender of `message`, which this rank is handling.
WEFT_API weft_status weft_am_reply(const weft_am* message, int handler, const void* data,
                                   size_t bytes);
/// Returns the sender of a message that this rank is handling, as a rank of the world; -1 if
/// message is NULL.
WEFT_API int weft_am_peer(const weft_am* message);

#ifdef __cplusplus
}
#endif

#endif
