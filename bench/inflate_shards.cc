/// How fast do GZIP shards become checked records, beside libdeflate alone on the same bytes?
///
///   headrace_bench_inflate_shards write FOLDER SHARDS MEMBER_BYTES   500 Examples of 3.4 kB a shard
///   headrace_bench_inflate_shards libdeflate FOLDER REPEATS   files in memory, buffers of the right size
///   headrace_bench_inflate_shards inflate FOLDER REPEATS      the same, BufferInflater, sizes unknown
///   headrace_bench_inflate_shards scan FOLDER REPEATS         files in the page cache, both CRCs of records
///
/// All but `write` print JSON: examples, content bytes, seconds of each repeat. bench/inflate_shards.py pins
/// it and runs the peers beside it.

#include <libdeflate.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "bench/measuring/repeats.h"
#include "bench/measuring/review_examples.h"
#include "headrace/codec/deflate.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

constexpr std::uint64_t kShardRecords = 500;
constexpr std::uint64_t kLimitBytes = 1 << 30;

struct Counts {
  std::uint64_t examples = 0;
  std::uint64_t bytes = 0;
};

Status write(const Location& folder, std::uint64_t shards, std::uint64_t member_bytes) {
  HEADRACE_TRY(GzipCompressor compressor, GzipCompressor::create(6));
  std::mt19937_64 random(44);
  for (std::uint64_t shard = 0; shard < shards; ++shard) {
    Bytes member, data;
    for (std::uint64_t i = 1; i <= kShardRecords; ++i) {
      append_review_example(random, member);
      if (member.size() < member_bytes && i < kShardRecords) continue;
      compressor.append_member(member, data);
      member.clear();
    }
    const std::string name = concat("part-", zero_padded(shard, 5), ".tfrecord.gz");
    HEADRACE_CHECK(folder.store->write(folder.at(name).key, data, {}));
  }
  return {};
}

Result<std::uint64_t> count_records(BytesView stream) {
  RecordScanner scanner(stream);
  BytesView record;
  std::uint64_t count = 0;
  ScanOutcome outcome = ScanOutcome::kEnd;
  while ((outcome = scanner.next(record)) == ScanOutcome::kRecord) ++count;
  if (outcome != ScanOutcome::kEnd) return scan_error(outcome, "a shard", scanner.position(), count);
  return count;
}

// Each measured way keeps its buffers from shard to shard, as a reader of shards does.
class Work {
 public:
  explicit Work(const Location& folder) : folder_(folder) {}

  Status load() {
    HEADRACE_TRY(objects_, list_all(*folder_.store, folder_prefix(folder_.key)));
    for (const ObjectInfo& object : objects_) {
      HEADRACE_TRY(ReadObject read, read_object(*folder_.store, object.key, kLimitBytes));
      shards_.push_back(std::move(read.data));
      HEADRACE_CHECK(inflate(shards_.back()));
      HEADRACE_TRY(const std::uint64_t records, count_records(content_));
      counts_.examples += records;
      counts_.bytes += content_.size();
      largest_bytes_ = std::max(largest_bytes_, content_.size());
    }
    return {};
  }

  Status libdeflate() {
    content_.resize(largest_bytes_);
    for (const Bytes& shard : shards_) {
      std::size_t consumed = 0, produced = 0, filled = 0;
      for (std::size_t at = 0; at < shard.size(); at += consumed, filled += produced) {
        if (libdeflate_gzip_decompress_ex(decompressor_, shard.data() + at, shard.size() - at,
                                          content_.data() + filled, content_.size() - filled, &consumed,
                                          &produced) != LIBDEFLATE_SUCCESS)
          return Error{Code::kDataLoss, "not inflated"};
      }
    }
    return {};
  }

  Status inflate_all() {
    for (const Bytes& shard : shards_) HEADRACE_CHECK(inflate(shard));
    return {};
  }

  Status scan_all() {
    for (const ObjectInfo& object : objects_) {
      fetched_.resize(object.size_bytes);
      HEADRACE_CHECK(read_exactly(*folder_.store, object.key, fetched_, {}));
      HEADRACE_CHECK(inflate(fetched_));
      HEADRACE_CHECK(count_records(content_));
    }
    return {};
  }

  const Counts& counts() const { return counts_; }

 private:
  Status inflate(const Bytes& shard) {
    content_.clear();
    return inflater_.all(shard, Compression::kGzip, content_, kLimitBytes);
  }

  const Location& folder_;
  std::vector<ObjectInfo> objects_;
  std::vector<Bytes> shards_;
  Counts counts_;
  std::size_t largest_bytes_ = 0;
  BufferInflater inflater_;
  libdeflate_decompressor* decompressor_ = libdeflate_alloc_decompressor();
  Bytes fetched_, content_;
};

Status run(const std::vector<std::string>& arguments) {
  StoreRegistry registry(Environment::capture());
  HEADRACE_TRY(const Location folder, registry.open(concat("file://", arguments.at(1))));
  const auto first = parse_number<std::uint64_t>(arguments.at(2));
  const auto second = parse_number<std::uint64_t>(arguments.size() > 3 ? arguments[3] : "0");
  if (!first || !second) return Error{Code::kInvalidArgument, "not a number"};
  if (arguments[0] == "write") return write(folder, *first, *second);
  Work work(folder);
  HEADRACE_CHECK(work.load());
  Repeats repeats;
  for (std::uint64_t i = 0; i < *first; ++i) {
    HEADRACE_CHECK(repeats.time([&] {
      if (arguments[0] == "libdeflate") return work.libdeflate();
      return arguments[0] == "inflate" ? work.inflate_all() : work.scan_all();
    }));
  }
  Json out = repeats.to_json();
  out["examples"] = work.counts().examples;
  out["bytes"] = work.counts().bytes;
  std::cout << out.dump() << "\n";
  return {};
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const headrace::Status status = headrace::run(std::vector<std::string>(argv + 1, argv + argc));
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
