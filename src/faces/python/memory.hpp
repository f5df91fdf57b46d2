// SPDX-License-Identifier: BSD-3-Clause
// memory.hpp - symmetric memory and one-sided calls of a team.
//
// Holds    Memory of a peer is named by this rank's array in the same symmetric memory.
#pragma once

#include <optional>

#include "faces/python/calls.hpp"

namespace weft::python {

/// Allocates symmetric memory, cleared if `clear` is set. Returns a memoryview of bytes.
/// Collective.
py::object allocate(TeamObject& team, std::size_t bytes, bool clear);
/// Frees memory of allocate(). Collective.
void free_memory(TeamObject& team, const py::object& array);
/// Returns a memoryview of a local peer's memory; None if this rank cannot access it.
py::object peer_memory(TeamObject& team, const py::object& array, int peer);

void put(TeamObject& team, const py::object& target, const py::object& data, int peer);
void put_signal(TeamObject& team, const py::object& target, const py::object& data,
                const py::object& signal, std::uint64_t value, int peer, bool add);
py::object get(TeamObject& team, const py::object& source, int peer, py::object recv);
/// Start a put or a get that quiet() completes; the team keeps data and recv until then.
void put_nbi(TeamObject& team, const py::object& target, const py::object& data, int peer);
py::object get_nbi(TeamObject& team, const py::object& source, int peer, py::object recv);
void fence(TeamObject& team);
void quiet(TeamObject& team, std::optional<double> timeout_s);

/// Changes a peer's word; returns the former value. operand, compare: None if `kind` has none.
py::object change_word(TeamObject& team, weft_atomic_kind kind, const py::object& word,
                       const py::object& operand, const py::object& compare, int peer);
/// Changes a peer's word without a result.
void change_word_nbi(TeamObject& team, weft_atomic_kind kind, const py::object& word,
                     const py::object& operand, int peer);
/// Waits until the comparison of this rank's word with `value` is true. Returns the word's value.
py::object wait_until(TeamObject& team, const py::object& word, weft_compare compare,
                      const py::object& value, std::optional<double> timeout_s);
bool test_until(TeamObject& team, const py::object& word, weft_compare compare,
                const py::object& value);

/// Acquire, try to acquire, and release a lock in one uint64 word.
void lock_set(TeamObject& team, const py::object& word);
bool lock_test(TeamObject& team, const py::object& word);
void lock_clear(TeamObject& team, const py::object& word);

}  // namespace weft::python
