# SPDX-License-Identifier: BSD-3-Clause
# The tests under MPI in a build for another processor: programs by the cross compiler and the MPI
# libraries of its root, ranks under CMAKE_CROSSCOMPILING_EMULATOR, launchers of this machine. They
# must be of the same versions.

function(sobor_make_compiler key include library)
    set(program ${CMAKE_CURRENT_BINARY_DIR}/cc.${key})
    file(WRITE ${program} "#!/bin/sh\n"
        "exec ${CMAKE_C_COMPILER} --sysroot=${CMAKE_SYSROOT} -I${include} \"$@\" ${library}\n")
    file(CHMOD ${program}
        PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ WORLD_READ)
endfunction()

set(libraries ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
sobor_make_compiler(o41 ${SOBOR_OMPI_INCLUDE} ${libraries}/openmpi/lib/libmpi.so)
sobor_make_compiler(m40 ${SOBOR_MPICH_INCLUDE} ${libraries}/libmpich.so)

string(JOIN " " emulator ${CMAKE_CROSSCOMPILING_EMULATOR})
function(sobor_add_emulated_test name label)
    sobor_add_mpi_test(${name} mpi 600 60 ${ARGN})
    set_property(TEST mpi.${name} PROPERTY LABELS mpi ${label})
    set_property(TEST mpi.${name} APPEND PROPERTY ENVIRONMENT "SOBOR_TEST_EMULATOR=${emulator}")
endfunction()

foreach(mpi o41 m40)
    sobor_add_emulated_test(short.${mpi} short test_short.py --mpi ${mpi})
    # Windows are more than Open MPI itself can do there, threads of MPI too much for the emulator.
    sobor_add_emulated_test(programs.${mpi} long test_programs.py --mpi ${mpi}
        -k "(test_preloaded and not rma) or test_progress or test_teardown or test_in_place")
    foreach(kind differential parts reductions)
        sobor_add_emulated_test(${kind}.${mpi} long test_${kind}.py --mpi ${mpi}
            -k "test_cases or test_algorithms or test_large")
    endforeach()
    sobor_add_emulated_test(datatypes.${mpi} long test_datatypes.py --mpi ${mpi})
endforeach()
