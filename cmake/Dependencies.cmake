# Third-party libraries, from Debian 12's packages, linked statically: TensorFlow's process exports other
# copies of OpenSSL and zlib, and a dynamic reference would be bound to those. Why each: docs/decisions.

find_package(Threads REQUIRED)
# The system's part in base, os and net. On Windows, nothing else is linked: docs/decisions/windows.md.
add_library(dependency_crypto INTERFACE)  # SHA-256; on Windows, random bytes, too
add_library(dependency_sockets INTERFACE)
add_library(dependency_tls INTERFACE)
if(WIN32)
  target_link_libraries(dependency_crypto INTERFACE bcrypt)
  target_link_libraries(dependency_sockets INTERFACE ws2_32)
  # Libraries of headers alone, of the machine that compiles, whose other headers must not be seen.
  add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/headers)
  foreach(name nlohmann/json.hpp toml++/toml.h)
    get_filename_component(folder ${name} DIRECTORY)
    find_path(headers_of_${folder} ${name} PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
    file(CREATE_LINK ${headers_of_${folder}}/${folder} ${CMAKE_BINARY_DIR}/headers/${folder} SYMBOLIC)
  endforeach()
  target_include_directories(nlohmann_json::nlohmann_json SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/headers)
  if(NOT HEADRACE_COMMAND_ONLY)  # from Debian's package of its source
    set(INSTALL_GTEST OFF)
    add_subdirectory(/usr/src/googletest ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  endif()
  return()
endif()
set(OPENSSL_USE_STATIC_LIBS TRUE)
find_package(OpenSSL 3.0 REQUIRED)
target_link_libraries(dependency_crypto INTERFACE OpenSSL::Crypto)
target_link_libraries(dependency_tls INTERFACE OpenSSL::SSL OpenSSL::Crypto)
find_package(nlohmann_json REQUIRED)
if(NOT HEADRACE_COMMAND_ONLY)
  find_package(GTest REQUIRED)
endif()
# For the server's requests. Debian has it as a shared library only; TensorFlow is never in that process.
find_path(SIMDJSON_INCLUDE simdjson.h REQUIRED)
find_library(SIMDJSON_LIBRARY simdjson REQUIRED)
add_library(dependency_simdjson SHARED IMPORTED)
set_target_properties(dependency_simdjson PROPERTIES
  IMPORTED_LOCATION ${SIMDJSON_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${SIMDJSON_INCLUDE})

function(headrace_static_package target header library)
  find_path(${target}_INCLUDE ${header} REQUIRED)
  find_library(${target}_LIBRARY ${library} REQUIRED)
  add_library(${target} STATIC IMPORTED)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION ${${target}_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${${target}_INCLUDE})
  target_link_libraries(${target} INTERFACE ${ARGN})
endfunction()

headrace_static_package(dependency_zlib zlib.h libz.a)
headrace_static_package(dependency_deflate libdeflate.h libdeflate.a)
headrace_static_package(dependency_sqlite sqlite3.h libsqlite3.a dependency_zlib m Threads::Threads)
headrace_static_package(dependency_pugixml pugixml.hpp libpugixml.a)
headrace_static_package(dependency_bz2 bzlib.h libbz2.a)
headrace_static_package(dependency_lzma lzma.h liblzma.a Threads::Threads)
headrace_static_package(dependency_zstd zstd.h libzstd.a)
headrace_static_package(dependency_nettle nettle/hmac.h libnettle.a)
headrace_static_package(dependency_archive archive.h libarchive.a
  dependency_lzma dependency_bz2 dependency_zstd dependency_zlib dependency_nettle)

# Boost.Asio and Boost.Beast have no library: headrace/cli/servers/serve compiles what they would have in one.
find_package(Boost 1.81 REQUIRED CONFIG)
add_library(dependency_boost INTERFACE)
target_link_libraries(dependency_boost INTERFACE Boost::headers)
# No fences around handlers: each loop has one thread, and ThreadSanitizer does not know fences.
target_compile_definitions(dependency_boost INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED
  BOOST_ERROR_CODE_HEADER_ONLY BOOST_ASIO_DISABLE_FENCED_BLOCK)

headrace_static_package(dependency_png png.h libpng16.a dependency_zlib m)
headrace_static_package(dependency_jpeg jpeglib.h libjpeg.a)

# Debian's libpng and libjpeg name stderr in a way that a shared object cannot be linked with, as the Python
# module is. So copies are linked in which it is a variable of ours, which is null: they cannot print, either.
# (headrace_codec_image_stderr: headrace/codec/image.)
function(headrace_without_stderr target)
  get_target_property(original ${target} IMPORTED_LOCATION)
  get_filename_component(name ${original} NAME)
  set(copy ${CMAKE_BINARY_DIR}/silent/${name})
  if(NOT EXISTS ${copy} OR ${original} IS_NEWER_THAN ${copy})
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/silent)
    execute_process(COMMAND ${CMAKE_OBJCOPY} --redefine-sym stderr=headrace_codec_image_stderr
      ${original} ${copy} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${copy})
  set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES headrace_codec_image_stderr)
endfunction()
headrace_without_stderr(dependency_png)
headrace_without_stderr(dependency_jpeg)

# For the Python module: the headers of the interpreter HEADRACE_PYTHON, and the nanobind that is installed in
# it. Without them, the rest is built. Sanitizers stay away from Python, which is not built with them.
set(HEADRACE_PYTHON $ENV{HEADRACE_PYTHON} CACHE FILEPATH
  "the Python of the module and of tests that need TensorFlow")
if(NOT HEADRACE_PYTHON)
  set(HEADRACE_PYTHON ${CMAKE_SOURCE_DIR}/.venv/bin/python CACHE FILEPATH "" FORCE)
endif()
if(NOT HEADRACE_SANITIZE AND NOT HEADRACE_COMMAND_ONLY AND (SKBUILD OR EXISTS ${HEADRACE_PYTHON}))
  if(NOT SKBUILD)
    set(Python_EXECUTABLE ${HEADRACE_PYTHON})
  endif()
  # With the second, one module serves Python 3.12 and all later ones.
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module
    OPTIONAL_COMPONENTS Development.SABIModule)
  if(SKBUILD_SABI_VERSION AND NOT TARGET Python::SABIModule)
    message(FATAL_ERROR "The wheel would be named as one for later Pythons, but not be one")
  endif()
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_package(nanobind CONFIG QUIET)
endif()
if(nanobind_FOUND)
  set(HEADRACE_PYTHON_MODULE ON)
