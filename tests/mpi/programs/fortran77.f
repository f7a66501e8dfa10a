C     SPDX-License-Identifier: BSD-3-Clause
C     Barrier and Bcast through mpif.h: every root, several types,
C     MPI_BOTTOM with an absolute address, and a wrong root.
      program fortran77
      implicit none
      include 'mpif.h'
      integer ierr, rank, nranks, root, i
      integer ints(1000)
      double precision reals(1000)
      character*20 text
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, nranks, ierr)
      do root = 0, nranks - 1
         do i = 1, 1000
            ints(i) = -1
            reals(i) = -1d0
            if (rank .eq. root) ints(i) = i * (root + 1)
            if (rank .eq. root) reals(i) = i / (root + 2d0)
         end do
         text = ' '
         if (rank .eq. root) text = 'a line of twenty let'
         call MPI_BCAST(ints, 1000, MPI_INTEGER, root,
     &        MPI_COMM_WORLD, ierr)
         call MPI_BARRIER(MPI_COMM_WORLD, ierr)
         call MPI_BCAST(reals, 1000, MPI_DOUBLE_PRECISION, root,
     &        MPI_COMM_WORLD, ierr)
         call MPI_BCAST(text, 20, MPI_CHARACTER, root,
     &        MPI_COMM_WORLD, ierr)
         do i = 1, 1000
            if (ints(i) .ne. i * (root + 1)) call failed('integers')
            if (reals(i) .ne. i / (root + 2d0)) call failed('reals')
         end do
         if (text .ne. 'a line of twenty let') call failed('text')
      end do
      call bottom(rank)
      call wrong_root(nranks)
      call MPI_FINALIZE(ierr)
      if (rank .eq. 0) print '(A)', 'PASS fortran77'
      end

      subroutine failed(what)
      implicit none
      include 'mpif.h'
      character*(*) what
      integer ierr
      print '(2A)', 'FAIL fortran77: ', what
      call MPI_ABORT(MPI_COMM_WORLD, 1, ierr)
      end

C     The place of the data is in the type, so the buffer is MPI_BOTTOM.
C     A common block keeps the compiler from holding it in registers.
      subroutine bottom(rank)
      implicit none
      include 'mpif.h'
      integer rank, type, ierr
      integer pair(2), lengths(1)
      integer(kind=MPI_ADDRESS_KIND) places(1)
      common /shared/ pair
      pair(1) = rank
      pair(2) = 7 * rank
      if (rank .eq. 0) pair(1) = 41
      if (rank .eq. 0) pair(2) = 42
      lengths(1) = 2
      call MPI_GET_ADDRESS(pair, places(1), ierr)
      call MPI_TYPE_CREATE_HINDEXED(1, lengths, places, MPI_INTEGER,
     &     type, ierr)
      call MPI_TYPE_COMMIT(type, ierr)
      call MPI_BCAST(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, ierr)
      call MPI_TYPE_FREE(type, ierr)
      if (pair(1) .ne. 41 .or. pair(2) .ne. 42) call failed('bottom')
      end

      subroutine wrong_root(nranks)
      implicit none
      include 'mpif.h'
      integer nranks, ierr, class, ierr2, value
      call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_RETURN,
     &     ierr2)
      value = 1
      call MPI_BCAST(value, 1, MPI_INTEGER, nranks + 1,
     &     MPI_COMM_WORLD, ierr)
      call MPI_ERROR_CLASS(ierr, class, ierr2)
      if (class .ne. MPI_ERR_ROOT) call failed('wrong root accepted')
      end
