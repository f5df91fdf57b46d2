// SPDX-License-Identifier: BSD-3-Clause
// hello.cpp - the program in the README. A test compares the texts and measures its time.

#include <cstdio>
#include <weft/weft.hpp>

int main() {
    weft::Runtime runtime;  // joins the job that weft run, mpirun or srun started
    weft::Team world = runtime.world();

    const double sum = world.allreduce(1.0 + world.rank(), weft::Op::sum);
    if (world.rank() == 0) std::printf("%d ranks, sum %g\n", world.size(), sum);

    auto half = world.split(world.rank() % 2, world.rank());  // a team for each colour
    half->barrier();
    half->free();
    runtime.finalize();  // returns when all ranks have called it
}
