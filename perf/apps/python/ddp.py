#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ddp.py - trains a small network on generated data with DistributedDataParallel; prints loss and time.

usage: weft run -n 2 -- python3 ddp.py [--backend weft|gloo] [--steps 50] [--width 1000]
       torchrun --nproc_per_node 2 ddp.py
"""
import argparse
import time

import torch
import torch.distributed as dist
import weft.torch
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser(description="trains a small network with DistributedDataParallel")
    parser.add_argument("--backend", default="weft")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--width", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group(options.backend)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(20, options.width), torch.nn.Tanh(),
                              torch.nn.Linear(options.width, options.width), torch.nn.Tanh(),
                              torch.nn.Linear(options.width, 1))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    torch.manual_seed(dist.get_rank() + 1)  # each rank has its own data
    begin = time.perf_counter()
    for _ in range(options.steps):
        inputs = torch.rand(8, 20)
        loss = (model(inputs) - inputs.sin().sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    seconds = time.perf_counter() - begin
    loss = loss.detach()
    dist.all_reduce(loss)
    if dist.get_rank() == 0:
        print(f"{options.backend}: loss {loss.item() / dist.get_world_size():.5f}, "
              f"{1000 * seconds / options.steps:.1f} ms per step")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
