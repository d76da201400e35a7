# A relocatable tree: bin/convscope, and in lib/ what it needs beside the C and C++ libraries and the GPU's driver, so that it
# can be copied to a machine that has nothing of ours (cmake --install build/release --prefix DIR, or cpack).
include(GNUInstallDirs)
install(TARGETS convscope RUNTIME DESTINATION bin)
if(TARGET convscope-window)
  install(TARGETS convscope-window RUNTIME DESTINATION bin)
endif()
if(TARGET convscope_traced)
  install(TARGETS convscope_traced LIBRARY DESTINATION lib)
endif()
install(DIRECTORY assets/kernels/ DESTINATION share/convscope/kernels)
install(DIRECTORY assets/recordings/ DESTINATION share/convscope/recordings FILES_MATCHING PATTERN "*.convscope")
install(DIRECTORY assets/lessons/ DESTINATION share/convscope/lessons FILES_MATCHING PATTERN "*.lesson" PATTERN "*.cu")
install(FILES LICENSE README.md DESTINATION share/doc/convscope)
install(CODE [[
  set(programs "${CMAKE_INSTALL_PREFIX}/bin/convscope")
  if(EXISTS "${CMAKE_INSTALL_PREFIX}/bin/convscope-window")
    list(APPEND programs "${CMAKE_INSTALL_PREFIX}/bin/convscope-window")
  endif()
  # Neither the C and C++ libraries nor what belongs to a display or its driver.
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} RESOLVED_DEPENDENCIES_VAR found
       UNRESOLVED_DEPENDENCIES_VAR missing
       PRE_EXCLUDE_REGEXES "^libc\\.so" "^libm\\.so" "^libdl\\.so" "^libpthread\\.so" "^ld-linux" "^libstdc\\+\\+" "^libgcc_s"
                           "^libGL" "^libEGL" "^libOpenGL" "^libdrm")
  foreach(library ${found})
    file(INSTALL ${library} DESTINATION "${CMAKE_INSTALL_PREFIX}/lib" FOLLOW_SYMLINK_CHAIN)
  endforeach()
  if(missing)
    message(WARNING "not bundled: ${missing}")
  endif()
]])

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME convscope)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_FILE_NAME convscope-${PROJECT_VERSION}-linux-x86_64)
include(CPack)
