#include "headrace/stream/dataset.h"

#include <algorithm>
#include <map>

#include "headrace/base/text.h"
#include "headrace/io/digest.h"
#include "headrace/io/parallel.h"
#include "headrace/store/numbered.h"
#include "headrace/stream/foreign_shard.h"

namespace headrace {
namespace {

constexpr std::uint64_t kBlockBytes = 8 << 20;
constexpr std::uint64_t kIndexLimitBytes = 64 << 20;  // 28 times this in memory, at worst
constexpr int kOpenThreads = 8;                       // requests for indexes at once

// docs/formats/order.md: a block ends at the first member (gzip) or record (plain) at which it holds 8 MiB.
void append_blocks(const ShardIndex& index, std::uint32_t shard, std::vector<DatasetBlock>& blocks) {
  DatasetBlock block{.shard = shard};
  const auto close = [&] {
    if (block.record_count > 0) blocks.push_back(block);
    block = {.shard = shard,
             .first_record = block.first_record + block.record_count,
             .first_member = block.first_member + block.member_count};
  };
  if (index.compression() == ShardCompression::kNone) {
    for (std::uint64_t record = 0; record < index.record_count(); ++record) {
      ++block.record_count;
      block.size_bytes += index.record_bytes(record);
      if (block.size_bytes >= kBlockBytes) close();
    }
    return close();
  }
  const std::vector<ShardMember>& members = index.members();
  for (std::size_t m = 0; m < members.size(); ++m) {
    ++block.member_count;
    block.record_count += members[m].record_count;
    block.size_bytes += members[m].uncompressed_bytes;
    const bool next_begins_anew = m + 1 == members.size() || members[m + 1].begins_with_record;
    if (block.size_bytes >= kBlockBytes && next_begins_anew) close();
  }
  close();
}

}  // namespace

std::string_view policy_name(CorruptionPolicy policy) {
  switch (policy) {
    case CorruptionPolicy::kSkipRecord:
      return "skip-record";
    case CorruptionPolicy::kSkipShard:
      return "skip-shard";
    case CorruptionPolicy::kFail:
      break;
  }
  return "fail";
}

Error with_advice(Error error) {
  if (error.code == Code::kDataLoss)
    error.message +=
        "; restore the shard, prepare the data set anew, or leave such records out with --on-corrupt "
        "skip-record";
  return error;
}

class DatasetOpener {
 public:
  DatasetOpener(const Location& location, const DatasetOptions& options)
      : options_(options), dataset_(new Dataset) {
    dataset_->location_ = location;
  }

  Result<std::shared_ptr<const Dataset>> open() {
    const Location& location = dataset_->location_;
    HEADRACE_TRY(const std::optional<NumberedObject> latest,
                 read_latest(*location.store, location.at(kManifestPrefix).key, kManifestLimitBytes));
    HEADRACE_CHECK(latest ? open_published(*latest) : open_foreign());
    for (std::size_t i = 0; i < dataset_->shards_.size(); ++i) {
      append_blocks(dataset_->shards_[i].index, static_cast<std::uint32_t>(i), dataset_->blocks_);
    }
    for (const DatasetBlock& block : dataset_->blocks_) dataset_->record_count_ += block.record_count;
    return std::shared_ptr<const Dataset>(std::move(dataset_));
  }

 private:
  Status open_published(const NumberedObject& object) {
    const std::string name = dataset_->location_.store->describe(object.object.key);
    auto manifest = parse_manifest(object.data);
    if (!manifest) return std::move(manifest).error().in(name);
    if (manifest->kind != "dataset") {
      return Error{Code::kInvalidArgument,
                   concat(dataset_->location_.describe(), " is a ", manifest->kind, ", not a data set")};
    }
    auto attributes = parse_dataset_attributes(manifest->attributes_json);
    if (!attributes) return std::move(attributes).error().in(name);
    dataset_->attributes_ = *std::move(attributes);
    dataset_->digest_ = sha256_hex(object.data);
    dataset_->split_ = options_.split;
    std::vector<ManifestPart> parts;
    std::map<std::string_view, std::uint64_t> sizes_bytes;
    for (const ManifestPart& part : manifest->parts) {
      if (part.role == "shard" && part.split == options_.split) parts.push_back(part);
      sizes_bytes[part.key] = part.size_bytes;
    }
    if (parts.empty()) return no_such_split();
    dataset_->shards_.reserve(parts.size());
    std::vector<Result<DatasetShard>> opened(parts.size(), Error{});
    std::vector<std::string> remarks(parts.size());
    HEADRACE_CHECK(parallel_for(kOpenThreads, parts.size(), [&](std::size_t i) -> Status {
      const auto index = sizes_bytes.find(parts[i].index);
      if (index == sizes_bytes.end())
        return Error{Code::kDataLoss, concat(name, " names no index of ", parts[i].key)};
      opened[i] = open_shard(parts[i], index->second, remarks[i]);
      return opened[i] ? Status{} : Status(opened[i].error());
    }));
    std::erase(remarks, "");
    dataset_->remarks_ = std::move(remarks);
    for (Result<DatasetShard>& shard : opened) {
      if (shard->lost)
        dataset_->remarks_.push_back(concat(dataset_->location_.store->describe(shard->key),
                                            " is missing or altered; its records are left out"));
      dataset_->shards_.push_back(*std::move(shard));
    }
    return {};
  }