else()
  message(STATUS "No Python module: ${HEADRACE_PYTHON} has no nanobind, or this is a sanitizer build")
endif()

# For TensorBoard's data server, a program of its own: the only one with gRPC and protobuf. Sanitizers stay
# away from libraries that are not built with them.
option(HEADRACE_TENSORBOARD_DATA "build headrace-tensorboard-data and headrace-server-grpc: need gRPC" ON)
if(HEADRACE_TENSORBOARD_DATA AND NOT HEADRACE_SANITIZE AND NOT HEADRACE_COMMAND_ONLY)
  find_program(HEADRACE_PROTOC protoc)
  find_program(HEADRACE_GRPC_PLUGIN grpc_cpp_plugin)
  find_program(HEADRACE_PKG_CONFIG pkg-config)
  # Asked once, and not by pkg_check_modules: gRPC's packages name hundreds of others, and each call takes a
  # second of processor time.
  if(HEADRACE_PKG_CONFIG AND NOT DEFINED HEADRACE_GRPC_FLAGS)
    execute_process(COMMAND ${HEADRACE_PKG_CONFIG} --static --libs-only-l grpc++ protobuf
      OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(flags)
      set(HEADRACE_GRPC_FLAGS ${flags} CACHE INTERNAL "libraries that gRPC is linked with")
    endif()
  endif()
  if(HEADRACE_GRPC_FLAGS AND HEADRACE_PROTOC AND HEADRACE_GRPC_PLUGIN)
    string(REGEX REPLACE "(^| )-l" "\\1" names ${HEADRACE_GRPC_FLAGS})
    separate_arguments(names)
    set(grpc_archives)
    foreach(name IN LISTS names)
      find_library(grpc_archive_${name} lib${name}.a)
      if(grpc_archive_${name})
        list(APPEND grpc_archives ${grpc_archive_${name}})
      else()
        list(APPEND grpc_archives ${name})  # of the compiler or the C library
      endif()
    endforeach()
    list(REMOVE_DUPLICATES grpc_archives)
    add_library(dependency_grpc INTERFACE)
    target_link_libraries(dependency_grpc INTERFACE
      "$<LINK_GROUP:RESCAN,${grpc_archives}>" Threads::Threads)
  else()
    message(STATUS "No headrace-tensorboard-data, no headrace-server-grpc: gRPC is not installed")
  endif()
endif()
