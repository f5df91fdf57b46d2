// SPDX-License-Identifier: BSD-3-Clause
// failures.h - teams that outlive ranks: revoke, agree and shrink. weft.h includes it.
//
// These calls need WEFT_ON_FAILURE=continue, which `weft run --keep-going` sets. The death of a
// rank then ends neither the job nor other ranks. All teams with this rank fail: their collectives
// and waits, and one-sided calls to this rank, return WEFT_ERR_PEER; weft_last_error() names the
// rank. One-sided calls to other members continue to work, and so do all other teams. All ranks
// must be on one machine, on any number of virtual nodes. docs/reliability.md states what mpirun
// and srun support.
#ifndef WEFT_FAILURES_H
#define WEFT_FAILURES_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Makes all later and unfinished collectives and waits of the team fail on all members, with
/// WEFT_ERR_PEER. Not collective; does not wait. Use it so that members that wait for this rank
/// notice that it has given up a call.
WEFT_API weft_status weft_team_revoke(weft_team* team);
/// Agrees with all surviving members. Collective over the survivors, in the same order as
/// weft_team_shrink(); works on failed and revoked teams, and while further members die. *word: a
/// vote, replaced by the bitwise and of the votes, which is equal on all survivors. *dead: number
/// of dead members, which is equal on all survivors; weft_team_dead() then lists at least these.
/// dead may be NULL.
WEFT_API weft_status weft_agree(weft_team* team, uint64_t* word, int* dead);
/// Makes a team of the survivors, in the same order. Collective over the survivors. All survivors
/// get a team with the same members. If a member dies during the call, it may be a member of the
/// new team, which then fails; shrink that team again. `team` keeps its memory and handle until all
/// survivors free it; if it has ranks on several nodes, its memory stays until the runtime ends.
/// Its symmetric memory stays valid for one-sided calls between survivors, through either team. The
/// limit of weft_team_split() applies.
WEFT_API weft_status weft_team_shrink(weft_team* team, weft_team** out);
/// Lists the members that this rank knows to be dead, in ascending order: writes up to `capacity`
/// of their team ranks to `ranks`, which may be NULL if capacity is 0. *count: number of dead
/// members. Not collective.
WEFT_API weft_status weft_team_dead(weft_team* team, int* ranks, int capacity, int* count);

#ifdef __cplusplus
}
#endif

#endif
