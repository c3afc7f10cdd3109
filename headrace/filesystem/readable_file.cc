#include "headrace/filesystem/readable_file.h"

#include <algorithm>
#include <cstring>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kFirstRangeBytes = 512 << 10;
constexpr std::size_t kMostRangeBytes = 8 << 20;
constexpr std::size_t kRangesAhead = 4;
// A read of at least this size is efficient by itself: it goes straight into the caller's memory.
constexpr std::size_t kLargeReadBytes = 4 << 20;
// An offset at which no sequence continues.
constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

}  // namespace

ReadableFile::ReadableFile(Location location, ObjectInfo object, ReadResources& resources)
    : location_(std::move(location)), object_(std::move(object)), resources_(resources) {
  for (Sequence& sequence : sequences_) sequence.next = kNowhere;
}

// Ranges may still be in flight: they keep themselves alive, and end soon.
ReadableFile::~ReadableFile() { stop_.request_stop(); }

Result<std::unique_ptr<ReadableFile>> ReadableFile::open(Location location, ReadResources& resources) {
  Bytes first(kCachedBlockBytes);
  HEADRACE_TRY(ReadResult read, location.store->read_into(location.key, first, {}));
  first.resize(read.bytes_read);
  std::unique_ptr<ReadableFile> file(
      new ReadableFile(std::move(location), std::move(read.object), resources));
  if (!first.empty()) resources.blocks.put(file->location_, file->object_, 0, first);
  return file;
}

std::unique_ptr<ReadableFile> ReadableFile::of_memory(Location location, Bytes data,
                                                      ReadResources& resources) {
  ObjectInfo object{.key = location.key, .size_bytes = data.size()};
  std::unique_ptr<ReadableFile> file(new ReadableFile(std::move(location), std::move(object), resources));
  file->memory_ = std::move(data);
  file->is_in_memory_ = true;
  return file;
}

