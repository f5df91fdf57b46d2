// SPDX-License-Identifier: BSD-3-Clause
// neighbors.h - calls of the C interface in which each member exchanges blocks with its neighbors
// alone.
//
// Its names and rules are those of weft.h. Neighbors are those of a directed graph, or
// of a Cartesian grid; every member names its own. All members of the team make a call of them,
// also those without neighbors. Messages go straight from rank to rank. It is a weft_alltoallv() in
// all but its arrays: it can be mixed with that on other members.
#ifndef WEFT_NEIGHBORS_H
#define WEFT_NEIGHBORS_H

#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_neighbors weft_neighbors;

/// Not collective. sources: whom this rank gets a block from; destinations: whom it sends one to;
/// in the order of the blocks. A member is named once at most in each, and may be this rank. If a
/// names b as a destination, b names a as a source. No array is needed of which the count is 0.
WEFT_API weft_status weft_neighbors_create(weft_team* team, const int* sources, int source_count,
                                           const int* destinations, int destination_count,
                                           weft_neighbors** out);
/// On a grid of all members whose last coordinate runs quickest, with `extents[d]` ranks along
/// dimension d, which is closed if `periodic[d]` is not 0: for each dimension the neighbor before
/// and the one after it, where there is one, each both a source and a destination. Where a closed
/// dimension is so short that both are the same rank, or this one itself, that rank is named once.
WEFT_API weft_status weft_neighbors_on_grid(weft_team* team, int dimensions, const int* extents,
                                            const int* periodic, weft_neighbors** out);
/// Not collective. Calls that were started go on; persistent ones can be started. Sets *neighbors
/// to NULL. They may be freed after their team, but not used.
WEFT_API weft_status weft_neighbors_free(weft_neighbors** neighbors);
/// How many there are; -1 if neighbors is NULL.
WEFT_API int weft_neighbors_sources(const weft_neighbors* neighbors);
WEFT_API int weft_neighbors_destinations(const weft_neighbors* neighbors);

/// in: a block of count elements for each destination; out: one from each source.
WEFT_API weft_status weft_neighbor_alltoall(weft_neighbors* neighbors, const void* in, void* out,
                                            size_t count, weft_type type);
/// in: one block, for all destinations; out: one from each source.
WEFT_API weft_status weft_neighbor_allgather(weft_neighbors* neighbors, const void* in, void* out,
                                             size_t count, weft_type type);
/// `in_counts[i]` elements of in, at `in_displacements[i]`, go to destination i; `out_counts[i]`
/// come from source i and go to out at `out_displacements[i]`. Displacements NULL: the blocks
/// follow each other.
WEFT_API weft_status weft_neighbor_alltoallv(weft_neighbors* neighbors, const void* in,
                                             const size_t* in_counts,
                                             const size_t* in_displacements, void* out,
                                             const size_t* out_counts,
                                             const size_t* out_displacements, weft_type type);
/// in: count elements, for all destinations; `counts[i]` elements come from source i and go to out
/// at `displacements[i]`.
WEFT_API weft_status weft_neighbor_allgatherv(weft_neighbors* neighbors, const void* in,
                                              size_t count, void* out, const size_t* counts,
                                              const size_t* displacements, weft_type type);

/// Started and persistent forms, as those of weft.h.
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
/// Exchanges of equal blocks with all members around each on a grid, those across corners too. A
/// block can go straight to each neighbor (26 messages in three dimensions), or dimension after
/// dimension, where all that goes equally far is one message (6 of them): fewer messages, more
/// bytes. Which of the two is predicted to be quicker is chosen, for each size.
/// @{
typedef struct weft_stencil weft_stencil;

typedef enum weft_way {
    WEFT_WAY_PREDICTED = 0,  ///< the quicker one, as far as is known
    WEFT_WAY_DIRECT = 1,
    WEFT_WAY_COMBINED = 2
} weft_way;

/// Not collective; the same on all members. The grid is that of weft_neighbors_on_grid(). Neighbors
/// are the members whose coordinates differ by `reach` at most: all of them, or, if star is not 0,
/// those of them that differ in one coordinate only. Its blocks are in lexical order of the
/// offsets, from -reach, -reach, ... on; of a star: dimension after dimension, the nearest first,
/// the one before this rank before the one after it.
WEFT_API weft_status weft_stencil_create(weft_team* team, int dimensions, const int* extents,
                                         const int* periodic, int star, int reach,
                                         weft_stencil** out);
/// Not collective. Sets *stencil to NULL. They may be freed after their team, but not used.
WEFT_API weft_status weft_stencil_free(weft_stencil** stencil);
/// How many blocks there are; -1 if stencil is NULL.
WEFT_API int weft_stencil_blocks(const weft_stencil* stencil);
/// The member that a block is for, and one comes from; -1 where the grid ends, or if there is no
/// such block. On a short periodic dimension a member can be a neighbor several times, and this
/// rank its own.
WEFT_API int weft_stencil_neighbor(const weft_stencil* stencil, int block);
/// The same on all members, for calls from now on.
WEFT_API weft_status weft_stencil_set_way(weft_stencil* stencil, weft_way way);

/// Collective. in: a block of count elements for each neighbor; out: one from each. In place of a
/// neighbor that is missing, nothing is read or written. in and out are separate.
WEFT_API weft_status weft_stencil_alltoall(weft_stencil* stencil, const void* in, void* out,
                                           size_t count, weft_type type);
/// The same with one block for all neighbors.
WEFT_API weft_status weft_stencil_allgather(weft_stencil* stencil, const void* in, void* out,
                                            size_t count, weft_type type);
/// @}

#ifdef __cplusplus
}
#endif

#endif
