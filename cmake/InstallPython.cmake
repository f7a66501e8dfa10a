# SPDX-License-Identifier: BSD-3-Clause
# Installs what belongs to the sobor command. With pip, which installs the Python package itself,
# only VERSION, machine files, published values and example programs go beside the native parts.

install(FILES ${PROJECT_SOURCE_DIR}/VERSION DESTINATION lib/sobor)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/sobor/machines ${PROJECT_SOURCE_DIR}/share/sobor/published
    DESTINATION share/sobor
    FILES_MATCHING PATTERN "*.json")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/sobor/examples DESTINATION share/sobor
    FILES_MATCHING PATTERN "*.[ch]" PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
if(SKBUILD)
    return()
endif()

option(SOBOR_INSTALL_PYTHON_PACKAGES
    "Let the installation make a virtual environment for the sobor command, with pip" ON)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/sobor
    DESTINATION lib/sobor/python
    FILES_MATCHING PATTERN "*.py" PATTERN "*.html"
    PATTERN "__pycache__" EXCLUDE)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/scripts/sobor-installed.sh
    DESTINATION bin RENAME sobor)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/man DESTINATION share FILES_MATCHING PATTERN "*.1")
set(completions ${PROJECT_SOURCE_DIR}/share/completions)
install(FILES ${completions}/sobor.bash DESTINATION share/bash-completion/completions RENAME sobor)
install(FILES ${completions}/_sobor DESTINATION share/zsh/site-functions)
install(FILES ${completions}/_sobor DESTINATION share/zsh/vendor-completions) # Debian looks here
install(FILES ${completions}/sobor.fish DESTINATION share/fish/vendor_completions.d)

# A staged installation (DESTDIR) is made into a package elsewhere; its packager says what it needs.
# cpack is a packager of ours: what it makes has the packages in it.
if(SOBOR_INSTALL_PYTHON_PACKAGES)
    set(install_command ${PROJECT_SOURCE_DIR}/scripts/install_command.sh)
    set(vendor_packages ${PROJECT_SOURCE_DIR}/scripts/vendor_packages.sh)
    install(CODE "
        set(place \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
        if(place MATCHES \"/_CPack_Packages/\")
            execute_process(COMMAND \"${vendor_packages}\" \"\${place}/lib/sobor/python\"
                COMMAND_ERROR_IS_FATAL ANY)
        elseif(\"\$ENV{DESTDIR}\" STREQUAL \"\")
            execute_process(COMMAND \"${install_command}\"
                \"\${CMAKE_INSTALL_PREFIX}/lib/sobor/venv\")
        endif()")
endif()
