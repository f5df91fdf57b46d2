// SPDX-License-Identifier: BSD-3-Clause
// remote_memory.cpp - one-sided calls of the C interface: puts, gets, atomic operations, waits for
// words, contexts, locks.
#include "run/memory/remote_memory.hpp"

#include <cstring>

#include "api/c/calls.hpp"

using namespace weft;
using namespace weft::c_api;
using run::RemoteMemory;
using run::RequestKind;
using run::Return;
using run::Strided;
using run::WordChange;
using run::WordWait;
using run::WordWaits;

namespace {

static_assert(static_cast<int>(Compare::eq) == WEFT_EQ &&
              static_cast<int>(Compare::ne) == WEFT_NE &&
              static_cast<int>(Compare::gt) == WEFT_GT &&
              static_cast<int>(Compare::ge) == WEFT_GE &&
              static_cast<int>(Compare::lt) == WEFT_LT && static_cast<int>(Compare::le) == WEFT_LE);

/// Changes a peer's word. Stores its former value in *old, unless `old` is NULL.
weft_status change(const char* function, weft_team* team, RequestKind kind, std::uint64_t* word,
                   std::uint64_t operand, std::uint64_t expected, int peer, std::uint64_t* old) {
    return on_memory(function, team, [&](RemoteMemory remote) {
        return remote.change(word, {kind, sizeof *word, operand, expected}, peer, old,
                             Return::reusable);
    });
}

struct WordType {
    std::uint8_t width = 8;  ///< bytes
    bool is_signed = false;
    bool is_integer = true;
};

Result<WordType> word_type(weft_type type) {
    const bool is_signed = type == WEFT_INT32 || type == WEFT_INT64;
    const bool is_integer = is_signed || type == WEFT_UINT32 || type == WEFT_UINT64;
    if (!is_integer && type != WEFT_FLOAT && type != WEFT_DOUBLE)
        return fail(Status::argument,
                    "type: {}, expected an integer or floating-point type of 4 or 8 bytes",
                    static_cast<int>(type));
    return WordType{static_cast<std::uint8_t>(weft_type_size(type)), is_signed, is_integer};
}

/// Reads a value of a type, sign-extended to 64 bits if the type is signed.
std::uint64_t value_at(const void* value, const WordType& type) {
    std::uint64_t wide = 0;
    if (type.width == sizeof wide) {
        std::memcpy(&wide, value, sizeof wide);
        return wide;
    }
    std::uint32_t narrow = 0;
    std::memcpy(&narrow, value, sizeof narrow);
    return type.is_signed ? static_cast<std::uint64_t>(static_cast<std::int32_t>(narrow)) : narrow;
}

/// Returns the request for a kind. WEFT_ATOMIC_SET is a swap if the caller wants the former value,
/// else a store.
Result<RequestKind> request_kind(weft_atomic_kind kind, bool wants_value) {
    // In the order of weft_atomic_kind.
    constexpr RequestKind kKinds[] = {
        RequestKind::load, RequestKind::store, RequestKind::compare_swap, RequestKind::add,
        RequestKind::band, RequestKind::bor,   RequestKind::bxor};
    const auto number = static_cast<std::size_t>(kind);
    if (number >= std::size(kKinds))
        return fail(Status::argument, "kind is {}, expected a weft_atomic_kind",
                    static_cast<int>(kind));
    return kind == WEFT_ATOMIC_SET && wants_value ? RequestKind::swap : kKinds[number];
}

struct AtomicArguments {
    weft_atomic_kind kind;
    weft_type type;
    const void* operand;  ///< unused by a fetch
    const void* compare;  ///< used by a compare-and-swap only
    void* result;         ///< receives the former value; NULL: the caller does not want it
};

/// Converts the arguments of an atomic operation.
Result<WordChange> to_change(const AtomicArguments& given) {
    const auto type = WEFT_TRY(word_type(given.type));
    const auto kind = WEFT_TRY(request_kind(given.kind, given.result != nullptr));
    const bool only_loads = kind == RequestKind::load;
    const bool adds_real = !type.is_integer && kind == RequestKind::add;
    if (!type.is_integer && !only_loads && !adds_real && given.kind != WEFT_ATOMIC_SET)
        return fail(Status::argument,
                    "kind: {}, but floating-point words can only be fetched, set and added to",
                    static_cast<int>(given.kind));
    if (given.operand == nullptr && !only_loads) return fail(Status::argument, "operand is NULL");
    if (given.compare == nullptr && kind == RequestKind::compare_swap)
        return fail(Status::argument, "compare is NULL");
    if (given.result == nullptr && only_loads) return fail(Status::argument, "result is NULL");
    WordChange change{adds_real ? RequestKind::add_real : kind, type.width, 0, 0};
    if (!only_loads) change.operand = value_at(given.operand, type);
    if (kind == RequestKind::compare_swap) change.compare = value_at(given.compare, type);
    return change;
}

Result<Compare> compare_of(int cmp) {
    if (cmp >= WEFT_EQ && cmp <= WEFT_LE) return static_cast<Compare>(cmp);
    return fail(Status::argument, "cmp: {}, expected a value of weft_compare", cmp);
}

/// Converts the words of a wait and their condition.
Result<WordWait> to_wait(const weft_words* words) {
    if (words == nullptr) return fail(Status::argument, "words is NULL");
    const auto type = WEFT_TRY(word_type(words->type));
    if (!type.is_integer)
        return fail(Status::argument, "type: {}, expected an integer of 4 or 8 bytes",
                    static_cast<int>(words->type));
    const auto compare = WEFT_TRY(compare_of(words->cmp));
    if (words->values == nullptr && words->count != 0)
        return fail(Status::argument, "values is NULL");
    WordWait wait{.word = words->words,
                  .width = type.width,
                  .is_signed = type.is_signed,
                  .compare = compare,
                  .count = words->count,
                  .skip = words->skip};
    if (words->each != 0) wait.values = words->values;
    if (words->each == 0 && words->count != 0) wait.value = value_at(words->values, type);
    return wait;
}

/// Runs a C function that waits for words, or tests them: calls call(waits, wait).
template <class Call>
weft_status on_words(const char* function, weft_team* team, const weft_words* words, Call call) {
    return on_memory(function, team, [&](RemoteMemory remote) -> Result<void> {
        const auto wait = WEFT_TRY(to_wait(words));
        return call(remote.waits(), wait);
    });
}

/// Runs a C function that waits for words with a timeout: calls call(waits, wait, deadline).
template <class Call>
weft_status on_wait(const char* function, weft_team* team, const weft_words* words,
                    std::int64_t timeout_ns, Call call) {
    return on_words(function, team, words, [&](WordWaits waits, const WordWait& wait) {
        const auto deadline = deadline_of(timeout_ns);
        return deadline ? call(waits, wait, *deadline) : Result<void>(deadline.failure());
    });
}

Result<Strided> to_strided(const weft_block_grid* grid) {
    static_assert(WEFT_DIMENSIONS_MAX == Strided::kDimensionsMax);
    if (grid == nullptr) return fail(Status::argument, "grid is NULL");
    if (grid->dimensions < 1 || grid->dimensions > WEFT_DIMENSIONS_MAX)
        return fail(Status::argument, "grid: dimensions is {}, expected 1 to {}", grid->dimensions,
                    WEFT_DIMENSIONS_MAX);
    if (grid->counts == nullptr || grid->dst_strides == nullptr || grid->src_strides == nullptr)
        return fail(Status::argument, "grid: counts, dst_strides or src_strides is NULL");
    return Strided{{grid->counts, static_cast<std::size_t>(grid->dimensions)},
                   grid->dst_strides,
                   grid->src_strides,
                   grid->bytes};
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
        const auto compare = WEFT_TRY(compare_of(cmp));
        WEFT_TRY(remote.waits().all({.word = word, .compare = compare, .value = value}));
        return Done{};
    });
}

