#include "headrace/serve/version/version_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/os/file_descriptor.h"
#include "headrace/os/low_priority.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

constexpr std::uint64_t kRangeBytes = 4 << 20;
// Bytes for one system call. Most kernels do not preempt a call, so answering threads wait until it ends,
// whatever their priority.
constexpr std::size_t kCallBytes = 64 << 10;
constexpr std::chrono::seconds kLowPriorityMax{60};  // versions that serve requests come first

// A range of a file that one request reads.
struct FileRange {
  std::size_t file = 0;
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
};

FileDescriptor open_cached(const std::string& path, int flags) {
  return FileDescriptor(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
}

Status make_empty_files(const WantedVersion& version, const std::string& folder) {
  for (const WantedFile& file : version.files) {
    const std::string path = concat(folder, "/", file.name);
    std::error_code failure;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failure);
    if (failure) return cache_error("making the folder of", path, failure.value());
    if (!open_cached(path, O_WRONLY | O_CREAT | O_EXCL).is_open())
      return cache_error("creating", path, errno);
  }
  return {};
}

std::vector<FileRange> ranges_of(const WantedVersion& version) {
  std::vector<FileRange> ranges;
  for (std::size_t i = 0; i < version.files.size(); ++i) {
    const std::uint64_t size_bytes = version.files[i].size_bytes;
    for (std::uint64_t offset = 0; offset < size_bytes; offset += kRangeBytes)
      ranges.push_back({i, offset, std::min(kRangeBytes, size_bytes - offset)});
  }
  return ranges;
}

Error changed_error(const WantedVersion& version, const WantedFile& file, std::string_view how) {
  const std::string name = version.folder.store->describe(file.key);
  if (file.crc32c) {
    return {Code::kDataLoss, concat(name, " ", how, " since version ", version.number,
                                    " was published: restore it, or publish the model again")};
  }
  return {Code::kAborted, concat(name, " ", how, " since version ", version.number,
                                 " was listed: the next poll finds what is there now")};
}

Status read_range(const WantedVersion& version, const FileRange& range, MutableBytesView target,
                  const CallOptions& call) {
  const WantedFile& file = version.files[range.file];
  const auto read = version.folder.store->read_into(file.key, target,
                                                    {.offset_bytes = range.offset_bytes,
                                                     .if_version = file.version,
                                                     .is_whole = range.size_bytes == file.size_bytes,
                                                     .call = call});
  if (read && read->object.size_bytes == file.size_bytes && read->bytes_read == target.size()) return {};
  if (read || read.error().code == Code::kOutOfRange)
    return changed_error(version, file, "has changed its size");
  if (read.error().code == Code::kNotFound) return changed_error(version, file, "was removed");
  if (read.error().code == Code::kFailedPrecondition) return changed_error(version, file, "was replaced");
  return read.error();
}

Status write_range(const std::string& path, std::uint64_t offset_bytes, BytesView data) {
  FileDescriptor file = open_cached(path, O_WRONLY);
  if (!file.is_open()) return cache_error("opening", path, errno);
  bool is_written = ::lseek(file.get(), static_cast<off_t>(offset_bytes), SEEK_SET) >= 0;
  while (is_written && !data.empty()) {
    const std::size_t size_bytes = std::min(kCallBytes, data.size());
    is_written = write_all(file, data.first(size_bytes));
    data = data.subspan(size_bytes);
  }
  if (!is_written || !file.close()) return cache_error("writing", path, errno);
  return {};
}

// Combines the CRC32Cs of ranges into one for each file, and compares them with the manifest's.
Result<std::vector<std::uint32_t>> joined_checksums(const WantedVersion& version,
                                                    const std::vector<FileRange>& ranges,
                                                    const std::vector<std::uint32_t>& of_ranges) {
  std::vector<std::uint32_t> checksums(version.files.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    std::uint32_t& checksum = checksums[ranges[i].file];
    checksum = combined_crc32c(checksum, of_ranges[i], ranges[i].size_bytes);
  }
  for (std::size_t i = 0; i < checksums.size(); ++i) {
    const WantedFile& file = version.files[i];
    if (!file.crc32c || *file.crc32c == checksums[i]) continue;
    return changed_error(version, file,
                         concat("has the CRC32C ", hex32(checksums[i]), ", not ", hex32(*file.crc32c),
                                ": its bytes were altered"));
  }
  return checksums;
}

std::optional<std::uint32_t> checksum_of_file(const std::string& path) {
  const FileDescriptor file = open_cached(path, O_RDONLY);
  if (!file.is_open()) return std::nullopt;
  Bytes buffer(kCallBytes);
  std::uint32_t checksum = 0;
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return checksum;
    checksum = crc32c(BytesView(buffer).first(static_cast<std::size_t>(count)), checksum);
  }
}

}  // namespace

Error cache_error(std::string_view doing, const std::string& path, int number) {
  const bool is_full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  const Code code = is_full || number == EMFILE || number == ENFILE          ? Code::kResourceExhausted
                    : number == EACCES || number == EPERM || number == EROFS ? Code::kPermissionDenied
                                                                             : Code::kUnknown;
  return {code, concat(doing, " ", path, " in the model cache: ", std::strerror(number),
                       is_full ? "; free some space there, or name a cache on a larger disk" : "")};
}

Result<std::vector<std::uint32_t>> fetch_files(const WantedVersion& version, const std::string& folder,
                                               const FetchOptions& options) {
  HEADRACE_CHECK(make_empty_files(version, folder));
  const std::vector<FileRange> ranges = ranges_of(version);
  std::vector<std::uint32_t> checksums(ranges.size());
  const LowPrioritySteps steps(kLowPriorityMax);
  const auto fetch_range = [&](std::size_t i) -> Status {
    const FileRange& range = ranges[i];
    const auto low = steps.begin();
    if (options.call.stop.stop_requested())
      return Error{Code::kCancelled, concat("fetching ", version.folder.describe(), " was stopped")};
    Bytes data(range.size_bytes);
    HEADRACE_CHECK(read_range(version, range, data, options.call));
    checksums[i] = crc32c(data);
    HEADRACE_CHECK(
        write_range(concat(folder, "/", version.files[range.file].name), range.offset_bytes, data));
    if (options.advance) options.advance(range.size_bytes);
    return {};
  };
  HEADRACE_CHECK(parallel_for(options.threads, ranges.size(), fetch_range));
  return joined_checksums(version, ranges, checksums);
}

bool has_sizes(const WantedVersion& version, const std::string& folder) {
  return std::ranges::all_of(version.files, [&](const WantedFile& file) {
    struct stat status {};
    return lstat(concat(folder, "/", file.name).c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           static_cast<std::uint64_t>(status.st_size) == file.size_bytes;
  });
}

bool has_checksums(const WantedVersion& version, const std::vector<std::uint32_t>& checksums,
                   const std::string& folder, int threads) {
  const LowPrioritySteps steps(kLowPriorityMax);
  const Status compared = parallel_for(threads, version.files.size(), [&](std::size_t i) -> Status {
    const auto low = steps.begin();
    const std::string path = concat(folder, "/", version.files[i].name);
    if (checksum_of_file(path) == checksums[i]) return {};
    return Error{Code::kDataLoss, path};
  });
  return compared.has_value();
}

}  // namespace headrace
