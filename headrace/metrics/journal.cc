#include "headrace/metrics/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "headrace/base/crc32c.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/os/lock_file.h"

namespace headrace {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFrameHeadBytes = 8;
constexpr std::size_t kPointsPerFrame = 1 << 16;
constexpr std::string_view kLockName = "lock";

Error cannot(std::string_view doing, const std::string& path, int reason) {
  const Code code = reason == ENOSPC || reason == EDQUOT ? Code::kResourceExhausted : Code::kPermissionDenied;
  return {code, concat(doing, ' ', path, ": ", std::strerror(reason))};
}

Bytes encode_head(const JournalHead& head) {
  Bytes out;
  WireWriter writer(out);
  writer.text(1, head.url);
  if (head.from_step) writer.varint(2, zigzag(*head.from_step));
  return out;
}

void write_points(WireWriter& writer, std::span<const MetricPoint> points, const JournalNumbers& numbers) {
  Bytes metrics;
  Bytes values;
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> times;
  for (const MetricPoint& point : points) {
    append_varint(metrics, numbers[point.metric]);
    steps.push_back(point.step);
    times.push_back(point.time_us);
    append_little_endian(values, point.value);
  }
  writer.bytes(2, metrics);
  writer.bytes(3, encode_integers(steps));
  writer.bytes(4, encode_integers(times));
  writer.bytes(5, values);
}

bool parse_head(BytesView payload, JournalHead& head) {
  WireReader reader(payload);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) head.url = field.as_text();
    if (field.number == 2) head.from_step = unzigzag(field.value);
  }
  return !reader.malformed() && !head.url.empty();
}

/// Adds the points of a frame, or nothing.
bool parse_points(BytesView payload, JournalFile& file) {
  BytesView metrics;
  BytesView steps;
  BytesView times;
  BytesView values;
  bool is_end = false;
  WireReader reader(payload);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) file.names.emplace_back(field.as_text());
    if (field.number == 2) metrics = field.bytes;
    if (field.number == 3) steps = field.bytes;
    if (field.number == 4) times = field.bytes;
    if (field.number == 5) values = field.bytes;
    if (field.number == 6) is_end = field.value != 0;
  }
  if (reader.malformed() || values.size() % 8 != 0) return false;
  const std::size_t count = values.size() / 8;
  const auto all_steps = decode_integers(steps, count);
  const auto all_times = decode_integers(times, count);
  if (!all_steps || !all_times) return false;
  std::size_t position = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t metric = 0;
    if (!read_varint(metrics, position, metric) || metric >= file.names.size()) return false;
    file.points.push_back({static_cast<std::uint32_t>(metric), (*all_steps)[i], (*all_times)[i],
                           load_little_endian<double>(values.data() + 8 * i)});
  }
  file.is_end = is_end;
  return true;
}

std::optional<BytesView> next_frame(BytesView data, std::size_t& position) {
  if (data.size() - position < kFrameHeadBytes) return std::nullopt;
  const std::byte* const head = data.data() + position;
  const auto size = load_little_endian<std::uint32_t>(head);
  if (size > data.size() - position - kFrameHeadBytes) return std::nullopt;
  const BytesView payload = data.subspan(position + kFrameHeadBytes, size);
  if (crc32c(payload) != load_little_endian<std::uint32_t>(head + 4)) return std::nullopt;
  position += kFrameHeadBytes + size;
  return payload;
}

bool ends_in_frame(BytesView data) {
  return data.size() < kFrameHeadBytes ||
         load_little_endian<std::uint32_t>(data.data()) > data.size() - kFrameHeadBytes;
}

}  // namespace

std::string journal_path(const std::string& folder, std::uint64_t number) {
  return concat(folder, '/', segment_name(number, number));
}

// The folder gets its name once it is locked, so that nobody takes it for one that a killed writer has left.
Result<Journal> Journal::create(std::string folder, JournalHead head) {
  const fs::path named = folder;
  const fs::path unlocked = named.parent_path() / ("." + named.filename().string());
  std::error_code failure;
  fs::create_directories(unlocked, failure);
  if (failure) return cannot("making", folder, failure.value());
  fs::permissions(unlocked, fs::perms::owner_all, failure);
  FileDescriptor lock = open_locked((unlocked / kLockName).string(), O_RDWR | O_CREAT);
  if (!lock.is_open()) return cannot("locking", folder, errno);
  fs::rename(unlocked, named, failure);
  if (failure) {
    const bool is_there = fs::exists(named);
    std::error_code ignored;
    fs::remove_all(unlocked, ignored);
    if (is_there) return Error{Code::kAlreadyExists, concat(folder, " is another writer's journal")};
    return cannot("making", folder, failure.value());
  }
  return Journal(std::move(folder), std::move(head), std::move(lock));
}

