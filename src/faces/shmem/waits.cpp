// SPDX-License-Identifier: BSD-3-Clause
// waits.cpp - waits for and tests of words that other PEs change.
//
// Idea     A wait for one word of any type waits in weft for a change of the 8-byte word around it,
//          and repeats this until the comparison is true.
// Holds    A word is read with acquire. This pairs with the release of a signal or atomic
//          operation, which a local peer executes, or this PE for a remote peer.
#include <type_traits>

#include "faces/shmem/job.hpp"

namespace weft::shmem {

namespace {

/// Returns true if `have` (cmp) `value` is true. cmp: a SHMEM_CMP constant.
template <class T>
bool holds(T have, int cmp, T value) {
    switch (cmp) {
        case SHMEM_CMP_EQ:
            return have == value;
        case SHMEM_CMP_NE:
            return have != value;
        case SHMEM_CMP_GT:
            return have > value;
        case SHMEM_CMP_GE:
            return have >= value;
        case SHMEM_CMP_LT:
            return have < value;
        default:
            return have <= value;
    }
}

template <class T>
T load(const volatile T* word) {
    return std::atomic_ref<T>(*const_cast<T*>(word)).load(std::memory_order_acquire);
}

/// Words that a call waits for, and their comparison.
template <class T>
struct Condition {
    const volatile T* words = nullptr;
    std::size_t count = 0;
    const int* excluded = nullptr;  ///< for each word: not 0 if excluded; nullptr: all words count
    int cmp = SHMEM_CMP_EQ;
    const T* values = nullptr;
    bool one_value = true;  ///< `values` has one value for all words

    [[nodiscard]] bool includes(std::size_t i) const {
        return excluded == nullptr || excluded[i] == 0;
    }
    [[nodiscard]] bool met(std::size_t i) const {
        return holds(load(words + i), cmp, values[one_value ? 0 : i]);
    }
};

/// Ends the job if the words are not symmetric memory, or `cmp` is not a comparison.
template <class T>
void check_wait(const char* routine, const Condition<T>& condition) {
    require_job(routine);
    if (condition.cmp < SHMEM_CMP_EQ || condition.cmp > SHMEM_CMP_LE)
        refuse(routine, "cmp: expected one of SHMEM_CMP_EQ to SHMEM_CMP_LE");
    const std::size_t bytes = bytes_of(routine, condition.count, sizeof(T));
    if (bytes != 0) require_symmetric(routine, "the words", condition.words, bytes);
}

/// Pauses between polls, so that the writer of the word is delayed less.
void pause_briefly() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Waits until *word differs from `seen`, or may have changed.
void await_change(const std::uint64_t* word, std::uint64_t seen) {
    check("wait_until", weft_wait_until(job.world, word, WEFT_NE, seen));
}

template <class T>
void wait_for(const Condition<T>& condition, std::size_t i) {
    const auto at = reinterpret_cast<std::uintptr_t>(condition.words + i);
    auto* const whole = reinterpret_cast<std::uint64_t*>(at / 8 * 8);
    // Polls here first: weft drives communication between its polls, so it sees local stores later.
    for (int poll = 0; poll < job.polls; ++poll) {
        if (condition.met(i)) return;
        pause_briefly();
    }
    for (;;) {
        // Read before the condition, so that a change in between ends the wait at once.
        const std::uint64_t seen = load<std::uint64_t>(whole);
        if (condition.met(i)) return;
        await_change(whole, seen);
    }
}

template <class T>
void wait_all(const char* routine, const Condition<T>& condition) {
    check_wait(routine, condition);
    for (std::size_t i = 0; i < condition.count; ++i)
        if (condition.includes(i)) wait_for(condition, i);
}

template <class T>
bool test_all(const Condition<T>& condition) {
    for (std::size_t i = 0; i < condition.count; ++i)
        if (condition.includes(i) && !condition.met(i)) return false;
    return true;
}

/// Stores the indices of up to `limit` words that meet their condition, and returns their number.
/// Starts where this thread's last search ended, so that no word is passed over forever.
template <class T>
std::size_t find(const Condition<T>& condition, std::size_t* indices, std::size_t limit) {
    static thread_local std::size_t next = 0;
    std::size_t found = 0;
    for (std::size_t n = 0; n < condition.count && found < limit; ++n) {
        const std::size_t i = (next + n) % condition.count;
        if (condition.includes(i) && condition.met(i)) indices[found++] = i;
    }
    if (found != 0) next = indices[found - 1] + 1;
    return found;
}

template <class T>
bool includes_any(const Condition<T>& condition) {
    for (std::size_t i = 0; i < condition.count; ++i)
        if (condition.includes(i)) return true;
    return false;
}

enum class WaitForm : bool { wait, test };

/// Waits until a word may have changed. weft has no waits for words of 2 bytes.
template <class T>
void await_any(const Condition<T>& condition) {
    if (sizeof(T) < 4) return drive_and_yield();
    constexpr bool kSigned = std::is_signed_v<T>;
    weft_words words{};
    words.words = const_cast<const T*>(condition.words);
    words.count = condition.count;
    words.type = sizeof(T) == 8 ? (kSigned ? WEFT_INT64 : WEFT_UINT64)
                                : (kSigned ? WEFT_INT32 : WEFT_UINT32);
    words.cmp = condition.cmp;
    words.values = condition.values;
    words.each = condition.one_value ? 0 : 1;
    words.skip = condition.excluded;
    std::size_t index = 0;
    check("wait_until_any", weft_wait_any(job.world, &words, WEFT_FOREVER, &index));
}

/// Waits for or tests the words. Stores the indices of up to `limit` words that meet their
/// condition, and returns their number.
template <class T>
std::size_t some(const char* routine, const Condition<T>& condition, std::size_t* indices,
                 WaitForm form, std::size_t limit) {
    check_wait(routine, condition);
    if (!includes_any(condition)) return 0;
    if (const std::size_t found = find(condition, indices, limit); found != 0) return found;
    do {
        form == WaitForm::wait ? await_any(condition) : drive_and_yield();
        if (const std::size_t found = find(condition, indices, limit); found != 0) return found;
    } while (form == WaitForm::wait);
    return 0;
}

/// Returns the index of a word that meets its condition; SIZE_MAX: none.
template <class T>
std::size_t any(const char* routine, const Condition<T>& condition, WaitForm form) {
    std::size_t index = 0;
    return some(routine, condition, &index, form, 1) == 0 ? SIZE_MAX : index;
}

template <class T>
int test(const char* routine, const Condition<T>& condition) {
    check_wait(routine, condition);
    if (test_all(condition)) return 1;
    drive_and_yield();  // the writing PE may need this core
    return test_all(condition) ? 1 : 0;
}

}  // namespace

}  // namespace weft::shmem

