# Fetches a source archive once, and never one that is not exactly the pinned one.
#
#   cmake -DPACKAGE=imgui-bundle [-DOUT_FILE=path of a file to receive the folder's name] -P third_party/fetch.cmake
#
# The archive comes from the Python package index (as a source distribution, by pip with its hash), is kept in the user's
# cache ($XDG_CACHE_HOME or ~/.cache, convscope/third_party), and is unpacked there. Offline: point
# CONVSCOPE_<PACKAGE>_ARCHIVE (CONVSCOPE_IMGUI_BUNDLE_ARCHIVE) at a copy; its hash is checked all the same.
cmake_minimum_required(VERSION 3.25)

# name · version · sha256 of the source distribution; third_party/README.md says why each is here.
set(pins "imgui-bundle 1.93.0 10ad1dab8258a6787b4f07bb926b08d0efc648a7906242568c8dd778c5e719bf")

set(version)
foreach(pin ${pins})
  separate_arguments(fields UNIX_COMMAND "${pin}")
  list(GET fields 0 name)
  if(name STREQUAL PACKAGE)
    list(GET fields 1 version)
    list(GET fields 2 sha256)
  endif()
endforeach()
if(NOT version)
  message(FATAL_ERROR "package '${PACKAGE}' is not pinned in third_party/fetch.cmake")
endif()

if(DEFINED ENV{XDG_CACHE_HOME} AND NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(cache $ENV{XDG_CACHE_HOME}/convscope/third_party)
else()
  set(cache $ENV{HOME}/.cache/convscope/third_party)
endif()
set(folder ${cache}/${PACKAGE}-${version}-${sha256})
string(TOUPPER "CONVSCOPE_${PACKAGE}_ARCHIVE" override)
string(REPLACE "-" "_" override ${override})

if(NOT EXISTS ${folder}/.whole)
  file(MAKE_DIRECTORY ${cache})
  if(DEFINED ENV{${override}})
    set(archive $ENV{${override}})
    if(NOT EXISTS ${archive})
      message(FATAL_ERROR "${override} names '${archive}', which is not there")
    endif()
  else()
    find_program(PYTHON python3 REQUIRED)
    file(WRITE ${cache}/${PACKAGE}.txt "${PACKAGE}==${version} --hash=sha256:${sha256}\n")
    execute_process(COMMAND ${PYTHON} -m pip download --quiet --disable-pip-version-check --no-deps
                            --no-binary ${PACKAGE} --require-hashes -r ${cache}/${PACKAGE}.txt -d ${cache}/download
                    RESULT_VARIABLE failed ERROR_VARIABLE why)
    file(GLOB archive ${cache}/download/*${version}.tar.gz)
    if(NOT archive)
      string(REGEX MATCH "ERROR: [^\n]*" why "${why}")
      message(FATAL_ERROR "cannot fetch ${PACKAGE} ${version}: ${why}\nOffline, set ${override} to a copy of its source distribution")
    endif()
  endif()
  file(SHA256 ${archive} got)
  if(NOT got STREQUAL sha256)
    message(FATAL_ERROR "${archive} is not ${PACKAGE} ${version}: its sha256 is ${got}, pinned is ${sha256}")
  endif()
  file(REMOVE_RECURSE ${folder}.unpacking)
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${folder}.unpacking)
  file(RENAME ${folder}.unpacking ${folder})
  file(TOUCH ${folder}/.whole)
endif()
if(OUT_FILE)
  file(WRITE ${OUT_FILE} ${folder})
endif()
message(STATUS "${PACKAGE} ${version}: ${folder}")
