// SPDX-License-Identifier: BSD-3-Clause
// Goal: operands are combined in order from the left, also if an operand is the target, with user
// operations of any element size, into one or several targets. reduce_pass_test.cpp covers built-in
// operations.
// Method: tests fold matrices, whose product does not commute, element by element.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "run/reduce/reduce.hpp"

namespace weft::run {
namespace {

/// Operands and targets of `bytes` bytes, misaligned by `shift` bytes. If `alias` is not negative,
/// the operand with this index is also the last target.
class Case {
  public:
    Case(std::size_t operands, std::size_t bytes, std::size_t shift, int alias, std::size_t targets)
        : shift_(shift), memory_(operands + targets, std::vector<std::byte>(bytes + 64)) {
        for (std::size_t i = 0; i < operands; ++i) pointers_.push_back(at(i));
        for (std::size_t i = 0; i < targets; ++i) targets_.push_back(at(operands + i));
        if (alias >= 0) targets_.back() = at(static_cast<std::size_t>(alias));
    }

    [[nodiscard]] std::byte* at(std::size_t i) { return memory_[i].data() + shift_; }
    [[nodiscard]] std::span<std::byte* const> targets() const { return targets_; }
    [[nodiscard]] std::span<const std::byte* const> operands() const { return pointers_; }

  private:
    std::size_t shift_;
    std::vector<std::vector<std::byte>> memory_;
    std::vector<const std::byte*> pointers_;
    std::vector<std::byte*> targets_;
};

TEST(ReduceMany, OneBufferMayBeSeveralOperandsAndTheTarget) {
    const Reducer reducer = select_isa("auto").value().reducer(Type::int32, Op::sum);
    std::vector<std::int32_t> x(3000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i);
    auto* const data = reinterpret_cast<std::byte*>(x.data());
    const std::byte* const operands[] = {data, data, data, data};
    reduce_many(reducer, data, operands, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], static_cast<std::int32_t>(4 * i));
}

/// A square matrix over the integers mod 2^64. Its product is not commutative.
template <std::size_t N>
struct Matrix {
    std::uint64_t entry[N][N];
};

template <std::size_t N>
Matrix<N> product(const Matrix<N>& a, const Matrix<N>& b) {
    Matrix<N> c{};
    for (std::size_t i = 0; i < N; ++i)
        for (std::size_t k = 0; k < N; ++k)
            for (std::size_t j = 0; j < N; ++j) c.entry[i][j] += a.entry[i][k] * b.entry[k][j];
    return c;
}

/// Records the calls of a user operation.
struct Calls {
    std::size_t elements = 0;  ///< sum over all calls
    bool misaligned = false;   ///< some call had misaligned buffers
};

template <std::size_t N>
void multiply(const void* in, void* inout, std::size_t count, void* argument) {
    auto& calls = *static_cast<Calls*>(argument);
    calls.elements += count;
    calls.misaligned |=
        (reinterpret_cast<std::uintptr_t>(in) | reinterpret_cast<std::uintptr_t>(inout)) % 8 != 0;
    for (std::size_t i = 0; i < count; ++i) {
        Matrix<N> left;
        Matrix<N> right;
        std::memcpy(&left, static_cast<const Matrix<N>*>(in) + i, sizeof left);
        std::memcpy(&right, static_cast<Matrix<N>*>(inout) + i, sizeof right);
        right = product(left, right);
        std::memcpy(static_cast<Matrix<N>*>(inout) + i, &right, sizeof right);
    }
}

template <std::size_t N>
void check_matrices(std::size_t elements) {
    using M = Matrix<N>;
    std::mt19937_64 random(11);
    for (const std::size_t operands : {1, 2, 3, 6})
        for (const std::size_t shift : {0, 5})
            for (int alias = -1; alias < static_cast<int>(operands); ++alias) {
                Calls calls;
                const UserOperation user{
                    .function = &multiply<N>, .argument = &calls, .element_bytes = sizeof(M)};
                const auto targets = static_cast<std::size_t>(alias + 2);  // 1 to operands + 1
                Case state(operands, elements * sizeof(M), shift, alias, targets);
                std::vector<M> expected(elements);
                for (std::size_t k = 0; k < operands; ++k)
                    for (std::size_t i = 0; i < elements; ++i) {
                        M x;
                        for (auto& line : x.entry)
                            for (auto& entry : line) entry = random();
                        std::memcpy(state.at(k) + i * sizeof(M), &x, sizeof x);
                        expected[i] = k == 0 ? x : product(expected[i], x);
                    }
                const Reducer reducer{.user = &user, .element_bytes = sizeof(M)};
                reduce_many(reducer, state.targets(), state.operands(), elements);
                for (const std::byte* const target : state.targets())
                    ASSERT_EQ(std::memcmp(target, expected.data(), elements * sizeof(M)), 0)
                        << operands << " operands, shift " << shift << ", alias " << alias;
                ASSERT_EQ(calls.elements, (operands - 1) * elements);
                ASSERT_FALSE(calls.misaligned);
            }
}

TEST(ReduceMany, UserOperationsKeepTheOrderOfRanks) {
    check_matrices<2>(1);
    check_matrices<2>(127);
    check_matrices<2>(128);
    check_matrices<2>(1000);
    check_matrices<3>(200);  // elements of 72 bytes: a tile is not a whole number of lines
}

TEST(ReduceMany, UserElementsMayBeLargerThanATile) {
    check_matrices<23>(3);  // elements of 4232 bytes
}

}  // namespace
}  // namespace weft::run
