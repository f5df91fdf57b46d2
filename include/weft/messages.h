// SPDX-License-Identifier: BSD-3-Clause
// messages.h - active messages of the C interface: a few bytes for a function that the peer calls.
//
// weft.h includes it; its first lines hold here, too. A message goes to a handler by its number,
// which the peer has given it with weft_am_register(). Handlers run inside calls of the peer into
// the library, one at a time, on the thread that drives the runtime (under WEFT_PROGRESS=thread
// perhaps the runtime's own). They may send messages, to anyone, as many as they like, which never
// waits; they must make no other call of this library, nor let an exception leave. Messages of one
// rank to another are handled in the order of sending, each once.
#ifndef WEFT_MESSAGES_H
#define WEFT_MESSAGES_H

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_am weft_am;  ///< a message that is being handled

/// Called with `bytes` bytes at `data`, aligned to 8, which are gone when it returns.
typedef void (*weft_am_handler)(void* arg, const weft_am* message, const void* data, size_t bytes);

/// From now on messages for this number are handled so; those that are there already, too. handler:
/// 0 to 255. fn: NULL takes it away. Not collective; a message for a number without a handler
/// waits, and so do those of the same sender behind it.
WEFT_API weft_status weft_am_register(weft_runtime* runtime, int handler, weft_am_handler fn,
                                      void* arg);
/// Most bytes of a message: 2048, and 256 in jobs of more than 1024 ranks. 0 if the runtime is not
/// usable.
WEFT_API size_t weft_am_bytes_max(const weft_runtime* runtime);
/// Sends a message to a peer, perhaps this rank itself. data may be changed when it returns.
/// Outside of handlers it may wait for the peer to take earlier ones, and drives everything
/// meanwhile.
WEFT_API weft_status weft_am_request(weft_team* team, int peer, int handler, const void* data,
                                     size_t bytes);
/// Only in a handler: the same to the sender of the message.
WEFT_API weft_status weft_am_reply(const weft_am* message, int handler, const void* data,
                                   size_t bytes);
/// The sender of a message, as a rank of the world. Only in a handler.
WEFT_API int weft_am_peer(const weft_am* message);

#ifdef __cplusplus
}
#endif

#endif