  Error no_such_split() const {
    std::vector<std::string> names;
    for (const auto& [name, counts] : dataset_->attributes_->splits) names.push_back(name);
    return {Code::kNotFound, concat(dataset_->location_.describe(), " has no split ", options_.split,
                                    "; it has ", join(names, ", "))};
  }

  Result<ShardIndex> read_index(const ManifestPart& part, std::uint64_t index_bytes) const {
    const Location location = dataset_->location_.at(part.index);
    HEADRACE_TRY(const ReadObject read, read_object(*location.store, location.key,
                                                    std::min(index_bytes, kIndexLimitBytes), options_.call));
    auto index = ShardIndex::parse(read.data);
    if (!index) return std::move(index).error().in(location.describe());
    if (index->record_count() == part.records && index->shard_crc32c() == part.crc32c) return index;
    return Error{Code::kDataLoss, concat(location.describe(), " is the index of another shard")};
  }

  // The index, or where it is of no use, one made anew: then `remark` says so.
  Result<ShardIndex> find_index(const ManifestPart& part, std::uint64_t index_bytes,
                                std::string& remark) const {
    auto index = read_index(part, index_bytes);
    const bool is_of_use =
        index || (index.error().code != Code::kNotFound && index.error().code != Code::kDataLoss &&
                  index.error().code != Code::kResourceExhausted);
    if (is_of_use) return index;
    auto anew = index_published_shard(dataset_->location_.at(part.key), part, options_.call);
    if (anew) {
      remark = concat(index.error().message, "; the index was made anew from the shard");
      return anew;
    }
    return Error{Code::kDataLoss, concat(index.error().message, ", and it cannot be made anew: ",
                                         anew.error().message, "; restore it, or prepare the data set anew")};
  }

  Result<DatasetShard> open_shard(const ManifestPart& part, std::uint64_t index_bytes,
                                  std::string& remark) const {
    const Location location = dataset_->location_.at(part.key);
    HEADRACE_TRY(ShardIndex index, find_index(part, index_bytes, remark));
    DatasetShard shard{.key = location.key, .index = std::move(index)};
    const auto object = location.store->stat(location.key, options_.call);
    if (object && object->size_bytes == part.size_bytes) {
      shard.version = object->version;
      return shard;
    }
    if (!object && object.error().code != Code::kNotFound) return object.error();
    shard.lost = true;
    if (options_.on_corrupt == CorruptionPolicy::kSkipShard) return shard;
    return Error{Code::kFailedPrecondition,
                 concat(location.describe(),
                        object ? concat(" has ", object->size_bytes, " bytes, but was published with ",
                                        part.size_bytes)
                               : std::string(" is missing"),
                        ": restore it, prepare the data set anew, or leave its records out with --on-corrupt "
                        "skip-shard")};
  }

  // Without a manifest: whatever lies at the location or below it, in the order of keys.
  Status open_foreign() {
    const Location& location = dataset_->location_;
    HEADRACE_TRY(const std::vector<ObjectInfo> objects, find_foreign_shards(location, options_.call));
    Sha256 digest;
    for (const ObjectInfo& object : objects) {
      digest.update(as_bytes(concat(object.key, '\0', object.size_bytes, '\0', object.version.token, '\0')));
      HEADRACE_TRY(DatasetShard shard, index_foreign_shard(location, object, options_.on_corrupt,
                                                           options_.call, dataset_->remarks_));
      dataset_->shards_.push_back(std::move(shard));
    }
    dataset_->digest_ = hex(digest.finish());
    return {};
  }

  const DatasetOptions& options_;
  std::shared_ptr<Dataset> dataset_;
};

Result<std::shared_ptr<const Dataset>> Dataset::open(const Location& location,
                                                     const DatasetOptions& options) {
  return DatasetOpener(location, options).open();
}

}  // namespace headrace
