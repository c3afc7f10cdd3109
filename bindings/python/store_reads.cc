#include "bindings/python/store_reads.h"

#include <algorithm>

#include "headrace/os/parallel.h"

namespace headrace::python {

namespace {

// Memory for a read of unknown size. It is reserved, but only the part that receives content is touched.
constexpr std::uint64_t kFirstBytes = 4 << 20;
constexpr std::uint64_t kMostUnseenBytes = 64 << 20;  // taken before it is known that there are so many bytes
constexpr int kMostRestarts = 3;
constexpr int kParallelReads = 32;  // of objects whose size is unknown

// Reads what the first answer has room for. If more is there, one more call reads the rest, in the same
// version. If the first call has no room for a whole object, the second call reads all of it, and compares it
// with the store's checksum.
Status read_once(Store& store, const Range& range, const CallOptions& call, NewBytes& bytes,
                 bool& has_begun) {
  const std::uint64_t at_first = std::min(range.size_bytes.value_or(kFirstBytes), kMostUnseenBytes);
  const bool is_whole = range.offset_bytes == 0 && !range.size_bytes;
  HEADRACE_TRY(MutableBytesView memory, bytes.resize(at_first));
  HEADRACE_TRY(const ReadResult read, store.read_into(range.key, memory,
                                                      {.offset_bytes = range.offset_bytes,
                                                       .if_version = range.version,
                                                       .is_whole = is_whole,
                                                       .call = call}));
  const std::uint64_t there =
      std::max<std::uint64_t>(read.object.size_bytes - range.offset_bytes, read.bytes_read);
  HEADRACE_TRY(memory, bytes.resize(std::min(range.size_bytes.value_or(there), there)));
  if (memory.size() <= read.bytes_read) return {};
  has_begun = true;
  return read_exactly(store, range.key, memory.subspan(read.bytes_read),
                      {.offset_bytes = range.offset_bytes + read.bytes_read,
                       .if_version = read.object.version,
                       .is_whole = is_whole && read.bytes_read == 0,
                       .call = call});
}

}  // namespace

Status read_range(Store& store, const Range& range, const CallOptions& call, NewBytes& bytes) {
  for (int restarts = 0;; ++restarts) {
    bool has_begun = false;
    Status status = read_once(store, range, call, bytes, has_begun);
    const bool has_changed = !status && has_begun && status.error().code == Code::kFailedPrecondition;
    if (!has_changed || range.version || restarts == kMostRestarts) return status;
  }
}

// If the sizes are known, the store itself keeps many requests in flight.
Status read_ranges(Store& store, const std::vector<Range>& ranges, const CallOptions& call,
                   std::vector<NewBytes>& bytes) {
  std::vector<ReadRequest> requests;
  std::vector<std::size_t> of_unknown_size;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i].size_bytes) {
      of_unknown_size.push_back(i);
      continue;
    }
    HEADRACE_TRY(const MutableBytesView memory, bytes[i].resize(*ranges[i].size_bytes));
    requests.push_back({ranges[i].key, ranges[i].offset_bytes, memory, ranges[i].version});
  }
  HEADRACE_CHECK(store.read_many(requests, call));
  return parallel_for(kParallelReads, of_unknown_size.size(), [&](std::size_t i) {
    return read_range(store, ranges[of_unknown_size[i]], call, bytes[of_unknown_size[i]]);
  });
}

}  // namespace headrace::python
