# SPDX-License-Identifier: BSD-3-Clause
# Where the header of each MPI ABI is. A back end is built for each one found:
#   SOBOR_OMPI_INCLUDE, SOBOR_MPICH_INCLUDE, SOBOR_MPIABI_INCLUDE (folders; cache or environment variables)
# and SOBOR_ABIS, the list of those found: ompi40, mpich12, mpiabi1.

set(multiarch ${CMAKE_LIBRARY_ARCHITECTURE})

# Folders that do not tell by their names whose header they have: those of SUSE, of modules, of the
# compilers in PATH, and the system's own.
set(others)
if(NOT CMAKE_CROSSCOMPILING)
  file(GLOB others /usr/lib64/mpi/gcc/*/include)
  list(APPEND others $ENV{MPICH_DIR}/include $ENV{I_MPI_ROOT}/include)
  foreach(name mpicc mpicc.openmpi mpicc.mpich mpiicx mpiicc)
    find_program(compiler ${name} NO_CACHE)
    if(compiler)
      execute_process(COMMAND ${compiler} -show OUTPUT_VARIABLE shown ERROR_QUIET TIMEOUT 20)
      separate_arguments(shown UNIX_COMMAND "${shown}")
      list(FILTER shown INCLUDE REGEX "^-I/")
      list(TRANSFORM shown REPLACE "^-I" "")
      list(APPEND others ${shown})
    endif()
    unset(compiler)
  endforeach()
  list(APPEND others /usr/include)
endif()
set(others_ompi)
set(others_mpich)
foreach(folder IN LISTS others)
  set(marks)
  if(EXISTS ${folder}/mpi.h)
    file(STRINGS ${folder}/mpi.h marks REGEX "define +(OMPI_MAJOR_VERSION|MPICH_VERSION) ")
  endif()
  if(marks MATCHES OMPI)
    list(APPEND others_ompi ${folder})
  elseif(marks)
    list(APPEND others_mpich ${folder})
  endif()
endforeach()

find_path(SOBOR_OMPI_INCLUDE NAMES mpi.h
  HINTS ENV SOBOR_OMPI_INCLUDE
  /usr/lib/${multiarch}/openmpi/include /usr/include/openmpi-${CMAKE_SYSTEM_PROCESSOR} ${others_ompi}
  NO_DEFAULT_PATH DOC "Folder of Open MPI's mpi.h")
find_path(SOBOR_MPICH_INCLUDE NAMES mpi.h
  HINTS ENV SOBOR_MPICH_INCLUDE
  /usr/include/${multiarch}/mpich /usr/include/mpich-${CMAKE_SYSTEM_PROCESSOR} ${others_mpich}
  NO_DEFAULT_PATH DOC "Folder of MPICH's mpi.h")
find_path(SOBOR_MPIABI_INCLUDE NAMES mpi_abi.h
  HINTS ENV SOBOR_MPIABI_INCLUDE ${CMAKE_CURRENT_SOURCE_DIR}/.peers/mpich5/include ${others}
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
