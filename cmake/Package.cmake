# SPDX-License-Identifier: BSD-3-Clause
# What an installation offers to others: pkg-config, CMake and environment modules; and packages:
# cpack -G DEB. All find the rest by where they lie themselves.

include(CMakePackageConfigHelpers)
set(made ${PROJECT_BINARY_DIR}/packaging)
configure_file(${PROJECT_SOURCE_DIR}/packaging/sobor.pc.in ${made}/sobor.pc @ONLY)
# Before 1.0 a second number that rises may break something.
set(compatible SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatible SameMinorVersion)
endif()
write_basic_package_version_file(${made}/soborConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY ${compatible} ARCH_INDEPENDENT)
install(FILES ${made}/sobor.pc DESTINATION lib/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/soborConfig.cmake ${made}/soborConfigVersion.cmake
  DESTINATION lib/cmake/sobor)
foreach(kind tcl lua)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/modulefile.${kind}.in ${made}/modulefile.${kind}
    @ONLY)
endforeach()
install(FILES ${made}/modulefile.tcl DESTINATION share/sobor/modulefiles/sobor
  RENAME ${PROJECT_VERSION})
install(FILES ${made}/modulefile.lua DESTINATION share/sobor/modulefiles/sobor
  RENAME ${PROJECT_VERSION}.lua)

set(CPACK_PACKAGE_VENDOR "the Sobor authors")
set(CPACK_PACKAGE_CONTACT "the Sobor authors <sobor@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3 (>= 3.10)")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/${SOBOR_LIB_DIR})
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/postinst
  ${PROJECT_SOURCE_DIR}/packaging/debian/prerm)
include(CPack)
