#include "headrace/prepare/record_spool.h"

#include <algorithm>

#include "headrace/base/crc32c.h"
#include "headrace/base/environment.h"
#include "headrace/base/hash.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::uint64_t kOrderKey = 0x6f72646572206964;  // second half of the SipHash key, "order id"
constexpr std::uint64_t kTieKey = 0x7469656272656b72;

}  // namespace

// 48 bytes a record, held for all records.
struct RecordSpool::Key {
  std::uint64_t order = 0;
  std::uint64_t tie = 0;
  std::uint64_t offset_bytes = 0;  // in its segment
  std::uint32_t text_size_bytes = 0;
  std::uint32_t segment = 0;
  std::uint16_t id_size_bytes = 0;
  std::uint16_t split = 0;
  std::uint32_t label = 0;
  std::uint32_t checksum = 0;  // CRC32C of id and text

  bool operator<(const Key& other) const {
    if (split != other.split) return split < other.split;
    if (order != other.order) return order < other.order;
    return tie < other.tie;
  }
  std::uint64_t size_bytes() const { return std::uint64_t{id_size_bytes} + text_size_bytes; }
};

struct RecordSpool::Segment {
  std::string key;  // empty: in `data`
  Bytes data;
  Version version;
};

RecordSpool::RecordSpool(Location work_folder, std::uint64_t seed, int split_count,
                         std::uint64_t memory_budget_bytes)
    : work_folder_(std::move(work_folder)),
      seed_(seed),
      memory_budget_bytes_(memory_budget_bytes),
      keys_(static_cast<std::size_t>(split_count)) {}
RecordSpool::~RecordSpool() = default;

Status RecordSpool::add(int split, int label, std::string_view id, std::string_view text) {
  if (id.size() > 0xffff)
    return Error{Code::kInvalidArgument,
                 concat("the id is longer than 65,535 bytes: ", id.substr(0, 100), "…")};
  const std::uint64_t order = siphash({seed_, kOrderKey}, as_bytes(id));
  if (!seen_ids_.insert(order)) {
    return Error{Code::kAlreadyExists, concat("the id ", id, " occurs twice")};
  }
  if (arena_.size() + id.size() + text.size() > memory_budget_bytes_ && !pending_.empty())
    HEADRACE_CHECK(seal_segment(true));
  Key key;
  key.order = order;
  key.tie = siphash({seed_, kTieKey}, as_bytes(id));
  key.offset_bytes = arena_.size();
  key.text_size_bytes = static_cast<std::uint32_t>(text.size());
  key.id_size_bytes = static_cast<std::uint16_t>(id.size());
  key.split = static_cast<std::uint16_t>(split);
  key.label = static_cast<std::uint32_t>(label);
  key.checksum = crc32c(as_bytes(text), crc32c(as_bytes(id)));
  append(arena_, as_bytes(id));
  append(arena_, as_bytes(text));
  pending_.push_back(key);
  return {};
}

Status RecordSpool::seal_segment(bool to_store) {
  std::sort(pending_.begin(), pending_.end());
  const auto number = static_cast<std::uint32_t>(segments_.size());
  Segment segment;
  if (to_store) {
    // Another process that runs the same plan writes here too.
    segment.key =
        work_folder_.at(concat("segment-", zero_padded(number, 5), "-", hex64(random_name_bits()))).key;
    HEADRACE_TRY(const std::unique_ptr<Upload> upload, work_folder_.store->start_upload(segment.key, {}));
    Bytes piece;
    std::uint64_t offset_bytes = 0;
    for (Key& key : pending_) {
      append(piece, BytesView(arena_).subspan(key.offset_bytes, key.size_bytes()));
      key.offset_bytes = offset_bytes;
      offset_bytes += key.size_bytes();
      if (piece.size() >= (4 << 20)) {
        HEADRACE_CHECK(upload->append(piece));
        piece.clear();
      }
    }
    HEADRACE_CHECK(upload->append(piece));
    HEADRACE_TRY(const ObjectInfo object, upload->commit());
    segment.version = object.version;
    arena_.clear();
  } else {
    segment.data = std::move(arena_);
  }
  for (Key& key : pending_) {
    key.segment = number;
    keys_[key.split].push_back(key);
  }
  pending_.clear();
  segments_.push_back(std::move(segment));
  return {};
}

Status RecordSpool::finish() {
  HEADRACE_CHECK(seal_segment(!segments_.empty()));
  pending_ = {};
  for (std::vector<Key>& keys : keys_) {
    keys.shrink_to_fit();
    std::sort(keys.begin(), keys.end());
  }
  return {};
}

std::uint64_t RecordSpool::record_count(int split) const {
  return keys_[static_cast<std::size_t>(split)].size();
}

Result<std::vector<SpooledText>> RecordSpool::read(int split, std::uint64_t first, std::uint64_t count,
                                                   std::uint64_t limit_bytes) const {
  std::span<const Key> wanted = std::span(keys_[static_cast<std::size_t>(split)]).subspan(first, count);
  std::uint64_t size_bytes = 0;
  const auto past = std::find_if(wanted.begin(), wanted.end(), [&](const Key& key) {
    return (size_bytes += key.size_bytes()) > limit_bytes && &key != &wanted.front();
  });
  wanted = wanted.first(static_cast<std::size_t>(past - wanted.begin()));
  Result<std::vector<SpooledText>> texts = read_texts(wanted);
  // Damage on the way is not there the second time.
  if (!texts && texts.error().code == Code::kDataLoss) texts = read_texts(wanted);
  return texts;
}

Result<std::vector<SpooledText>> RecordSpool::read_texts(std::span<const Key> wanted) const {
  struct Range {
    std::uint64_t begin = ~std::uint64_t{0};
    std::uint64_t end = 0;
    Bytes data;
  };
  std::vector<Range> ranges(segments_.size());
  for (const Key& key : wanted) {
    Range& range = ranges[key.segment];
    range.begin = std::min(range.begin, key.offset_bytes);
    range.end = std::max(range.end, key.offset_bytes + key.size_bytes());
  }
  std::vector<ReadRequest> requests;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (segments_[i].key.empty() || ranges[i].end == 0) continue;
    ranges[i].data.resize(ranges[i].end - ranges[i].begin);
    requests.push_back({segments_[i].key, ranges[i].begin, ranges[i].data, segments_[i].version});
  }
  HEADRACE_CHECK(work_folder_.store->read_many(requests, {}));
  std::vector<SpooledText> texts;
  texts.reserve(wanted.size());
  for (const Key& key : wanted) {
    const Segment& segment = segments_[key.segment];
    const Range& range = ranges[key.segment];
    const BytesView data =
        segment.key.empty() ? BytesView(segment.data).subspan(key.offset_bytes, key.size_bytes())
                            : BytesView(range.data).subspan(key.offset_bytes - range.begin, key.size_bytes());
    if (!segment.key.empty() && crc32c(data) != key.checksum) {
      return Error{Code::kDataLoss,
                   concat(work_folder_.store->describe(segment.key), ", from byte ", key.offset_bytes,
                          ": other bytes came back than were written, twice; ",
                          "start the command again, and look at network and disks")};
    }
    texts.push_back({to_string(data.first(key.id_size_bytes)), to_string(data.subspan(key.id_size_bytes)),
                     static_cast<int>(key.label)});
  }
  return texts;
}

}  // namespace headrace
