# SPDX-License-Identifier: BSD-3-Clause
# Where the header of each MPI ABI is. A back end is built for each one found:
#   SOBOR_OMPI_INCLUDE, SOBOR_MPICH_INCLUDE, SOBOR_MPIABI_INCLUDE (folders; cache variables)
# and SOBOR_ABIS, the list of those found: ompi40, mpich12, mpiabi1.

set(multiarch ${CMAKE_LIBRARY_ARCHITECTURE})

find_path(SOBOR_OMPI_INCLUDE NAMES mpi.h
  HINTS /usr/lib/${multiarch}/openmpi/include /usr/include/openmpi-${CMAKE_SYSTEM_PROCESSOR}
  NO_DEFAULT_PATH DOC "Folder of Open MPI's mpi.h")
find_path(SOBOR_MPICH_INCLUDE NAMES mpi.h
  HINTS /usr/include/${multiarch}/mpich /usr/include/mpich-${CMAKE_SYSTEM_PROCESSOR}
  NO_DEFAULT_PATH DOC "Folder of MPICH's mpi.h")
find_path(SOBOR_MPIABI_INCLUDE NAMES mpi_abi.h
  HINTS ${CMAKE_CURRENT_SOURCE_DIR}/.peers/mpich5/include
  DOC "Folder of mpi_abi.h, the header of the MPI 5 standard ABI")

set(SOBOR_ABIS)
foreach(pair ompi40:SOBOR_OMPI_INCLUDE mpich12:SOBOR_MPICH_INCLUDE mpiabi1:SOBOR_MPIABI_INCLUDE)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 abi)
  list(GET pair 1 variable)
  if(${variable})
    list(APPEND SOBOR_ABIS ${abi})
    set(SOBOR_INCLUDE_${abi} ${${variable}})
    message(STATUS "Back end ${abi}: ${${variable}}")
  else()
    message(STATUS "Back end ${abi}: no header found, not built (set ${variable})")
  endif()
endforeach()
if(NOT SOBOR_ABIS)
  message(FATAL_ERROR "No MPI header was found: set SOBOR_OMPI_INCLUDE, SOBOR_MPICH_INCLUDE or SOBOR_MPIABI_INCLUDE")
endif()
