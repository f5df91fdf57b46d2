// SPDX-License-Identifier: BSD-3-Clause
// waits.cpp - waits for and tests of words that other PEs change.
//
// Idea     Words of 4 and 8 bytes use weft's waits, which cannot take 2-byte words. For one such
//          word, this PE waits for changes of the aligned 8-byte word around it. It polls several.
// Holds    A word is read with acquire, which pairs with the release store of the local peer that
//          updates it. This PE itself applies the updates of remote peers.
#include <string>
#include <type_traits>

#include "faces/shmem/job.hpp"

namespace weft::shmem {

namespace {

/// Returns the result of the comparison `word` cmp `value`. cmp: a SHMEM_CMP constant.
template <class T>
bool compare(T word, int cmp, T value) {
    switch (cmp) {
        case SHMEM_CMP_EQ:
            return word == value;
        case SHMEM_CMP_NE:
            return word != value;
        case SHMEM_CMP_GT:
            return word > value;
        case SHMEM_CMP_GE:
            return word >= value;
        case SHMEM_CMP_LT:
            return word < value;
        default:
            return word <= value;
    }
}

template <class T>
T load(const volatile T* word) {
    return std::atomic_ref<T>(*const_cast<T*>(word)).load(std::memory_order_acquire);
}

/// Words that a call waits for or tests, and their comparison.
template <class T>
struct Condition {
    const char* argument = nullptr;  ///< the routine's name for `words`, for messages
    const volatile T* words = nullptr;
    std::size_t count = 0;
    const int* excluded = nullptr;  ///< for each word: not 0 to ignore it; or nullptr
    int cmp = SHMEM_CMP_EQ;
    const T* values = nullptr;
    bool one_value = true;  ///< `values` has one value for all words, else a value for each