// Reserves the sequence that continues at `offset` for this thread, if there is one. The sequence ends with
// the claim unless `goes_on_at` was called.
class ReadableFile::Claim {
 public:
  Claim(ReadableFile& file, std::uint64_t offset) : file_(file) {
    const std::scoped_lock lock(file.mutex_);
    for (Sequence& sequence : file.sequences_) {
      if (sequence.is_busy || sequence.next != offset) continue;
      sequence.is_busy = true;
      sequence.last_used = ++file.uses_;
      sequence_ = &sequence;
      return;
    }
  }
  ~Claim() {
    if (sequence_ == nullptr) return;
    if (!next_) sequence_->ranges.clear();
    const std::scoped_lock lock(file_.mutex_);
    sequence_->next = next_.value_or(kNowhere);
    sequence_->is_busy = false;
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  Sequence* sequence() const { return sequence_; }

  // Starts a sequence at `offset` if none is claimed and an idle one can be reused.
  void or_begin(std::uint64_t offset) {
    if (sequence_ != nullptr) return;
    std::deque<std::shared_ptr<FetchedRange>> dropped;
    const std::scoped_lock lock(file_.mutex_);
    sequence_ = file_.oldest_idle();
    if (sequence_ == nullptr) return;
    dropped.swap(sequence_->ranges);
    *sequence_ = {.begin = offset, .next = offset, .last_used = ++file_.uses_, .is_busy = true};
  }
  void goes_on_at(std::uint64_t next) { next_ = next; }

 private:
  ReadableFile& file_;
  Sequence* sequence_ = nullptr;
  std::optional<std::uint64_t> next_;
};

// REQUIRES: mutex_ is held
ReadableFile::Sequence* ReadableFile::oldest_idle() {
  Sequence* oldest = nullptr;
  for (Sequence& sequence : sequences_) {
    if (sequence.is_busy) continue;
    if (oldest == nullptr || sequence.last_used < oldest->last_used) oldest = &sequence;
  }
  return oldest;
}

// Notes where a new sequence may continue. The least recently used sequence is forgotten.
void ReadableFile::remember(std::uint64_t begin, std::uint64_t end) {
  std::deque<std::shared_ptr<FetchedRange>> dropped;
  const std::scoped_lock lock(mutex_);
  Sequence* const oldest = oldest_idle();
  if (oldest == nullptr) return;
  dropped.swap(oldest->ranges);
  *oldest = {.begin = begin, .next = end, .last_used = ++uses_};
}

MutableBytesView ReadableFile::within_file(std::uint64_t offset, MutableBytesView target) const {
  if (offset >= size_bytes()) return {};
  return target.first(
      static_cast<std::size_t>(std::min<std::uint64_t>(target.size(), size_bytes() - offset)));
}

Result<std::size_t> ReadableFile::read(std::uint64_t offset, MutableBytesView target) {
  target = within_file(offset, target);
  if (target.empty()) return std::size_t{0};
  if (is_in_memory_) {
    std::memcpy(target.data(), memory_.data() + offset, target.size());
    return target.size();
  }
  Status status;
  if (size_bytes() <= kCachedBlockBytes) {
    status = read_blocks(offset, target);
  } else if (Claim claim(*this, offset); claim.sequence() != nullptr) {
    status = read_sequence(*claim.sequence(), target);
    if (status) claim.goes_on_at(offset + target.size());
  } else {
    status = read_here(offset, target);
    if (status) remember(offset, offset + target.size());
  }
  if (!status) return std::move(status).error();
  return target.size();
}

Result<std::size_t> ReadableFile::read_some(std::uint64_t offset, MutableBytesView target) {
  target = within_file(offset, target);
  if (is_in_memory_ || size_bytes() <= kCachedBlockBytes || target.empty()) return read(offset, target);
  Claim claim(*this, offset);
  claim.or_begin(offset);
  if (claim.sequence() == nullptr)
    return read(offset, target.first(std::min(target.size(), kMostRangeBytes)));
  Sequence& sequence = *claim.sequence();
  sequence.announced_end = std::max(sequence.announced_end, offset + target.size());
  pass(sequence);
  fetch_ahead(sequence);
  target = target.first(std::min(target.size(), kMostRangeBytes));
  std::size_t taken = target.size();
  if (sequence.ranges.empty()) {
    HEADRACE_CHECK(read_here(offset, target));
  } else {
    HEADRACE_TRY(taken, take(sequence, target));
  }
  claim.goes_on_at(offset + taken);
  return taken;
}

Status ReadableFile::read_here(std::uint64_t offset, MutableBytesView target) {
  if (target.size() <= kCachedBlockBytes) return read_blocks(offset, target);
  return read_exactly(*location_.store, location_.key, target,
                      {.offset_bytes = offset, .if_version = object_.version});
}

Status ReadableFile::read_blocks(std::uint64_t offset, MutableBytesView target) {
  while (!target.empty()) {
    const std::shared_ptr<FetchedRange> block =
        resources_.blocks.block(location_, object_, offset / kCachedBlockBytes);
    // Other threads may wait for the same block, so it is fetched even if this file is closed.
    HEADRACE_TRY(const BytesView data, block->wait({}));
    const BytesView here = data.subspan(static_cast<std::size_t>(offset - block->begin()));
    const std::size_t taken = std::min(here.size(), target.size());
    std::memcpy(target.data(), here.data(), taken);
    target = target.subspan(taken);
    offset += taken;
  }
  return {};
}

// Requests the ranges that follow, as far as there is memory. Requests no more than was announced or than the
// sequence has used so far, since the sequence may end soon.
void ReadableFile::fetch_ahead(Sequence& sequence) {
  const std::uint64_t announced = sequence.announced_end - std::min(sequence.announced_end, sequence.next);
  const std::uint64_t most =
      std::max({sequence.next - sequence.begin, announced, std::uint64_t{kFirstRangeBytes}});
  while (sequence.ranges.size() < kRangesAhead) {
    const std::uint64_t begin = sequence.ranges.empty() ? sequence.next : sequence.ranges.back()->end();
    if (begin >= size_bytes() || begin - sequence.next >= most) return;
    const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(most, kMostRangeBytes));
    const std::size_t wanted = std::clamp(2 * sequence.range_bytes, kFirstRangeBytes, room);
    auto size = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, size_bytes() - begin));
    MemoryBudget::Share share = resources_.read_ahead.take(size);
    while (!share && size > kFirstRangeBytes) {
      size /= 2;
      share = resources_.read_ahead.take(size);
    }
    if (!share) return;
    auto range = std::make_shared<FetchedRange>(location_, object_.version, begin, size, *resources_.pool,
                                                std::move(share));
    sequence.ranges.push_back(range);
    sequence.range_bytes = wanted;
    resources_.background.add([range, stop = stop_.get_token()] { range->fetch(stop); });
  }
}

// Drops the ranges that are used up.
void ReadableFile::pass(Sequence& sequence) {
  while (!sequence.ranges.empty() && sequence.ranges.front()->end() <= sequence.next)
    sequence.ranges.pop_front();
}

// REQUIRES: the sequence is claimed, continues where the target begins, and has ranges, none of them used up
Result<std::size_t> ReadableFile::take(Sequence& sequence, MutableBytesView target) {
  FetchedRange& range = *sequence.ranges.front();
  HEADRACE_TRY(const BytesView data, range.wait(stop_.get_token()));
  const BytesView here = data.subspan(static_cast<std::size_t>(sequence.next - range.begin()));
  const std::size_t taken = std::min(here.size(), target.size());
  std::memcpy(target.data(), here.data(), taken);
  sequence.next += taken;
  return taken;
}

// REQUIRES: the sequence is claimed, and continues where the target begins
Status ReadableFile::read_sequence(Sequence& sequence, MutableBytesView target) {
  while (!target.empty()) {
    pass(sequence);
    const bool is_large = sequence.ranges.empty() && target.size() >= kLargeReadBytes;
    if (!is_large) fetch_ahead(sequence);
    if (sequence.ranges.empty()) return read_here(sequence.next, target);
    HEADRACE_TRY(const std::size_t taken, take(sequence, target));
    target = target.subspan(taken);
  }
  return {};
}

}  // namespace headrace
