#include "headrace/prepare/sort/spill_object.h"

#include <map>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

Status fetch(std::span<BucketRead* const> reads, const CallOptions& options) {
  std::map<Store*, std::vector<ReadRequest>> requests;
  for (BucketRead* const read : reads) {
    const SpillObject& object = *read->object;
    if (object.store == nullptr) {
      read->data = object.memory.subspan(read->offset_bytes(), read->size_bytes());
      continue;
    }
    read->room.resize(read->size_bytes());
    read->data = read->room;
    if (read->room.empty()) continue;
    requests[object.store.get()].push_back({object.key, read->offset_bytes(), read->room, object.version});
  }
  for (const auto& [store, of_store] : requests) HEADRACE_CHECK(store->read_many(of_store, options));
  return {};
}

const Bucket* find_damaged(const BucketRead& read) {
  for (std::size_t i = 0; i < read.buckets.size(); ++i) {
    const Bucket& bucket = read.buckets[i];
    const std::uint64_t end = i + 1 < read.buckets.size() ? read.buckets[i + 1].offset_bytes : read.end_bytes;
    const BytesView bytes =
        read.data.subspan(bucket.offset_bytes - read.offset_bytes(), end - bucket.offset_bytes);
    if (crc32c(bytes) != bucket.crc32c) return &bucket;
  }
  return nullptr;
}

}  // namespace

Error damaged_spill(const SpillObject& object, std::uint64_t offset_bytes, std::string_view what) {
  return {Code::kDataLoss, concat(object.name, ", from byte ", offset_bytes, ": ", what,
                                  "; remove it, run the command again, and check the network and the disks")};
}

Status read_buckets(std::span<BucketRead> reads, const CallOptions& options) {
  std::vector<BucketRead*> wanted;
  for (BucketRead& read : reads) wanted.push_back(&read);
  HEADRACE_CHECK(fetch(wanted, options));
  std::erase_if(wanted, [](const BucketRead* read) { return find_damaged(*read) == nullptr; });
  if (wanted.empty()) return {};
  HEADRACE_CHECK(fetch(wanted, options));
  for (const BucketRead* read : wanted) {
    if (const Bucket* bucket = find_damaged(*read)) {
      return damaged_spill(*read->object, bucket->offset_bytes,
                           "bytes that differ from what was written, even when read again");
    }
  }
  return {};
}

}  // namespace headrace
