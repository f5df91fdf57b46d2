// SPDX-License-Identifier: BSD-3-Clause
// failures.h - how survivors of dead ranks continue: revoke, agree and shrink.
//
// weft.h includes this header, and its rules apply. These calls need WEFT_ON_FAILURE=continue,
// which `weft run --keep-going` sets. The death of a rank then ends neither the job nor other
// ranks. All teams of the dead rank fail: their collectives and waits, and one-sided calls to the
// dead rank, return WEFT_ERR_PEER, and weft_last_error() names the rank. One-sided calls to other
// members continue to work, and so do all other teams. All ranks must be on one machine, on any
// number of virtual nodes. docs/reliability.md states what mpirun and srun support.
//
// Source   MPI_Comm_revoke, MPI_Comm_agree and MPI_Comm_shrink of User-Level Failure Mitigation;
//          docs/agreement.md has the protocol and its proof.
#ifndef WEFT_FAILURES_H
#define WEFT_FAILURES_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Makes all later and unfinished collectives and waits of the team fail on all members, with
/// WEFT_ERR_PEER. Not collective; does not wait. A member that gives up a call revokes the team, so
/// that the members that wait for it do not wait forever.
WEFT_API weft_status weft_team_revoke(weft_team* team);
/// Agrees with all surviving members on a word and on the dead members. Collective over the
/// survivors; they call weft_agree() and weft_team_shrink() of a team in the same order. Works on
/// failed and revoked teams, and while further members die. *word: this rank's vote, replaced by
/// the bitwise and of all votes. *dead: number of dead members; weft_team_dead() then lists at
/// least these. Both results are equal on all survivors. dead may be NULL.
WEFT_API weft_status weft_agree(weft_team* team, uint64_t* word, int* dead);
/// Makes a team of the survivors, in their order in `team`. Collective over the survivors, which
/// all get the same members. A member that dies during the call may still be a member of the new
/// team, which then fails; shrink the new team again. The handle and the symmetric memory of `team`
/// stay valid, for one-sided calls between survivors through either team, until all survivors free
/// `team`. If `team` has ranks on several nodes, its memory is freed at the end of the runtime. The
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
