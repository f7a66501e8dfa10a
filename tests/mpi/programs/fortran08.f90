! SPDX-License-Identifier: BSD-3-Clause
! Barrier and Bcast through "use mpi_f08": with and without ierror, sections where the MPI has them.
program fortran08
    use mpi_f08
    implicit none
    integer :: rank, nranks, root, ierr

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, nranks)
    do root = 0, nranks - 1
        call contiguous(root)
        call MPI_Barrier(MPI_COMM_WORLD)
        if (MPI_SUBARRAYS_SUPPORTED) call section(root)
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        call expect(ierr == MPI_SUCCESS, 'barrier')
    end do
    call wrong_root()
    call MPI_Finalize()
    if (rank == 0) print '(A,L2)', 'sections', MPI_SUBARRAYS_SUPPORTED
    if (rank == 0) print '(A)', 'PASS fortran08'

contains

    subroutine expect(right, what)
        logical, intent(in) :: right
        character(*), intent(in) :: what
        if (right) return
        print '(2A)', 'FAIL fortran08: ', what
        call MPI_Abort(MPI_COMM_WORLD, 1)
    end subroutine

    subroutine contiguous(root)
        integer, intent(in) :: root
        complex(kind(1d0)) :: values(500)
        values = (0, 0)
        if (rank == root) values = cmplx(root, 3, kind(1d0))
        call MPI_Bcast(values, 500, MPI_DOUBLE_COMPLEX, root, MPI_COMM_WORLD)
        call expect(all(values == cmplx(root, 3, kind(1d0))), 'contiguous')
    end subroutine

    subroutine section(root)
        integer, intent(in) :: root
        integer :: values(100)
        values = rank
        if (rank == root) values(1:100:3) = 1000 + root
        call MPI_Bcast(values(1:100:3), 34, MPI_INTEGER, root, MPI_COMM_WORLD)
        call expect(all(values(1:100:3) == 1000 + root), 'section')
        call expect(all(values(2:100:3) == rank), 'between the section')
    end subroutine

    subroutine wrong_root()
        integer :: value, class, status
        value = 0
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
        call MPI_Bcast(value, 1, MPI_INTEGER, nranks + 1, MPI_COMM_WORLD, status)
        call MPI_Error_class(status, class)
        call expect(class == MPI_ERR_ROOT, 'wrong root accepted')
    end subroutine

end program
