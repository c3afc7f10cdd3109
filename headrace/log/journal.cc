#include "headrace/log/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/os/lock_file.h"

namespace headrace {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFrameHeadBytes = 8;
constexpr int kNumberDigits = 6;
constexpr std::string_view kLockName = "lock";
constexpr std::string_view kRemoved = ".removed-";  // begins the name of a folder that is being removed
constexpr int kMostBegun = 100;  // a process that looks all the time may spoil many attempts

Error cannot(std::string_view doing, const std::string& path, int reason) {
  const bool is_full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  return {is_full ? Code::kResourceExhausted : Code::kPermissionDenied,
          concat(doing, ' ', path, ": ", std::strerror(reason))};
}

std::optional<BytesView> next_payload(BytesView file, std::size_t& position) {
  if (file.size() - position < kFrameHeadBytes) return std::nullopt;
  const std::byte* const head = file.data() + position;
  const auto size = load_little_endian<std::uint32_t>(head);
  if (size > file.size() - position - kFrameHeadBytes) return std::nullopt;
  const BytesView payload = file.subspan(position + kFrameHeadBytes, size);
  if (crc32c(payload) != load_little_endian<std::uint32_t>(head + 4)) return std::nullopt;
  position += kFrameHeadBytes + size;
  return payload;
}

struct UnlockedFolder {
  fs::path path;
  FileDescriptor lock;
};

// Makes a folder under a temporary name, and holds its lock. If `visit_left_journals` in another process
// takes the folder for one of a killed process, tries another name. If it fails, the returned lock is not
// open, and `errno` says why.
UnlockedFolder make_unlocked(const fs::path& named) {
  UnlockedFolder made;
  for (int begun = 0; begun < kMostBegun && !made.lock.is_open(); ++begun) {
    made.path = named.parent_path() / concat('.', begun, '-', named.filename().string());
    std::error_code failure;
    fs::create_directories(made.path, failure);
    if (failure) {
      errno = failure.value();
      break;
    }
    fs::permissions(made.path, fs::perms::owner_all, failure);
    made.lock = open_locked((made.path / kLockName).string(), O_RDWR | O_CREAT);
    if (!made.lock.is_open() && errno != EWOULDBLOCK && errno != ENOENT) break;
  }
  return made;
}

// Removes a folder whose process was killed while it made or removed the folder.
void remove_remains(const fs::path& folder) {
  if (folder.filename().string().starts_with(kRemoved)) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    return;
  }
  // Held until the folder is gone, so that its maker does not take it meanwhile.
  const FileDescriptor lock = open_locked((folder / kLockName).string(), O_RDWR);
  if (lock.is_open()) {
    remove_journal_folder(folder.string());
  } else {
    rmdir(folder.c_str());  // if it is an empty folder
  }
}

std::vector<std::uint64_t> numbers_in(const fs::path& folder) {
  std::vector<std::uint64_t> numbers;
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(folder, ignored)) {
    if (const auto number = parse_number<std::uint64_t>(file.path().filename().string()))
      numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

bool ends_in_first_frame(BytesView file) {
  return file.size() < kFrameHeadBytes ||
         load_little_endian<std::uint32_t>(file.data()) > file.size() - kFrameHeadBytes;
}

}  // namespace

std::string journal_path(const std::string& folder, std::uint64_t number) {
  return concat(folder, '/', zero_padded(number, kNumberDigits));
}

// The folder gets its name only when it is locked, so that no process takes it for the journal of a killed
// writer.
Result<Journal> Journal::create(std::string folder, Bytes head, std::uint64_t first_number) {
  const fs::path named = folder;
  auto [unlocked, lock] = make_unlocked(named);
  if (!lock.is_open()) return cannot("making", folder, errno);
  std::error_code failure;
  fs::rename(unlocked, named, failure);
  if (failure) {
    const bool is_there = fs::exists(named);
    std::error_code ignored;
    fs::remove_all(unlocked, ignored);
    if (is_there) return Error{Code::kAlreadyExists, concat(folder, " is another writer's journal")};
    return cannot("making", folder, failure.value());
  }
  return Journal(std::move(folder), std::move(head), first_number, std::move(lock));
}

