! SPDX-License-Identifier: BSD-3-Clause
! sums.f90 - calls from Fortran on two or more ranks: 200 allreduces, 100 broadcasts, 100
! allgathers, 100 alltoallw, 100 neighbor_alltoallw on a ring.
program sums
    use mpi
    implicit none
    integer :: rank, ranks, error, i, request, root
    integer :: status(MPI_STATUS_SIZE)
    double precision :: mine(3), total(3)
    integer, allocatable :: everyone(:), row(:)
    integer :: ring, counts(64), places(64), types(64), two(2)
    integer(kind=MPI_ADDRESS_KIND) :: offsets(2)
    logical :: right

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    allocate(everyone(ranks))
    right = .true.
    counts = 1
    places = [(4 * (i - 1), i = 1, 64)]
    types = MPI_INTEGER
    offsets = [0, 4]
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, error)
    do i = 1, 100
        mine = rank + i
        call MPI_Allreduce(mine, total, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
        right = right .and. all(total == ranks * (ranks - 1) / 2 + ranks * i)
        call MPI_Allreduce(MPI_IN_PLACE, mine, 3, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
        right = right .and. all(mine == ranks - 1 + i)
        root = mod(i, ranks)
        total = merge(7 * i, 0, rank == root)
        call MPI_Ibcast(total, 3, MPI_DOUBLE_PRECISION, root, MPI_COMM_WORLD, request, error)
        call MPI_Wait(request, status, error)
        right = right .and. all(total == 7 * i)
        call MPI_Allgather(rank + i, 1, MPI_INTEGER, everyone, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
        right = right .and. everyone(1) == i .and. everyone(ranks) == ranks - 1 + i
        row = [(rank * 100 + root, root = 1, ranks)]
        call MPI_Ialltoallw(row, counts, places, types, everyone, counts, places, types, MPI_COMM_WORLD, request, error)
        call MPI_Wait(request, status, error)
        right = right .and. all(everyone == [(root * 100 + rank + 1, root = 0, ranks - 1)])
        call MPI_Neighbor_alltoallw([rank, rank], counts, offsets, types, two, counts, offsets, types, ring, error)
        right = right .and. all(two == [modulo(rank - 1, ranks), modulo(rank + 1, ranks)])
    end do
    if (rank == 0 .and. right) print '(a)', 'sums: right'
    call MPI_Finalize(error)
    if (.not. right) stop 1
end program sums
