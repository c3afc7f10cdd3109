#include "headrace/prepare/write/shard_body.h"

#include "headrace/record/tfrecord.h"

namespace headrace {

constexpr std::size_t kMemberBytes = 1 << 20;  // uncompressed; a reader can begin at each member

Result<ShardBody> ShardBody::create(const std::string& compression, int level, OnceUpload upload) {
  const bool is_plain = compression == "none";
  ShardBody body(is_plain ? ShardEncoding::kPlain : ShardEncoding::kGzip, std::move(upload));
  if (!is_plain) {
    HEADRACE_TRY(body.compressor_, GzipCompressor::create(level));
  }
  return body;
}

Status ShardBody::add(BytesView example) {
  index_.add_record(example.size());
  append_record(member_, example);
  return member_.size() >= kMemberBytes ? end_member() : Status{};
}

Result<ShardIndex> ShardBody::finish() {
  if (!member_.empty()) HEADRACE_CHECK(end_member());
  HEADRACE_CHECK(upload_.finish());
  return std::move(index_).finish(upload_.size_bytes(), upload_.crc32c());
}

Status ShardBody::end_member() {
  BytesView data = member_;
  if (compressor_) {
    compressed_.clear();
    index_.add_member(compressor_->append_member(member_, compressed_), member_.size());
    data = compressed_;
  }
  HEADRACE_CHECK(upload_.append(data));
  member_.clear();
  return {};
}

}  // namespace headrace
