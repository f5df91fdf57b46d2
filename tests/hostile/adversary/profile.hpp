// SPDX-License-Identifier: BSD-3-Clause
// profile.hpp - properties of a fabric, read from a file with one line for each property.
//
// Idea     A line has a name, values, and after '#' the source of the fact. Lines without a source
//          are refused, so that a profile has no guesses.
// Next     profiles/ for the fabrics; README.md for all names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace adversary {

enum class Order : std::uint8_t {
    none,      ///< writes are delivered in any order
    location,  ///< on request, writes to one location are delivered in their order
    stream,    ///< bytes of one origin are delivered in the order in which they were posted
};
enum class Delivery : std::uint8_t {
    real,     ///< a completion waits until the data is delivered
    early,    ///< the flag is accepted and has no effect
    refused,  ///< a write with the flag is refused
};
enum class Fence : std::uint8_t {
    none,
    delivery,    ///< waits until earlier writes are delivered
    completion,  ///< waits until earlier writes are sent
};

/// Properties of a fabric.
struct Profile {
    std::string path;                   ///< of the file
    std::string name;                   ///< name of the provider, "core;layer" if it is layered
    std::uint64_t caps = 0;             ///< bits FI_*, without FI_RMA and its directions
    std::uint64_t mode = 0;             ///< bits FI_* that the program must support
    int mr_mode = 0;                    ///< bits FI_MR_* that the program must support
    std::size_t key_bytes = 8;          ///< width of keys
    std::uint64_t fast_keys_below = 0;  ///< the program must use smaller keys; 0: no limit
    std::size_t immediate_bytes = 8;    ///< width of immediates
    bool immediate_writes = true;       ///< false: writes with an immediate are refused
    std::size_t inject_bytes = 64;      ///< maximum size of an inject
    std::size_t message_bytes = std::size_t{1} << 30;  ///< maximum size of an operation
    std::size_t registered_bytes = ~std::size_t{0};    ///< maximum of a domain
    std::size_t registrations = ~std::size_t{0};       ///< maximum of a domain
    std::size_t sources = 1;                           ///< limit of source buffers of one write
    std::size_t targets = 1;                           ///< limit of target buffers of one write
    std::size_t transfers = 256;                       ///< limit of operations in flight
    std::size_t ranks = 0;                             ///< limit of an address vector; 0: no limit
    std::size_t domains = 1;                           ///< NICs of the host
    std::size_t universe = 0;  ///< peers without FI_UNIVERSE_SIZE; 0: no limit by that variable
    bool batches = false;      ///< holds operations with FI_MORE until one without it
    Order order = Order::none;
    std::size_t order_bytes = 0;  ///< size of the largest write that keeps the order
    Delivery delivery = Delivery::real;
    Fence fence = Fence::none;
    bool whole_words = true;         ///< aligned 8-byte words are stored by one instruction
    bool hardware_delivers = false;  ///< delivery needs no progress of the target
    bool auto_progress = false;      ///< advertised as FI_PROGRESS_AUTO
    bool connects_late = false;      ///< the first posts to a peer are refused
};

/// Reads a profile. Throws std::runtime_error with path and line of an error.
[[nodiscard]] Profile read_profile(const std::string& path);

}  // namespace adversary
