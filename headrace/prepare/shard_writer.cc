#include "headrace/prepare/shard_writer.h"

#include <nlohmann/json.hpp>

#include "headrace/base/crc32c.h"
#include "headrace/base/json_depth.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/record/example.h"
#include "headrace/record/index.h"
#include "headrace/record/tfrecord.h"

namespace headrace {

constexpr std::size_t kMemberBytes = 1 << 20;  // uncompressed; a shard can be read from each member on
constexpr std::size_t kEncodeTexts = 64;       // in one call of the encoder
constexpr std::uint64_t kReadBytes = 8 << 20;  // of texts, in one reading of the spool
constexpr std::uint64_t kReceiptLimitBytes = 1 << 20;

// Collects framed records into members, and what is written of them so far.
class ShardWriter::Body {
 public:
  static Result<Body> create(const ShardFormat& format, std::unique_ptr<Upload> upload) {
    Body body(format.compression == "none" ? ShardEncoding::kPlain : ShardEncoding::kGzip, std::move(upload));
    if (format.compression != "none") {
      HEADRACE_TRY(body.compressor_, GzipCompressor::create(format.compression_level));
    }
    return body;
  }

  Status add(BytesView example) {
    index_.add_record(example.size());
    append_record(member_, example);
    return member_.size() >= kMemberBytes ? end_member() : Status{};
  }

  /// Publishes the shard; gives its index. Call once.
  Result<ShardIndex> finish() {
    if (!member_.empty()) HEADRACE_CHECK(end_member());
    HEADRACE_TRY(const ObjectInfo object, upload_->commit());
    return std::move(index_).finish(object.size_bytes, crc_);
  }

 private:
  Body(ShardEncoding encoding, std::unique_ptr<Upload> upload)
      : upload_(std::move(upload)), index_(encoding) {}

  Status end_member() {
    BytesView data = member_;
    if (compressor_) {
      compressed_.clear();
      index_.add_member(compressor_->append_member(member_, compressed_), member_.size());
      data = compressed_;
    }
    crc_ = crc32c(data, crc_);
    HEADRACE_CHECK(upload_->append(data));
    member_.clear();
    return {};
  }

