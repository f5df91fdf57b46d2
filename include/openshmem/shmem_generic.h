/* SPDX-License-Identifier: BSD-3-Clause */
// shmem_generic.h - the type-generic routines of OpenSHMEM for C11; part of shmem.h.
//
// Idea     _Generic selects the routine by the type of the argument that points to elements: the
//          first, or the second after a context or a team. A selection lists each type once, so
//          int32_t is covered by int, and size_t by unsigned long.
// Holds    A type without a routine selects weft_shmem_no_routine_for_this_type, whose parameter is
//          not a pointer. The compiler's error then names the argument's type and, by the
//          parameter's type, routines such as shmem_long_put() and shmem_putmem().
#ifndef WEFT_OPENSHMEM_GENERIC_H
#define WEFT_OPENSHMEM_GENERIC_H

#include "shmem_constants.h"

typedef struct weft_shmem_use_a_typed_or_a_mem_routine {
    char unused;
} weft_shmem_use_a_typed_or_a_mem_routine;
int weft_shmem_no_routine_for_this_type(weft_shmem_use_a_typed_or_a_mem_routine pointer, ...);
int weft_shmem_no_routine_for_this_type_with_ctx(shmem_ctx_t ctx,
                                                 weft_shmem_use_a_typed_or_a_mem_routine pointer,
                                                 ...);
int weft_shmem_no_collective_for_this_type(shmem_team_t team,
                                           weft_shmem_use_a_typed_or_a_mem_routine pointer, ...);

// clang-format off
#define WEFT_SHMEM_FIRST(...) WEFT_SHMEM_FIRST_(__VA_ARGS__, 0)
#define WEFT_SHMEM_FIRST_(a, ...) a
#define WEFT_SHMEM_SECOND(...) WEFT_SHMEM_SECOND_(__VA_ARGS__, 0, 0)
#define WEFT_SHMEM_SECOND_(a, b, ...) b

// Cases of a selection. Q: a qualifier or empty. A, Z: text before and after the type's name in the
// names of the routines.
#define WEFT_SHMEM_CASES_AMO(Q, A, Z)                                                              \
    Q int*: A##int##Z, Q long*: A##long##Z, Q long long*: A##longlong##Z,                          \
    Q unsigned int*: A##uint##Z, Q unsigned long*: A##ulong##Z,                                    \
    Q unsigned long long*: A##ulonglong##Z
#define WEFT_SHMEM_CASES_EXTENDED(Q, A, Z)                                                         \
    Q float*: A##float##Z, Q double*: A##double##Z, WEFT_SHMEM_CASES_AMO(Q, A, Z)
#define WEFT_SHMEM_CASES_BITWISE(Q, A, Z)                                                          \
    Q int*: A##int32##Z, Q long*: A##int64##Z, Q unsigned int*: A##uint##Z,                        \
    Q unsigned long*: A##ulong##Z, Q unsigned long long*: A##ulonglong##Z
#define WEFT_SHMEM_CASES_SYNC(Q, A, Z)                                                             \
    Q short*: A##short##Z, Q unsigned short*: A##ushort##Z, WEFT_SHMEM_CASES_AMO(Q, A, Z)
#define WEFT_SHMEM_CASES_RMA(Q, A, Z)                                                              \
    Q char*: A##char##Z, Q signed char*: A##schar##Z, Q unsigned char*: A##uchar##Z,               \
    Q long double*: A##longdouble##Z, Q float*: A##float##Z, Q double*: A##double##Z,              \
    WEFT_SHMEM_CASES_SYNC(Q, A, Z)
#define WEFT_SHMEM_CASES_NUMBERS(Q, A, Z)                                                          \
    Q double _Complex*: A##complexd##Z, Q float _Complex*: A##complexf##Z,                         \
    WEFT_SHMEM_CASES_RMA(Q, A, Z)
#define WEFT_SHMEM_CASES_REDUCE_BITS(Q, A, Z)                                                      \
    Q unsigned char*: A##uchar##Z, Q unsigned short*: A##ushort##Z, Q signed char*: A##int8##Z,    \
    Q short*: A##int16##Z, WEFT_SHMEM_CASES_BITWISE(Q, A, Z)

