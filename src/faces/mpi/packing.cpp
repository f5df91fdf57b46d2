// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/packing.hpp"

#include <algorithm>
#include <cstring>

namespace weft::mpi {

namespace {

/// Largest number of bytes that the host packs at a time: its counts of bytes are ints.
constexpr std::size_t kPackedMax = std::size_t{1} << 30;

/// Data at an address that the host accepts. The host refuses a null pointer as the address of
/// data, although MPI_BOTTOM may be null. Data at a null address is passed as data at a variable's
/// address, with a type whose displacement leads back to 0.
class Located {
  public:
    Located(const void* memory, int count, MPI_Datatype type)
        : memory_(const_cast<void*>(memory)), count_(count), type_(type) {
        if (memory != nullptr) return;
        static char somewhere;
        const auto offset = static_cast<MPI_Aint>(-reinterpret_cast<std::uintptr_t>(&somewhere));
        if (PMPI_Type_create_hindexed(1, &count, &offset, type, &type_) != MPI_SUCCESS) return;
        made_ = PMPI_Type_commit(&type_) == MPI_SUCCESS;
        memory_ = &somewhere;
        count_ = 1;
    }
    ~Located() {
        if (made_) PMPI_Type_free(&type_);
    }
    Located(const Located&) = delete;
    Located& operator=(const Located&) = delete;
    [[nodiscard]] void* memory() const { return memory_; }
    [[nodiscard]] int count() const { return count_; }
    [[nodiscard]] MPI_Datatype type() const { return type_; }

  private:
    void* memory_;
    int count_;
    MPI_Datatype type_;
    bool made_ = false;
};

// MPI_COMM_SELF: packed bytes are the same for all communicators, and the program may have freed
// the communicator of the call.

#if MPI_VERSION >= 4

int move_piece(const Located& here, std::byte* packed, std::size_t bytes, bool packs) {
    MPI_Count position = 0;
    const auto size = static_cast<MPI_Count>(bytes);
    return packs ? PMPI_Pack_c(here.memory(), here.count(), here.type(), packed, size, &position,
                               MPI_COMM_SELF)
                 : PMPI_Unpack_c(packed, size, &position, here.memory(), here.count(), here.type(),
                                 MPI_COMM_SELF);
}

#else

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

/// Sends an element above kPackedMax to this rank, as bytes on one side. Uses a separate
/// communicator, so that no receive of the program matches the message.
int move_large(const Located& here, std::byte* packed, std::size_t bytes, bool packs) {
    MPI_Comm self = MPI_COMM_NULL;
    if (const int error = PMPI_Comm_dup(MPI_COMM_SELF, &self); error != MPI_SUCCESS) return error;
    MPI_Datatype type = bytes_as_type(bytes);
    const int error = packs ? PMPI_Sendrecv(here.memory(), here.count(), here.type(), 0, 0, packed,
                                            1, type, 0, 0, self, MPI_STATUS_IGNORE)
                            : PMPI_Sendrecv(packed, 1, type, 0, 0, here.memory(), here.count(),
                                            here.type(), 0, 0, self, MPI_STATUS_IGNORE);
    PMPI_Type_free(&type);
    PMPI_Comm_free(&self);
    return error;
}

int move_piece(const Located& here, std::byte* packed, std::size_t bytes, bool packs) {
    if (bytes > kPackedMax) return move_large(here, packed, bytes, packs);
    int position = 0;
    const int size = static_cast<int>(bytes);
    return packs ? PMPI_Pack(here.memory(), here.count(), here.type(), packed, size, &position,
                             MPI_COMM_SELF)
                 : PMPI_Unpack(packed, size, &position, here.memory(), here.count(), here.type(),
                               MPI_COMM_SELF);
}

#endif

/// Packs or unpacks pieces of kPackedMax bytes or of one element; stops at the first error, which
/// it returns.
int move(const Packing& data, bool packs) {
    if (data.bytes() == 0) return MPI_SUCCESS;
    const auto most =
        static_cast<MPI_Count>(std::max<std::size_t>(1, kPackedMax / data.facts.size));
    for (MPI_Count done = 0; done < data.count; done += most) {
        const MPI_Count piece = std::min(most, data.count - done);
        const Located here(at(data.memory, done * data.facts.extent), static_cast<int>(piece),
                           data.type);
        const int error = move_piece(here, data.packed + bytes_of(done, data.facts),
                                     bytes_of(piece, data.facts), packs);
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

}  // namespace

int Packing::pack() const {
    if (!facts.contiguous) return move(*this, true);
    std::memcpy(packed, memory, bytes());
    return MPI_SUCCESS;
}

void Packing::keep() {
    kept = bytes() != 0 && PMPI_Type_dup(type, &type) == MPI_SUCCESS;
}

int Packing::unpack() {
    const int error = move(*this, false);
    if (kept) PMPI_Type_free(&type);
    return error;
}

}  // namespace weft::mpi
