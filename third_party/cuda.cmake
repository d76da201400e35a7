# The GPU side: needs the CUDA Toolkit to build, and nothing of it to start.
#
# convscope_fatbin(target file.cu): compiles a kernel file's device code and embeds it in `target` as read-only data with
# the symbols fatbin_<name>_begin and fatbin_<name>_end.
set(CONVSCOPE_HAVE_CUDA OFF)
if(NOT CONVSCOPE_CUDA STREQUAL "OFF")
  find_program(CONVSCOPE_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda/bin)
  if(CONVSCOPE_NVCC)
    file(REAL_PATH ${CONVSCOPE_NVCC} nvcc_real)
    get_filename_component(cuda_root ${nvcc_real}/../.. ABSOLUTE)
    find_path(CUDA_DRIVER_INCLUDE cuda.h HINTS ${cuda_root}/include ${cuda_root}/targets/x86_64-linux/include)
  endif()
  if(CONVSCOPE_NVCC AND CUDA_DRIVER_INCLUDE)
    set(CONVSCOPE_HAVE_CUDA ON)
    message(STATUS "GPU side: built with ${CONVSCOPE_NVCC} for ${CONVSCOPE_CUDA_ARCHITECTURES}")
    find_path(CUDNN_INCLUDE cudnn.h HINTS ${cuda_root}/include)
  elseif(CONVSCOPE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "CONVSCOPE_CUDA is ON, but nvcc or cuda.h was not found: install the CUDA Toolkit 13, or set CUDA_HOME")
  else()
    message(STATUS "GPU side: not built, no nvcc here (install the CUDA Toolkit 13 for it); everything runs on the emulator")
  endif()
endif()

set(nvcc_architectures)
foreach(a ${CONVSCOPE_CUDA_ARCHITECTURES})
  if(a MATCHES "^([0-9]+a?)-virtual$")
    list(APPEND nvcc_architectures -gencode arch=compute_${CMAKE_MATCH_1},code=compute_${CMAKE_MATCH_1})
  else()
    list(APPEND nvcc_architectures -gencode arch=compute_${a},code=sm_${a})
  endif()
endforeach()
set(nvcc_definitions)
if(CONVSCOPE_RACECHECK)
  list(APPEND nvcc_definitions -DCONVSCOPE_RACECHECK)
endif()

# embed_file(target symbol file): 16-byte aligned, rebuilt when the file changes.
function(embed_file target symbol file)
  set(s ${CMAKE_CURRENT_BINARY_DIR}/embed/${symbol}.S)
  file(CONFIGURE OUTPUT ${s} CONTENT [[
    .section .rodata.@symbol@, "a", @progbits
    .balign 16
    .globl @symbol@_begin, @symbol@_end
    .hidden @symbol@_begin, @symbol@_end
    .type @symbol@_begin, @object
    .size @symbol@_begin, @symbol@_end - @symbol@_begin
@symbol@_begin:
    .incbin "@file@"
@symbol@_end:
    .byte 0
    .section .note.GNU-stack, "", @progbits
]] @ONLY)
  set_source_files_properties(${s} PROPERTIES OBJECT_DEPENDS ${file})
  target_sources(${target} PRIVATE ${s})
endfunction()

function(convscope_fatbin target source)
  if(NOT CONVSCOPE_HAVE_CUDA)
    return()
  endif()
  get_filename_component(name ${source} NAME_WE)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/fatbin/${name}.fatbin)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fatbin)
  set(quickly)
  set(log ${out}.log)
  if(name IN_LIST CONVSCOPE_NVCC_QUICKLY)
    set(quickly -Ofc=max)
    set(log ${out}.quick) # what it spills says nothing (tests/kernels/ladder/spills.py)
  endif()
  set(nvcc ${CONVSCOPE_NVCC})
  set(outcome -fatbin -o ${out})
  set(extract)
  if(CCACHE AND CMAKE_OBJCOPY)
    # ccache keeps objects alone. Their section .nv_fatbin is, byte by byte, what -fatbin would have made.
    set(nvcc ${CCACHE} ${CONVSCOPE_NVCC})
    set(outcome -c -o ${out}.o)
    set(extract COMMAND ${CMAKE_OBJCOPY} -O binary --only-section=.nv_fatbin ${out}.o ${out})
  endif()
  add_custom_command(
    OUTPUT ${out}
    BYPRODUCTS ${log}
    COMMAND ${CMAKE_COMMAND} -DLOG=${log} -P ${CMAKE_SOURCE_DIR}/third_party/run_logged.cmake --
            ${nvcc} ${outcome} --no-compress -std=c++20 -lineinfo ${nvcc_architectures} ${nvcc_definitions} ${quickly}
            -I ${CMAKE_SOURCE_DIR}/kernels/runtime/include -MD -MF ${out}.d -MT ${out} -Xptxas=-v ${source}
    ${extract}
    DEPENDS ${source}
    DEPFILE ${out}.d
    COMMENT "nvcc ${name}.cu"
    VERBATIM)
  embed_file(${target} fatbin_${name} ${out})
  # A static constructor puts it into the table of embedded device code (kernels/runtime/cuda/modules.h).
  set(entry ${CMAKE_CURRENT_BINARY_DIR}/embed/fatbin_${name}.cpp)
  file(CONFIGURE OUTPUT ${entry} CONTENT [[
extern "C" const char fatbin_@name@_begin[], fatbin_@name@_end[];
namespace convscope::cuda { void register_fatbin(const char*, const char*, const char*); }
static const bool done = (convscope::cuda::register_fatbin("@name@", fatbin_@name@_begin, fatbin_@name@_end), true);
]] @ONLY)
  target_sources(${target} PRIVATE ${entry})
endfunction()