extern "C" weft_status weft_test_until(weft_team* team, const uint64_t* word, int cmp,
                                       uint64_t value, int* holds) {
    return on_memory(__func__, team, [&](RemoteMemory remote) -> Result<void> {
        if (holds == nullptr) return fail(Status::argument, "holds is NULL");
        const auto compare = WEFT_TRY(compare_of(cmp));
        return store(remote.waits().test_all({.word = word, .compare = compare, .value = value}),
                     holds);
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

extern "C" weft_status weft_quiet_for(weft_team* team, int64_t timeout_ns) {
    return on_memory(__func__, team, [&](RemoteMemory remote) -> Result<void> {
        const auto deadline = WEFT_TRY(deadline_of(timeout_ns));
        return remote.quiet(deadline);
    });
}

// --- words of peers ------------------------------------------------------------------------------

extern "C" weft_status weft_atomic(weft_team* team, weft_atomic_kind kind, weft_type type,
                                   void* word, const void* operand, const void* compare,
                                   void* result, int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) -> Result<void> {
        const auto change = WEFT_TRY(to_change({kind, type, operand, compare, result}));
        return remote.change(word, change, peer, result, Return::reusable);
    });
}

extern "C" weft_status weft_atomic_nbi(weft_team* team, weft_atomic_kind kind, weft_type type,
                                       void* word, const void* operand, const void* compare,
                                       void* result, int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) -> Result<void> {
        const auto change = WEFT_TRY(to_change({kind, type, operand, compare, result}));
        return remote.change(word, change, peer, result, Return::at_once);
    });
}

