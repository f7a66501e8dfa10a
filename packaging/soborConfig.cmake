# SPDX-License-Identifier: BSD-3-Clause
# sobor::sobor: the header <sobor/sobor.h>. Nothing is linked: the functions are in SOBOR_PRELOAD.
get_filename_component(SOBOR_PREFIX ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
set(SOBOR_PRELOAD ${SOBOR_PREFIX}/lib/sobor/libsobor.so)
if(NOT TARGET sobor::sobor)
  add_library(sobor::sobor INTERFACE IMPORTED)
  set_target_properties(sobor::sobor PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${SOBOR_PREFIX}/include
    INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
endif()
