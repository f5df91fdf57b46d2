// SPDX-License-Identifier: BSD-3-Clause
// packing.cpp - packs and unpacks data of types that are not contiguous, with the host's functions.
//
// Idea     Types with a list of blocks are copied by it (blocks.hpp); the host packs other types.
//          The host counts packed bytes in ints, so data is packed in pieces of up to 1 GiB. To
//          pack one element of more than 1 GiB, the rank sends it to itself and receives bytes.
// Holds    Packing does not use the tables of types.cpp, so several threads may pack at a time.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "faces/mpi/call_data.hpp"

namespace weft::mpi {

namespace {

/// Largest number of bytes to pack in one call: the host counts bytes in an int.
constexpr std::size_t kPackedMax = std::size_t{1} << 30;

// Packing uses MPI_COMM_SELF: packed bytes are equal for all communicators, and the program may
// have freed the communicator of the call.

/// Returns a type of `bytes` bytes, which may exceed the range of an int.
MPI_Datatype bytes_as_type(std::size_t bytes) {
    MPI_Datatype piece = MPI_DATATYPE_NULL;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    PMPI_Type_contiguous(static_cast<int>(kPackedMax), MPI_BYTE, &piece);
    const int lengths[2] = {static_cast<int>(bytes / kPackedMax),
                            static_cast<int>(bytes % kPackedMax)};
    const MPI_Aint places[2] = {0, static_cast<MPI_Aint>(bytes - bytes % kPackedMax)};
    const MPI_Datatype types[2] = {piece, MPI_BYTE};
    PMPI_Type_create_struct(2, lengths, places, types, &made);
    PMPI_Type_commit(&made);
    PMPI_Type_free(&piece);
    return made;
}

/// Packs or unpacks an element above kPackedMax by a message to this rank itself, on a separate
/// communicator, so that no receive of the program matches the message.
int move_large(const Packing& piece, bool packs) {
    MPI_Comm self = MPI_COMM_NULL;
    if (const int error = PMPI_Comm_dup(MPI_COMM_SELF, &self); error != MPI_SUCCESS) return error;
    MPI_Datatype bytes = bytes_as_type(piece.bytes());
    const int error = packs ? PMPI_Sendrecv(piece.memory, 1, piece.type, 0, 0, piece.packed, 1,
                                            bytes, 0, 0, self, MPI_STATUS_IGNORE)
                            : PMPI_Sendrecv(piece.packed, 1, bytes, 0, 0, piece.memory, 1,
                                            piece.type, 0, 0, self, MPI_STATUS_IGNORE);
    PMPI_Type_free(&bytes);
    PMPI_Comm_free(&self);
    return error;
}

int move_piece(const Packing& piece, bool packs) {
    if (piece.bytes() > kPackedMax) return move_large(piece, packs);
    int position = 0;
    const int bytes = static_cast<int>(piece.bytes());
    const int count = static_cast<int>(piece.count);
    return packs ? PMPI_Pack(piece.memory, count, piece.type, piece.packed, bytes, &position,
                             own_comm)
                 : PMPI_Unpack(piece.packed, bytes, &position, piece.memory, count, piece.type,
                               own_comm);
}

/// Packs or unpacks pieces of at most kPackedMax bytes, or of one element. Returns the first error.
/// The host refuses a null pointer as the address of data, although MPI_BOTTOM may be null. Such
/// data is passed with the address of a variable, and a type whose offset subtracts this address.
int move(Packing piece, bool packs) {
    if (piece.bytes() == 0) return MPI_SUCCESS;
    if (piece.facts.contiguous) {
        std::memcpy(packs ? piece.packed : piece.memory, packs ? piece.memory : piece.packed,
                    piece.bytes());
        return MPI_SUCCESS;
    }
    if (const BlockList* const blocks = piece.facts.blocks.get()) {
        blocks->move(piece.memory, piece.packed, static_cast<std::size_t>(piece.count),
                     piece.facts.extent, packs, piece.strided);
        return MPI_SUCCESS;
    }
    MPI_Datatype made = MPI_DATATYPE_NULL;
    if (piece.memory == nullptr) {
        static std::byte anchor;
        const int once = 1;
        const auto back = static_cast<MPI_Aint>(-reinterpret_cast<std::uintptr_t>(&anchor));
        int error = PMPI_Type_create_hindexed(1, &once, &back, piece.type, &made);
        if (error == MPI_SUCCESS) error = PMPI_Type_commit(&made);
        if (error != MPI_SUCCESS) return error;
        piece.type = made;
        piece.memory = &anchor;
    }
    const auto piece_max =
        static_cast<MPI_Count>(std::max<std::size_t>(1, kPackedMax / piece.facts.size));
    int error = MPI_SUCCESS;
    for (MPI_Count left = piece.count; left > 0 && error == MPI_SUCCESS; left -= piece_max) {
        piece.count = std::min(piece_max, left);
        error = move_piece(piece, packs);
        piece.memory = at(piece.memory, piece.count * piece.facts.extent);
        piece.packed += piece.bytes();
    }
    if (made != MPI_DATATYPE_NULL) PMPI_Type_free(&made);
    return error;
}

}  // namespace

int Packing::pack() const {
    return move(*this, true);
}

void Packing::keep() {
    // Copies of predefined types cannot be reduced.
    if (kept != nullptr || bytes() == 0 || is_predefined(type)) return;
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    if (PMPI_Type_dup(type, &copy) != MPI_SUCCESS) return;
    type = copy;
    kept = std::shared_ptr<const void>(nullptr, [copy](const void*) {
        MPI_Datatype last = copy;
        PMPI_Type_free(&last);
    });
}

int Packing::unpack() const {
    return move(*this, false);
}

// --- memory for packed bytes ---------------------------------------------------------------------

namespace {

/// Memory that calls have returned, up to kHeldMax bytes; larger pieces are freed. The system maps
/// a new piece page by page, which takes the time of a copy.
struct HeldRooms {
    static constexpr std::size_t kHeldMax = std::size_t{64} << 20;
    std::mutex mutex;
    std::multimap<std::size_t, std::byte*> by_size;
    std::size_t bytes = 0;
};
HeldRooms& held_rooms() {
    static HeldRooms& only = *new HeldRooms;  // never destroyed: calls may end while it exits
    return only;
}

}  // namespace

Room::Room(std::size_t bytes) : bytes_(std::bit_ceil(std::max<std::size_t>(bytes, 64))) {
    HeldRooms& held = held_rooms();
    if (bytes_ >= kPooledMin) {
        const std::lock_guard lock(held.mutex);
        if (const auto found = held.by_size.find(bytes_); found != held.by_size.end()) {
            memory_ = found->second;
            held.by_size.erase(found);
            held.bytes -= bytes_;
            return;
        }
    }
    memory_ = new std::byte[bytes_];
}

Room::~Room() {
    if (memory_ == nullptr) return;
    HeldRooms& held = held_rooms();
    if (bytes_ >= kPooledMin) {
        const std::lock_guard lock(held.mutex);
        if (held.bytes + bytes_ <= HeldRooms::kHeldMax) {
            held.by_size.emplace(bytes_, memory_);
            held.bytes += bytes_;
            return;
        }
    }
    delete[] memory_;
}

}  // namespace weft::mpi
