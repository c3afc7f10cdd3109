#include "headrace/log/segment_log.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/log/closing_call.h"
#include "headrace/log/recover_segments.h"

namespace headrace {
namespace {

bool is_outage(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded;
}

// Returns whether the content of a file is lost for good.
bool is_lost(const Error& error) { return error.code != Code::kUnavailable; }

// Returns the number of a segment from the part of its key after the log's key; none if the object is not a
// segment.
std::optional<std::uint64_t> segment_number(std::string_view rest, std::string_view ending) {
  if (!rest.ends_with(ending)) return std::nullopt;
  rest.remove_suffix(ending.size());
  if (rest.empty()) return ending.empty() ? std::optional<std::uint64_t>(0) : std::nullopt;
  return rest.front() == '.' ? parse_number<std::uint64_t>(rest.substr(1)) : std::nullopt;
}

// Calls `visit` with each segment and its number.
Status visit_segments(const Location& location, std::string_view ending, const CallOptions& call,
                      const std::function<void(std::uint64_t, const ObjectInfo&)>& visit) {
  return location.store->list(location.key, {.call = call}, [&](const ObjectInfo& object) {
    const std::string_view rest = std::string_view(object.key).substr(location.key.size());
    if (const auto number = segment_number(rest, ending)) visit(*number, object);
    return rest.empty() || rest.front() <= '.';
  });
}

struct Segments {
  std::uint64_t next = 0;  // the number after the greatest
  std::uint64_t size_bytes = 0;
};

Result<Segments> segments_of(const Location& location, std::string_view ending, const CallOptions& call) {
  Segments found;
  HEADRACE_CHECK(visit_segments(location, ending, call, [&](std::uint64_t number, const ObjectInfo& segment) {
    found.next = std::max(found.next, number + 1);
    found.size_bytes += segment.size_bytes;
  }));
  return found;
}

Status remove_segments_of(const Location& log, std::string_view ending, std::span<const std::string> keeps,
                          const CallOptions& call) {
  std::vector<std::string> keys;
  HEADRACE_CHECK(visit_segments(log, ending, call, [&](std::uint64_t, const ObjectInfo& segment) {
    if (std::ranges::find(keeps, segment.key) == keeps.end()) keys.push_back(segment.key);
  }));
  return keys.empty() ? Status() : log.store->remove_many(keys, call);
}

}  // namespace

Status remove_segments(const Location& log, std::span<const std::string> keeps, const CallOptions& call) {
  return remove_segments_of(log, {}, keeps, call);
}

SegmentLog::SegmentLog(Location location, SegmentLogOptions options, Background& background)
    : location_(std::move(location)),
      options_(std::move(options)),
      background_(background),
      spool_(options_.spool),
      not_before_(options_.now() + kLeastInterval) {}

SegmentLog::~SegmentLog() {
  if (!is_left_in_journal_) static_cast<void>(close());
}

Result<std::shared_ptr<SegmentLog>> SegmentLog::open(Location location, bool goes_on,
                                                     SegmentLogOptions options, Background& background) {
  if (!options.journal.folder.empty() && (options.record_size != nullptr || options.replaces))
    return Error{
        Code::kInvalidArgument,
        concat(location.describe(), ": a log with a journal takes whole records, and replaces nothing")};
  Segments there;
  if (goes_on) {
    HEADRACE_TRY(there, segments_of(location, options.ending, options.call));
  }
  std::shared_ptr<SegmentLog> log(new SegmentLog(std::move(location), std::move(options), background));
  log->next_segment_ = log->first_journal_file_ = there.next;
  log->size_bytes_ = there.size_bytes;
  log->must_replace_ = !goes_on && log->options_.replaces;
  if (const Status replaced = log->replace(log->options_.call); !replaced && !is_outage(replaced.error()))
    return replaced.error();
  return log;
}

// Returns the size of the whole records at the beginning of `data`.
std::size_t SegmentLog::whole_bytes(BytesView data) const {
  if (options_.record_size == nullptr) return data.size();
  std::size_t end = 0;
  while (end < data.size()) {
    const auto size = options_.record_size(data.subspan(end));
    if (!size || *size > data.size() - end) break;
    end += static_cast<std::size_t>(*size);
  }
  return end;
}

// Returns the size of the records in memory. REQUIRES: mutex_ is held
std::size_t SegmentLog::held_bytes() const {
  std::size_t held = buffer_.size();
  for (const Waiting& waiting : waiting_) held += waiting.records.size();
  return held;
}

Status SegmentLog::append(BytesView data) {
  const std::scoped_lock lock(mutex_);
  const auto refused = static_cast<std::size_t>(std::min<std::uint64_t>(refused_bytes_, data.size()));
  refused_bytes_ -= refused;
  if (refused > 0 && refused == data.size()) return refuse();
  data = data.subspan(refused);
  const std::size_t held = held_bytes();
  if ((has_failed_ || has_journal()) && held > 0 && held + data.size() > options_.most_held_bytes &&
      !make_room_in_files(data.size())) {
    drop_record_of(data);
    write_later(not_before_);  // the store may accept writes again
    return refuse();
  }
  if (has_journal() && !data.empty()) HEADRACE_CHECK(write_journal(data));
  headrace::append(buffer_, data);
  size_bytes_ += data.size();
  if (buffer_.size() >= kMostSegmentBytes) write_later(has_failed_ ? not_before_ : options_.now());
  return {};
}

bool SegmentLog::is_full() const {
  const std::scoped_lock lock(mutex_);
  return !has_failed_ && !has_journal() && buffer_.size() >= kFullBytes;
}

Status SegmentLog::make_room() { return is_full() ? with_earlier_loss(write()) : Status{}; }

// Returns the status of a write that the caller waits for; if it succeeded, the status of an earlier loss.
Status SegmentLog::with_earlier_loss(Status written) {
  if (!written) return written;
  const std::scoped_lock lock(mutex_);
  return std::exchange(lost_, Status());
}

// REQUIRES: mutex_ is held
Status SegmentLog::refuse() const {
  return Error{
      Code::kResourceExhausted,
      concat(
          location_.describe(), ": ", format_size(held_bytes()),
          " of records wait because the store does not accept writes; check the store with headrace doctor")};
}

// A part of a record would make everything after it unreadable, and a caller that appends a part may continue
// with the next part: so the whole record is dropped. REQUIRES: mutex_ is held
void SegmentLog::drop_record_of(BytesView data) {
  if (options_.record_size == nullptr) return;
  const std::size_t whole = whole_bytes(buffer_);
  Bytes dropped(buffer_.begin() + static_cast<std::ptrdiff_t>(whole), buffer_.end());
  size_bytes_ -= dropped.size();
  buffer_.resize(whole);
  headrace::append(dropped, data);
  const BytesView rest = BytesView(dropped).subspan(whole_bytes(dropped));
  const auto size = options_.record_size(rest);
  refused_bytes_ = size ? *size - rest.size() : 0;
}

// Removes the first bytes from the buffer and returns them. REQUIRES: mutex_ is held
Bytes SegmentLog::take(std::size_t size) {
  Bytes rest(buffer_.begin() + static_cast<std::ptrdiff_t>(size), buffer_.end());
  Bytes taken = std::exchange(buffer_, std::move(rest));
  taken.resize(size);
  return taken;
}

// REQUIRES: mutex_ is held
Status SegmentLog::write_journal(BytesView data) {
  const SegmentJournalOptions& options = options_.journal;
  if (!journal_) {
    HEADRACE_TRY(journal_, Journal::create(options.folder,
                                           encode_segment_journal_head({.url = location_.url.text(),
                                                                        .ending = options_.ending,
                                                                        .header = options_.segment_header,
                                                                        .owner = options.owner}),
                                           first_journal_file_));
  }
  if (journal_->held_bytes() + data.size() <= options.most_bytes) return journal_->append(data);
  write_later(has_failed_ ? not_before_ : options_.now());
  return Error{Code::kResourceExhausted,
               concat("the journal ", options.folder, " holds ", format_size(journal_->held_bytes()),
                      " of records that ", location_.describe(), " has not accepted, and the limit is ",
                      format_size(options.most_bytes),
                      ": these records are dropped; check the store with headrace doctor")};
}

// Moves the records from memory to a file. Returns false if there is no room for the file. REQUIRES: mutex_
// is held
bool SegmentLog::move_to_file(Waiting& waiting) {
  if (!waiting.journal_file) {
    const auto file = spool_.add(waiting.records);
    if (!file) return false;
    waiting.file = *file;
  }
  waiting.records = Bytes();
  return true;
}

// Moves to files the waiting records that are not being written. Returns whether memory then has room for
// `size` more bytes. REQUIRES: mutex_ is held
bool SegmentLog::make_room_in_files(std::size_t size) {
  for (Waiting& waiting : waiting_) {
    if (waiting.records.empty() || (is_writing_ && &waiting == &waiting_.front())) continue;
    if (!move_to_file(waiting)) return false;
  }
  if (const std::size_t whole = whole_bytes(buffer_); whole > 0) {
    if (journal_) {
      waiting_.push_back({.journal_file = journal_->end_file()});
    } else {
      const auto file = spool_.add(BytesView(buffer_).first(whole));
      if (!file) return false;
      waiting_.push_back({.file = *file});
    }
    take(whole);
  }
  return buffer_.empty() || buffer_.size() + size <= options_.most_held_bytes;
}

// Reads records that are only in a file. REQUIRES: mutex_ is held
Result<Bytes> SegmentLog::read_back(const Waiting& waiting) const {
  if (waiting.file) return spool_.read(*waiting.file);
  const std::string path = journal_->path(*waiting.journal_file);
  HEADRACE_TRY(const Bytes bytes, read_journal_file(path));
  HEADRACE_TRY(SegmentJournalFile file, parse_segment_journal(bytes, path));
  if (file.size_bytes == journal_->size_bytes(*waiting.journal_file)) return std::move(file.records);
  return Error{Code::kDataLoss, concat(path, " was altered")};
}

Status SegmentLog::flush() {
  {
    const std::scoped_lock lock(mutex_);
    if (buffer_.empty() && waiting_.empty()) return std::exchange(lost_, Status());
    if (options_.now() < not_before_) {
      write_later(not_before_);
      return std::exchange(unreported_, Status());
    }
  }
  return with_earlier_loss(write());
}

// Schedules one task at a time, even while that task waits for the store: more tasks would take the threads
// that the journal needs. REQUIRES: mutex_ is held
void SegmentLog::write_later(Clock::time_point time) {
  if (is_put_off_) {
    if (is_writing_later_ && !later_) later_ = time;
    return;
  }
  is_put_off_ = true;
  background_.add_at(time, [weak = weak_from_this()] {
    if (const std::shared_ptr<SegmentLog> log = weak.lock()) log->write_now();
  });
}

void SegmentLog::write_now() {
  {
    const std::scoped_lock lock(mutex_);
    is_writing_later_ = true;
  }
  Status status = write();
  const std::scoped_lock lock(mutex_);
  unreported_ = std::move(status);
  is_put_off_ = is_writing_later_ = false;
  if (const auto time = std::exchange(later_, std::nullopt)) write_later(*time);
}

Status SegmentLog::close() { return close(options_.close_time); }

Status SegmentLog::close(std::chrono::milliseconds within) {
  Status closed = with_earlier_loss(write_all(options_.now() + within));
  const std::scoped_lock lock(mutex_);
  if (!journal_) return closed;
  is_left_in_journal_ = !closed;
  if (!closed) {
    return std::move(closed).error().in(concat("records that the store lacks are in ",
                                               options_.journal.folder,
                                               ", and headrace runs recover writes them later"));
  }
  if (!buffer_.empty() || !waiting_.empty()) return {};  // appended meanwhile
  first_journal_file_ = journal_->number();
  journal_->remove_all();
  journal_.reset();
  return {};
}

std::uint64_t SegmentLog::size_bytes() const {
  const std::scoped_lock lock(mutex_);
  return size_bytes_;
}

std::uint64_t SegmentLog::waiting_bytes() const {
  const std::scoped_lock lock(mutex_);
  return held_bytes();
}

// Returns whether something waits: earlier records, or the buffer's. REQUIRES: mutex_ is held
bool SegmentLog::queue(Part part) {
  if (!waiting_.empty()) return true;
  const std::size_t size = part == Part::kAll ? buffer_.size() : whole_bytes(buffer_);
  if (size == 0) return false;
  waiting_.push_back({.records = take(size)});
  if (journal_) waiting_.back().journal_file = journal_->end_file();
  return true;
}

// REQUIRES: mutex_ and writing_ are held
void SegmentLog::take_first() {
  const Waiting& first = waiting_.front();
  if (first.file) spool_.remove(*first.file);
  if (first.journal_file) journal_->remove(*first.journal_file);
  waiting_.pop_front();
}

// An outage is not an error here, only in `write_all`, the last write: the records are written later.
Status SegmentLog::write() {
  const std::scoped_lock one_writer(writing_);
  while (true) {
    HEADRACE_TRY(const bool is_more, write_next(Part::kWholeRecords, options_.call));
    if (!is_more) return {};
  }
}

// Begins no segment after `end`.
Status SegmentLog::write_all(Clock::time_point end) {
  const std::scoped_lock one_writer(writing_);
  const auto call = [&] { return closing_call(options_.call, end - options_.now()); };
  HEADRACE_CHECK(replace(call()));  // even if there is nothing to write
  while (true) {
    HEADRACE_TRY(const bool is_more, write_next(Part::kAll, call()));
    if (!is_more) return {};
    if (options_.now() > end)
      return Error{Code::kDeadlineExceeded,
                   concat(location_.describe(), ": not all records were written in time; close it again")};
  }
}

// Writes the first waiting records. Returns whether there is more to write now. REQUIRES: writing_ is held
Result<bool> SegmentLog::write_next(Part part, const CallOptions& call) {
  const Waiting* first = nullptr;
  bool has_waited = false;
  Bytes read_records;
  Status status;
  {
    const std::scoped_lock lock(mutex_);
    has_waited = !waiting_.empty();
    if (!queue(part)) return false;
    first = &waiting_.front();  // stays where it is: only this function takes it out
    if (first->records.empty()) {
      auto read = read_back(*first);
      if (!read && is_lost(read.error())) {  // lost for good: the other records are written all the same
        const std::string_view kind = first->file ? "spooled records of " : "records of ";
        take_first();
        lost_ = std::move(read).error().in(concat(kind, location_.describe(), " are lost"));
        return true;
      }
      if (read) {
        read_records = std::move(*read);
      } else {
        status = read.error();
      }
    }
    is_writing_ = true;
  }
  if (status) status = write_segment(*first, first->records.empty() ? read_records : first->records, call);
  const std::scoped_lock lock(mutex_);
  is_writing_ = false;
  has_failed_ = !status;
  not_before_ = options_.now() + (status ? kLeastInterval : kRetryInterval);
  if (status) {
    unreported_ = Status();  // the records that the store refused are now written
    take_first();
    return !waiting_.empty() || (has_waited && !buffer_.empty());  // records that were appended meanwhile
  }
  if (part == Part::kAll || !is_outage(status.error())) return status.error();
  write_later(not_before_);
  return false;
}

// REQUIRES: writing_ is held, or no other thread uses the log
Status SegmentLog::replace(const CallOptions& call) {
  if (must_replace_) HEADRACE_CHECK(remove_segments_of(location_, options_.ending, {}, call));
  must_replace_ = false;
  return {};
}

// Writes a segment under the first free number. REQUIRES: writing_ is held
Status SegmentLog::write_segment(const Waiting& waiting, BytesView records, const CallOptions& call) {
  HEADRACE_CHECK(replace(call));
  next_segment_ = std::max(next_segment_, waiting.journal_file.value_or(0));
  HEADRACE_CHECK(create_segment(location_, {options_.ending, options_.segment_header}, records,
                                SameSegment::kEqual, next_segment_, call));
  return {};
}

}  // namespace headrace
