#include "headrace/stream/dataset.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/coordinate/chain.h"
#include "headrace/coordinate/versions.h"
#include "headrace/os/parallel.h"
#include "headrace/store/glob.h"
#include "headrace/store/numbered.h"
#include "headrace/stream/foreign_shard.h"
#include "headrace/stream/index_cache.h"
#include "headrace/stream/shard_kinds.h"

namespace headrace {
namespace {

constexpr int kOpenThreads = 8;  // how many foreign files are indexed at the same time

std::string common_prefix(const std::vector<DatasetShard>& shards) {
  std::string prefix = shards.front().location.key;
  for (const DatasetShard& shard : shards) {
    const auto differ = std::ranges::mismatch(prefix, shard.location.key).in1;
    prefix.erase(differ, prefix.end());
  }
  return prefix;
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

Error with_advice(Error error, std::string_view advice) {
  if (error.code == Code::kDataLoss) error.message += advice;
  return error;
}

class DatasetOpener {
 public:
  DatasetOpener(const std::vector<Location>& locations, const DatasetOptions& options)
      : options_(options), dataset_(new Dataset) {
    dataset_->locations_ = locations;
  }

  Result<std::shared_ptr<const Dataset>> open() {
    const Location& location = dataset_->location();
    std::optional<NumberedObject> manifest;
    if (options_.version) {
      HEADRACE_TRY(manifest, read_version(location, *options_.version, options_.call));
    } else if (dataset_->locations_.size() == 1) {
      HEADRACE_TRY(manifest, read_current_manifest(location, options_.call));
    }
    HEADRACE_CHECK(manifest ? open_published(*manifest) : open_foreign());
    for (const DatasetBlock& block : dataset_->blocks_) dataset_->record_count_ += block.record_count;
    return std::shared_ptr<const Dataset>(std::move(dataset_));
  }

 private:
  Status open_published(const NumberedObject& object) {
    const std::string name = dataset_->location().store->describe(object.object.key);
    auto manifest = parse_manifest(object.data);
    if (!manifest) return std::move(manifest).error().in(name);
    if (manifest->kind != "dataset") {
      return Error{Code::kInvalidArgument,
                   concat(dataset_->location().describe(), " is a ", manifest->kind, ", not a dataset")};
    }
    auto attributes = parse_dataset_attributes(manifest->attributes_json);
    if (!attributes) return std::move(attributes).error().in(name);
    dataset_->attributes_ = *std::move(attributes);
    dataset_->version_ = object.number;
    dataset_->digest_ = sha256_hex(object.data);
    dataset_->split_ = options_.split;
    std::map<std::string_view, std::uint64_t> sizes_bytes;
    for (const ManifestPart& part : manifest->parts) sizes_bytes[part.key] = part.size_bytes;
    for (const ManifestPart& part : manifest->parts) {
      if (part.role != "shard" || part.split != options_.split) continue;
      const auto index = sizes_bytes.find(part.index);
      if (index == sizes_bytes.end())
        return Error{Code::kDataLoss, concat(name, " does not name the index of ", part.key)};
      if (part.blocks.empty() && part.records.value_or(0) > 0) {
        return Error{Code::kDataLoss,
                     concat(name, " does not say where the blocks of ", part.key,
                            " lie: an older version of Headrace wrote it; prepare the dataset again with "
                            "--overwrite")};
      }
      add_shard(part, index->second);
    }
    return dataset_->shards_.empty() ? no_such_split() : find_shards();
  }

  void add_shard(const ManifestPart& part, std::uint64_t index_bytes) {
    const bool is_plain = dataset_->attributes_->compression == "none";
    const ShardEncoding encoding = is_plain ? ShardEncoding::kPlain : ShardEncoding::kGzip;
    add_blocks(part.blocks);
    dataset_->shards_.push_back({.kind = shard_kind(encoding),
                                 .location = dataset_->location().at(part.key),
                                 .size_bytes = part.size_bytes,
                                 .record_count = part.records.value_or(0),
                                 .encoding = encoding,
                                 .part = part,
                                 .index_bytes = index_bytes});
    dataset_->shards_.back().part.blocks.clear();
  }

  // Appends the blocks of the next shard.
  void add_blocks(const std::vector<ShardBlock>& blocks) {
    DatasetBlock next{.shard = static_cast<std::uint32_t>(dataset_->shards_.size())};
    for (const ShardBlock& block : blocks) {
      next.record_count = block.record_count;
      next.stored_bytes = block.stored_bytes;
      next.stream_bytes = block.stream_bytes;
      dataset_->blocks_.push_back(next);
      next.first_record += block.record_count;
      next.stored_offset += block.stored_bytes;
      next.stream_offset += block.stream_bytes;
    }
  }

  // Pins the version of each shard. Lists the folder once, because a request for each shard would take
  // longer.
  Status find_shards() {
    std::map<std::string_view, DatasetShard*> missing;
    for (DatasetShard& shard : dataset_->shards_) missing[shard.location.key] = &shard;
    std::vector<std::pair<DatasetShard*, std::uint64_t>> altered;
    HEADRACE_CHECK(dataset_->location().store->list(
        common_prefix(dataset_->shards_), {.call = options_.call}, [&](const ObjectInfo& object) {
          const auto found = missing.find(object.key);
          if (found == missing.end()) return true;
          found->second->version = object.version;
          if (object.size_bytes != found->second->size_bytes)
            altered.emplace_back(found->second, object.size_bytes);
          missing.erase(found);
          return !missing.empty();
        }));
    for (const auto& [shard, size_bytes] : altered) {
      HEADRACE_CHECK(lose(*shard, concat(shard->location.describe(), " has ", size_bytes,
                                         " bytes, but was published with ", shard->size_bytes)));
    }
    for (const auto& [key, shard] : missing)
      HEADRACE_CHECK(lose(*shard, concat(shard->location.describe(), " is missing")));
    return {};
  }

  Status lose(DatasetShard& shard, std::string why) {
    if (options_.on_corrupt != CorruptionPolicy::kSkipShard) {
      return Error{Code::kFailedPrecondition, concat(why,
                                                     ": restore it, prepare the dataset again, or leave its "
                                                     "records out with --on-corrupt skip-shard")};
    }
    shard.lost = true;
    dataset_->remarks_.push_back(std::move(why) + "; its records are left out");
    return {};
  }

  Error no_such_split() const {
    std::vector<std::string> names;
    for (const auto& [name, counts] : dataset_->attributes_->splits) names.push_back(name);
    return {Code::kNotFound, concat(dataset_->location().describe(), " has no split ", options_.split,
                                    "; it has ", join(names, ", "))};
  }

  // Opens data without a manifest: whatever lies at the locations or below them, each in the order of its
  // keys.
  Status open_foreign() {
    std::vector<ForeignObject> objects;
    for (const Location& location : dataset_->locations_) {
      HEADRACE_TRY(std::vector<ForeignObject> found, find_foreign_objects(location, options_.call));
      std::ranges::move(found, std::back_inserter(objects));
    }
    std::vector<Result<ForeignShard>> shards(objects.size(), Error{});
    HEADRACE_CHECK(parallel_for(kOpenThreads, objects.size(), [&](std::size_t i) -> Status {
      shards[i] = find_foreign_index(objects[i]);
      return shards[i] ? Status{} : Status(shards[i].error());
    }));
    if (has_kept_) prune_indexes(*options_.index_cache, kIndexCacheBytes, options_.call);
    Sha256 digest;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const ObjectInfo& object = objects[i].object;
      digest.update(as_bytes(concat(object.key, '\0', object.size_bytes, '\0', object.version.token, '\0')));
      add_blocks(shards[i]->blocks);
      dataset_->shards_.push_back(std::move(shards[i]->shard));
      std::ranges::move(shards[i]->remarks, std::back_inserter(dataset_->remarks_));
      std::ranges::move(shards[i]->notes, std::back_inserter(dataset_->remarks_));
    }
    dataset_->digest_ = hex(digest.finish());
    return {};
  }

  // Takes the file's index from the cache, or makes it by a pass over the file. If the file is sound, a new
  // index is kept in the cache.
  Result<ForeignShard> find_foreign_index(const ForeignObject& object) {
    const std::optional<Location>& cache = options_.index_cache;
    if (cache) {
      auto kept = find_kept_index(*cache, object, options_.call);
      if (kept) return *std::move(kept);
    }
    HEADRACE_TRY(ForeignShard made, index_foreign_shard(object, options_.on_corrupt, options_.call));
    if (cache && made.remarks.empty()) {
      keep_index(*cache, object, made, options_.call);
      has_kept_ = true;
    }
    return made;
  }

  const DatasetOptions& options_;
  std::shared_ptr<Dataset> dataset_;
  std::atomic<bool> has_kept_ = false;  // whether an index was added to the cache
};

Result<std::shared_ptr<const Dataset>> Dataset::open(const Location& location,
                                                     const DatasetOptions& options) {
  return open(std::vector{location}, options);
}

Result<std::shared_ptr<const Dataset>> Dataset::open(const std::vector<Location>& locations,
                                                     const DatasetOptions& options) {
  if (locations.empty()) return Error{Code::kInvalidArgument, "no location to read from was given"};
  if (locations.size() > 1 && options.version) {
    return Error{Code::kInvalidArgument,
                 concat("version ", *options.version, " was requested of ", locations.size(),
                        " locations: only a dataset that headrace prepare published has versions")};
  }
  return DatasetOpener(locations, options).open();
}

namespace {

// Checks that the blocks hold exactly the records of the shards, in their order.
Status check_blocks(const DatasetContents& contents) {
  const auto refuse = [&](std::string_view what) {
    return Error{Code::kInvalidArgument, concat(contents.url, ": ", what)};
  };
  std::vector<std::uint64_t> found(contents.shards.size());
  std::uint32_t shard = 0;
  for (const DatasetBlock& block : contents.blocks) {
    if (block.shard < shard || block.shard >= found.size()) return refuse("its blocks are not in order");
    shard = block.shard;
    if (block.first_record != found[shard]) return refuse("a block does not begin where the last one ends");
    if (block.record_count == 0 || block.stream_bytes / kRecordFramingBytes < block.record_count)
      return refuse("a block has no records, or no room for them");
    if (block.record_count > contents.shards[shard].record_count - found[shard])
      return refuse("a block ends beyond the end of its shard");
    found[shard] += block.record_count;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const DatasetShard& each = contents.shards[i];
    if (each.kind == nullptr || each.url().empty()) return refuse("a shard has no kind or no name");
    if (each.record_count != found[i]) return refuse(concat("the blocks do not hold all of ", each.url()));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const Dataset>> Dataset::make(DatasetContents contents) {
  HEADRACE_CHECK(check_blocks(contents));
  const std::shared_ptr<Dataset> dataset(new Dataset());
  dataset->url_ = std::move(contents.url);
  dataset->digest_ = std::move(contents.digest);
  dataset->attributes_ = std::move(contents.attributes);
  dataset->shards_ = std::move(contents.shards);
  dataset->blocks_ = std::move(contents.blocks);
  dataset->remarks_ = std::move(contents.remarks);
  for (const DatasetShard& shard : dataset->shards_) dataset->record_count_ += shard.record_count;
  return std::shared_ptr<const Dataset>(dataset);
}

std::string Dataset::describe() const {
  if (!is_in_store()) return url_;
  if (locations_.size() == 1) return location().describe();
  return concat(location().describe(), " and ", locations_.size() - 1, " more");
}

namespace {

Result<ShardIndex> read_published_index(const Location& folder, const DatasetShard& shard,
                                        const CallOptions& call) {
  const Location location = folder.at(shard.part.index);
  HEADRACE_TRY(const ReadObject read, read_object(*location.store, location.key,
                                                  std::min(shard.index_bytes, kIndexLimitBytes), call));
  auto index = ShardIndex::parse(read.data);
  if (!index) return std::move(index).error().in(location.describe());
  if (index->record_count() == shard.record_count && index->shard_crc32c() == shard.part.crc32c &&
      index->shard_bytes() == shard.size_bytes && index->encoding() == shard.encoding)
    return index;
  return Error{Code::kDataLoss, concat(location.describe(), " is the index of another shard")};
}

}  // namespace

Result<ShardIndex> Dataset::shard_index(std::uint32_t number, const CallOptions& call,
                                        std::string& remark) const {
  const DatasetShard& shard = shards_[number];
  if (!shard.index.empty()) return ShardIndex::parse(shard.index);
  if (!is_in_store()) {
    return Error{Code::kUnimplemented,
                 concat(describe_shard(number),
                        " has no index, so its records cannot be read one by one: shuffle "
                        "in windows instead")};
  }
  auto index = read_published_index(location(), shard, call);
  const bool is_of_use =
      index || (index.error().code != Code::kNotFound && index.error().code != Code::kDataLoss &&
                index.error().code != Code::kResourceExhausted);
  if (is_of_use) return index;
  auto remade = index_published_shard(shard.location, shard.part, call);
  if (remade) {
    remark = concat(index.error().message, "; the index was rebuilt from the shard");
    return remade;
  }
  return Error{Code::kDataLoss, concat(index.error().message, ", and it cannot be rebuilt: ",
                                       remade.error().message, "; restore it, or prepare the dataset again")};
}

DataOrder Dataset::order(int version) const {
  std::vector<OrderedShard> shards;
  for (const DatasetShard& shard : shards_) shards.push_back({shard.record_count, &shard.part.thousandths});
  return {shards, version};
}

std::shared_ptr<const Dataset> Dataset::only(std::uint32_t shard) const {
  const std::shared_ptr<Dataset> alone(new Dataset());
  alone->locations_ = locations_;
  alone->url_ = url_;
  alone->attributes_ = attributes_;
  alone->digest_ = digest_;
  alone->split_ = split_;
  alone->record_count_ = shards_[shard].record_count;
  alone->shards_ = {shards_[shard]};
  auto block = std::ranges::lower_bound(blocks_, shard, {}, &DatasetBlock::shard);
  for (; block != blocks_.end() && block->shard == shard; ++block) {
    alone->blocks_.push_back(*block);
    alone->blocks_.back().shard = 0;
  }
  return alone;
}

std::string Dataset::describe_shard(std::uint32_t shard) const {
  const DatasetShard& each = shards_[shard];
  return each.location.store ? each.location.describe() : each.name;
}

}  // namespace headrace
