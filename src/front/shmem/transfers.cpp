// SPDX-License-Identifier: BSD-3-Clause
// transfers.cpp - puts, gets, their strided and signalled forms, fence and quiet.
//
// Idea     A routine for a type gives the size of its elements to the one function for bytes.
//          Near: stores and loads, a word at once. Far: weft's calls.
// Holds    Transfers of 0 elements do nothing, whatever the addresses.
#include "front/shmem/job.hpp"

namespace weft::shmem {

namespace {

enum class When : bool { reusable, at_once };

/// Release: pairs with the acquire of a wait for the word, by whose sight the peer may write anew
/// what this PE has read before.
template <class Word>
void copy_word(std::byte* to, const std::byte* from) {
    Word value;
    std::memcpy(&value, from, sizeof value);
    std::atomic_ref<Word>(*reinterpret_cast<Word*>(to)).store(value, std::memory_order_release);
}

bool aligned(const void* address, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

/// Elements that peers wait for change at once, not byte by byte.
void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes == 8 && aligned(to, 8) && aligned(from, 8)) return copy_word<std::uint64_t>(to, from);
    if (bytes == 4 && aligned(to, 4) && aligned(from, 4)) return copy_word<std::uint32_t>(to, from);
    if (bytes == 2 && aligned(to, 2) && aligned(from, 2)) return copy_word<std::uint16_t>(to, from);
    std::memmove(to, from, bytes);
}

/// What was got has been read before anything that follows is seen: no later store overtakes it.
void end_get() {
    std::atomic_thread_fence(std::memory_order_acquire);
}

const std::byte* bytes_of(const void* memory) {
    return static_cast<const std::byte*>(memory);
}

void put(const char* routine, shmem_ctx_t ctx, void* dest, const void* source, std::size_t bytes,
         int pe, When when) {
    const int world = world_pe(routine, ctx, pe);
    std::byte* const place = in_heap(dest);
    if (std::byte* const near = near_place(place, bytes, world)) {
        copy(near, bytes_of(source), bytes);
        return;
    }
    if (bytes == 0) return;
    const auto call = when == When::at_once ? weft_put_nbi : weft_put;
    check(routine, call(stream_of(ctx), place, source, bytes, world));
}

void get(const char* routine, shmem_ctx_t ctx, void* dest, const void* source, std::size_t bytes,
         int pe, When when) {
    const int world = world_pe(routine, ctx, pe);
    std::byte* const place = in_heap(source);
    if (const std::byte* const near = near_place(place, bytes, world)) {
        copy(static_cast<std::byte*>(dest), near, bytes);
        end_get();
        return;
    }
    if (bytes == 0) return;
    const auto call = when == When::at_once ? weft_get_nbi : weft_get;
    check(routine, call(stream_of(ctx), dest, place, bytes, world));
}

/// Elements of `size` bytes, `to` and `from` elements from each other.
struct Strided {
    std::ptrdiff_t to = 1;
    std::ptrdiff_t from = 1;
    std::size_t count = 0;
    std::size_t size = 1;

