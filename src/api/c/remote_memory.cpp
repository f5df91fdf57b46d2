// SPDX-License-Identifier: BSD-3-Clause
// remote_memory.cpp - one-sided calls of the C interface.
#include "run/memory/remote_memory.hpp"

#include "api/c/handles.hpp"

namespace c_api = weft::c_api;
using c_api::on_memory;
using weft::Compare;
using weft::Status;
using weft::base::fail;
using weft::base::Result;
using weft::run::RemoteMemory;
using weft::run::RequestKind;
using weft::run::Return;
using weft::run::WordChange;
using weft::run::WordWait;

namespace {

static_assert(static_cast<int>(Compare::eq) == WEFT_EQ &&
              static_cast<int>(Compare::ne) == WEFT_NE &&
              static_cast<int>(Compare::gt) == WEFT_GT &&
              static_cast<int>(Compare::ge) == WEFT_GE &&
              static_cast<int>(Compare::lt) == WEFT_LT && static_cast<int>(Compare::le) == WEFT_LE);

/// Changes a word at a peer. Stores its old value in *old, unless `old` is NULL.
weft_status change(const char* function, weft_team* team, RequestKind kind, std::uint64_t* word,
                   std::uint64_t operand, std::uint64_t expected, int peer, std::uint64_t* old) {
    return on_memory(function, team, [&](RemoteMemory remote) -> Result<void> {
        const WordChange change{kind, word, sizeof *word, operand, expected};
        if (old == nullptr) return remote.apply(change, peer);
        return c_api::store(remote.change(change, peer), old);
    });
}

Result<WordWait> read_wait(const std::uint64_t* word, int cmp, std::uint64_t value) {
    if (cmp < WEFT_EQ || cmp > WEFT_LE)
        return fail(Status::argument, "cmp: {}, expected a value of weft_compare", cmp);
    return WordWait{.word = word, .compare = static_cast<Compare>(cmp), .value = value};
}

}  // namespace

extern "C" weft_status weft_put(weft_team* team, void* dst, const void* src, size_t bytes,
                                int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) {
        return remote.put(dst, src, bytes, peer, Return::reusable);
    });
}

extern "C" weft_status weft_put_nbi(weft_team* team, void* dst, const void* src, size_t bytes,
                                    int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) {
        return remote.put(dst, src, bytes, peer, Return::at_once);
    });
}

extern "C" weft_status weft_get(weft_team* team, void* dst, const void* src, size_t bytes,
                                int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) {
        return remote.get(dst, src, bytes, peer, Return::reusable);
    });
}

extern "C" weft_status weft_get_nbi(weft_team* team, void* dst, const void* src, size_t bytes,
                                    int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) {
        return remote.get(dst, src, bytes, peer, Return::at_once);
    });
}

extern "C" weft_status weft_put_signal(weft_team* team, void* dst, const void* src, size_t bytes,
                                       uint64_t* signal, uint64_t value, int add, int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) {
        return remote.put_signal(dst, src, bytes, signal, value, add != 0, peer, Return::reusable);
    });
}

extern "C" weft_status weft_put_signal_nbi(weft_team* team, void* dst, const void* src,
                                           size_t bytes, uint64_t* signal, uint64_t value, int add,
                                           int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) {
        return remote.put_signal(dst, src, bytes, signal, value, add != 0, peer, Return::at_once);
    });
}

extern "C" weft_status weft_wait_until(weft_team* team, const uint64_t* word, int cmp,
                                       uint64_t value) {
    return on_memory(__func__, team, [&](RemoteMemory remote) -> Result<void> {
        const auto wait = read_wait(word, cmp, value);
        if (!wait) return wait.failure();
        const auto done = remote.waits().all(*wait);
        return done ? Result<void>() : done.failure();
    });
}

extern "C" weft_status weft_test_until(weft_team* team, const uint64_t* word, int cmp,
                                       uint64_t value, int* holds) {
    return on_memory(__func__, team, [&](RemoteMemory remote) -> Result<void> {
        if (holds == nullptr) return fail(Status::argument, "holds is NULL");
        const auto wait = read_wait(word, cmp, value);
        if (!wait) return wait.failure();
        return c_api::store(remote.waits().test_all(*wait), holds);
    });
}

extern "C" weft_status weft_fetch_add(weft_team* team, uint64_t* word, uint64_t add, int peer,
                                      uint64_t* old) {
    return change(__func__, team, RequestKind::add, word, add, 0, peer, old);
}

extern "C" weft_status weft_swap(weft_team* team, uint64_t* word, uint64_t value, int peer,
                                 uint64_t* old) {
    return change(__func__, team, RequestKind::swap, word, value, 0, peer, old);
}

extern "C" weft_status weft_compare_swap(weft_team* team, uint64_t* word, uint64_t expected,
                                         uint64_t value, int peer, uint64_t* old) {
    return change(__func__, team, RequestKind::compare_swap, word, value, expected, peer, old);
}

extern "C" weft_status weft_fence(weft_team* team) {
    return on_memory(__func__, team, [](RemoteMemory remote) { return remote.fence(); });
}

extern "C" weft_status weft_quiet(weft_team* team) {
    return on_memory(__func__, team, [](RemoteMemory remote) { return remote.quiet(); });
}
