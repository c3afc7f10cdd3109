# The preset `windows`: programs for x86-64 by Debian's g++-mingw-w64-x86-64-posix. They contain the libraries
# of the compiler, and need only DLLs that are part of Windows.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
find_program(HEADRACE_WINE wine64 PATHS /usr/lib/wine)
if(HEADRACE_WINE)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${HEADRACE_WINE})  # ctest starts test programs with it
endif()
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
