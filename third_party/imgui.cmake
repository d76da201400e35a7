# Dear ImGui, ImPlot, the text editor and the Test Engine, from the pinned source distribution (fetch.cmake); GLFW, EGL and the
# fonts from the system. What is missing means that the window is not built, and says so in one line.
#
# Targets: imgui (what the window links), imgui_tested (the same with the Test Engine's hooks, and the engine), and
# imgui_headers (what app/ui compiles against: it is compiled once for both).
set(CONVSCOPE_WINDOW "AUTO" CACHE STRING "The window: AUTO (when its libraries are there), ON or OFF")
set(CONVSCOPE_HAVE_WINDOW OFF)
if(CONVSCOPE_WINDOW STREQUAL "OFF")
  return()
endif()

set(window_missing)
find_package(glfw3 3.3 QUIET)
find_path(EGL_INCLUDE EGL/egl.h)
find_path(GL_INCLUDE GL/gl.h)
find_file(FONT_TEXT Inter-Regular.otf PATHS /usr/share/fonts/opentype/inter /usr/share/fonts/opentype NO_DEFAULT_PATH)
find_file(FONT_BOLD Inter-SemiBold.otf PATHS /usr/share/fonts/opentype/inter /usr/share/fonts/opentype NO_DEFAULT_PATH)
find_file(FONT_CODE JetBrainsMono-Regular.ttf PATHS /usr/share/fonts/truetype/jetbrains-mono NO_DEFAULT_PATH)
foreach(need "glfw3_FOUND libglfw3-dev" "EGL_INCLUDE libegl-dev" "GL_INCLUDE libgl-dev" "FONT_TEXT fonts-inter" "FONT_BOLD fonts-inter"
    "FONT_CODE fonts-jetbrains-mono")
  separate_arguments(need UNIX_COMMAND "${need}")
  list(GET need 0 variable)
  list(GET need 1 package)
  if(NOT ${variable})
    list(APPEND window_missing ${package})
  endif()
endforeach()
if(NOT window_missing)
  execute_process(COMMAND ${CMAKE_COMMAND} -DPACKAGE=imgui-bundle -DOUT_FILE=${CMAKE_BINARY_DIR}/imgui-bundle.folder
                          -P ${CMAKE_CURRENT_LIST_DIR}/fetch.cmake
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE why)
  if(failed)
    string(REGEX REPLACE "\n+" " " why "${why}")
    list(APPEND window_missing "imgui-bundle (${why})")
  endif()
endif()
if(window_missing)
  list(REMOVE_DUPLICATES window_missing)
  list(JOIN window_missing ", " window_missing)
  if(CONVSCOPE_WINDOW STREQUAL "ON")
    message(FATAL_ERROR "the window cannot be built: missing ${window_missing}")
  endif()
  message(STATUS "Window: not built, missing ${window_missing}")
  return()
endif()
file(READ ${CMAKE_BINARY_DIR}/imgui-bundle.folder bundle)
set(external ${bundle}/imgui_bundle-1.93.0/external)
set(CONVSCOPE_HAVE_WINDOW ON)
message(STATUS "Window: built")

set(imgui_folder ${external}/imgui/imgui)
set(test_engine_folder ${external}/imgui_test_engine/imgui_test_engine)
add_library(imgui_headers INTERFACE)
target_include_directories(imgui_headers SYSTEM INTERFACE ${imgui_folder} ${imgui_folder}/backends ${imgui_folder}/misc/cpp
  ${external}/implot/implot ${external}/ImGuiColorTextEdit/ImGuiColorTextEdit)
target_compile_definitions(imgui_headers INTERFACE IMGUI_DISABLE_OBSOLETE_FUNCTIONS "IMPLOT_CUSTOM_NUMERIC_TYPES=(double)")

set(imgui_core imgui imgui_draw imgui_tables imgui_widgets imgui_stacklayout misc/cpp/imgui_stdlib)
list(TRANSFORM imgui_core PREPEND ${imgui_folder}/)
list(TRANSFORM imgui_core APPEND .cpp)

