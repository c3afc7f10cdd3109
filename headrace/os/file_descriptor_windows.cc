#include <winsock2.h>

#include "headrace/os/file_descriptor.h"

namespace headrace {

bool FileDescriptor::close() { return number_ < 0 || ::closesocket(static_cast<SOCKET>(release())) == 0; }

}  // namespace headrace
