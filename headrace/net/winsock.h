#pragma once

/// \file Sockets on Windows, for the files of net/ that are built only there. Thread-safe.

#include "headrace/base/result.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

/// Starts Winsock, once in a process. Must precede every other Winsock call.
/// \error kResourceExhausted  Winsock cannot be started
Status start_winsock();

/// The error of this thread's last Winsock call: kResourceExhausted if the system has no descriptor or memory
/// left, otherwise kUnavailable.
Error winsock_error();

/// Starts Winsock, and opens a non-blocking socket that child processes do not inherit.
/// \error as for start_winsock and winsock_error
Result<FileDescriptor> open_winsock(int family, int type, int protocol);

}  // namespace headrace
