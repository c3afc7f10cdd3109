#include "headrace/os/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr int kSealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Error no_shared_memory(std::uint64_t size_bytes) {
  return {Code::kResourceExhausted,
          concat("sharing ", size_bytes, " bytes of memory: ", std::strerror(errno))};
}

// Maps the memory. Returns null and sets errno if it cannot be mapped.
std::byte* mapped(const FileDescriptor& descriptor, std::uint64_t size_bytes, bool is_writable) {
  const int protection = is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const memory = mmap(nullptr, size_bytes, protection, MAP_SHARED, descriptor.get(), 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace

Result<SharedMemory> SharedMemory::create(std::uint64_t size_bytes) {
  if (size_bytes == 0) return SharedMemory();
  FileDescriptor descriptor(memfd_create("headrace", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool is_sized = descriptor.is_open() &&
                        ftruncate(descriptor.get(), static_cast<off_t>(size_bytes)) == 0 &&
                        fcntl(descriptor.get(), F_ADD_SEALS, kSealed) == 0;
  if (!is_sized) return no_shared_memory(size_bytes);
  std::byte* const memory = mapped(descriptor, size_bytes, true);
  if (memory == nullptr) return no_shared_memory(size_bytes);
  return SharedMemory(std::move(descriptor), {memory, size_bytes});
}

Result<SharedMemory> SharedMemory::map(FileDescriptor descriptor, std::uint64_t size_bytes,
                                       bool is_writable) {
  struct stat about {};
  const int seals = fcntl(descriptor.get(), F_GET_SEALS);
  const bool is_safe = seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(descriptor.get(), &about) == 0 &&
                       static_cast<std::uint64_t>(about.st_size) >= size_bytes;
  if (!is_safe) {
    return Error{Code::kInvalidArgument, concat("the memory has less than ", size_bytes,
                                                " bytes, or is not sealed against shrinking")};
  }
  if (size_bytes == 0) return SharedMemory();
  std::byte* const memory = mapped(descriptor, size_bytes, is_writable);
  if (memory == nullptr) return no_shared_memory(size_bytes);
  return SharedMemory(std::move(descriptor), {memory, size_bytes});
}

SharedMemory::~SharedMemory() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace headrace
