// SPDX-License-Identifier: BSD-3-Clause
// neighbors.h - calls of the C interface that exchange blocks between neighbors.
//
// The rules of weft.h apply. Each member lists its own neighbors, in a directed graph or a
// Cartesian grid. All members of the team make a neighbor call, even members without neighbors.
// Messages are sent directly from rank to rank. A neighbor call is a weft_alltoallv() whose arrays
// have entries for neighbors only, so any member may call weft_alltoallv() with equivalent arrays
// instead. Counts and displacements are in elements of `type`.
#ifndef WEFT_NEIGHBORS_H
#define WEFT_NEIGHBORS_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_neighbors weft_neighbors;

/// Makes a list of neighbors. Not collective. sources: ranks that send a block to this rank;
/// destinations: ranks that receive a block from this rank; both in the order of the blocks. Each
/// array names a member at most once, and may name this rank. Rank a must name b as a destination
/// if and only if b names a as a source. An array is read during the call only, and may be NULL if
/// its count is 0. *out: the list, which weft_neighbors_free() frees; NULL on failure.
WEFT_API weft_status weft_neighbors_create(weft_team* team, const int* sources, int source_count,
                                           const int* destinations, int destination_count,
                                           weft_neighbors** out);
/// Makes the list for a grid of all members, whose last coordinate varies fastest. Dimension d has
/// `extents[d]` ranks and is periodic if `periodic[d]` is not 0. Sources and destinations are, in
/// this order, the previous and the next rank of each dimension, where they exist. A rank is listed
/// once, also if it is both, as in a periodic dimension of two ranks, or of one (this rank itself).
WEFT_API weft_status weft_neighbors_on_grid(weft_team* team, int dimensions, const int* extents,
                                            const int* periodic, weft_neighbors** out);
/// Frees the list and sets *neighbors to NULL. Not collective. Calls in flight continue; persistent
/// calls can still be started. After the end of the team, a list may only be freed.
WEFT_API weft_status weft_neighbors_free(weft_neighbors** neighbors);
/// Return the number of sources or destinations; -1 if neighbors is NULL.
WEFT_API int weft_neighbors_sources(const weft_neighbors* neighbors);
WEFT_API int weft_neighbors_destinations(const weft_neighbors* neighbors);

/// in: a block of count elements for each destination; out: a block from each source.
WEFT_API weft_status weft_neighbor_alltoall(weft_neighbors* neighbors, const void* in, void* out,
                                            size_t count, weft_type type);
/// in: a block of count elements, sent to all destinations; out: a block from each source.
WEFT_API weft_status weft_neighbor_allgather(weft_neighbors* neighbors, const void* in, void* out,
                                             size_t count, weft_type type);
/// Sends `in_counts[i]` elements, at `in_displacements[i]` of in, to destination i. Receives
/// `out_counts[i]` elements from source i at `out_displacements[i]` of out. If displacements are
/// NULL, the blocks are contiguous. The arrays are read as in weft_alltoallv().
WEFT_API weft_status weft_neighbor_alltoallv(weft_neighbors* neighbors, const void* in,
                                             const size_t* in_counts,
                                             const size_t* in_displacements, void* out,
                                             const size_t* out_counts,
                                             const size_t* out_displacements, weft_type type);
/// in: count elements, sent to all destinations. Receives `counts[i]` elements from source i at
/// `displacements[i]` of out. If displacements is NULL, the blocks are contiguous.
WEFT_API weft_status weft_neighbor_allgatherv(weft_neighbors* neighbors, const void* in,
                                              size_t count, void* out, const size_t* counts,
                                              const size_t* displacements, weft_type type);

/// @name Started and persistent forms
/// They act as in core.h: see weft_iallreduce() and weft_allreduce_init() there.
/// @{
WEFT_API weft_status weft_ineighbor_alltoall(weft_neighbors* neighbors, const void* in, void* out,
                                             size_t count, weft_type type, weft_request** request);
WEFT_API weft_status weft_ineighbor_allgather(weft_neighbors* neighbors, const void* in, void* out,
                                              size_t count, weft_type type, weft_request** request);
WEFT_API weft_status weft_ineighbor_alltoallv(weft_neighbors* neighbors, const void* in,
                                              const size_t* in_counts,
                                              const size_t* in_displacements, void* out,
                                              const size_t* out_counts,
                                              const size_t* out_displacements, weft_type type,
                                              weft_request** request);
