# How every folder of headrace/ becomes a target:
#
#   headrace_library(store SOURCES url.cc registry.cc TESTS url_test.cc LINKS headrace::net_http)
#
# makes the static library headrace_store (alias headrace::store) and, where TESTS are given, the program
# headrace_store_test, which ctest runs as one test. LINKS are public, PRIVATE_LINKS stay inside the folder:
# third-party libraries belong there, since no public header names a third-party type. SEPARATE: the files are
# compiled one by one, because they have the same names in anonymous namespaces. THREADS: the tests run under
# ThreadSanitizer, too; say so where the folder starts threads or is called by several.

set(HEADRACE_SANITIZE "" CACHE STRING "sanitizers to build with, for -fsanitize=")

add_library(headrace_settings INTERFACE)
target_include_directories(headrace_settings INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(headrace_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
  -Werror=return-type -Werror=unused-result)
if(HEADRACE_SANITIZE)
  set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")
  set(CMAKE_C_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")
  target_compile_options(headrace_settings INTERFACE
    -fsanitize=${HEADRACE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(headrace_settings INTERFACE -fsanitize=${HEADRACE_SANITIZE})
endif()

# Files of a target are compiled several at a time: most of what one costs is the headers that all of them
# include. So names in anonymous namespaces are unique within a folder. OFF (`./dev soak` builds so) shows
# what does not compile alone.
option(HEADRACE_UNITY "compile the files of a target several at a time" ON)
function(headrace_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HEADRACE_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

function(headrace_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SEPARATE;THREADS" "" "SOURCES;TESTS;LINKS;PRIVATE_LINKS;TEST_LINKS")
  set(target headrace_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  if(NOT arg_SEPARATE)
    headrace_unity(${target})
  endif()
  add_library(headrace::${name} ALIAS ${target})
  target_link_libraries(${target} PUBLIC headrace_settings ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
  if(arg_TESTS)
    set(threads)
    if(arg_THREADS)
      set(threads THREADS)
    endif()
    headrace_test(${name} ${threads}
      SOURCES ${arg_TESTS} LINKS ${target} ${arg_PRIVATE_LINKS} ${arg_TEST_LINKS})
  endif()
endfunction()

# All test programs with THREADS.
add_custom_target(headrace_threads)

function(headrace_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "THREADS" "" "SOURCES;LINKS")
  if(HEADRACE_COMMAND_ONLY)
    return()
  endif()
  set(target headrace_${name}_test)
  add_executable(${target} ${arg_SOURCES})
  headrace_unity(${target})
  # What is tested is optimized; the tests themselves are compiled in half of the time without.
  target_compile_options(${target} PRIVATE -O0)
  target_link_libraries(${target} PRIVATE headrace_settings ${arg_LINKS} GTest::gmock_main)
  add_test(NAME ${name} COMMAND ${target} --gtest_brief=1)
  # For what hangs: the longest takes two minutes of a quiet machine, with ThreadSanitizer.
  set_tests_properties(${name} PROPERTIES TIMEOUT 1200)
  if(arg_THREADS)
    add_dependencies(headrace_threads ${target})
    set_tests_properties(${name} PROPERTIES LABELS threads)
  endif()
endfunction()
