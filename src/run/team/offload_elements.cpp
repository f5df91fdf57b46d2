// SPDX-License-Identifier: BSD-3-Clause
#include "run/team/offload_elements.hpp"

#include <cstring>
#include <type_traits>

#include "base/copy.hpp"
#include "base/element_types.hpp"

namespace weft::run {

namespace {

bool is_floating(Type type) {
    return type == Type::float32 || type == Type::float64;
}

template <class Key, class Float>
void to_keys(std::byte* to, const std::byte* from, std::uint64_t count, Op op) {
    for (std::uint64_t i = 0; i < count; ++i) {
        Float value;
        std::memcpy(&value, from + i * sizeof value, sizeof value);
        const Key key = key_of<Key>(value, op);
        std::memcpy(to + i * sizeof key, &key, sizeof key);
    }
}
template <class Key, class Float>
void from_keys(std::byte* to, const std::byte* from, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        Key key;
        std::memcpy(&key, from + i * sizeof key, sizeof key);
        const Float value = value_of<Key, Float>(key);
        std::memcpy(to + i * sizeof value, &value, sizeof value);
    }
}

template <class T>
T identity_of(Op op) {
    switch (op) {
        case Op::prod:
            return T{1};
        case Op::min:
            return std::numeric_limits<T>::max();
        case Op::max:
            return std::numeric_limits<T>::lowest();
        case Op::band:
            if constexpr (std::is_integral_v<T>) return static_cast<T>(~T{0});
            break;
        default:
            break;
    }
    // Sums start from -0.0: -0.0 + x equals x even for x = -0.0, unlike +0.0 + x.
    if constexpr (std::is_floating_point_v<T>) return -T{0};
    return T{0};
}

template <class T>
void fill_with(std::byte* to, std::uint64_t count, Op op) {
    const T value = identity_of<T>(op);
    for (std::uint64_t i = 0; i < count; ++i)
        std::memcpy(to + i * sizeof value, &value, sizeof value);
}

using Fill = void (*)(std::byte*, std::uint64_t, Op);
/// Returns nullptr if the network does not combine elements of this type.
Fill fill_of(Type type) {
    switch (type) {
        case Type::int8:
            return &fill_with<std::int8_t>;
        case Type::int16:
            return &fill_with<std::int16_t>;
        case Type::int32:
            return &fill_with<std::int32_t>;
        case Type::int64:
            return &fill_with<std::int64_t>;
        case Type::uint8:
            return &fill_with<std::uint8_t>;
        case Type::uint16:
            return &fill_with<std::uint16_t>;
        case Type::uint32:
            return &fill_with<std::uint32_t>;
        case Type::uint64:
            return &fill_with<std::uint64_t>;
        case Type::float32:
            return &fill_with<float>;
        case Type::float64:
            return &fill_with<double>;
        default:
            return nullptr;
    }
}

bool is_offloaded_op(Op op) {
    switch (op) {
        case Op::sum:
        case Op::prod:
        case Op::min:
        case Op::max:
        case Op::band:
        case Op::bor:
        case Op::bxor:
            return true;
        default:
            return false;
    }
}

}  // namespace

OffloadElements offload_elements(Type type, Op op) {
    if (is_floating(type) && (op == Op::min || op == Op::max))
        return {type == Type::float32 ? Type::int32 : Type::int64, true, true};
    return {type, false, !is_floating(type)};
}

bool OffloadElements::are_combined(Op op) const {
    return is_offloaded_op(op) && fill_of(type) != nullptr;
}

void OffloadElements::fill(std::byte* to, std::uint64_t count, Op op) const {
    fill_of(type)(to, count, op);
}

void OffloadElements::store(std::byte* to, const std::byte* from, std::uint64_t count,
                            Op op) const {
    if (!keyed)
        base::copy_bytes(to, from, count * base::size_of(type));
    else if (type == Type::int32)
        to_keys<std::int32_t, float>(to, from, count, op);
    else
        to_keys<std::int64_t, double>(to, from, count, op);
}

void OffloadElements::load(std::byte* to, const std::byte* from, std::uint64_t count) const {
    if (!keyed)
        base::copy_bytes(to, from, count * base::size_of(type));
    else if (type == Type::int32)
        from_keys<std::int32_t, float>(to, from, count);
    else
        from_keys<std::int64_t, double>(to, from, count);
}

}  // namespace weft::run