WEFT_API weft_status weft_ineighbor_allgatherv(weft_neighbors* neighbors, const void* in,
                                               size_t count, void* out, const size_t* counts,
                                               const size_t* displacements, weft_type type,
                                               weft_request** request);
WEFT_API weft_status weft_neighbor_alltoall_init(weft_neighbors* neighbors, const void* in,
                                                 void* out, size_t count, weft_type type,
                                                 weft_request** request);
WEFT_API weft_status weft_neighbor_allgather_init(weft_neighbors* neighbors, const void* in,
                                                  void* out, size_t count, weft_type type,
                                                  weft_request** request);
WEFT_API weft_status weft_neighbor_alltoallv_init(weft_neighbors* neighbors, const void* in,
                                                  const size_t* in_counts,
                                                  const size_t* in_displacements, void* out,
                                                  const size_t* out_counts,
                                                  const size_t* out_displacements, weft_type type,
                                                  weft_request** request);
WEFT_API weft_status weft_neighbor_allgatherv_init(weft_neighbors* neighbors, const void* in,
                                                   size_t count, void* out, const size_t* counts,
                                                   const size_t* displacements, weft_type type,
                                                   weft_request** request);
/// @}

/// @name Stencils
/// A stencil exchanges blocks of equal size with members up to a distance on a grid. A box has
/// diagonal neighbors; a star has none. The direct method sends each block to its neighbor: 26
/// messages in a box of three dimensions and reach 1. The combined method exchanges along one
/// dimension after the other, all blocks for one member in one message: 6 messages, more bytes.
/// Source: Traeff et al., Isomorphic, sparse MPI-like collective communication operations.
/// @{
typedef struct weft_stencil weft_stencil;

/// Method of a stencil.
typedef enum weft_way {
    WEFT_WAY_PREDICTED = 0,  ///< default: the method with the lower predicted time for each call
    WEFT_WAY_DIRECT = 1,
    WEFT_WAY_COMBINED = 2
} weft_way;

/// Makes a stencil. Not collective; arguments are equal on all members. The grid is as in
/// weft_neighbors_on_grid(), with 1 to 8 dimensions. Neighbors are the members whose coordinates
/// differ by at most `reach`, 1 to 8; if star is not 0, in one coordinate only. A box has at most
/// 10,000 offsets, 0 included. Its blocks are in lexicographic order of the offsets, from
/// (-reach, ..., -reach) to (reach, ..., reach), without 0. A star's are ordered by dimension,
/// then by distance, the previous rank before the next rank.
WEFT_API weft_status weft_stencil_create(weft_team* team, int dimensions, const int* extents,
                                         const int* periodic, int star, int reach,
                                         weft_stencil** out);
/// Frees the stencil and sets *stencil to NULL. Not collective. After the end of the team, a
/// stencil may only be freed.
WEFT_API weft_status weft_stencil_free(weft_stencil** stencil);
/// Returns the number of blocks; -1 if stencil is NULL.
WEFT_API int weft_stencil_blocks(const weft_stencil* stencil);
/// Returns the rank of the neighbor with this block; -1 if the neighbor would be outside the grid,
/// or the block does not exist. In a periodic dimension of up to 2 * reach ranks, a member is a
/// neighbor several times, and this rank can be its own neighbor.
WEFT_API int weft_stencil_neighbor(const weft_stencil* stencil, int block);
/// Sets the method of later calls; all members must set the same method.
WEFT_API weft_status weft_stencil_set_way(weft_stencil* stencil, weft_way way);

/// Collective. in: a block of count elements for each neighbor; out: a block from each neighbor.
/// Blocks of neighbors outside the grid are neither read nor written. in and out must not overlap.
WEFT_API weft_status weft_stencil_alltoall(weft_stencil* stencil, const void* in, void* out,
                                           size_t count, weft_type type);
/// As weft_stencil_alltoall(), but `in` is a single block that all neighbors receive.
WEFT_API weft_status weft_stencil_allgather(weft_stencil* stencil, const void* in, void* out,
                                            size_t count, weft_type type);
/// @}

#ifdef __cplusplus
}
#endif

#endif
