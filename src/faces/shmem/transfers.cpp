// SPDX-License-Identifier: BSD-3-Clause
// transfers.cpp - puts, gets, their strided forms, puts with signals, fence and quiet.
//
// Idea     The routines of all types pass the size of an element to one function for bytes. This
//          copies from or to the memory of a local peer, and calls weft for a remote peer.
// Holds    Transfers of 0 elements do nothing and accept any address. A transfer is checked before
//          its first byte moves: its size must not overflow, and its symmetric range must be in one
//          region (job.hpp).
#include "faces/shmem/job.hpp"

namespace weft::shmem {

namespace {

/// A blocking put returns when its source may be overwritten, and a blocking get when it has stored
/// the data. The _nbi forms return at once.
enum class Form : bool { blocking, nbi };

/// Copies a word. Release: pairs with the acquire of a peer's wait for the word. That peer may then
/// overwrite data that this PE has read earlier.
template <class Word>
void copy_word(std::byte* to, const std::byte* from) {
    Word value;
    std::memcpy(&value, from, sizeof value);
    std::atomic_ref<Word>(*reinterpret_cast<Word*>(to)).store(value, std::memory_order_release);
}

bool aligned(const void* address, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

/// Copies bytes. Stores an aligned element by one instruction, because a peer may wait for it.
void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes == 8 && aligned(to, 8) && aligned(from, 8)) return copy_word<std::uint64_t>(to, from);
    if (bytes == 4 && aligned(to, 4) && aligned(from, 4)) return copy_word<std::uint32_t>(to, from);
    if (bytes == 2 && aligned(to, 2) && aligned(from, 2)) return copy_word<std::uint16_t>(to, from);
    std::memmove(to, from, bytes);
}

/// Orders the loads of a get before later accesses of this PE.
void end_get() {
    std::atomic_thread_fence(std::memory_order_acquire);
}

const std::byte* as_bytes(const void* memory) {
    return static_cast<const std::byte*>(memory);
}

void put(const char* routine, shmem_ctx_t ctx, void* dest, const void* source, std::size_t bytes,
         int pe, Form form) {
    const int world = world_pe(routine, ctx, pe);
    if (bytes == 0) return;
    std::byte* const heap = require_symmetric(routine, "dest", dest, bytes);
    if (std::byte* const local = local_copy(heap, world)) {
        copy(local, as_bytes(source), bytes);
        return;
    }
    const auto call = form == Form::nbi ? weft_put_nbi : weft_put;
    check(routine, call(weft_context_of(ctx), heap, source, bytes, world));
}

void get(const char* routine, shmem_ctx_t ctx, void* dest, const void* source, std::size_t bytes,
         int pe, Form form) {
    const int world = world_pe(routine, ctx, pe);
    if (bytes == 0) return;
    std::byte* const heap = require_symmetric(routine, "source", source, bytes);
    if (const std::byte* const local = local_copy(heap, world)) {
        copy(static_cast<std::byte*>(dest), local, bytes);
        end_get();
        return;
    }
    const auto call = form == Form::nbi ? weft_get_nbi : weft_get;
    check(routine, call(weft_context_of(ctx), dest, heap, bytes, world));
}

/// Blocks of a strided transfer.
struct Strided {
    std::ptrdiff_t to = 1;    ///< elements from one block to the next in the destination
    std::ptrdiff_t from = 1;  ///< elements from one block to the next in the source
    std::size_t count = 0;    ///< number of blocks
    std::size_t size = 1;     ///< bytes of one element
    std::size_t block = 1;    ///< elements of one block

