# Folders are targets, and a target sees only the folders it depends on.
#
# convscope_folder(NAME folder SOURCES … DEPENDS …) makes the library NAME of a folder. Its public include path is a
# directory of the build tree that holds nothing but a link to that folder, so #include "kernels/verify/judge.h" compiles
# only in targets that depend on kernels/verify (tests/layers shows that a wrong include fails).
function(convscope_folder name folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "OBJECT" "" "SOURCES;DEPENDS;PRIVATE")
  set(view ${CMAKE_BINARY_DIR}/include/${name})
  get_filename_component(parent ${view}/${folder} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${folder} ${view}/${folder} SYMBOLIC)
  list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/${folder}/)
  if(NOT arg_SOURCES)
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${view})
    target_link_libraries(${name} INTERFACE ${arg_DEPENDS})
    return()
  endif()
  if(arg_OBJECT)
    add_library(${name} OBJECT ${arg_SOURCES})
  else()
    add_library(${name} STATIC ${arg_SOURCES})
  endif()
  target_include_directories(${name} PUBLIC ${view})
  target_link_libraries(${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE})
endfunction()
