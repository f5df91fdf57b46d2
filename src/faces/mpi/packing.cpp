// SPDX-License-Identifier: BSD-3-Clause
#include "faces/mpi/packing.hpp"

#include <algorithm>
#include <cstdint>
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

// --- elements above kPackedMax -------------------------------------------------------------------

// MPI_COMM_SELF: packed bytes are the same for all communicators, and the program may have freed
// the communicator of the call.

#if MPI_VERSION >= 4

int pack_large(const Located& from, std::byte* to, std::size_t bytes) {
    MPI_Count position = 0;
    return PMPI_Pack_c(from.memory(), from.count(), from.type(), to, static_cast<MPI_Count>(bytes),
                       &position, MPI_COMM_SELF);
}

int unpack_large(const std::byte* from, std::size_t bytes, const Located& to) {
    MPI_Count position = 0;
    return PMPI_Unpack_c(from, static_cast<MPI_Count>(bytes), &position, to.memory(), to.count(),
                         to.type(), MPI_COMM_SELF);
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

/// Uses a separate communicator, so that no receive of the program matches the message.
int send_to_self(const void* from, int sent, MPI_Datatype sent_type, void* to, int received,
                 MPI_Datatype received_type) {
    MPI_Comm self = MPI_COMM_NULL;
    if (const int error = PMPI_Comm_dup(MPI_COMM_SELF, &self); error != MPI_SUCCESS) return error;
    const int error = PMPI_Sendrecv(from, sent, sent_type, 0, 0, to, received, received_type, 0, 0,
                                    self, MPI_STATUS_IGNORE);
    PMPI_Comm_free(&self);
    return error;
}

int pack_large(const Located& from, std::byte* to, std::size_t bytes) {
    MPI_Datatype type = bytes_as_type(bytes);
    const int error = send_to_self(from.memory(), from.count(), from.type(), to, 1, type);
    PMPI_Type_free(&type);
    return error;
}

int unpack_large(const std::byte* from, std::size_t bytes, const Located& to) {
    MPI_Datatype type = bytes_as_type(bytes);
    const int error = send_to_self(from, 1, type, to.memory(), to.count(), to.type());
    PMPI_Type_free(&type);
    return error;
}

#endif

int pack_piece(const Located& from, std::byte* to, std::size_t bytes) {
    if (bytes > kPackedMax) return pack_large(from, to, bytes);
    int position = 0;
    return PMPI_Pack(from.memory(), from.count(), from.type(), to, static_cast<int>(bytes),
                     &position, MPI_COMM_SELF);
}

int unpack_piece(const std::byte* from, std::size_t bytes, const Located& to) {
    if (bytes > kPackedMax) return unpack_large(from, bytes, to);
    int position = 0;
    return PMPI_Unpack(from, static_cast<int>(bytes), &position, to.memory(), to.count(), to.type(),
                       MPI_COMM_SELF);
}

/// Calls move(memory of the elements, offset of their bytes, bytes) for pieces of kPackedMax bytes
/// or of one element; stops at the first error, which it returns.
template <class Data, class Move>
int in_pieces(const Data& data, Move move) {
    const std::size_t fitting = std::max<std::size_t>(1, kPackedMax / data.facts.size);
    const auto most = static_cast<MPI_Count>(fitting);
    for (MPI_Count done = 0; done < data.count; done += most) {
        const MPI_Count piece = std::min(most, data.count - done);
        const Located located(at(data.memory, done * data.facts.extent), static_cast<int>(piece),
                              data.type);
        const int error = move(located, bytes_of(done, data.facts), bytes_of(piece, data.facts));
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

}  // namespace

const std::byte* at(const void* memory, std::ptrdiff_t offset) {
    return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(memory) +
                                              static_cast<std::uintptr_t>(offset));
}

int Packing::pack() const {
    if (facts.size == 0 || count == 0) return MPI_SUCCESS;
    if (facts.contiguous) {
        std::memcpy(to, memory, bytes_of(count, facts));
        return MPI_SUCCESS;
    }
    return in_pieces(*this, [&](const Located& from, std::size_t before, std::size_t bytes) {
        return pack_piece(from, to + before, bytes);
    });
}

void Unpacking::keep() {
    kept = PMPI_Type_dup(type, &type) == MPI_SUCCESS;
}

int Unpacking::unpack() {
    int error = MPI_SUCCESS;
    if (facts.size != 0)
        error = in_pieces(*this, [&](const Located& into, std::size_t before, std::size_t bytes) {
            return unpack_piece(from + before, bytes, into);
        });
    if (kept) PMPI_Type_free(&type);
    return error;
}

}  // namespace weft::mpi