    [[nodiscard]] bool includes(std::size_t i) const {
        return excluded == nullptr || excluded[i] == 0;
    }
    [[nodiscard]] const T& value(std::size_t i) const { return values[one_value ? 0 : i]; }
    [[nodiscard]] bool is_met(std::size_t i) const {
        return compare(load(words + i), cmp, value(i));
    }
};

/// Returns the condition of a routine with one word. `value` must outlive it.
template <class T>
Condition<T> one_word(const char* argument, const volatile T* word, int cmp, const T& value) {
    return {.argument = argument, .words = word, .count = 1, .cmp = cmp, .values = &value};
}

/// Ends the job if the words are not symmetric memory, or `cmp` is not a comparison.
template <class T>
void check_wait(const char* routine, const Condition<T>& condition) {
    require_job(routine);
    if (condition.cmp < SHMEM_CMP_EQ || condition.cmp > SHMEM_CMP_LE)
        refuse(routine, "cmp: " + std::to_string(condition.cmp) +
                            " is not a comparison; expected SHMEM_CMP_EQ (0) to SHMEM_CMP_LE (5)");
    const std::size_t bytes = bytes_of(routine, condition.count, sizeof(T));
    if (bytes != 0) require_symmetric(routine, condition.argument, condition.words, bytes);
}

/// Pauses between polls, because polls slow down the writer of the word.
void pause_briefly() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

template <class T>
constexpr weft_type kWordType = sizeof(T) == 8 ? (std::is_signed_v<T> ? WEFT_INT64 : WEFT_UINT64)
                                               : (std::is_signed_v<T> ? WEFT_INT32 : WEFT_UINT32);

/// Waits until word `i` meets its condition. Returns the value that met it.
template <class T>
T wait_for(const char* routine, const Condition<T>& condition, std::size_t i) {
    const volatile T* const word = condition.words + i;
    // First poll here: a wait in weft also drives communication, so it detects the store of a local
    // peer later.
    for (int poll = 0; poll < job.polls; ++poll) {
        const T have = load(word);
        if (compare(have, condition.cmp, condition.value(i))) return have;
        pause_briefly();
    }
    if constexpr (sizeof(T) >= 4) {
        T seen{};
        check(routine, weft_wait_word(job.world, const_cast<const T*>(word), kWordType<T>,
                                      condition.cmp, &condition.value(i), WEFT_FOREVER, &seen));
        return seen;
    }
    auto* const whole =
        reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::uintptr_t>(word) / 8 * 8);
    for (;;) {
        // Read before the word, so that a change between the two reads ends the wait at once.
        const std::uint64_t before = load<std::uint64_t>(whole);
        const T have = load(word);
        if (compare(have, condition.cmp, condition.value(i))) return have;
        check(routine, weft_wait_until(job.world, whole, WEFT_NE, before));
    }
}

template <class T>
void wait_all(const char* routine, const Condition<T>& condition) {
    check_wait(routine, condition);
    for (std::size_t i = 0; i < condition.count; ++i)
        if (condition.includes(i)) wait_for(routine, condition, i);
}

template <class T>
bool all_met(const Condition<T>& condition) {
    for (std::size_t i = 0; i < condition.count; ++i)
        if (condition.includes(i) && !condition.is_met(i)) return false;
    return true;
}

/// Stores the indices of up to `limit` words that meet their condition, and returns their number.
/// Starts after the last word that this thread found, so that words at the end of an array are not
/// starved. Calls with different arrays of type T share the start, which is harmless.
template <class T>
std::size_t find_met(const Condition<T>& condition, std::size_t* indices, std::size_t limit) {
    static thread_local std::size_t next = 0;
    std::size_t found = 0;
    for (std::size_t n = 0; n < condition.count && found < limit; ++n) {
        const std::size_t i = (next + n) % condition.count;
        if (condition.includes(i) && condition.is_met(i)) indices[found++] = i;
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

/// Waits until a word meets its condition. weft cannot wait for 2-byte words: for these, drives
/// communication once, so the caller must repeat the call.
template <class T>
void await_any(const char* routine, const Condition<T>& condition) {
    if (sizeof(T) < 4) return drive_and_yield();
    weft_words words{};
    words.words = const_cast<const T*>(condition.words);
    words.count = condition.count;
    words.type = kWordType<T>;
    words.cmp = condition.cmp;
    words.values = condition.values;
    words.each = condition.one_value ? 0 : 1;
    words.skip = condition.excluded;
    std::size_t index = 0;
    check(routine, weft_wait_any(job.world, &words, WEFT_FOREVER, &index));
}

enum class WaitForm : bool { wait, test };

/// Waits for or tests the words. Stores the indices of up to `limit` words that meet their
/// condition, and returns their number.
template <class T>
std::size_t wait_or_test_some(const char* routine, const Condition<T>& condition,
                              std::size_t* indices, WaitForm form, std::size_t limit) {
    check_wait(routine, condition);
    if (!includes_any(condition)) return 0;
    if (const std::size_t found = find_met(condition, indices, limit); found != 0) return found;
    do {
        form == WaitForm::wait ? await_any(routine, condition) : drive_and_yield();
        if (const std::size_t found = find_met(condition, indices, limit); found != 0) return found;
    } while (form == WaitForm::wait);
    return 0;
}

/// Returns the index of a word that meets its condition, or SIZE_MAX if no word does.
template <class T>
std::size_t wait_or_test_any(const char* routine, const Condition<T>& condition, WaitForm form) {
    std::size_t index = 0;
    return wait_or_test_some(routine, condition, &index, form, 1) == 0 ? SIZE_MAX : index;
}

template <class T>
int test_all(const char* routine, const Condition<T>& condition) {
    check_wait(routine, condition);
    if (all_met(condition)) return 1;
    drive_and_yield();  // the writing PE may need this processor
    return all_met(condition) ? 1 : 0;
}

}  // namespace

}  // namespace weft::shmem

namespace shmem = weft::shmem;
using shmem::WaitForm;

// Routines for arrays of words. SUFFIX is empty for routines that compare all words with one value,
// and _vector for routines with a value for each word.
#define DEFINE_ARRAY_ROUTINES(N, T, SUFFIX, VALUE, CONDITION)                                 \
    SHMEM_ROUTINE(void, N##_wait_until_all##SUFFIX,                                           \
                  (volatile T * ivars, size_t nelems, const int* status, int cmp, VALUE)) {   \
        shmem::wait_all<T>(#N "_wait_until_all" #SUFFIX, CONDITION);                          \
    }                                                                                         \
    SHMEM_ROUTINE(size_t, N##_wait_until_any##SUFFIX,                                         \
                  (volatile T * ivars, size_t nelems, const int* status, int cmp, VALUE)) {   \
        return shmem::wait_or_test_any<T>(#N "_wait_until_any" #SUFFIX, CONDITION,            \
                                          WaitForm::wait);                                    \
    }                                                                                         \
    SHMEM_ROUTINE(size_t, N##_wait_until_some##SUFFIX,                                        \
                  (volatile T * ivars, size_t nelems, size_t * indices, const int* status,    \
                   int cmp, VALUE)) {                                                         \
        return shmem::wait_or_test_some<T>(#N "_wait_until_some" #SUFFIX, CONDITION, indices, \
                                           WaitForm::wait, nelems);                           \
    }                                                                                         \
    SHMEM_ROUTINE(int, N##_test_all##SUFFIX,                                                  \
                  (volatile T * ivars, size_t nelems, const int* status, int cmp, VALUE)) {   \
        return shmem::test_all<T>(#N "_test_all" #SUFFIX, CONDITION);                         \
    }                                                                                         \
    SHMEM_ROUTINE(size_t, N##_test_any##SUFFIX,                                               \
                  (volatile T * ivars, size_t nelems, const int* status, int cmp, VALUE)) {   \
        return shmem::wait_or_test_any<T>(#N "_test_any" #SUFFIX, CONDITION, WaitForm::test); \
    }                                                                                         \
    SHMEM_ROUTINE(size_t, N##_test_some##SUFFIX,                                              \
                  (volatile T * ivars, size_t nelems, size_t * indices, const int* status,    \
                   int cmp, VALUE)) {                                                         \
        return shmem::wait_or_test_some<T>(#N "_test_some" #SUFFIX, CONDITION, indices,       \
                                           WaitForm::test, nelems);                           \
    }

#define DEFINE_WAIT_ROUTINES(N, T)                                                                \
    SHMEM_ROUTINE(void, N##_wait_until, (volatile T * ivar, int cmp, T cmp_value)) {              \
        shmem::wait_all<T>(#N "_wait_until", shmem::one_word("ivar", ivar, cmp, cmp_value));      \
    }                                                                                             \
    SHMEM_ROUTINE(int, N##_test, (volatile T * ivar, int cmp, T cmp_value)) {                     \
        return shmem::test_all<T>(#N "_test", shmem::one_word("ivar", ivar, cmp, cmp_value));     \
    }                                                                                             \
    DEFINE_ARRAY_ROUTINES(N, T, , T cmp_value,                                                    \
                          (shmem::Condition<T>{"ivars", ivars, nelems, status, cmp, &cmp_value})) \
    DEFINE_ARRAY_ROUTINES(N, T, _vector, const T* cmp_values,                                     \
                          (shmem::Condition<T>{"ivars", ivars, nelems, status, cmp, cmp_values,   \
                                               /*one_value=*/false}))
WEFT_SHMEM_SYNC(DEFINE_WAIT_ROUTINES)

#define DEFINE_DEPRECATED_WAITS(N, T)                                                           \
    SHMEM_ROUTINE(void, N##_wait, (volatile T * ivar, T cmp_value)) {                           \
        shmem::wait_all<T>(#N "_wait", shmem::one_word("ivar", ivar, SHMEM_CMP_NE, cmp_value)); \
    }
WEFT_SHMEM_SYNC_OLD(DEFINE_DEPRECATED_WAITS)

SHMEM_ROUTINE(void, wait, (volatile long* ivar, long cmp_value)) {
    shmem::wait_all<long>("wait", shmem::one_word("ivar", ivar, SHMEM_CMP_NE, cmp_value));
}
SHMEM_ROUTINE(void, wait_until, (volatile long* ivar, int cmp, long cmp_value)) {
    shmem::wait_all<long>("wait_until", shmem::one_word("ivar", ivar, cmp, cmp_value));
}

SHMEM_ROUTINE(uint64_t, signal_fetch, (const uint64_t* sig_addr)) {
    shmem::require_job("signal_fetch");
    shmem::require_symmetric("signal_fetch", "sig_addr", sig_addr, sizeof *sig_addr);
    shmem::drive();
    return shmem::load(sig_addr);
}

SHMEM_ROUTINE(uint64_t, signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value)) {
    const auto condition = shmem::one_word("sig_addr", sig_addr, cmp, cmp_value);
    shmem::check_wait("signal_wait_until", condition);
    return shmem::wait_for("signal_wait_until", condition, 0);
}