std::string Journal::path(std::uint64_t number) const { return journal_path(folder_, number); }

Status Journal::write_frame(BytesView payload) {
  Bytes frame;
  append_little_endian(frame, static_cast<std::uint32_t>(payload.size()));
  append_little_endian(frame, crc32c(payload));
  headrace::append(frame, payload);
  if (!write_all(file_, frame)) {
    Error failure = cannot("writing", path(number_), errno);
    static_cast<void>(
        ftruncate(file_.get(), static_cast<off_t>(file_bytes_)));  // or what follows is not found
    return failure;
  }
  file_bytes_ += frame.size();
  held_bytes_ += frame.size();
  return {};
}

Status Journal::begin_file() {
  const std::string name = path(number_);
  file_ = FileDescriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0600));
  if (!file_.is_open()) return cannot("making", name, errno);
  return write_frame(encode_head(head_));
}

Status Journal::append(std::span<const std::string> names, std::span<const MetricPoint> points, bool is_end) {
  if (!file_.is_open()) HEADRACE_CHECK(begin_file());
  do {
    const auto some = points.first(std::min(points.size(), kPointsPerFrame));
    points = points.subspan(some.size());
    const std::uint32_t names_before = in_file_.count();
    Bytes payload;
    WireWriter writer(payload);
    for (const MetricPoint& point : some) {
      if (in_file_.add(point.metric)) writer.text(1, names[point.metric]);
    }
    write_points(writer, some, in_file_);
    if (is_end && points.empty()) writer.varint(6, 1);
    if (Status written = write_frame(payload); !written) {
      in_file_.cut(names_before);
      return written;
    }
  } while (!points.empty());
  return {};
}

std::uint64_t Journal::end_file() {
  file_.close();
  sizes_[number_] = std::exchange(file_bytes_, 0);
  in_file_.cut(0);
  return number_++;
}

void Journal::remove(std::uint64_t number) {
  std::error_code ignored;
  fs::remove(path(number), ignored);
  held_bytes_ -= sizes_[number];
  sizes_.erase(number);
}

void Journal::remove_all() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Result<JournalFile> read_journal_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Error{Code::kNotFound, concat("reading ", path, ": ", std::strerror(errno))};
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const BytesView data = as_bytes(text);
  std::size_t position = 0;
  JournalFile file;
  const auto head = next_frame(data, position);
  if (!head && ends_in_frame(data))
    return Error{Code::kOutOfRange, concat(path, " ends before anything was acknowledged")};
  if (!head || !parse_head(*head, file.head))
    return Error{Code::kDataLoss, concat(path, " is no journal of metrics, or its beginning is damaged")};
  std::size_t good = position;
  for (auto frame = next_frame(data, position); frame; frame = next_frame(data, position)) {
    const std::size_t names = file.names.size();
    const std::size_t points = file.points.size();
    if (!parse_points(*frame, file)) {
      file.names.resize(names);
      file.points.resize(points);
      break;
    }
    good = position;
  }
  file.digest = sha256(data.first(good));
  return file;
}

bool is_writer_gone(const std::string& folder) {
  return open_locked(concat(folder, '/', kLockName), O_RDWR).is_open();
}

std::vector<LeftJournal> left_journals(const std::string& state) {
  std::vector<LeftJournal> left;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(state, ignored)) {
    const std::string folder = entry.path().string();
    if (entry.path().filename().string().starts_with('.')) continue;  // not locked yet
    FileDescriptor lock = open_locked(concat(folder, '/', kLockName), O_RDWR);
    if (!lock.is_open()) continue;
    LeftJournal journal{.folder = folder, .lock = std::move(lock), .numbers = {}};
    for (const auto& file : fs::directory_iterator(folder, ignored)) {
      if (const auto number = parse_number<std::uint64_t>(file.path().filename().string()))
        journal.numbers.push_back(*number);
    }
    std::sort(journal.numbers.begin(), journal.numbers.end());
    left.push_back(std::move(journal));
  }
  std::sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.folder < b.folder; });
  return left;
}

}  // namespace headrace