    [[nodiscard]] std::ptrdiff_t to_bytes(std::size_t i) const {
        return static_cast<std::ptrdiff_t>(i * size) * to;
    }
    [[nodiscard]] std::ptrdiff_t from_bytes(std::size_t i) const {
        return static_cast<std::ptrdiff_t>(i * size) * from;
    }
};

/// The first and the last element, whichever lies lower, and all between.
bool spans(std::byte* place, std::ptrdiff_t last, std::size_t size, int world) {
    return near_place(place, size, world) != nullptr && is_symmetric(place + last, size);
}

void iput(const char* routine, shmem_ctx_t ctx, void* dest, const void* source,
          const Strided& strided, int pe) {
    const int world = world_pe(routine, ctx, pe);
    if (strided.count == 0) return;
    std::byte* const place = in_heap(dest);
    if (spans(place, strided.to_bytes(strided.count - 1), strided.size, world)) {
        std::byte* const near = near_place(place, strided.size, world);
        for (std::size_t i = 0; i < strided.count; ++i)
            copy(near + strided.to_bytes(i), bytes_of(source) + strided.from_bytes(i),
                 strided.size);
        return;
    }
    check(routine, weft_put_strided(stream_of(ctx), place, strided.to_bytes(1), source,
                                    strided.from_bytes(1), strided.size, strided.count, world));
}

void iget(const char* routine, shmem_ctx_t ctx, void* dest, const void* source,
          const Strided& strided, int pe) {
    const int world = world_pe(routine, ctx, pe);
    if (strided.count == 0) return;
    std::byte* const place = in_heap(source);
    if (spans(place, strided.from_bytes(strided.count - 1), strided.size, world)) {
        const std::byte* const near = near_place(place, strided.size, world);
        for (std::size_t i = 0; i < strided.count; ++i)
            copy(static_cast<std::byte*>(dest) + strided.to_bytes(i), near + strided.from_bytes(i),
                 strided.size);
        end_get();
        return;
    }
    check(routine, weft_get_strided(stream_of(ctx), dest, strided.to_bytes(1), place,
                                    strided.from_bytes(1), strided.size, strided.count, world));
}

/// The word that is raised behind the data.
struct SignalWord {
    std::uint64_t* word = nullptr;
    std::uint64_t value = 0;
    int op = SHMEM_SIGNAL_SET;
};

void put_signal(const char* routine, shmem_ctx_t ctx, void* dest, const void* source,
                std::size_t bytes, const SignalWord& signal, int pe, When when) {
    if (signal.op != SHMEM_SIGNAL_SET && signal.op != SHMEM_SIGNAL_ADD)
        refuse(routine, "sig_op: expected SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD");
    const int world = world_pe(routine, ctx, pe);
    std::byte* const place = in_heap(dest);
    std::byte* const word = in_heap(signal.word);
    if (std::byte* const near_word = near_place(word, sizeof signal.value, world);
        near_word != nullptr && aligned(near_word, sizeof signal.value)) {
        if (std::byte* const near = near_place(place, bytes, world);
            near != nullptr || bytes == 0) {
            if (bytes != 0) copy(near, bytes_of(source), bytes);
            const std::atomic_ref<std::uint64_t> raised(
                *reinterpret_cast<std::uint64_t*>(near_word));
            // Release: pairs with the acquire of the wait for the signal.
            if (signal.op == SHMEM_SIGNAL_ADD)
                raised.fetch_add(signal.value, std::memory_order_release);
            else
                raised.store(signal.value, std::memory_order_release);
            return;
        }
    }
    const auto call = when == When::at_once ? weft_put_signal_nbi : weft_put_signal;
    check(routine, call(stream_of(ctx), bytes == 0 ? word : place, bytes == 0 ? word : source,
                        bytes, reinterpret_cast<std::uint64_t*>(word), signal.value,
                        signal.op == SHMEM_SIGNAL_ADD ? 1 : 0, world));
}

}  // namespace

}  // namespace weft::shmem

namespace shmem = weft::shmem;
using shmem::job;
using shmem::When;

SHMEM_ROUTINE(void, fence, (void)) {
    shmem::check("fence", weft_fence(job.world));
}

SHMEM_ROUTINE(void, quiet, (void)) {
    shmem::check("quiet", weft_quiet(job.world));
}

SHMEM_ROUTINE(void, ctx_fence, (shmem_ctx_t ctx)) {
    if (ctx == SHMEM_CTX_INVALID) return;
    shmem::check("ctx_fence", weft_fence(shmem::stream_of(ctx)));
}

SHMEM_ROUTINE(void, ctx_quiet, (shmem_ctx_t ctx)) {
    if (ctx == SHMEM_CTX_INVALID) return;
    shmem::check("ctx_quiet", weft_quiet(shmem::stream_of(ctx)));
}

