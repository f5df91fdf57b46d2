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

#ifdef __cplusplus
}
#endif

#endif
