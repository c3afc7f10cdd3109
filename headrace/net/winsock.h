#pragma once

/// \file Sockets of Windows, for the files of net/ that are built for it alone. Any thread.

#include "headrace/base/result.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

/// Starts Winsock, once in a process. Every first call comes through here.
/// \error kResourceExhausted
Status start_winsock();

/// The error of the last call of Winsock in this thread: kResourceExhausted if the system has no descriptor
/// or memory left, else kUnavailable.
Error winsock_error();

/// Starts Winsock and opens a socket that never waits and that no child process inherits.
/// \error as winsock_error
Result<FileDescriptor> open_winsock(int family, int type, int protocol);

}  // namespace headrace