    [[nodiscard]] std::size_t block_bytes() const { return block * size; }
    [[nodiscard]] std::ptrdiff_t to_bytes(std::size_t i) const {
        return static_cast<std::ptrdiff_t>(i * size) * to;
    }
    [[nodiscard]] std::ptrdiff_t from_bytes(std::size_t i) const {
        return static_cast<std::ptrdiff_t>(i * size) * from;
    }
};

/// Ends the job if the total size overflows, or if blocks of several elements overlap.
void check_blocks(const char* routine, const Strided& strided) {
    static_cast<void>(
        bytes_of(routine, strided.count, bytes_of(routine, strided.block, strided.size)));
    const auto block = static_cast<std::ptrdiff_t>(strided.block);
    if (strided.block <= 1 || (strided.to >= block && strided.from >= block)) return;
    refuse(routine, "dst, sst: the strides are " + std::to_string(strided.to) + " and " +
                        std::to_string(strided.from) + ", bsize is " + std::to_string(block) +
                        ": expected strides of at least bsize");
}

/// Returns the bytes from the first block to the last; negative for a negative stride. Ends the job
/// if the product overflows. `strided.count` must not be 0.
std::ptrdiff_t bytes_to_last(const char* routine, const char* argument, std::ptrdiff_t stride,
                             const Strided& strided) {
    std::ptrdiff_t step = 0;
    std::ptrdiff_t last = 0;
    bool overflows = __builtin_mul_overflow(stride, strided.size, &step);
    overflows = overflows || __builtin_mul_overflow(step, strided.count - 1, &last);
    // Half of ptrdiff_t's range, because callers negate the result or add a block to it.
    constexpr std::ptrdiff_t kMax = PTRDIFF_MAX / 2;
    if (overflows || last > kMax || last < -kMax) [[unlikely]]
        refuse(routine, std::string(argument) + ": " + std::to_string(strided.count) +
                            " elements of " + std::to_string(strided.size) +
                            " bytes at a stride of " + std::to_string(stride) +
                            " exceed the address space");
    return last;
}

/// Returns the heap address of the first block; ends the job if the blocks are not in one region.
/// last: the result of bytes_to_last().
std::byte* require_blocks(const char* routine, const char* argument, const void* first,
                          std::ptrdiff_t last, std::size_t block_bytes) {
    const std::ptrdiff_t below = last < 0 ? last : 0;  // bytes from the first to the lowest block
    const auto span = static_cast<std::size_t>(last < 0 ? -last : last) + block_bytes;
    const auto lowest =
        reinterpret_cast<std::uintptr_t>(first) + static_cast<std::uintptr_t>(below);
    return require_symmetric(routine, argument, reinterpret_cast<const void*>(lowest), span) -
           below;
}

void iput(const char* routine, shmem_ctx_t ctx, void* dest, const void* source,
          const Strided& strided, int pe) {
    const int world = world_pe(routine, ctx, pe);
    check_blocks(routine, strided);
    if (strided.count == 0 || strided.block == 0) return;
    const std::ptrdiff_t last = bytes_to_last(routine, "dst", strided.to, strided);
    static_cast<void>(bytes_to_last(routine, "sst", strided.from, strided));  // only the check
    std::byte* const heap = require_blocks(routine, "dest", dest, last, strided.block_bytes());
    if (std::byte* const local = local_copy(heap, world)) {
        for (std::size_t i = 0; i < strided.count; ++i)
            copy(local + strided.to_bytes(i), as_bytes(source) + strided.from_bytes(i),
                 strided.block_bytes());
        return;
    }
    check(routine,
          weft_put_strided(weft_context_of(ctx), heap, strided.to_bytes(1), source,
                           strided.from_bytes(1), strided.block_bytes(), strided.count, world));
}

void iget(const char* routine, shmem_ctx_t ctx, void* dest, const void* source,
          const Strided& strided, int pe) {
    const int world = world_pe(routine, ctx, pe);
    check_blocks(routine, strided);
    if (strided.count == 0 || strided.block == 0) return;
    const std::ptrdiff_t last = bytes_to_last(routine, "sst", strided.from, strided);
    static_cast<void>(bytes_to_last(routine, "dst", strided.to, strided));  // only the check
    std::byte* const heap = require_blocks(routine, "source", source, last, strided.block_bytes());
    if (const std::byte* const local = local_copy(heap, world)) {
        for (std::size_t i = 0; i < strided.count; ++i)
            copy(static_cast<std::byte*>(dest) + strided.to_bytes(i), local + strided.from_bytes(i),
                 strided.block_bytes());
        end_get();
        return;
    }
    check(routine,
          weft_get_strided(weft_context_of(ctx), dest, strided.to_bytes(1), heap,
                           strided.from_bytes(1), strided.block_bytes(), strided.count, world));
}

/// Change of a signal word at the peer, after the data.
struct Signal {
    std::uint64_t* word = nullptr;
    std::uint64_t value = 0;
    int op = SHMEM_SIGNAL_SET;
};

void put_signal(const char* routine, shmem_ctx_t ctx, void* dest, const void* source,
                std::size_t bytes, const Signal& signal, int pe, Form form) {
    if (signal.op != SHMEM_SIGNAL_SET && signal.op != SHMEM_SIGNAL_ADD)
        refuse(routine, "sig_op: " + std::to_string(signal.op) +
                            " is unknown; expected SHMEM_SIGNAL_SET (0) or SHMEM_SIGNAL_ADD (1)");
    const int world = world_pe(routine, ctx, pe);
    std::byte* const word =
        require_symmetric(routine, "sig_addr", signal.word, sizeof signal.value);
    std::byte* const heap = bytes == 0 ? word : require_symmetric(routine, "dest", dest, bytes);
    if (std::byte* const local_word = local_copy(word, world);
        local_word != nullptr && aligned(local_word, sizeof signal.value)) {
        if (bytes != 0) copy(local_copy(heap, world), as_bytes(source), bytes);
        const std::atomic_ref<std::uint64_t> atomic(*reinterpret_cast<std::uint64_t*>(local_word));
        // Release: pairs with the acquire of the wait for the signal.
        if (signal.op == SHMEM_SIGNAL_ADD)
            atomic.fetch_add(signal.value, std::memory_order_release);
        else
            atomic.store(signal.value, std::memory_order_release);
        return;
    }
    const auto call = form == Form::nbi ? weft_put_signal_nbi : weft_put_signal;
    check(routine, call(weft_context_of(ctx), heap, bytes == 0 ? word : source, bytes,
                        reinterpret_cast<std::uint64_t*>(word), signal.value,
                        /*add=*/signal.op == SHMEM_SIGNAL_ADD ? 1 : 0, world));
}

}  // namespace

}  // namespace weft::shmem

