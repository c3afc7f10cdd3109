#include "headrace/store/s3/upload_note.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/os/lock_file.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHead = "headrace upload 1\n";
constexpr std::size_t kMostBytes = 4 << 10;
constexpr std::size_t kNameDigits = 32;
constexpr std::chrono::hours kUnused{24 * 30};

bool is_note(const std::string& name) {
  return name.size() == kNameDigits && name.find_first_not_of("0123456789abcdef") == name.npos;
}

// Removes old notes. Errors are ignored: a note that cannot be removed only takes room.
void remove_unused(const fs::path& folder) {
  std::error_code ignored;
  const auto oldest = fs::file_time_type::clock::now() - kUnused;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    std::error_code failure;
    if (!is_note(entry->path().filename().string()) || entry->last_write_time(failure) > oldest || failure)
      continue;
    if (open_locked(entry->path().string(), O_RDWR).is_open()) fs::remove(entry->path(), failure);
  }
}

bool is_line(std::string_view text) {
  return !text.empty() && text.find_first_of(std::string_view("\n\r\0", 3)) == text.npos;
}

}  // namespace

std::unique_ptr<UploadNote> UploadNote::take(const std::string& folder, std::string_view names_object) {
  if (folder.empty()) return nullptr;
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) return nullptr;
  remove_unused(folder);
  const std::string digest = sha256_hex(as_bytes(concat("headrace uploads 1", '\0', names_object)));
  std::string path = (fs::path(folder) / digest.substr(0, kNameDigits)).string();
  FileDescriptor file = open_locked(path, O_RDWR | O_CREAT);
  if (!file.is_open()) return nullptr;
  return std::unique_ptr<UploadNote>(new UploadNote(std::move(path), std::move(file)));
}

std::optional<BegunUpload> UploadNote::read() const {
  std::array<char, kMostBytes> bytes{};
  const ssize_t got = ::pread(file_.get(), bytes.data(), bytes.size(), 0);
  std::string_view text(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  if (!text.starts_with(kHead)) return std::nullopt;
  text.remove_prefix(kHead.size());
  const std::size_t first = text.find('\n'), second = text.find('\n', first + 1);
  if (first == text.npos || second == text.npos || second + 1 != text.size()) return std::nullopt;
  return BegunUpload{std::string(text.substr(0, first)),
                     std::string(text.substr(first + 1, second - first - 1))};
}

bool UploadNote::write(const BegunUpload& begun) {
  const std::string text = concat(kHead, begun.id, '\n', begun.mark, '\n');
  if (!is_line(begun.id) || !is_line(begun.mark) || text.size() >= kMostBytes) return false;
  return ::ftruncate(file_.get(), 0) == 0 && ::lseek(file_.get(), 0, SEEK_SET) == 0 &&
         write_all(file_, as_bytes(text));
}

void UploadNote::remove() { ::unlink(path_.c_str()); }

}  // namespace headrace
