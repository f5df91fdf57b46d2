// SPDX-License-Identifier: BSD-3-Clause
// trials.cpp - verdicts of trials in the layer: from earlier jobs, from other communicators, and by
// comparing the times of a communicator's members.
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "faces/mpi/layer.hpp"

namespace weft::mpi {

namespace {

#if defined(OPEN_MPI)
constexpr std::string_view kHostName = "openmpi";
#else
constexpr std::string_view kHostName = "mpich";
#endif

}  // namespace

/// Exchange `join`: all ranks of the world start with the verdicts that rank 0 has read.
void Layer::read_tuning() {
    if (tuning_file_.empty()) return;
    int rank = 0;
    PMPI_Comm_rank(own_, &rank);
    const auto content = rank == 0 ? content_of(tuning_file_) : "";
    if (!content) tuning_file_.clear();  // and is not written
    std::string text = content.value_or("");
    int length = static_cast<int>(text.size());
    PMPI_Bcast(&length, 1, MPI_INT, 0, own_);
    text.resize(static_cast<std::size_t>(length));
    PMPI_Bcast(text.data(), length, MPI_CHAR, 0, own_);
    std::string complaint;
    known_ = read_ways(text, kHostName, complaint);
    if (rank == 0 && !complaint.empty())
        std::fprintf(stderr, "weft: %s: this line is not understood: %s\n", tuning_file_.c_str(),
                     complaint.c_str());
}

void Layer::write_tuning() {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (tuning_file_.empty() || !news_ || rank != 0) return;
    const auto content = content_of(tuning_file_);
    if (!content) return;
    if (!replace_content(tuning_file_, write_ways(*content, kHostName, known_)))
        std::fprintf(stderr, "weft: %s cannot be written\n", tuning_file_.c_str());
}

/// Part of exchange `team`: all members take the verdicts that rank 0 knows. Verdicts of members
/// may differ, because each rank has those of the communicators that it was in.
void Layer::share_choices(Communicator& at) {
    if (kinds_chosen_ == 0) return;
    Choices::Ways ways{};
    {
        const std::lock_guard lock(tables_mutex());
        ways = known_[at.place.size];
    }
    PMPI_Bcast(ways.data(), static_cast<int>(sizeof ways), MPI_BYTE, 0, at.place.comm);
    at.choices = std::make_unique<Choices>(ways);
}

/// Exchange `trial`: the verdict comes from times that all members have compared. Guarantees
/// `order` and `bytes`: all members ask about the same place.
bool Layer::hosts_are_quicker(Communicator& at, const PreparedCall& call) {
    return at.choices->goes_to_host(Choices::place_of(call.kind(), call.common_bytes()));
}

/// Exchange `trial`. Called after all members have made the last call of the trial.
void Layer::compare(Communicator& at, Choices::Place place) {
    const Choices::Blocks mine = at.choices->blocks(place);
    Choices::Blocks longest{};
    PMPI_Allreduce(mine.data(), longest.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX,
                   at.place.comm);
    forget_shortcuts(at.place.comm);  // they point to a counter of this trial, which may end now
    if (!at.choices->decide(place, longest)) return;
    const std::lock_guard lock(tables_mutex());
    known_[at.place.size][place] = at.choices->way(place);
    news_ = true;
}

/// Sends the next *left calls of this kind to the host; no call if `left` is nullptr.
void Layer::remember_host(Kind kind, const Shortcut& shortcut, Glances* left) {
    const auto lasts = [](MPI_Datatype type) {
        return type == MPI_DATATYPE_NULL || is_builtin(type);
    };
    if (left == nullptr || threaded_ || statistics_.wanted()) return;
    if (lasts(shortcut.type) && lasts(shortcut.other_type) && is_builtin_operation(shortcut.op))
        remember(kind, shortcut, left);
}

}  // namespace weft::mpi