namespace shmem = weft::shmem;
using shmem::WaitForm;

// Defines the routines for several words: `WITH` is empty, or _vector for a value for each word.
#define SEVERAL(N, T, WITH, VALUE, CONDITION)                                                     \
    SHMEM_ROUTINE(void, N##_wait_until_all##WITH,                                                 \
                  (volatile T * ivars, size_t nelems, const int* status, int cmp, VALUE)) {       \
        shmem::wait_all<T>(#N "_wait_until_all" #WITH, CONDITION);                                \
    }                                                                                             \
    SHMEM_ROUTINE(size_t, N##_wait_until_any##WITH,                                               \
                  (volatile T * ivars, size_t nelems, const int* status, int cmp, VALUE)) {       \
        return shmem::any<T>(#N "_wait_until_any" #WITH, CONDITION, WaitForm::wait);              \
    }                                                                                             \
    SHMEM_ROUTINE(size_t, N##_wait_until_some##WITH,                                              \
                  (volatile T * ivars, size_t nelems, size_t * indices, const int* status,        \
                   int cmp, VALUE)) {                                                             \
        return shmem::some<T>(#N "_wait_until_some" #WITH, CONDITION, indices, WaitForm::wait,    \
                              nelems);                                                            \
    }                                                                                             \
    SHMEM_ROUTINE(int, N##_test_all##WITH,                                                        \
                  (volatile T * ivars, size_t nelems, const int* status, int cmp, VALUE)) {       \
        return shmem::test<T>(#N "_test_all" #WITH, CONDITION);                                   \
    }                                                                                             \
    SHMEM_ROUTINE(size_t, N##_test_any##WITH,                                                     \
                  (volatile T * ivars, size_t nelems, const int* status, int cmp, VALUE)) {       \
        return shmem::any<T>(#N "_test_any" #WITH, CONDITION, WaitForm::test);                    \
    }                                                                                             \
    SHMEM_ROUTINE(size_t, N##_test_some##WITH,                                                    \
                  (volatile T * ivars, size_t nelems, size_t * indices, const int* status,        \
                   int cmp, VALUE)) {                                                             \
        return shmem::some<T>(#N "_test_some" #WITH, CONDITION, indices, WaitForm::test, nelems); \
    }

#define WAITING(N, T)                                                                    \
    SHMEM_ROUTINE(void, N##_wait_until, (volatile T * ivar, int cmp, T cmp_value)) {     \
        shmem::wait_all<T>(#N "_wait_until", {ivar, 1, nullptr, cmp, &cmp_value, true}); \
    }                                                                                    \
    SHMEM_ROUTINE(int, N##_test, (volatile T * ivar, int cmp, T cmp_value)) {            \
        return shmem::test<T>(#N "_test", {ivar, 1, nullptr, cmp, &cmp_value, true});    \
    }                                                                                    \
    SEVERAL(N, T, , T cmp_value,                                                         \
            (shmem::Condition<T>{ivars, nelems, status, cmp, &cmp_value, true}))         \
    SEVERAL(N, T, _vector, const T* cmp_values,                                          \
            (shmem::Condition<T>{ivars, nelems, status, cmp, cmp_values, false}))
WEFT_SHMEM_SYNC(WAITING)

#define WAITING_OLD(N, T)                                             \
    SHMEM_ROUTINE(void, N##_wait, (volatile T * ivar, T cmp_value)) { \
        pshmem_##N##_wait_until(ivar, SHMEM_CMP_NE, cmp_value);       \
    }
WEFT_SHMEM_SYNC_OLD(WAITING_OLD)

SHMEM_ROUTINE(void, wait, (volatile long* ivar, long cmp_value)) {
    pshmem_long_wait_until(ivar, SHMEM_CMP_NE, cmp_value);
}
SHMEM_ROUTINE(void, wait_until, (volatile long* ivar, int cmp, long cmp_value)) {
    pshmem_long_wait_until(ivar, cmp, cmp_value);
}

SHMEM_ROUTINE(uint64_t, signal_fetch, (const uint64_t* sig_addr)) {
    shmem::require_job("signal_fetch");
    shmem::require_symmetric("signal_fetch", "sig_addr", sig_addr, sizeof *sig_addr);
    shmem::drive();
    return shmem::load(sig_addr);
}

SHMEM_ROUTINE(uint64_t, signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value)) {
    pshmem_uint64_wait_until(sig_addr, cmp, cmp_value);
    return shmem::load(sig_addr);
}
