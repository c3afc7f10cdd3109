# How every folder of headrace/ becomes a target:
#
#   headrace_library(store SOURCES url.cc registry.cc TESTS url_test.cc LINKS headrace::net_http)
#
# makes the static library headrace_store (alias headrace::store) and, where TESTS are given, the program
# headrace_store_test, which ctest runs as one test. LINKS are public, PRIVATE_LINKS stay inside the folder:
# third-party libraries belong there, since no public header names a third-party type. Further arguments:
#
#   ALONE          more sources, which are compiled one by one, since they have options of their own or the
#                  same names in anonymous namespaces
#   THREADS        the tests run under ThreadSanitizer, too: the folder starts threads or is called by several
#   SOAK_THREADS   the same in `./dev soak` alone, since other folders' tests run the same threads
#   ORCHESTRATES   the folder works once a command, not once a record, request or piece of data. It is
#                  optimized less, which saves a third of the time to compile it, and its tests run with
#                  sanitizers in `./dev soak` alone
#   COMPUTES       the folder works on each byte or number. It is optimized in trees with sanitizers, too;
#                  others are not, which halves the time to compile them
#   WINDOWS        sources for Windows. There, NAME_windows.cc takes the place of NAME.cc, or comes beside the
#                  others if there is none (docs/decisions/windows.md)
#   LINUX_TESTS, WINDOWS_TESTS   tests with the system's own calls

set(HEADRACE_SANITIZE "" CACHE STRING "sanitizers to build with, for -fsanitize=")