namespace shmem = weft::shmem;
using shmem::Form;
using shmem::job;

SHMEM_ROUTINE(void, fence, (void)) {
    shmem::require_job("fence");
    shmem::check("fence", weft_fence(job.world));
}

SHMEM_ROUTINE(void, quiet, (void)) {
    shmem::require_job("quiet");
    shmem::check("quiet", weft_quiet(job.world));
}

SHMEM_ROUTINE(void, ctx_fence, (shmem_ctx_t ctx)) {
    if (ctx == SHMEM_CTX_INVALID) return;
    shmem::require_job("ctx_fence");
    shmem::check("ctx_fence", weft_fence(shmem::weft_context_of(ctx)));
}

SHMEM_ROUTINE(void, ctx_quiet, (shmem_ctx_t ctx)) {
    if (ctx == SHMEM_CTX_INVALID) return;
    shmem::require_job("ctx_quiet");
    shmem::check("ctx_quiet", weft_quiet(shmem::weft_context_of(ctx)));
}

namespace {

/// Completes the context's operations on all PEs: weft has no quiet for single PEs.
void quiet_to(const char* routine, shmem_ctx_t ctx, const int* pes, std::size_t count) {
    if (ctx == SHMEM_CTX_INVALID || count == 0) return;
    shmem::require_job(routine);
    for (std::size_t i = 0; i < count; ++i)
        static_cast<void>(shmem::world_pe(routine, ctx, pes[i]));
    shmem::check(routine, weft_quiet(shmem::weft_context_of(ctx)));
}

}  // namespace

SHMEM_ROUTINE(void, pe_quiet, (const int* target_pes, size_t npes)) {
    quiet_to("pe_quiet", SHMEM_CTX_DEFAULT, target_pes, npes);
}

SHMEM_ROUTINE(void, ctx_pe_quiet, (shmem_ctx_t ctx, const int* target_pes, size_t npes)) {
    quiet_to("ctx_pe_quiet", ctx, target_pes, npes);
}

