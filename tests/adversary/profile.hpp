// SPDX-License-Identifier: BSD-3-Clause
// profile.hpp - what one fabric offers and demands, read from a text of one line for each fact.
//
// Idea     A line is a name, its values, and after '#' where the fact stands. A line without a
//          source is refused, so that a profile is a collection of references and not of guesses.
// Next     profiles/ for the fabrics; README.md for all names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace adversary {

enum class Order : std::uint8_t {
    none,      ///< writes land in any order
    location,  ///< where it is asked for, writes to one location land in their order
    stream,    ///< bytes of one origin land in the order in which they were posted
};
enum class Delivery : std::uint8_t {
    real,     ///< a completion waits until the data has landed
    early,    ///< the flag is accepted and means nothing
    refused,  ///< a write with it is refused
};
enum class Fence : std::uint8_t {
    none,
    delivery,    ///< waits until earlier writes have landed
    completion,  ///< waits until earlier writes have left
};

struct Profile {
    std::string path;
    std::string name;        ///< the provider's, "core;layer" where it is layered
    std::uint64_t caps = 0;  ///< beyond FI_RMA and its directions
    std::uint64_t mode = 0;
    int mr_mode = 0;
    std::size_t key_bytes = 8;
    std::uint64_t fast_keys_below = 0;  ///< a key that is chosen and not below: slow; 0: no such
    std::size_t immediate_bytes = 8;
    bool immediate_writes = true;
    std::size_t inject_bytes = 64;
    std::size_t message_bytes = std::size_t{1} << 30;
    std::size_t registered_bytes = ~std::size_t{0};
    std::size_t registrations = ~std::size_t{0};
    std::size_t sources = 1;      ///< of one write
    std::size_t places = 1;       ///< that one write goes to
    std::size_t transfers = 256;  ///< posted and not complete
    std::size_t ranks = 0;        ///< that an address vector takes; 0: any
    Order order = Order::none;
    std::size_t order_bytes = 0;
    Delivery delivery = Delivery::real;
    Fence fence = Fence::none;
    bool whole_words = true;       ///< aligned 8-byte words are stored whole
    bool lands_by_itself = false;  ///< without progress of the target
    bool auto_progress = false;    ///< as it is advertised
    bool connects_late = false;    ///< first writes to a peer are refused for a while
};

/// Throws std::runtime_error with path and line.
[[nodiscard]] Profile read_profile(const std::string& path);

}  // namespace adversary