  std::unique_ptr<Upload> upload_;
  std::optional<GzipCompressor> compressor_;
  ShardIndexBuilder index_;
  Bytes member_;
  Bytes compressed_;
  std::uint32_t crc_ = 0;
};

namespace {

using nlohmann::json;

std::string receipt_to_text(const ShardReceipt& receipt) {
  json document = {{"shard", json::parse(manifest_part_to_json(receipt.shard))},
                   {"index", json::parse(manifest_part_to_json(receipt.index))},
                   {"labels", json::object()}};
  for (const auto& [label, count] : receipt.labels) document["labels"][concat(label)] = count;
  return document.dump() + "\n";
}

}  // namespace

std::string shard_name(const ShardTask& task, std::string_view plan_digest, const ShardFormat& format) {
  return concat(task.split_name, "-", plan_digest.substr(0, 8), "-", zero_padded(task.number, 5), "-of-",
                zero_padded(task.shard_count, 5), ".tfrecord", format.compression == "none" ? "" : ".gz");
}

ShardWriter::ShardWriter(const RecordSpool& spool, const TextEncoder& encoder, ShardFormat format,
                         Location output, Location receipts, std::string plan_digest)
    : spool_(spool),
      encoder_(encoder),
      format_(std::move(format)),
      output_(std::move(output)),
      receipts_(std::move(receipts)),
      plan_digest_(std::move(plan_digest)) {}

Location ShardWriter::receipt_location(const ShardTask& task) const {
  return receipts_.at(concat("shard-", task.split_name, "-", zero_padded(task.number, 5)));
}

Result<std::optional<ShardReceipt>> ShardWriter::find_receipt(const ShardTask& task) const {
  const Location location = receipt_location(task);
  const auto read = read_object(*location.store, location.key, kReceiptLimitBytes);
  if (!read && read.error().code == Code::kNotFound) return std::optional<ShardReceipt>();
  if (!read) return read.error();
  try {
    const std::string_view text = as_text(read->data);
    const json document = check_json_depth(text) ? json::parse(text) : json();
    const auto part = [&](const char* name) {
      auto parsed = parse_manifest_part(document.at(name).dump());
      if (!parsed) throw std::invalid_argument(parsed.error().message);
      return *std::move(parsed);
    };
    ShardReceipt receipt{.shard = part("shard"), .index = part("index")};
    for (const auto& [label, count] : document.at("labels").items())
      receipt.labels[std::stoi(label)] = count.get<std::uint64_t>();
    return std::optional(std::move(receipt));
  } catch (const std::exception& exception) {
    return Error{Code::kDataLoss, concat(location.describe(), " is damaged (", exception.what(),
                                         "); start anew with --overwrite")};
  }
}

Status ShardWriter::write_records(const ShardTask& task, Body& body, ShardReceipt& receipt) const {
  for (std::uint64_t done = 0; done < task.record_count;) {
    HEADRACE_TRY(const std::vector<SpooledText> texts,
                 spool_.read(task.split, task.first_record + done, task.record_count - done, kReadBytes));
    HEADRACE_CHECK(encode_records(texts, body, receipt));
    done += texts.size();
  }
  return {};
}

Status ShardWriter::encode_records(std::span<const SpooledText> all, Body& body,
                                   ShardReceipt& receipt) const {
  const auto dimension = static_cast<std::size_t>(encoder_.dimension());
  std::vector<float> vectors;
  std::vector<std::int64_t> label(static_cast<std::size_t>(format_.label_count));
  ExampleBuilder builder;
  Bytes example;
  for (std::size_t done = 0; done < all.size(); done += kEncodeTexts) {
    const std::span<const SpooledText> texts = all.subspan(done, std::min(kEncodeTexts, all.size() - done));
    std::vector<std::string_view> views;
    for (const SpooledText& text : texts) views.emplace_back(text.text);
    vectors.resize(texts.size() * dimension);
    HEADRACE_CHECK(encoder_.encode(views, vectors));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      label.assign(label.size(), 0);
      label[static_cast<std::size_t>(texts[i].label)] = 1;
      ++receipt.labels[texts[i].label];
      builder.add_floats("sentence", std::span(vectors).subspan(i * dimension, dimension));
      builder.add_int64s("label", label);
      if (format_.keep_text) {
        builder.add_bytes("text", as_bytes(texts[i].text));
        builder.add_bytes("id", as_bytes(texts[i].id));
      }
      example.clear();
      builder.append_to(example);
      HEADRACE_CHECK(body.add(example));
    }
  }
  return {};
}

Result<ShardReceipt> ShardWriter::write(const ShardTask& task) const {
  ShardReceipt receipt;
  receipt.shard.key = shard_name(task, plan_digest_, format_);
  receipt.index.key = receipt.shard.key + ".index";
  receipt.shard.records = receipt.index.records = task.record_count;
  HEADRACE_TRY(std::unique_ptr<Upload> upload,
               output_.store->start_upload(output_.at(receipt.shard.key).key, {}));
  HEADRACE_TRY(Body body, Body::create(format_, std::move(upload)));

  HEADRACE_CHECK(write_records(task, body, receipt));
  HEADRACE_TRY(const ShardIndex index, body.finish());
  receipt.shard.size_bytes = index.shard_bytes();
  receipt.shard.crc32c = index.shard_crc32c();
  receipt.shard.blocks = index.blocks();
  const Bytes index_bytes = index.serialize();
  HEADRACE_CHECK(output_.store->write(output_.at(receipt.index.key).key, index_bytes, {}));
  receipt.index.size_bytes = index_bytes.size();
  receipt.index.crc32c = crc32c(index_bytes);
  receipt.shard.role = "shard";
  receipt.shard.split = task.split_name;
  receipt.shard.index = receipt.index.key;
  receipt.index.role = "index";
  HEADRACE_CHECK(write_text(*receipts_.store, receipt_location(task).key, receipt_to_text(receipt)));
  return receipt;
}

}  // namespace headrace