// A routine with or without a context. Only WEFT_SHMEM_CALL_READ accepts a pointer to const.
#define WEFT_SHMEM_CALL(CASES, Z, ...)                                                             \
    _Generic((WEFT_SHMEM_FIRST(__VA_ARGS__)),                                                      \
        shmem_ctx_t: _Generic((WEFT_SHMEM_SECOND(__VA_ARGS__)), CASES(, shmem_ctx_, Z),            \
                              default: weft_shmem_no_routine_for_this_type_with_ctx),              \
        CASES(, shmem_, Z), default: weft_shmem_no_routine_for_this_type)(__VA_ARGS__)
#define WEFT_SHMEM_CALL_READ(CASES, Z, ...)                                                        \
    _Generic((WEFT_SHMEM_FIRST(__VA_ARGS__)),                                                      \
        shmem_ctx_t: _Generic((WEFT_SHMEM_SECOND(__VA_ARGS__)), CASES(, shmem_ctx_, Z),            \
                              CASES(const, shmem_ctx_, Z),                                         \
                              default: weft_shmem_no_routine_for_this_type_with_ctx),              \
        CASES(, shmem_, Z), CASES(const, shmem_, Z),                                               \
        default: weft_shmem_no_routine_for_this_type)(__VA_ARGS__)
// A routine on words that may be volatile.
#define WEFT_SHMEM_CALL_SYNC(Z, ...)                                                               \
    _Generic((WEFT_SHMEM_FIRST(__VA_ARGS__)), WEFT_SHMEM_CASES_SYNC(, shmem_, Z),                  \
        WEFT_SHMEM_CASES_SYNC(volatile, shmem_, Z),                                                \
        default: weft_shmem_no_routine_for_this_type)(__VA_ARGS__)
// A routine whose first argument is a team.
#define WEFT_SHMEM_CALL_TEAM(CASES, Z, ...)                                                        \
    _Generic((WEFT_SHMEM_SECOND(__VA_ARGS__)), CASES(, shmem_, Z),                                 \
        default: weft_shmem_no_collective_for_this_type)(__VA_ARGS__)

#define shmem_put(...) WEFT_SHMEM_CALL(WEFT_SHMEM_CASES_RMA, _put, __VA_ARGS__)
#define shmem_get(...) WEFT_SHMEM_CALL(WEFT_SHMEM_CASES_RMA, _get, __VA_ARGS__)
#define shmem_put_nbi(...) WEFT_SHMEM_CALL(WEFT_SHMEM_CASES_RMA, _put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...) WEFT_SHMEM_CALL(WEFT_SHMEM_CASES_RMA, _get_nbi, __VA_ARGS__)
#define shmem_p(...) WEFT_SHMEM_CALL(WEFT_SHMEM_CASES_RMA, _p, __VA_ARGS__)
#define shmem_g(...) WEFT_SHMEM_CALL_READ(WEFT_SHMEM_CASES_RMA, _g, __VA_ARGS__)
#define shmem_iput(...) WEFT_SHMEM_CALL(WEFT_SHMEM_CASES_RMA, _iput, __VA_ARGS__)
#define shmem_iget(...) WEFT_SHMEM_CALL(WEFT_SHMEM_CASES_RMA, _iget, __VA_ARGS__)
#define shmem_ibput(...) WEFT_SHMEM_CALL(WEFT_SHMEM_CASES_RMA, _ibput, __VA_ARGS__)
#define shmem_ibget(...) WEFT_SHMEM_CALL(WEFT_SHMEM_CASES_RMA, _ibget, __VA_ARGS__)
#define shmem_put_signal(...) WEFT_SHMEM_CALL(WEFT_SHMEM_CASES_RMA, _put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...)                                                                  \
    WEFT_SHMEM_CALL(WEFT_SHMEM_CASES_RMA, _put_signal_nbi, __VA_ARGS__)

#define shmem_signal_set(...)                                                                      \
    _Generic((WEFT_SHMEM_FIRST(__VA_ARGS__)), shmem_ctx_t: shmem_ctx_signal_set,                   \
        default: shmem_signal_set)(__VA_ARGS__)
#define shmem_signal_add(...)                                                                      \
    _Generic((WEFT_SHMEM_FIRST(__VA_ARGS__)), shmem_ctx_t: shmem_ctx_signal_add,                   \
        default: shmem_signal_add)(__VA_ARGS__)

