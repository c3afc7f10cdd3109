#include "headrace/filesystem/log_file.h"

#include <algorithm>
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

// The number after the greatest there is; 0 if there is none.
Result<std::uint64_t> free_segment(const Location& location) {
  std::uint64_t next = 0;
  HEADRACE_CHECK(location.store->list(location.key, {}, [&](const ObjectInfo& object) {
    const std::string_view rest = std::string_view(object.key).substr(location.key.size());
    if (rest.empty()) {
      next = std::max<std::uint64_t>(next, 1);
    } else if (rest.front() == '.') {
      const auto number = parse_number<std::uint64_t>(rest.substr(1));
      if (number) next = std::max(next, *number + 1);
    }
    return rest.empty() || rest.front() <= '.';
  }));
  return next;
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
  std::uint64_t next = 0;
  if (goes_on) {
    HEADRACE_TRY(next, free_segment(location));
  }
  std::shared_ptr<LogFile> log(new LogFile(std::move(location), std::move(options), background));
  log->next_segment_ = next;
  return log;
}

Status LogFile::append(BytesView data) {
  const std::scoped_lock lock(mutex_);
  if (buffer_.size() + data.size() > kMostHeldBytes) {
    return Error{Code::kResourceExhausted,
                 concat(location_.describe(), ": ", format_size(buffer_.size()),
                        " of events wait for the store, which has not taken them; is it there?")};
  }
  headrace::append(buffer_, data);
  size_bytes_ += data.size();
  if (buffer_.size() >= kMostSegmentBytes) put_off();
  return {};
}

void LogFile::flush_soon() {
  const std::scoped_lock lock(mutex_);
  if (!buffer_.empty()) put_off();
}

Status LogFile::flush() {
  {
    const std::scoped_lock lock(mutex_);
    if (buffer_.empty()) return {};
    if (options_.now() < not_before_) {
      put_off();
      return {};
    }
  }
  return write(Part::kWholeRecords);
}

// REQUIRES: mutex_ is held
void LogFile::put_off() {
  if (std::exchange(is_put_off_, true)) return;
  background_.add_at(not_before_, [weak = weak_from_this()] {
    const std::shared_ptr<LogFile> log = weak.lock();
    if (!log) return;
    {
      const std::scoped_lock lock(log->mutex_);
      log->is_put_off_ = false;
    }
    // Nobody is there to be told; what was not written is offered again, and `close` tells.
    static_cast<void>(log->write(Part::kWholeRecords));
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
  Bytes records, rest;
  {
    const std::scoped_lock lock(mutex_);
    const std::size_t size = part == Part::kAll ? buffer_.size() : size_of_whole_records(buffer_);
    if (size == 0) return {};
    rest.assign(buffer_.begin() + static_cast<std::ptrdiff_t>(size), buffer_.end());
    records = std::exchange(buffer_, std::move(rest));
    records.resize(size);
  }
  Status status = write_segment(records);
  const std::scoped_lock lock(mutex_);
  not_before_ = options_.now() + (status ? kLeastInterval : kRetryInterval);
  if (status) return {};
  buffer_.insert(buffer_.begin(), records.begin(), records.end());
  const Code code = status.error().code;
  const bool is_outage = code == Code::kUnavailable || code == Code::kDeadlineExceeded;
  if (part == Part::kAll || !is_outage) return status;
  put_off();
  return {};
}

// Under the first number that is free. REQUIRES: writing_ is held
Status LogFile::write_segment(BytesView records) {
  for (int taken = 0;; ++taken) {
    const std::string key = segment_name(location_.key, next_segment_);
    Bytes segment = next_segment_ == 0 ? Bytes() : options_.segment_header();
    headrace::append(segment, records);
    const auto written = location_.store->write(key, segment, {.only_if_absent = true});
    const bool is_taken = !written && written.error().code == Code::kAlreadyExists;
    if (written || is_taken) ++next_segment_;
    if (written) return {};
    if (!is_taken || taken == kMostTaken) return written.error();
  }
}

}  // namespace headrace
