! SPDX-License-Identifier: BSD-3-Clause
! Barrier, Bcast and reductions through "use mpi": arrays of several ranks, a derived type, a
! sub-communicator, an operation of the user's.
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
        call sums(round)
        call matrices(round)
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

    ! In place, of logicals, and with an index.
    subroutine sums(seed)
        integer, intent(in) :: seed
        double precision :: values(50), located(2), first(2)
        logical :: mine, all_of, any_of
        values = seed + rank
        call MPI_Allreduce(MPI_IN_PLACE, values, 50, MPI_DOUBLE_PRECISION, MPI_SUM, &
                           MPI_COMM_WORLD, ierr)
        call expect(all(values == nranks * seed + nranks * (nranks - 1) / 2), 'sum in place')
        mine = rank == mod(seed, nranks)
        call MPI_Allreduce(mine, any_of, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
        call MPI_Allreduce(mine, all_of, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
        call expect(any_of .and. (all_of .eqv. nranks == 1), 'logicals')
        located = [dble(mod(rank, 2)), dble(rank)]
        call MPI_Allreduce(located, first, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, &
                           MPI_COMM_WORLD, ierr)
        call expect(all(first == merge([1.0d0, 1.0d0], [0.0d0, 0.0d0], nranks > 1)), 'maxloc')
    end subroutine

    ! Products of matrices, which do not commute: rank r has ((1, r + seed), (0, 1)) or
    ! ((1, 0), (r + seed, 1)).
    subroutine matrices(seed)
        integer, intent(in) :: seed
        integer :: matrix_type, product_op, r
        integer :: mine(2, 2), got(2, 2), expected(2, 2)
        call MPI_Type_contiguous(4, MPI_INTEGER, matrix_type, ierr)
        call MPI_Type_commit(matrix_type, ierr)
        call MPI_Op_create(multiply, .false., product_op, ierr)
        expected = reshape([1, 0, 0, 1], [2, 2])
        do r = 0, nranks - 1
            expected = matmul(expected, of_rank(r, seed))
        end do
        mine = of_rank(rank, seed)
        got = 0
        call MPI_Allreduce(mine, got, 1, matrix_type, product_op, MPI_COMM_WORLD, ierr)
        call expect(all(got == expected), 'product of matrices')
        call MPI_Op_free(product_op, ierr)
        call MPI_Type_free(matrix_type, ierr)
    end subroutine

    function of_rank(r, seed) result(m)
        integer, intent(in) :: r, seed
        integer :: m(2, 2)
        m = reshape([1, 0, 0, 1], [2, 2])
        if (mod(r, 2) == 0) then
            m(1, 2) = mod(r + seed, 5)
        else
            m(2, 1) = mod(r + seed, 5)
        end if
    end function

    subroutine multiply(left, right, count, type)
        integer, intent(in) :: count, type
        integer, intent(in) :: left(2, 2, count)
        integer, intent(inout) :: right(2, 2, count)
        integer :: i, unused
        unused = type
        do i = 1, count
            right(:, :, i) = matmul(left(:, :, i), right(:, :, i))
        end do
    end subroutine

end program
