#include "headrace/predict/prediction_shard.h"

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kMemberBytes = 1 << 20;  // uncompressed
constexpr int kLevel = 6;

}  // namespace

std::string prediction_shard_name(std::size_t number, std::size_t count, std::string_view suffix,
                                  std::string_view ending) {
  return concat("predictions-", zero_padded(number, 5), "-of-", zero_padded(count, 5), suffix, ending);
}

Result<PredictionShard> PredictionShard::start(const Location& folder, std::string name) {
  HEADRACE_TRY(GzipCompressor compressor, GzipCompressor::create(kLevel));
  HEADRACE_TRY(std::unique_ptr<Upload> upload,
               folder.store->start_upload(folder.at(name).key, {.only_if_absent = true}));
  return PredictionShard(std::move(name), std::move(upload), std::move(compressor));
}

Status PredictionShard::add(BytesView bytes, std::uint64_t answers) {
  append(member_, bytes);
  *part_.records += answers;
  return member_.size() >= kMemberBytes ? end_member() : Status{};
}

Status PredictionShard::end_member() {
  Bytes compressed;
  compressor_.append_member(member_, compressed);
  member_.clear();
  part_.crc32c = crc32c(compressed, part_.crc32c);
  part_.size_bytes += compressed.size();
  return upload_->append(compressed);
}

Result<ManifestPart> PredictionShard::finish() {
  // An object without answers is one empty member: a gzip file still.
  if (!member_.empty() || part_.size_bytes == 0) HEADRACE_CHECK(end_member());
  HEADRACE_TRY(const ObjectInfo object, upload_->commit());
  return part_;
}

}  // namespace headrace