std::string Journal::path(std::uint64_t number) const { return journal_path(folder_, number); }

Status Journal::write_frame(BytesView payload) {
  Bytes head;
  append_little_endian(head, static_cast<std::uint32_t>(payload.size()));
  append_little_endian(head, crc32c(payload));
  if (!write_all(file_, head) || !write_all(file_, payload)) {
    Error failure = cannot("writing", path(number_), errno);
    // Otherwise readers would stop before the frames that follow.
    static_cast<void>(ftruncate(file_.get(), static_cast<off_t>(file_bytes_)));
    return failure;
  }
  file_bytes_ += head.size() + payload.size();
  held_bytes_ += head.size() + payload.size();
  return {};
}

Status Journal::append(BytesView payload) {
  if (!file_.is_open()) {
    const std::string name = path(number_);
    file_ = FileDescriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0600));
    if (!file_.is_open()) return cannot("making", name, errno);
  }
  if (file_bytes_ == 0) HEADRACE_CHECK(write_frame(head_));
  return write_frame(payload);
}

std::uint64_t Journal::end_file() {
  file_.close();
  sizes_[number_] = std::exchange(file_bytes_, 0);
  return number_++;
}

void Journal::remove(std::uint64_t number) {
  std::error_code ignored;
  fs::remove(path(number), ignored);
  held_bytes_ -= sizes_[number];
  sizes_.erase(number);
}

// The folder is renamed first: a folder under a journal's name always has its lock.
void remove_journal_folder(const std::string& folder) {
  const fs::path named = folder;
  const fs::path removed = named.parent_path() / concat(kRemoved, named.filename().string());
  std::error_code ignored;
  fs::remove_all(removed, ignored);  // left by a process that was killed
  fs::rename(named, removed, ignored);
  fs::remove_all(removed, ignored);
}

Result<Bytes> read_journal_file(const std::string& path) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  const int reason = errno;
  if (!stream) {
    return Error{reason == ENOENT ? Code::kNotFound : Code::kUnavailable,
                 concat("reading ", path, ": ", std::strerror(reason))};
  }
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(stream.tellg(), 0));
  if (size > kJournalFileLimitBytes)
    return Error{Code::kResourceExhausted,
                 concat(path, " has ", format_size(size), ", which is more than a journal may have")};
  Bytes file(size);
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(file.data()), static_cast<std::streamsize>(size));
  if (static_cast<std::uint64_t>(stream.gcount()) == size) return file;
  return Error{Code::kUnavailable, concat("reading ", path, ": got only ", stream.gcount(), " of ", size,
                                          " bytes; check the disk")};
}

Result<JournalPayloads> journal_payloads(BytesView file, const std::string& path) {
  std::size_t position = 0;
  const auto head = next_payload(file, position);
  if (!head && ends_in_first_frame(file))
    return Error{Code::kOutOfRange, concat(path, " ends before anything was acknowledged")};
  if (!head) return Error{Code::kDataLoss, concat(path, " is not a journal, or its beginning is damaged")};
  JournalPayloads payloads{.head = *head};
  for (auto payload = next_payload(file, position); payload; payload = next_payload(file, position))
    payloads.others.push_back(*payload);
  payloads.size_bytes = position;
  return payloads;
}

bool is_writer_gone(const std::string& folder) {
  return open_locked(concat(folder, '/', kLockName), O_RDWR).is_open();
}

void visit_left_journals(const std::string& state, const std::function<void(const LeftJournal&)>& visit) {
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(state, ignored)) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  for (const fs::path& folder : folders) {
    if (folder.filename().string().starts_with('.')) {
      remove_remains(folder);
      continue;
    }
    const FileDescriptor lock = open_locked((folder / kLockName).string(), O_RDWR);
    if (lock.is_open()) visit({folder.string(), numbers_in(folder)});
  }
}

}  // namespace headrace