#define WEFT_SHMEM_ATOMIC(CASES, Z, ...) WEFT_SHMEM_CALL(WEFT_SHMEM_CASES_##CASES, Z, __VA_ARGS__)
#define shmem_atomic_fetch(...)                                                                    \
    WEFT_SHMEM_CALL_READ(WEFT_SHMEM_CASES_EXTENDED, _atomic_fetch, __VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) WEFT_SHMEM_ATOMIC(EXTENDED, _atomic_fetch_nbi, __VA_ARGS__)
#define shmem_atomic_set(...) WEFT_SHMEM_ATOMIC(EXTENDED, _atomic_set, __VA_ARGS__)
#define shmem_atomic_swap(...) WEFT_SHMEM_ATOMIC(EXTENDED, _atomic_swap, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) WEFT_SHMEM_ATOMIC(EXTENDED, _atomic_swap_nbi, __VA_ARGS__)
#define shmem_atomic_compare_swap(...) WEFT_SHMEM_ATOMIC(AMO, _atomic_compare_swap, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...)                                                         \
    WEFT_SHMEM_ATOMIC(AMO, _atomic_compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) WEFT_SHMEM_ATOMIC(AMO, _atomic_fetch_inc, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) WEFT_SHMEM_ATOMIC(AMO, _atomic_fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_inc(...) WEFT_SHMEM_ATOMIC(AMO, _atomic_inc, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) WEFT_SHMEM_ATOMIC(AMO, _atomic_fetch_add, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) WEFT_SHMEM_ATOMIC(AMO, _atomic_fetch_add_nbi, __VA_ARGS__)
#define shmem_atomic_add(...) WEFT_SHMEM_ATOMIC(AMO, _atomic_add, __VA_ARGS__)
#define shmem_atomic_fetch_and(...) WEFT_SHMEM_ATOMIC(BITWISE, _atomic_fetch_and, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...)                                                            \
    WEFT_SHMEM_ATOMIC(BITWISE, _atomic_fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_and(...) WEFT_SHMEM_ATOMIC(BITWISE, _atomic_and, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) WEFT_SHMEM_ATOMIC(BITWISE, _atomic_fetch_or, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) WEFT_SHMEM_ATOMIC(BITWISE, _atomic_fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_or(...) WEFT_SHMEM_ATOMIC(BITWISE, _atomic_or, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) WEFT_SHMEM_ATOMIC(BITWISE, _atomic_fetch_xor, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...)                                                            \
    WEFT_SHMEM_ATOMIC(BITWISE, _atomic_fetch_xor_nbi, __VA_ARGS__)
#define shmem_atomic_xor(...) WEFT_SHMEM_ATOMIC(BITWISE, _atomic_xor, __VA_ARGS__)

// Deprecated names of OpenSHMEM 1.3. They take no context, so the first argument selects.
#define WEFT_SHMEM_CASES_OLD(A, Z) int*: A##int##Z, long*: A##long##Z, long long*: A##longlong##Z
#define WEFT_SHMEM_OLD(Z, x)                                                                       \
    _Generic((x), WEFT_SHMEM_CASES_OLD(shmem_, Z), default: weft_shmem_no_routine_for_this_type)
#define WEFT_SHMEM_OLD_EXTENDED(Z, x)                                                              \
    _Generic((x), WEFT_SHMEM_CASES_OLD(shmem_, Z), float*: shmem_float##Z,                         \
        double*: shmem_double##Z, default: weft_shmem_no_routine_for_this_type)
#define shmem_fetch(source, pe)                                                                    \
    _Generic((source), const int*: shmem_int_fetch, const long*: shmem_long_fetch,                 \
        const long long*: shmem_longlong_fetch, const float*: shmem_float_fetch,                   \
        const double*: shmem_double_fetch,                                                         \
        default: WEFT_SHMEM_OLD_EXTENDED(_fetch, source))(source, pe)
#define shmem_set(dest, value, pe) WEFT_SHMEM_OLD_EXTENDED(_set, dest)(dest, value, pe)
#define shmem_swap(dest, value, pe) WEFT_SHMEM_OLD_EXTENDED(_swap, dest)(dest, value, pe)
#define shmem_cswap(dest, cond, value, pe) WEFT_SHMEM_OLD(_cswap, dest)(dest, cond, value, pe)
#define shmem_fadd(dest, value, pe) WEFT_SHMEM_OLD(_fadd, dest)(dest, value, pe)
#define shmem_add(dest, value, pe) WEFT_SHMEM_OLD(_add, dest)(dest, value, pe)
#define shmem_finc(dest, pe) WEFT_SHMEM_OLD(_finc, dest)(dest, pe)
#define shmem_inc(dest, pe) WEFT_SHMEM_OLD(_inc, dest)(dest, pe)

#define shmem_wait_until(...) WEFT_SHMEM_CALL_SYNC(_wait_until, __VA_ARGS__)
#define shmem_wait_until_all(...) WEFT_SHMEM_CALL_SYNC(_wait_until_all, __VA_ARGS__)
#define shmem_wait_until_any(...) WEFT_SHMEM_CALL_SYNC(_wait_until_any, __VA_ARGS__)
#define shmem_wait_until_some(...) WEFT_SHMEM_CALL_SYNC(_wait_until_some, __VA_ARGS__)
#define shmem_wait_until_all_vector(...) WEFT_SHMEM_CALL_SYNC(_wait_until_all_vector, __VA_ARGS__)
#define shmem_wait_until_any_vector(...) WEFT_SHMEM_CALL_SYNC(_wait_until_any_vector, __VA_ARGS__)
#define shmem_wait_until_some_vector(...)                                                          \
    WEFT_SHMEM_CALL_SYNC(_wait_until_some_vector, __VA_ARGS__)
#define shmem_test(...) WEFT_SHMEM_CALL_SYNC(_test, __VA_ARGS__)
#define shmem_test_all(...) WEFT_SHMEM_CALL_SYNC(_test_all, __VA_ARGS__)
#define shmem_test_any(...) WEFT_SHMEM_CALL_SYNC(_test_any, __VA_ARGS__)
#define shmem_test_some(...) WEFT_SHMEM_CALL_SYNC(_test_some, __VA_ARGS__)
#define shmem_test_all_vector(...) WEFT_SHMEM_CALL_SYNC(_test_all_vector, __VA_ARGS__)
#define shmem_test_any_vector(...) WEFT_SHMEM_CALL_SYNC(_test_any_vector, __VA_ARGS__)
#define shmem_test_some_vector(...) WEFT_SHMEM_CALL_SYNC(_test_some_vector, __VA_ARGS__)

#define shmem_sync(...)                                                                            \
    _Generic((WEFT_SHMEM_FIRST(__VA_ARGS__)), shmem_team_t: shmem_team_sync,                       \
        default: shmem_sync)(__VA_ARGS__)
#define shmem_broadcast(...) WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_RMA, _broadcast, __VA_ARGS__)
#define shmem_collect(...) WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_RMA, _collect, __VA_ARGS__)
#define shmem_fcollect(...) WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_RMA, _fcollect, __VA_ARGS__)
#define shmem_alltoall(...) WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_RMA, _alltoall, __VA_ARGS__)
#define shmem_alltoalls(...) WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_RMA, _alltoalls, __VA_ARGS__)
#define shmem_and_reduce(...)                                                                      \
    WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_REDUCE_BITS, _and_reduce, __VA_ARGS__)
#define shmem_or_reduce(...)                                                                       \
    WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_REDUCE_BITS, _or_reduce, __VA_ARGS__)
#define shmem_xor_reduce(...)                                                                      \
    WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_REDUCE_BITS, _xor_reduce, __VA_ARGS__)
#define shmem_min_reduce(...) WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_RMA, _min_reduce, __VA_ARGS__)
#define shmem_max_reduce(...) WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_RMA, _max_reduce, __VA_ARGS__)
#define shmem_sum_reduce(...)                                                                      \
    WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_NUMBERS, _sum_reduce, __VA_ARGS__)
#define shmem_prod_reduce(...)                                                                     \
    WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_NUMBERS, _prod_reduce, __VA_ARGS__)
#define shmem_sum_inscan(...)                                                                      \
    WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_NUMBERS, _sum_inscan, __VA_ARGS__)
#define shmem_sum_exscan(...)                                                                      \
    WEFT_SHMEM_CALL_TEAM(WEFT_SHMEM_CASES_NUMBERS, _sum_exscan, __VA_ARGS__)
// clang-format on

#endif
