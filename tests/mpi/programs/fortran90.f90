! SPDX-License-Identifier: BSD-3-Clause
! Barrier and Bcast through "use mpi": arrays of several ranks, a derived type, a sub-communicator.
program fortran90
    use mpi
    implicit none
    integer :: ierr, rank, nranks, half, root, round
    integer :: halves
    integer :: ierr_ignored

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, halves, ierr)
    call MPI_Comm_size(halves, half, ierr)
    do round = 1, 10
        do root = 0, nranks - 1
            call matrix(MPI_COMM_WORLD, root, round)
        end do
        do root = 0, half - 1
            call matrix(halves, root, 10 * round)
        end do
        call MPI_Barrier(halves, ierr)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        call columns(mod(round, nranks))
    end do
    call MPI_Comm_free(halves, ierr)
    call MPI_Finalize(ierr_ignored)
    if (rank == 0) print '(A)', 'PASS fortran90'

contains

    subroutine expect(right, what)
        logical, intent(in) :: right
        character(*), intent(in) :: what
        if (right) return
        print '(2A)', 'FAIL fortran90: ', what
        call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
    end subroutine

    subroutine matrix(comm, root, seed)
        integer, intent(in) :: comm, root, seed
        double precision :: values(40, 30), expected(40, 30)
        integer :: i, j, here
        do j = 1, 30
            do i = 1, 40
                expected(i, j) = seed + i + 100.0d0 * j + root
            end do
        end do
        call MPI_Comm_rank(comm, here, ierr)
        values = 0
        if (here == root) values = expected
        call MPI_Bcast(values, size(values), MPI_DOUBLE_PRECISION, root, comm, ierr)
        call expect(all(values == expected), 'matrix')
    end subroutine

    ! Every third row of a matrix, as a vector type.
    subroutine columns(root)
        integer, intent(in) :: root
        integer :: values(12, 9), rows
        call MPI_Type_vector(9, 1, 12, MPI_INTEGER, rows, ierr)
        call MPI_Type_commit(rows, ierr)
        values = rank
        if (rank == root) values(3, :) = 77
        call MPI_Bcast(values(3, 1), 1, rows, root, MPI_COMM_WORLD, ierr)
        call MPI_Type_free(rows, ierr)
        call expect(all(values(3, :) == 77), 'row')
        call expect(all(values(1:2, :) == rank) .and. all(values(4:, :) == rank), 'gaps')
    end subroutine

end program
