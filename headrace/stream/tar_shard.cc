#include "headrace/stream/tar_shard.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/codec/tar.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/object_window.h"
#include "headrace/stream/tar_sample.h"

namespace headrace {
namespace {

constexpr std::size_t kHeadBytes = 4096;  // enough for a tar's first header, even if it is compressed
constexpr std::size_t kTarRemarks = 100;
constexpr int kDoubtfulSamples = 2;  // samples after damage that are doubtful; tar_shard.h says why

// Finds where the samples of a tar begin.
class SampleFinder {
 public:
  SampleFinder(const ForeignObject& object, CorruptionPolicy policy, const CallOptions& call)
      : name_(object.location.describe()),
        policy_(policy),
        window_(*object.location.store, object.object, call),
        walker_(object.object.size_bytes,
                [this](std::uint64_t offset, std::size_t size) { return window_.read(offset, size); }) {}

  Status find() {
    bool goes_on = true;
    while (goes_on) {
      const auto entry = walker_.next();
      if (entry && !*entry) break;
      if (entry) {
        HEADRACE_CHECK(add(**entry));
        continue;
      }
      if (entry.error().code != Code::kDataLoss) return entry.error();
      HEADRACE_CHECK(damage(entry.error().message));
      is_after_damage_ = true;
      doubtful_ = kDoubtfulSamples;
      HEADRACE_TRY(goes_on, walker_.pass_over_damage());
    }
    HEADRACE_TRY(const bool is_whole, walker_.ends_in_zeros());
    if (goes_on && !is_whole) HEADRACE_CHECK(damage("the tar has no end mark: it was truncated"));
    if (ignored_ > 0)
      notes_.push_back(concat(name_, ": ", ignored_, " links or special files are skipped; the first is ",
                              first_ignored_));
    return {};
  }

  const std::vector<std::uint64_t>& begins() const { return begins_; }
  std::vector<std::string>& remarks() { return remarks_; }
  std::vector<std::string>& notes() { return notes_; }

 private:
  void remark(std::string text) {
    if (remarks_.size() < kTarRemarks) remarks_.push_back(std::move(text));
  }

  // Records damage of a sample. Loading the sample will find the damage again.
  Status damage(std::string_view what) {
    Error error{Code::kDataLoss, concat(name_, ": ", what)};
    if (policy_ == CorruptionPolicy::kFail) return with_advice(std::move(error));
    remark(concat(error.message, "; the damaged part is left out"));
    return {};
  }

  Status add(const TarEntry& entry) {
    if (entry.kind == TarEntryKind::kOther && ignored_++ == 0)
      first_ignored_ = replace_invalid_utf8(entry.path).text;
    const bool is_file = entry.kind == TarEntryKind::kFile || entry.kind == TarEntryKind::kSparseFile;
    const auto name = split_sample_path(entry.path);
    if (!is_file || !name) return {};
    if (std::exchange(is_after_damage_, false) && !begins_.empty() && name->key == key_) doubtful_ = 0;
    if (begins_.empty() || name->key != key_) {
      if (begins_.empty()) {
        begins_.push_back(0);
      } else if (doubtful_ == 0) {
        begins_.push_back(entry.offset_bytes);
      }
      doubtful_ = std::max(doubtful_ - 1, 0);
      key_ = name->key;
      sample_bytes_ = 0;
    }
    if (entry.kind == TarEntryKind::kSparseFile)
      return damage(concat(replace_invalid_utf8(entry.path).text,
                           " is a sparse file, which is not supported: pack it without --sparse"));
    const bool was_small = sample_bytes_ <= kDefaultRecordLimitBytes;
    sample_bytes_ += std::min(entry.data_bytes, kDefaultRecordLimitBytes + 1);
    if (was_small && sample_bytes_ > kDefaultRecordLimitBytes)
      return damage(concat("sample ", replace_invalid_utf8(key_).text, " has more than ",
                           format_size(kDefaultRecordLimitBytes)));
    return {};
  }

  const std::string name_;
  const CorruptionPolicy policy_;
  ObjectWindow window_;
  TarWalker walker_;
  std::vector<std::uint64_t> begins_;
  std::string key_;                 // the key of the last sample
  std::uint64_t sample_bytes_ = 0;  // the size of its files so far
  bool is_after_damage_ = false;    // true until the next file after the damage
  int doubtful_ = 0;                // how many more samples are left out
  std::uint64_t ignored_ = 0;
  std::string first_ignored_;
  std::vector<std::string> remarks_;
  std::vector<std::string> notes_;
};

}  // namespace

Result<bool> is_tar_shard(const ForeignObject& object, const CallOptions& call) {
  Bytes head(std::min<std::uint64_t>(kHeadBytes, object.object.size_bytes));
  HEADRACE_CHECK(read_exactly(*object.location.store, object.location.key, head,
                              {.if_version = object.object.version, .call = call}));
  if (looks_like_tar(head) || object.location.key.ends_with(".tar")) return true;
  if (sniff_compression(head) != Compression::kGzip) return false;
  Inflater inflater(Compression::kGzip);
  Bytes front(kTarBlockBytes);
  const auto step = inflater.step(head, front);
  if (!step || !looks_like_tar(BytesView(front).first(step->produced_bytes))) return false;
  return Error{Code::kInvalidArgument,
               concat(object.location.describe(),
                      " is a gzip-compressed tar, which does not allow random access: store it without "
                      "compression (gunzip), which costs little for images, audio and video")};
}

Result<ForeignShard> index_tar_shard(const ForeignObject& object, CorruptionPolicy policy,
                                     const CallOptions& call) {
  SampleFinder finder(object, policy, call);
  HEADRACE_CHECK(finder.find());
  const std::vector<std::uint64_t>& begins = finder.begins();
  const std::uint64_t size_bytes = begins.empty() ? 0 : object.object.size_bytes;
  ShardIndexBuilder builder(ShardEncoding::kTar);
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::uint64_t end = i + 1 < begins.size() ? begins[i + 1] : size_bytes;
    builder.add_record(end - begins[i] - kRecordFramingBytes);
  }
  HEADRACE_TRY(const ShardIndex index, std::move(builder).finish(size_bytes, 0));
  ForeignShard shard = foreign_shard(object, index);
  shard.remarks = std::move(finder.remarks());
  shard.notes = std::move(finder.notes());
  return shard;
}

Status read_tar_samples(const ForeignObject& object, const CallOptions& call, std::uint64_t& samples,
                        const std::function<bool(BytesView record)>& visit,
                        const std::function<void(std::uint64_t)>& advance) {
  HEADRACE_TRY(const ForeignShard shard, index_tar_shard(object, CorruptionPolicy::kFail, call));
  TarSampleConverter converter({});
  Bytes stored;
  std::uint64_t offset = 0;
  for (const ShardBlock& block : shard.blocks) {
    stored.resize(block.stored_bytes);
    HEADRACE_CHECK(read_exactly(*object.location.store, object.location.key, stored,
                                {.offset_bytes = offset, .if_version = object.object.version, .call = call}));
    const TarPart part{stored, offset, offset + stored.size() == object.object.size_bytes};
    std::vector<std::uint64_t> offsets;
    const Status converted = converter.convert(part, offsets);
    if (!converted) return converted.error().in(object.location.describe());
    offsets.push_back(stored.size());
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      ++samples;
      if (!visit(BytesView(stored).first(offsets[i + 1]).subspan(offsets[i] + kRecordFramingBytes)))
        return {};
    }
    offset += stored.size();
    advance(stored.size());
  }
  return {};
}

}  // namespace headrace