extern "C" weft_status weft_signal(weft_team* team, uint64_t* signal, uint64_t value, int add,
                                   int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) {
        return remote.put_signal(nullptr, nullptr, 0, signal, value, add != 0, peer,
                                 Return::at_once);
    });
}

// --- strides -------------------------------------------------------------------------------------

extern "C" weft_status weft_put_strided(weft_team* team, void* dst, ptrdiff_t dst_stride,
                                        const void* src, ptrdiff_t src_stride, size_t bytes,
                                        size_t count, int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) {
        return remote.put_strided(dst, src, {{&count, 1}, &dst_stride, &src_stride, bytes}, peer);
    });
}

extern "C" weft_status weft_get_strided(weft_team* team, void* dst, ptrdiff_t dst_stride,
                                        const void* src, ptrdiff_t src_stride, size_t bytes,
                                        size_t count, int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) {
        return remote.get_strided(dst, src, {{&count, 1}, &dst_stride, &src_stride, bytes}, peer);
    });
}

extern "C" weft_status weft_put_strided_signal(weft_team* team, void* dst, ptrdiff_t dst_stride,
                                               const void* src, ptrdiff_t src_stride, size_t bytes,
                                               size_t count, uint64_t* signal, uint64_t value,
                                               int add, int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) {
        return remote.put_strided_signal(dst, src, {{&count, 1}, &dst_stride, &src_stride, bytes},
                                         signal, value, add != 0, peer);
    });
}

extern "C" weft_status weft_put_grid(weft_team* team, void* dst, const void* src,
                                     const weft_block_grid* grid, int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) -> Result<void> {
        return remote.put_strided(dst, src, WEFT_TRY(to_strided(grid)), peer);
    });
}

extern "C" weft_status weft_put_grid_signal(weft_team* team, void* dst, const void* src,
                                            const weft_block_grid* grid, uint64_t* signal,
                                            uint64_t value, int add, int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) -> Result<void> {
        return remote.put_strided_signal(dst, src, WEFT_TRY(to_strided(grid)), signal, value,
                                         add != 0, peer);
    });
}

extern "C" weft_status weft_get_grid(weft_team* team, void* dst, const void* src,
                                     const weft_block_grid* grid, int peer) {
    return on_memory(__func__, team, [&](RemoteMemory remote) -> Result<void> {
        return remote.get_strided(dst, src, WEFT_TRY(to_strided(grid)), peer);
    });
}

extern "C" weft_status weft_iput(weft_team* team, void* dst, const void* src, size_t bytes,
                                 int peer, weft_request** request) {
    return return_request(__func__, team, request, [&](const TeamHandle& found, CallRequest& made) {
        return found.remote().start_put(dst, src, bytes, peer, made.transfer);
    });
}

extern "C" weft_status weft_iget(weft_team* team, void* dst, const void* src, size_t bytes,
                                 int peer, weft_request** request) {
    return return_request(__func__, team, request, [&](const TeamHandle& found, CallRequest& made) {
        return found.remote().start_get(dst, src, bytes, peer, made.transfer);
    });
}

// --- waits for words -----------------------------------------------------------------------------

extern "C" weft_status weft_wait_word(weft_team* team, const void* word, weft_type type, int cmp,
                                      const void* value, int64_t timeout_ns, void* seen) {
    const weft_words words{word, /*count=*/1, type, cmp, value, /*each=*/0, /*skip=*/nullptr};
    return on_wait(
        __func__, team, &words, timeout_ns,
        [&](WordWaits waits, const WordWait& wait, base::Deadline deadline) -> Result<void> {
            const auto found = WEFT_TRY(waits.all(wait, deadline));
            if (seen != nullptr) std::memcpy(seen, &found, wait.width);
            return Done{};
        });
}