// Each macro defines a routine and its form with a context (ctx_).
#define MOVE(NAME, FUNCTION, FORM, T, BYTES)                                             \
    SHMEM_ROUTINE(void, NAME, (T * dest, const T* source, size_t nelems, int pe)) {      \
        shmem::FUNCTION(#NAME, SHMEM_CTX_DEFAULT, dest, source,                          \
                        shmem::bytes_of(#NAME, nelems, BYTES), pe, Form::FORM);          \
    }                                                                                    \
    SHMEM_ROUTINE(void, ctx_##NAME,                                                      \
                  (shmem_ctx_t ctx, T * dest, const T* source, size_t nelems, int pe)) { \
        shmem::FUNCTION("ctx_" #NAME, ctx, dest, source,                                 \
                        shmem::bytes_of("ctx_" #NAME, nelems, BYTES), pe, Form::FORM);   \
    }
#define SIGNAL(NAME, FORM, T, BYTES)                                                              \
    SHMEM_ROUTINE(void, NAME,                                                                     \
                  (T * dest, const T* source, size_t nelems, uint64_t* sig_addr, uint64_t signal, \
                   int sig_op, int pe)) {                                                         \
        shmem::put_signal(#NAME, SHMEM_CTX_DEFAULT, dest, source,                                 \
                          shmem::bytes_of(#NAME, nelems, BYTES), {sig_addr, signal, sig_op}, pe,  \
                          Form::FORM);                                                            \
    }                                                                                             \
    SHMEM_ROUTINE(void, ctx_##NAME,                                                               \
                  (shmem_ctx_t ctx, T * dest, const T* source, size_t nelems, uint64_t* sig_addr, \
                   uint64_t signal, int sig_op, int pe)) {                                        \
        shmem::put_signal("ctx_" #NAME, ctx, dest, source,                                        \
                          shmem::bytes_of("ctx_" #NAME, nelems, BYTES),                           \
                          {sig_addr, signal, sig_op}, pe, Form::FORM);                            \
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
#define BLOCKWISE(NAME, FUNCTION, T, BYTES)                                                        \
    SHMEM_ROUTINE(void, NAME,                                                                      \
                  (T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,          \
                   size_t nblocks, int pe)) {                                                      \
        shmem::FUNCTION(#NAME, SHMEM_CTX_DEFAULT, dest, source, {dst, sst, nblocks, BYTES, bsize}, \
                        pe);                                                                       \
    }                                                                                              \
    SHMEM_ROUTINE(void, ctx_##NAME,                                                                \
                  (shmem_ctx_t ctx, T * dest, const T* source, ptrdiff_t dst, ptrdiff_t sst,       \
                   size_t bsize, size_t nblocks, int pe)) {                                        \
        shmem::FUNCTION("ctx_" #NAME, ctx, dest, source, {dst, sst, nblocks, BYTES, bsize}, pe);   \
    }
#define SIGNAL_ALONE(NAME, OP)                                                                   \
    SHMEM_ROUTINE(void, NAME, (uint64_t * sig_addr, uint64_t signal, int pe)) {                  \
        shmem::put_signal(#NAME, SHMEM_CTX_DEFAULT, nullptr, nullptr, 0, {sig_addr, signal, OP}, \
                          pe, Form::blocking);                                                   \
    }                                                                                            \
    SHMEM_ROUTINE(void, ctx_##NAME,                                                              \
                  (shmem_ctx_t ctx, uint64_t * sig_addr, uint64_t signal, int pe)) {             \
        shmem::put_signal("ctx_" #NAME, ctx, nullptr, nullptr, 0, {sig_addr, signal, OP}, pe,    \
                          Form::blocking);                                                       \
    }
#define ELEMENT(P, G, T)                                                                     \
    SHMEM_ROUTINE(void, P, (T * dest, T value, int pe)) {                                    \
        shmem::put(#P, SHMEM_CTX_DEFAULT, dest, &value, sizeof value, pe, Form::blocking);   \
    }                                                                                        \
    SHMEM_ROUTINE(void, ctx_##P, (shmem_ctx_t ctx, T * dest, T value, int pe)) {             \
        shmem::put("ctx_" #P, ctx, dest, &value, sizeof value, pe, Form::blocking);          \
    }                                                                                        \
    SHMEM_ROUTINE(T, G, (const T* source, int pe)) {                                         \
        T value{};                                                                           \
        shmem::get(#G, SHMEM_CTX_DEFAULT, &value, source, sizeof value, pe, Form::blocking); \
        return value;                                                                        \
    }                                                                                        \
    SHMEM_ROUTINE(T, ctx_##G, (shmem_ctx_t ctx, const T* source, int pe)) {                  \
        T value{};                                                                           \
        shmem::get("ctx_" #G, ctx, &value, source, sizeof value, pe, Form::blocking);        \
        return value;                                                                        \
    }

#define TYPED(N, T)                                \
    MOVE(N##_put, put, blocking, T, sizeof(T))     \
    MOVE(N##_put_nbi, put, nbi, T, sizeof(T))      \
    MOVE(N##_get, get, blocking, T, sizeof(T))     \
    MOVE(N##_get_nbi, get, nbi, T, sizeof(T))      \
    SIGNAL(N##_put_signal, blocking, T, sizeof(T)) \
    SIGNAL(N##_put_signal_nbi, nbi, T, sizeof(T))  \
    STRIDED(N##_iput, iput, T, sizeof(T))          \
    STRIDED(N##_iget, iget, T, sizeof(T))          \
    BLOCKWISE(N##_ibput, iput, T, sizeof(T))       \
    BLOCKWISE(N##_ibget, iget, T, sizeof(T))       \
    ELEMENT(N##_p, N##_g, T)
WEFT_SHMEM_RMA(TYPED)

#define BLOCKS(N, BYTES)                           \
    MOVE(put##N, put, blocking, void, BYTES)       \
    MOVE(put##N##_nbi, put, nbi, void, BYTES)      \
    MOVE(get##N, get, blocking, void, BYTES)       \
    MOVE(get##N##_nbi, get, nbi, void, BYTES)      \
    SIGNAL(put##N##_signal, blocking, void, BYTES) \
    SIGNAL(put##N##_signal_nbi, nbi, void, BYTES)
#define SIZED(N, BYTES)                    \
    BLOCKS(N, BYTES)                       \
    STRIDED(iput##N, iput, void, BYTES)    \
    STRIDED(iget##N, iget, void, BYTES)    \
    BLOCKWISE(ibput##N, iput, void, BYTES) \
    BLOCKWISE(ibget##N, iget, void, BYTES)
WEFT_SHMEM_SIZES(SIZED)
BLOCKS(mem, 1)
SIGNAL_ALONE(signal_set, SHMEM_SIGNAL_SET)
SIGNAL_ALONE(signal_add, SHMEM_SIGNAL_ADD)
