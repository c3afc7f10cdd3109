#include "headrace/stream/block_loader.h"

#include <algorithm>
#include <iterator>

#include "headrace/base/text.h"

namespace headrace {

BlockLoader::BlockLoader(const Dataset& dataset, CorruptionPolicy policy, std::shared_ptr<BufferPool> pool,
                         std::vector<Column> columns)
    : dataset_(dataset), policy_(policy), options_{std::move(pool), std::move(columns)} {}

BlockReader& BlockLoader::reader_of(const DatasetShard& shard) {
  const auto found = std::ranges::find(readers_, shard.kind.get(), &KindReader::kind);
  if (found != readers_.end()) return *found->reader;
  return *readers_.emplace_back(KindReader{shard.kind.get(), shard.kind->make_reader(dataset_, options_)})
              .reader;
}

Result<LoadedBlock> BlockLoader::load(const DatasetBlock& block, const CallOptions& call) {
  const DatasetShard& shard = dataset_.shards()[block.shard];
  if (shard.lost) {
    return LoadedBlock::lost(block.record_count,
                             {Code::kDataLoss, concat(dataset_.describe_shard(block.shard), " is lost")});
  }
  HEADRACE_TRY(LoadedBlock loaded, reader_of(shard).read(block, call));
  if (loaded.record_count() != block.record_count || loaded.size_bytes() > block.stream_bytes) {
    return Error{Code::kInternal,
                 concat(dataset_.describe_shard(block.shard), ": its reader returned ", loaded.record_count(),
                        " records in ", loaded.size_bytes(), " bytes for a block of ", block.record_count,
                        " records in at most ", block.stream_bytes)};
  }
  if (loaded.holes().empty()) return loaded;
  if (policy_ == CorruptionPolicy::kFail) return with_advice(loaded.holes().front().error);
  if (policy_ == CorruptionPolicy::kSkipShard) loaded.lose_rest();
  return loaded;
}

BlockLoadStats BlockLoader::stats() const {
  BlockLoadStats sum;
  for (const KindReader& each : readers_) sum.add(each.reader->stats());
  return sum;
}

std::vector<std::string> BlockLoader::take_remarks() {
  std::vector<std::string> all;
  for (const KindReader& each : readers_)
    std::ranges::move(each.reader->take_remarks(), std::back_inserter(all));
  return all;
}

}  // namespace headrace
