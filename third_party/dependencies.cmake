# What convscope builds on; third_party/README.md says why each is here. All come from the system's packages.
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS context)

# libbacktrace comes with GCC itself.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libbacktrace.a OUTPUT_VARIABLE backtrace_library
                OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=include/backtrace.h OUTPUT_VARIABLE backtrace_header
                OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT EXISTS ${backtrace_library} OR NOT EXISTS ${backtrace_header})
  message(FATAL_ERROR "libbacktrace is missing: it is part of GCC's development package (libgcc-12-dev)")
endif()
add_library(libbacktrace STATIC IMPORTED)
get_filename_component(backtrace_include ${backtrace_header} DIRECTORY)
set_target_properties(libbacktrace PROPERTIES IMPORTED_LOCATION ${backtrace_library})
# Copied next to nothing else: GCC's own include directory must not come before the system's.
configure_file(${backtrace_header} ${CMAKE_BINARY_DIR}/include/libbacktrace/backtrace.h COPYONLY)
target_include_directories(libbacktrace INTERFACE ${CMAKE_BINARY_DIR}/include/libbacktrace)
# It is told of one module at a time (kernels/runtime/simt/lines.cpp).
target_link_options(libbacktrace INTERFACE LINKER:--wrap=dl_iterate_phdr)

# oneDNN is opened at run time; its C header says what its functions are.
find_path(ONEDNN_INCLUDE dnnl.h)