// Each routine without and with a context.
#define MOVE(NAME, FUNCTION, WHEN, T, BYTES)                                                     \
    SHMEM_ROUTINE(void, NAME, (T * dest, const T* source, size_t nelems, int pe)) {              \
        shmem::FUNCTION(#NAME, SHMEM_CTX_DEFAULT, dest, source, nelems*(BYTES), pe, When::WHEN); \
    }                                                                                            \
    SHMEM_ROUTINE(void, ctx_##NAME,                                                              \
                  (shmem_ctx_t ctx, T * dest, const T* source, size_t nelems, int pe)) {         \
        shmem::FUNCTION("ctx_" #NAME, ctx, dest, source, nelems*(BYTES), pe, When::WHEN);        \
    }
#define SIGNAL(NAME, WHEN, T, BYTES)                                                              \
    SHMEM_ROUTINE(void, NAME,                                                                     \
                  (T * dest, const T* source, size_t nelems, uint64_t* sig_addr, uint64_t signal, \
                   int sig_op, int pe)) {                                                         \
        shmem::put_signal(#NAME, SHMEM_CTX_DEFAULT, dest, source, nelems*(BYTES),                 \
                          {sig_addr, signal, sig_op}, pe, When::WHEN);                            \
    }                                                                                             \
    SHMEM_ROUTINE(void, ctx_##NAME,                                                               \
                  (shmem_ctx_t ctx, T * dest, const T* source, size_t nelems, uint64_t* sig_addr, \
                   uint64_t signal, int sig_op, int pe)) {                                        \
        shmem::put_signal("ctx_" #NAME, ctx, dest, source, nelems*(BYTES),                        \
                          {sig_addr, signal, sig_op}, pe, When::WHEN);                            \
    }
#define STRIDED(NAME, FUNCTION, T, BYTES)                                                       \
    SHMEM_ROUTINE(                                                                              \
        void, NAME,                                                                             \
        (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)) {     \
        shmem::FUNCTION(#NAME, SHMEM_CTX_DEFAULT, dest, source, {dst, sst, nelems, BYTES}, pe); \
    }                                                                                           \
    SHMEM_ROUTINE(void, ctx_##NAME,                                                             \
                  (shmem_ctx_t ctx, T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst,    \
                   size_t nelems, int pe)) {                                                    \
        shmem::FUNCTION("ctx_" #NAME, ctx, dest, source, {dst, sst, nelems, BYTES}, pe);        \
    }
#define ELEMENT(P, G, T)                                                                     \
    SHMEM_ROUTINE(void, P, (T * dest, T value, int pe)) {                                    \
        shmem::put(#P, SHMEM_CTX_DEFAULT, dest, &value, sizeof value, pe, When::reusable);   \
    }                                                                                        \
    SHMEM_ROUTINE(void, ctx_##P, (shmem_ctx_t ctx, T * dest, T value, int pe)) {             \
        shmem::put("ctx_" #P, ctx, dest, &value, sizeof value, pe, When::reusable);          \
    }                                                                                        \
    SHMEM_ROUTINE(T, G, (const T* source, int pe)) {                                         \
        T value{};                                                                           \
        shmem::get(#G, SHMEM_CTX_DEFAULT, &value, source, sizeof value, pe, When::reusable); \
        return value;                                                                        \
    }                                                                                        \
    SHMEM_ROUTINE(T, ctx_##G, (shmem_ctx_t ctx, const T* source, int pe)) {                  \
        T value{};                                                                           \
        shmem::get("ctx_" #G, ctx, &value, source, sizeof value, pe, When::reusable);        \
        return value;                                                                        \
    }

#define TYPED(N, T)                                   \
    MOVE(N##_put, put, reusable, T, sizeof(T))        \
    MOVE(N##_put_nbi, put, at_once, T, sizeof(T))     \
    MOVE(N##_get, get, reusable, T, sizeof(T))        \
    MOVE(N##_get_nbi, get, at_once, T, sizeof(T))     \
    SIGNAL(N##_put_signal, reusable, T, sizeof(T))    \
    SIGNAL(N##_put_signal_nbi, at_once, T, sizeof(T)) \
    STRIDED(N##_iput, iput, T, sizeof(T))             \
    STRIDED(N##_iget, iget, T, sizeof(T))             \
    ELEMENT(N##_p, N##_g, T)
WEFT_SHMEM_RMA(TYPED)

#define BLOCKS(N, BYTES)                           \
    MOVE(put##N, put, reusable, void, BYTES)       \
    MOVE(put##N##_nbi, put, at_once, void, BYTES)  \
    MOVE(get##N, get, reusable, void, BYTES)       \
    MOVE(get##N##_nbi, get, at_once, void, BYTES)  \
    SIGNAL(put##N##_signal, reusable, void, BYTES) \
    SIGNAL(put##N##_signal_nbi, at_once, void, BYTES)
#define SIZED(N, BYTES)                 \
    BLOCKS(N, BYTES)                    \
    STRIDED(iput##N, iput, void, BYTES) \
    STRIDED(iget##N, iget, void, BYTES)
WEFT_SHMEM_SIZES(SIZED)
BLOCKS(mem, 1)
