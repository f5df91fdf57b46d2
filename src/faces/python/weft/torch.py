# SPDX-License-Identifier: BSD-3-Clause
"""weft.torch - the backend "weft" of torch.distributed, for tensors on the CPU.

    import torch.distributed as dist
    import weft.torch

    dist.init_process_group("weft")      # weft run -n 4 -- python3 program.py, or torchrun, mpirun, srun

Importing this module registers the backend. It also lets env:// work under PMIx launchers, where the variables RANK
and MASTER_ADDR are not set, and lets dist.monitored_barrier() accept groups of this backend.
"""
import atexit
import datetime
import importlib
import os
import socket

import torch.distributed as dist
from torch.distributed import distributed_c10d

from . import _torch_job
from ._torch_group import ProcessGroupWeft
from ._torch_work import COMPLETER, Work

__all__ = ["ProcessGroupWeft", "Work"]


def _store_of(job, timeout):
    """Returns a Store of all ranks of a job; rank 0 has its server."""
    server = dist.TCPStore("localhost", 0, job.size, True, timeout, wait_for_workers=False) if job.rank == 0 else None
    name = socket.gethostname()
    host, port = job.world.broadcast_object((name, server.port) if server else None)
    if server is not None:
        return server
    return dist.TCPStore("localhost" if host == name else host, port, job.size, False, timeout, wait_for_workers=False)


rendezvous = importlib.import_module("torch.distributed.rendezvous")  # the package has a function of this name
_env_handler = rendezvous._rendezvous_handlers["env"]


def _rendezvous_of_launcher(url, timeout=datetime.timedelta(minutes=30), **more):
    """Handles env:// with the job of a PMIx launcher, unless torch's variables are set."""
    if "rank=" in url or "RANK" in os.environ or not _torch_job.started_by_launcher():
        yield from _env_handler(url, timeout=timeout, **more)
        return
    job = _torch_job.job_of_launcher()
    # The job keeps the server, because slow ranks may use it when rank 0 has destroyed its process group.
    job.store = job.store or _store_of(job, timeout)
    job.rendezvous_count += 1
    yield dist.PrefixStore(f"weft/{job.rendezvous_count}", job.store), job.rank, job.size
    raise RuntimeError("Unable to perform re-rendezvous using env:// method")


_monitored_barrier = distributed_c10d.monitored_barrier


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Does torch.distributed.monitored_barrier(), also for groups of weft."""
    own = group if group is not None else dist.GroupMember.WORLD
    if not isinstance(own, ProcessGroupWeft):
        return _monitored_barrier(group, timeout, wait_all_ranks)
    return own.monitored_barrier(timeout, wait_all_ranks)


if "WEFT" not in getattr(dist.Backend, "_plugins", {}):
    try:
        dist.Backend.register_backend("weft", ProcessGroupWeft, devices=["cpu"])
    except TypeError:  # torch 1 has no devices
        dist.Backend.register_backend("weft", ProcessGroupWeft)
    rendezvous._rendezvous_handlers["env"] = _rendezvous_of_launcher
    distributed_c10d.monitored_barrier = dist.monitored_barrier = monitored_barrier
    atexit.register(_torch_job.leave_all, COMPLETER.stop)