add_library(headrace_settings INTERFACE)
target_include_directories(headrace_settings INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(headrace_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
  -Werror=return-type -Werror=unused-result)
if(HEADRACE_SANITIZE)
  set(CMAKE_CXX_FLAGS_SANITIZE "-g1 -fno-omit-frame-pointer")
  set(CMAKE_C_FLAGS_SANITIZE "-g1 -fno-omit-frame-pointer")
  target_compile_options(headrace_settings INTERFACE
    -fsanitize=${HEADRACE_SANITIZE} -fno-sanitize-recover=all)
  # Four times as fast as the usual linker, and these programs are large.
  target_link_options(headrace_settings INTERFACE -fsanitize=${HEADRACE_SANITIZE} -fuse-ld=lld)
  if(HEADRACE_SANITIZE MATCHES undefined)
    # These checks take long to compile, and AddressSanitizer finds most of what they would find.
    target_compile_options(headrace_settings INTERFACE -fno-sanitize=null,object-size,vptr,function)
  endif()
  set(HEADRACE_COMPUTES_OPTIONS -O1)
  # Sanitizers watch how a test uses memory and threads, not its arithmetic, and name its functions, not its
  # lines: that halves the time to compile it.
  set(HEADRACE_TEST_OPTIONS -g0 -fno-sanitize=fuzzer-no-link,undefined)
else()
  set(HEADRACE_ORCHESTRATES_OPTIONS -O1)
  # The tested code is optimized; the tests are not, which halves the time to compile them.
  set(HEADRACE_TEST_OPTIONS -O0)
endif()

if(WIN32)
  target_compile_definitions(headrace_settings INTERFACE
    _WIN32_WINNT=0x0A00 WIN32_LEAN_AND_MEAN NOMINMAX)
  # GCC does not align the stack for variables of 32 bytes and more, and moves them as if it did. A unit of
  # many files has more sections than an object of the usual format can number.
  target_compile_options(headrace_settings INTERFACE -Wa,-muse-unaligned-vector-move,-mbig-obj)
endif()

# headrace_for_this_system(OUT SOURCES WINDOWS): sets OUT to SOURCES; on Windows, with the files of WINDOWS.
function(headrace_for_this_system out sources windows)
  if(WIN32)
    foreach(source IN LISTS windows)
      string(REPLACE _windows.cc .cc replaced ${source})
      list(REMOVE_ITEM sources ${replaced})
      list(APPEND sources ${source})
    endforeach()
  endif()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# Files of a target are compiled several at a time: most of what one costs is the headers that all of them
# include. So names in anonymous namespaces are unique within a folder. OFF (`./dev soak` builds so) shows
# what does not compile alone. Not CMake's UNITY_BUILD: its files name sources by absolute paths, and ccache
# would serve one checkout only.
option(HEADRACE_UNITY "compile the files of a target several at a time" ON)
set(HEADRACE_UNITY_SIZE 16)  # at most
if(HEADRACE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC takes the files for headers: their classes may not have members of types that only they know.
  target_compile_options(headrace_settings INTERFACE -Wno-subobject-linkage)
endif()

# headrace_unity(OUT TARGET SOURCES): sets OUT to the files to compile in place of SOURCES. Objects stay. Each
# file is written once, so one that is as before keeps its time, and nothing is compiled again.
function(headrace_unity out target sources)
  set(single ${sources})
  list(FILTER single INCLUDE REGEX "^\\$")
  list(FILTER sources EXCLUDE REGEX "^\\$")
  if(NOT HEADRACE_UNITY)
    set(${out} ${sources} ${single} PARENT_SCOPE)
    return()
  endif()
  list(LENGTH sources count)
  math(EXPR number "(${count} + ${HEADRACE_UNITY_SIZE} - 1) / ${HEADRACE_UNITY_SIZE}")
  set(units)
  set(unit 0)
  while(unit LESS number)
    math(EXPR first "${count} * ${unit} / ${number}")
    math(EXPR unit "${unit} + 1")
    math(EXPR length "${count} * ${unit} / ${number} - ${first}")
    list(SUBLIST sources ${first} ${length} included)
    set(text)
    foreach(source IN LISTS included)
      file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_${unit}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    list(APPEND units ${file})
  endwhile()
  set(${out} ${units} ${single} PARENT_SCOPE)
endfunction()

function(headrace_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "THREADS;SOAK_THREADS;ORCHESTRATES;COMPUTES" ""
    "SOURCES;WINDOWS;ALONE;TESTS;LINUX_TESTS;WINDOWS_TESTS;LINKS;PRIVATE_LINKS;TEST_LINKS")
  set(target headrace_${name})
  headrace_for_this_system(arg_SOURCES "${arg_SOURCES}" "${arg_WINDOWS}")
  if(WIN32)
    list(APPEND arg_TESTS ${arg_WINDOWS_TESTS})
  else()
    list(APPEND arg_TESTS ${arg_LINUX_TESTS})
  endif()
  headrace_unity(units ${target} "${arg_SOURCES}")
  add_library(${target} STATIC ${units} ${arg_ALONE})
  add_library(headrace::${name} ALIAS ${target})
  target_link_libraries(${target} PUBLIC headrace_settings ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
  if(arg_ORCHESTRATES)
    target_compile_options(${target} PRIVATE ${HEADRACE_ORCHESTRATES_OPTIONS})
  elseif(arg_COMPUTES)
    target_compile_options(${target} PRIVATE ${HEADRACE_COMPUTES_OPTIONS})
  endif()
  if(arg_TESTS)
    set(kind)
    foreach(each THREADS SOAK_THREADS ORCHESTRATES)
      if(arg_${each})
        list(APPEND kind ${each})
      endif()
    endforeach()
    headrace_test(${name} ${kind}
      SOURCES ${arg_TESTS} LINKS ${target} ${arg_PRIVATE_LINKS} ${arg_TEST_LINKS})
  endif()
endfunction()

# The programs that ctest runs, and those of them with THREADS. In trees with sanitizers, those that only
# `./dev soak` runs are apart.
add_custom_target(headrace_tests)
add_custom_target(headrace_threads)
add_custom_target(headrace_soak_tests)
add_custom_target(headrace_soak_threads)

# headrace_test_program(TARGET SOURCES … LINKS …): a program with googletest's main().
function(headrace_test_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  headrace_unity(units ${target} "${arg_SOURCES}")
  add_executable(${target} ${units})
  target_compile_options(${target} PRIVATE ${HEADRACE_TEST_OPTIONS})
  target_link_libraries(${target} PRIVATE headrace_settings ${arg_LINKS} GTest::gmock_main)
endfunction()

function(headrace_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "THREADS;SOAK_THREADS;ORCHESTRATES" "" "SOURCES;LINKS")
  if(HEADRACE_COMMAND_ONLY)
    return()
  endif()
  set(target headrace_${name}_test)
  headrace_test_program(${target} SOURCES ${arg_SOURCES} LINKS ${arg_LINKS})
  set(soak)
  set(labels)
  if((HEADRACE_SANITIZE AND arg_ORCHESTRATES) OR (HEADRACE_SANITIZE STREQUAL thread AND arg_SOAK_THREADS))
    set(soak soak_)
    list(APPEND labels soak)
  endif()
  add_dependencies(headrace_${soak}tests ${target})
  add_test(NAME ${name} COMMAND ${target} --gtest_brief=1)
  # COST, in about seconds, where it is long: ctest starts those first, so that no one runs alone at the end.
  # TIMEOUT is for what hangs: the longest takes two minutes of a quiet machine, with ThreadSanitizer.
  set_tests_properties(${name} PROPERTIES TIMEOUT 1200)
  if(arg_THREADS OR arg_SOAK_THREADS)
    add_dependencies(headrace_${soak}threads ${target})
    list(APPEND labels threads)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}")
endfunction()

# A store driver from outside headrace/store: the library headrace_store_NAME, which defines `const
# StoreDriver SYMBOL` in the namespace headrace. TESTS may run the conformance suite.
function(headrace_store_driver name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SYMBOL" "SOURCES;TESTS;LINKS;PRIVATE_LINKS")
  headrace_library(store_${name}
    SOURCES ${arg_SOURCES} LINKS headrace::store ${arg_LINKS} PRIVATE_LINKS ${arg_PRIVATE_LINKS})
  set_target_properties(headrace_store_${name} PROPERTIES HEADRACE_SYMBOL ${arg_SYMBOL})
  set_property(GLOBAL APPEND PROPERTY HEADRACE_STORE_DRIVERS ${name})
  if(arg_TESTS)
    headrace_test(store_${name}
      SOURCES ${arg_TESTS} $<TARGET_OBJECTS:headrace_store_conformance> LINKS headrace_store_${name})
  endif()
endfunction()

# The list of such drivers, by NAME, as a library (STATIC; or OBJECT, which a program may link in place of the
# build's own): what registry.cc adds to its own list.
function(headrace_outside_drivers target type)
  set(declarations "")
  set(addresses "")
  foreach(name IN LISTS ARGN)
    get_target_property(symbol headrace_store_${name} HEADRACE_SYMBOL)
    string(APPEND declarations "extern const StoreDriver ${symbol};\n")
    string(APPEND addresses "    &${symbol},\n")
  endforeach()
  set(list ${CMAKE_BINARY_DIR}/outside_drivers/${target}.cc)
  file(CONFIGURE OUTPUT ${list} CONTENT
"#include \"headrace/store/outside_drivers.h\"

namespace headrace {

@declarations@
std::span<const StoreDriver* const> outside_drivers() {
  static const StoreDriver* const drivers[] = {
@addresses@  };
  return drivers;
}

}  // namespace headrace
" @ONLY)
  add_library(${target} ${type} ${list})
  target_link_libraries(${target} PUBLIC headrace::store)
  foreach(name IN LISTS ARGN)
    target_link_libraries(${target} PUBLIC headrace_store_${name})
  endforeach()
endfunction()
