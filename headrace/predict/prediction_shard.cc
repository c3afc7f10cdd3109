#include "headrace/predict/prediction_shard.h"

#include <fstream>
#include <utility>
#include <vector>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/store/staging.h"

namespace headrace {
namespace {

constexpr std::size_t kMemberBytes = 1 << 20;  // uncompressed
constexpr int kLevel = 6;
constexpr std::size_t kFilePieceBytes = 4 << 20;

// Uploads an object, which becomes visible when it is committed, and describes it as a part.
class PredictionObject {
 public:
  static Result<PredictionObject> start(const Location& folder, std::string name) {
    HEADRACE_TRY(std::unique_ptr<Upload> upload,
                 folder.store->start_upload(folder.at(name).key, {.only_if_absent = true}));
    return PredictionObject(std::move(name), std::move(upload));
  }

  void count(std::uint64_t answers) { *part_.records += answers; }
  std::uint64_t size_bytes() const { return part_.size_bytes; }

  Status append(BytesView bytes) {
    part_.crc32c = crc32c(bytes, part_.crc32c);
    part_.size_bytes += bytes.size();
    return upload_->append(bytes);
  }
  Result<ManifestPart> commit() {
    HEADRACE_TRY(const ObjectInfo object, upload_->commit());
    return part_;
  }

 private:
  PredictionObject(std::string name, std::unique_ptr<Upload> upload) : upload_(std::move(upload)) {
    part_.key = std::move(name);
  }
  std::unique_ptr<Upload> upload_;
  ManifestPart part_{.role = "predictions", .records = 0};
};

class GzipShard final : public PredictionShard {
 public:
  GzipShard(PredictionObject object, GzipCompressor compressor)
      : object_(std::move(object)), compressor_(std::move(compressor)) {}

  Status add(BytesView bytes, std::uint64_t answers) override {
    append(member_, bytes);
    object_.count(answers);
    return member_.size() >= kMemberBytes ? end_member() : Status{};
  }

  Result<ManifestPart> finish() override {
    // An object without answers has one empty member, so that it is a gzip file too.
    if (!member_.empty() || object_.size_bytes() == 0) HEADRACE_CHECK(end_member());
    return object_.commit();
  }

 private:
  Status end_member() {
    Bytes compressed;
    compressor_.append_member(member_, compressed);
    member_.clear();
    return object_.append(compressed);
  }

  PredictionObject object_;
  GzipCompressor compressor_;
  Bytes member_;
};

class ParquetShard final : public PredictionShard {
 public:
  ParquetShard(PredictionObject object, StagedFolder files, ToParquet convert)
      : object_(std::move(object)),
        files_(std::move(files)),
        convert_(std::move(convert)),
        csv_(csv_path(), std::ios::binary) {}

  Status add(BytesView bytes, std::uint64_t answers) override {
    object_.count(answers);
    csv_ << as_text(bytes);
    return csv_ ? Status{} : no_space(csv_path());
  }

  Result<ManifestPart> finish() override {
    csv_.close();
    if (!csv_) return no_space(csv_path());
    const std::string parquet = files_.path() + "/answers.parquet";
    HEADRACE_CHECK(convert_(csv_path(), parquet));
    std::ifstream file(parquet, std::ios::binary);
    std::vector<char> piece(kFilePieceBytes);
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0)
      HEADRACE_CHECK(
          object_.append(as_bytes(std::string_view(piece.data(), static_cast<std::size_t>(file.gcount())))));
    if (!file.eof()) return Error{Code::kUnknown, concat("cannot read ", parquet)};
    return object_.commit();
  }

 private:
  std::string csv_path() const { return files_.path() + "/answers.csv"; }
  static Error no_space(const std::string& path) {
    return {Code::kResourceExhausted, concat("cannot write ", path, ": is the disk full?")};
  }

  PredictionObject object_;
  const StagedFolder files_;
  const ToParquet convert_;
  std::ofstream csv_;
};

}  // namespace

std::string prediction_shard_name(std::size_t number, std::size_t count, std::string_view suffix,
                                  std::string_view ending) {
  return concat("predictions-", zero_padded(number, 5), "-of-", zero_padded(count, 5), suffix, ending);
}

Result<std::unique_ptr<PredictionShard>> start_gzip_shard(const Location& folder, std::string name) {
  HEADRACE_TRY(GzipCompressor compressor, GzipCompressor::create(kLevel));
  HEADRACE_TRY(PredictionObject object, PredictionObject::start(folder, std::move(name)));
  return std::unique_ptr<PredictionShard>(
      std::make_unique<GzipShard>(std::move(object), std::move(compressor)));
}

Result<std::unique_ptr<PredictionShard>> start_parquet_shard(const Location& folder, std::string name,
                                                             const std::string& temporary_folder,
                                                             ToParquet convert) {
  HEADRACE_TRY(StagedFolder files, StagedFolder::create(temporary_folder));
  HEADRACE_TRY(PredictionObject object, PredictionObject::start(folder, std::move(name)));
  return std::unique_ptr<PredictionShard>(
      std::make_unique<ParquetShard>(std::move(object), std::move(files), std::move(convert)));
}

}  // namespace headrace