extern "C" weft_status weft_wait_all(weft_team* team, const weft_words* words, int64_t timeout_ns) {
    return on_wait(
        __func__, team, words, timeout_ns,
        [](WordWaits waits, const WordWait& wait, base::Deadline deadline) -> Result<void> {
            WEFT_TRY(waits.all(wait, deadline));
            return Done{};
        });
}

extern "C" weft_status weft_wait_any(weft_team* team, const weft_words* words, int64_t timeout_ns,
                                     size_t* index) {
    return on_wait(
        __func__, team, words, timeout_ns,
        [&](WordWaits waits, const WordWait& wait, base::Deadline deadline) -> Result<void> {
            if (index == nullptr) return fail(Status::argument, "index is NULL");
            return store(waits.any(wait, deadline), index);
        });
}

extern "C" weft_status weft_wait_some(weft_team* team, const weft_words* words, int64_t timeout_ns,
                                      size_t* indices, size_t* found) {
    return on_wait(
        __func__, team, words, timeout_ns,
        [&](WordWaits waits, const WordWait& wait, base::Deadline deadline) -> Result<void> {
            if (indices == nullptr || found == nullptr)
                return fail(Status::argument, "indices or found is NULL");
            return store(waits.some(wait, indices, deadline), found);
        });
}

extern "C" weft_status weft_test_all(weft_team* team, const weft_words* words, int* holds) {
    return on_words(__func__, team, words, [&](WordWaits waits, const WordWait& wait) {
        if (holds == nullptr) return Result<void>(fail(Status::argument, "holds is NULL"));
        return store(waits.test_all(wait), holds);
    });
}

extern "C" weft_status weft_test_any(weft_team* team, const weft_words* words, size_t* index) {
    return on_words(__func__, team, words, [&](WordWaits waits, const WordWait& wait) {
        if (index == nullptr) return Result<void>(fail(Status::argument, "index is NULL"));
        return store(waits.any(wait, std::nullopt), index);
    });
}

extern "C" weft_status weft_test_some(weft_team* team, const weft_words* words, size_t* indices,
                                      size_t* found) {
    return on_words(__func__, team, words, [&](WordWaits waits, const WordWait& wait) {
        if (indices == nullptr || found == nullptr)
            return Result<void>(fail(Status::argument, "indices or found is NULL"));
        return store(waits.some(wait, indices, std::nullopt), found);
    });
}

// --- contexts ------------------------------------------------------------------------------------

extern "C" weft_status weft_context_create(weft_team* team, int hints, weft_team** out) {
    const auto open = [&](const TeamHandle& found) -> Result<weft_team*> {
        constexpr int kHints =
            WEFT_CONTEXT_SERIALIZED | WEFT_CONTEXT_PRIVATE | WEFT_CONTEXT_NOSTORE;
        if ((hints & ~kHints) != 0)
            return fail(Status::argument, "hints: {} has unknown bits", hints);
        run::Stream* const stream = found.remote().open_stream();
        const auto added = found.context->add_team(*found.team, stream);
        if (!added) found.context->runtime().remote(*found.team, stream).close_stream();
        return added;
    };
    return return_value(__func__, team, out, open);
}

extern "C" weft_status weft_context_free(weft_team* context) {
    return on(__func__, context, [&](const TeamHandle& found) -> Result<void> {
        if (found.stream == nullptr)
            return fail(Status::argument, "the handle is a team, not a context");
        auto quieted = found.remote().quiet();
        if (quieted) found.remote().close_stream();
        found.context->remove(context);
        return quieted;
    });
}

// --- locks ---------------------------------------------------------------------------------------

extern "C" weft_status weft_lock_set(weft_team* team, uint64_t* lock) {
    return on_memory(__func__, team,
                     [&](RemoteMemory remote) { return run::Locks(remote).lock(lock); });
}

extern "C" weft_status weft_lock_test(weft_team* team, uint64_t* lock, int* got) {
    return on_memory(__func__, team, [&](RemoteMemory remote) -> Result<void> {
        if (got == nullptr) return fail(Status::argument, "got is NULL");
        return store(run::Locks(remote).try_lock(lock), got);
    });
}

extern "C" weft_status weft_lock_clear(weft_team* team, uint64_t* lock) {
    return on_memory(__func__, team,
                     [&](RemoteMemory remote) { return run::Locks(remote).unlock(lock); });
}