# Others' code: no warnings, no sanitizers (implot alone takes minutes with them), and no checks of ours (.ci/run).
function(others_code target)
  target_compile_options(${target} PRIVATE -w -O2 -fno-sanitize=all -U_GLIBCXX_ASSERTIONS)
  target_link_libraries(${target} PUBLIC imgui_headers)
endfunction()

# In the frame in which a shorter text takes the place of one that was scrolled, the editor looks for lines of the text
# before, which are not there any more. Mended in a copy.
set(text_edit ${external}/ImGuiColorTextEdit/ImGuiColorTextEdit)
set(text_edit_mended ${CMAKE_BINARY_DIR}/third_party/TextEditor.cpp)
file(READ ${text_edit}/TextEditor.cpp editor)
foreach(part "if (pos.row >= size()|at(pos.row).line >= document.size()" "if (size() == 0|pos.line >= document.size()")
  string(REPLACE "|" ";" part "${part}")
  list(GET part 0 asks)
  list(GET part 1 more)
  string(FIND "${editor}" "${asks}) {" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "third_party/imgui.cmake: TextEditor.cpp is another one than the one that is mended here")
  endif()
  string(REPLACE "${asks}) {" "${asks} || ${more}) {" editor "${editor}")
endforeach()
# And where it is narrower than its line numbers, the columns that it shows are a negative number, which no size_t is: the
# marks of lines reach to infinity.
set(columns_shown "static_cast<size_t>(std::ceil((ImGui::GetScrollX() + textSize.x) / glyphSize.x))")
string(FIND "${editor}" "${columns_shown}" place)
if(place EQUAL -1)
  message(FATAL_ERROR "third_party/imgui.cmake: TextEditor.cpp is another one than the one that is mended here")
endif()
string(REPLACE "${columns_shown}"
  "static_cast<size_t>(std::ceil(std::max(0.0f, ImGui::GetScrollX() + textSize.x) / glyphSize.x))" editor "${editor}")
file(CONFIGURE OUTPUT ${text_edit_mended} CONTENT "${editor}" @ONLY)
add_library(imgui_plots STATIC ${external}/implot/implot/implot.cpp ${external}/implot/implot/implot_items.cpp
  ${text_edit_mended})
target_include_directories(imgui_plots PRIVATE ${text_edit})
others_code(imgui_plots)

add_library(imgui_window STATIC ${imgui_folder}/backends/imgui_impl_opengl3.cpp ${imgui_folder}/backends/imgui_impl_glfw.cpp)
others_code(imgui_window)
target_include_directories(imgui_window SYSTEM PUBLIC ${EGL_INCLUDE})
target_link_libraries(imgui_window PUBLIC glfw)

add_library(imgui STATIC ${imgui_core})
others_code(imgui)

set(test_engine imgui_capture_tool imgui_te_context imgui_te_coroutine imgui_te_engine imgui_te_exporters imgui_te_perftool
    imgui_te_ui imgui_te_utils)
list(TRANSFORM test_engine PREPEND ${test_engine_folder}/imgui_test_engine/)
list(TRANSFORM test_engine APPEND .cpp)
add_library(imgui_tested STATIC EXCLUDE_FROM_ALL ${imgui_core} ${test_engine})
others_code(imgui_tested)
target_include_directories(imgui_tested SYSTEM PUBLIC ${test_engine_folder})
target_compile_options(imgui_tested PRIVATE -O1)  # of tests alone: compiling it takes longer than all that it does
target_compile_definitions(imgui_tested PUBLIC IMGUI_ENABLE_TEST_ENGINE IMGUI_TEST_ENGINE_ENABLE_STD_FUNCTION=1
  IMGUI_TEST_ENGINE_ENABLE_COROUTINE_STDTHREAD_IMPL=1 IMGUI_TEST_ENGINE_ENABLE_CAPTURE=0)
target_link_libraries(imgui_tested PUBLIC Threads::Threads)
