#include "headrace/filesystem/log_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// docs/formats/tfrecord.md: length, its checksum, the data, their checksum.
constexpr std::size_t kFrameBytes = 16;
constexpr int kNameDigits = 6;
// Writers that find their number taken this often in a row do not share a log, something is wrong.
constexpr int kMostTaken = 1'000;

std::string segment_name(const std::string& name, std::uint64_t segment) {
  return segment == 0 ? name : concat(name, ".", zero_padded(segment, kNameDigits));
}

// How much of it is whole records.
std::size_t size_of_whole_records(BytesView data) {
  std::size_t end = 0;
  while (data.size() - end >= kFrameBytes) {
    const auto length = load_little_endian<std::uint64_t>(data.data() + end);
    if (length > data.size() - end - kFrameBytes) break;
    end += kFrameBytes + static_cast<std::size_t>(length);
  }
  return end;
}

struct Segments {
  std::uint64_t next = 0;  // the number after the greatest
  std::uint64_t size_bytes = 0;
};

Result<Segments> segments_of(const Location& location) {
  Segments found;
  HEADRACE_CHECK(location.store->list(location.key, {}, [&](const ObjectInfo& object) {
    const std::string_view rest = std::string_view(object.key).substr(location.key.size());
    std::optional<std::uint64_t> number;
    if (rest.empty()) number = 0;
    if (rest.starts_with('.')) number = parse_number<std::uint64_t>(rest.substr(1));
    if (number) found.next = std::max(found.next, *number + 1);
    if (number) found.size_bytes += object.size_bytes;
    return rest.empty() || rest.front() <= '.';
  }));
  return found;
}

}  // namespace

LogFile::LogFile(Location location, LogFileOptions options, Background& background)
    : location_(std::move(location)),
      options_(std::move(options)),
      background_(background),
      not_before_(options_.now() + kLeastInterval) {}

LogFile::~LogFile() { static_cast<void>(close()); }

Result<std::shared_ptr<LogFile>> LogFile::open(Location location, bool goes_on, LogFileOptions options,
                                               Background& background) {
  Segments there;
  if (goes_on) {
    HEADRACE_TRY(there, segments_of(location));
  }
  std::shared_ptr<LogFile> log(new LogFile(std::move(location), std::move(options), background));
  log->next_segment_ = there.next;
  log->size_bytes_ = there.size_bytes;
  return log;
}

Status LogFile::append(BytesView data) {
  const std::scoped_lock lock(mutex_);
  const auto refused = static_cast<std::size_t>(std::min<std::uint64_t>(refused_bytes_, data.size()));
  refused_bytes_ -= refused;
  if (refused > 0 && refused == data.size()) return refuse();
  data = data.subspan(refused);
  const std::size_t held = buffer_.size() + being_written_bytes_;
  if (has_failed_ && held > 0 && held + data.size() > kMostHeldBytes) {
    drop_record_of(data);
    write_later(not_before_);  // the store may have changed its mind
    return refuse();
  }
  headrace::append(buffer_, data);
  size_bytes_ += data.size();
  if (buffer_.size() >= kMostSegmentBytes) write_later(has_failed_ ? not_before_ : options_.now());
  return {};
}

bool LogFile::is_full() const {
  const std::scoped_lock lock(mutex_);
  return !has_failed_ && buffer_.size() >= kFullBytes;
}

Status LogFile::make_room() { return is_full() ? write(Part::kWholeRecords) : Status{}; }

Status LogFile::refuse() const {
  return Error{Code::kResourceExhausted,
               concat(location_.describe(), ": ", format_size(buffer_.size() + being_written_bytes_),
                      " of events wait for the store, which has not taken them; is it there?")};
}

// A part of a record would make all after it unreadable, and who appends one may go on with the next part:
// the whole record is left out. REQUIRES: mutex_ is held
void LogFile::drop_record_of(BytesView data) {
  const std::size_t whole = size_of_whole_records(buffer_);
  Bytes dropped(buffer_.begin() + static_cast<std::ptrdiff_t>(whole), buffer_.end());
  size_bytes_ -= dropped.size();
  buffer_.resize(whole);
  headrace::append(dropped, data);
  const BytesView rest = BytesView(dropped).subspan(size_of_whole_records(dropped));
  if (rest.size() < sizeof(std::uint64_t)) return;
  const auto length = load_little_endian<std::uint64_t>(rest.data());
  const bool is_frame = length < std::uint64_t{1} << 40;
  refused_bytes_ = is_frame ? kFrameBytes + length - rest.size() : 0;
}

