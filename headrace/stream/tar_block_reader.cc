#include "headrace/base/text.h"
#include "headrace/stream/shard_kinds.h"
#include "headrace/stream/stored_block_reader.h"
#include "headrace/stream/tar_sample.h"

namespace headrace {
namespace {

class TarBlockReader final : public StoredBlockReader {
 public:
  TarBlockReader(const Dataset& dataset, const BlockReaderOptions& options)
      : StoredBlockReader(dataset, options.pool), converter_(options.columns) {}

 private:
  // Converts the whole block at once.
  Status find_records(const DatasetBlock& block, PooledBuffer& stored, BlockContents& contents) override {
    const Stopwatch stopwatch(stats_.check_seconds);
    contents.bytes = std::move(stored);
    contents.data_offset = kRecordFramingBytes;
    contents.offsets.reserve(block.record_count + 1);
    HEADRACE_CHECK(converter_.convert(part(block, 0, block.stored_bytes, contents), contents.offsets));
    const std::uint64_t found = contents.offsets.size();
    contents.offsets.push_back(block.stored_bytes);
    return found == block.record_count
               ? Status{}
               : Error{Code::kDataLoss,
                       concat(found, " samples, but ", block.record_count, " were found before")};
  }

  // Converts each sample by itself.
  Status salvage(const DatasetBlock& block, const ShardIndex& index, const CallOptions& call, PooledBuffer&,
                 BlockContents& contents) override {
    contents.bytes = {};  // the conversion writes over the headers of the samples
    HEADRACE_TRY(contents.bytes, fetch(block, call));
    const Stopwatch stopwatch(stats_.check_seconds);
    std::vector<std::uint64_t> found;
    for (std::uint64_t i = 0; i < block.record_count; ++i) {
      const std::uint64_t record = block.first_record + i;
      const std::uint64_t begin = index.record_offset(record) - block.stored_offset;
      contents.offsets.push_back(begin);
      found.clear();
      Status status = converter_.convert(part(block, begin, index.record_bytes(record), contents), found);
      if (status && found.size() != 1)
        status = Error{Code::kDataLoss, concat(found.size(), " samples where there was one before")};
      if (status) continue;
      contents.holes.push_back(
          {i, i + 1,
           std::move(status).error().in(concat(dataset_.describe_shard(block.shard), ": record ", record))});
    }
    contents.offsets.push_back(block.stored_bytes);
    return {};
  }

  // `size_bytes` bytes of the block, from the byte `begin` on.
  TarPart part(const DatasetBlock& block, std::uint64_t begin, std::uint64_t size_bytes,
               const BlockContents& contents) const {
    const std::uint64_t offset = block.stored_offset + begin;
    return {contents.bytes.bytes().subspan(begin, size_bytes), offset,
            offset + size_bytes == shard_of(block).size_bytes};
  }

  TarSampleConverter converter_;
};

class TarShards final : public ShardKind {
 public:
  std::unique_ptr<BlockReader> make_reader(const Dataset& dataset,
                                           const BlockReaderOptions& options) const override {
    return std::make_unique<TarBlockReader>(dataset, options);
  }
};

}  // namespace

std::shared_ptr<const ShardKind> tar_shards() {
  static const auto kind = std::make_shared<const TarShards>();
  return kind;
}

}  // namespace headrace