Status LogFile::flush() {
  {
    const std::scoped_lock lock(mutex_);
    if (buffer_.empty()) return {};
    if (options_.now() < not_before_) {
      write_later(not_before_);
      return std::exchange(untold_, Status());
    }
  }
  return write(Part::kWholeRecords);
}

// REQUIRES: mutex_ is held
void LogFile::write_later(Clock::time_point time) {
  if (std::exchange(is_put_off_, true)) return;
  background_.add_at(time, [weak = weak_from_this()] {
    const std::shared_ptr<LogFile> log = weak.lock();
    if (!log) return;
    {
      const std::scoped_lock lock(log->mutex_);
      log->is_put_off_ = false;
    }
    Status status = log->write(Part::kWholeRecords);
    const std::scoped_lock lock(log->mutex_);
    log->untold_ = std::move(status);
  });
}

Status LogFile::close() { return write(Part::kAll); }

std::uint64_t LogFile::size_bytes() const {
  const std::scoped_lock lock(mutex_);
  return size_bytes_;
}

// An outage is an error only of the last write.
Status LogFile::write(Part part) {
  const std::scoped_lock one_writer(writing_);
  while (true) {
    Bytes records;
    {
      const std::scoped_lock lock(mutex_);
      std::size_t size = part == Part::kAll ? buffer_.size() : size_of_whole_records(buffer_);
      if (unclear_bytes_ > 0) size = std::min(unclear_bytes_, buffer_.size());
      if (size == 0) return {};
      Bytes rest(buffer_.begin() + static_cast<std::ptrdiff_t>(size), buffer_.end());
      records = std::exchange(buffer_, std::move(rest));
      records.resize(size);
      being_written_bytes_ = size;
    }
    const Status status = write_segment(records);
    const std::scoped_lock lock(mutex_);
    being_written_bytes_ = 0;
    has_failed_ = !status;
    if (status) untold_ = Status();  // what had been refused is there now
    not_before_ = options_.now() + (status ? kLeastInterval : kRetryInterval);
    const bool was_unclear = std::exchange(unclear_bytes_, status ? 0 : records.size()) > 0;
    if (status && was_unclear) continue;  // what has come since
    if (status) return {};
    buffer_.insert(buffer_.begin(), records.begin(), records.end());
    const Code code = status.error().code;
    const bool is_outage = code == Code::kUnavailable || code == Code::kDeadlineExceeded;
    if (part == Part::kAll || !is_outage) return status;
    write_later(not_before_);
    return {};
  }
}

// Whether the object is what this log has written there, in a request whose answer was lost.
Result<bool> LogFile::is_ours(const std::string& key, BytesView segment) {
  HEADRACE_TRY(const ObjectInfo object, location_.store->stat(key, {}));
  if (object.size_bytes != segment.size()) return false;
  HEADRACE_TRY(const ReadObject there, read_object(*location_.store, key, segment.size()));
  return std::ranges::equal(there.data, segment);
}

// Under the first number that is free. REQUIRES: writing_ is held
Status LogFile::write_segment(BytesView records) {
  for (int taken = 0;; ++taken) {
    const std::string key = segment_name(location_.key, next_segment_);
    Bytes segment = next_segment_ == 0 ? Bytes() : options_.segment_header;
    headrace::append(segment, records);
    const auto written = location_.store->write(key, segment, {.only_if_absent = true});
    const bool is_taken = !written && written.error().code == Code::kAlreadyExists;
    if (!written && (!is_taken || taken == kMostTaken)) return written.error();
    bool is_done = written.has_value();
    if (is_taken) {
      HEADRACE_TRY(is_done, is_ours(key, segment));
    }
    ++next_segment_;
    if (is_done) return {};
  }
}

}  // namespace headrace
