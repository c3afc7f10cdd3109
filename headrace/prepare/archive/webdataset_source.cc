#include "headrace/prepare/archive/webdataset_source.h"

#include <algorithm>
#include <span>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/codec/sample_path.h"
#include "headrace/prepare/archive/archived_files.h"

namespace headrace {
namespace {

constexpr std::uint64_t kInlineBytes = 4096;
constexpr std::size_t kDetailBytes = 200;

class WebDatasetSource final : public RowSource {
 public:
  WebDatasetSource(std::vector<SourceFile> archives, const ArchiveOptions& options)
      : options_(options), files_(std::move(archives)) {}

  Result<std::optional<SourceRow>> next() override {
    while (true) {
      if (!ahead_) {
        HEADRACE_TRY(ahead_, files_.next());
      }
      if (!ahead_ || (in_sample_ && ahead_->archive != archive_)) {
        if (!in_sample_) return std::optional<SourceRow>();
        return std::optional(finish_sample());
      }
      const auto name = split_sample_path(ahead_->path);
      if (ahead_->kind == EntryKind::kFolder) {
        ahead_.reset();
      } else if (!name || ahead_->kind != EntryKind::kFile) {
        return std::optional(ignore(!name ? "no sample's file by its name" : "a link or device, not a file"));
      } else if (in_sample_ && name->key != key_) {
        return std::optional(finish_sample());
      } else {
        if (!in_sample_) begin_sample(name->key);
        HEADRACE_CHECK(add_file(*name));
        ahead_.reset();
      }
    }
  }

  std::uint64_t consumed_bytes() const override { return files_.consumed_bytes(); }

 private:
  struct File {
    std::string field;
    ArchivedContent content;
    std::optional<std::int64_t> number;
  };

  RowPlace next_place(std::uint32_t archive) {
    if (archive != place_.file) place_ = {.file = archive};
    ++place_.row;
    return place_;
  }

  std::string id_of(std::uint32_t archive, std::string_view key) const {
    return options_.names_archives ? concat(files_.archives()[archive].name, ':', key) : std::string(key);
  }

  SourceRow ignore(std::string_view reason) {
    id_ = replace_invalid_utf8(id_of(ahead_->archive, ahead_->path)).text;
    const RowPlace place = next_place(ahead_->archive);
    ahead_.reset();
    return {.verdict = RowVerdict::kIgnored, .place = place, .id = id_, .reason = std::string(reason)};
  }

  void begin_sample(std::string_view key) {
    in_sample_ = true;
    archive_ = ahead_->archive;
    key_ = key;
    sample_files_.clear();
    sample_bytes_ = 0;
    reason_.clear();
    detail_.clear();
  }

  // Marks the sample as rejected, and drops its files that were read so far.
  Status reject_sample(std::string reason, std::string_view detail) {
    reason_ = std::move(reason);
    detail_ = printable_line(detail, kDetailBytes);
    sample_files_.clear();
    return {};
  }

  // `name`: the parsed name of the file ahead.
  Status add_file(const SampleFileName& name) {
    if (!reason_.empty()) return {};
    std::string field = to_lower(name.field);
    if (!is_valid_utf8(ahead_->path)) return reject_sample("path is not UTF-8", ahead_->path);
    if (field == kSampleKeyFeature) return reject_sample("a field named __key__", ahead_->path);
    if (std::ranges::find(sample_files_, field, &File::field) != sample_files_.end())
      return reject_sample("a field is there twice", field);
    if (sample_files_.size() == kMaxSampleFiles)
      return reject_sample(concat("a sample of more than ", kMaxSampleFiles, " files"), {});
    if (ahead_->is_sparse) return reject_sample("a sparse file", concat(field, ": pack it without --sparse"));
    HEADRACE_TRY(auto content, files_.content(options_.cell_limit_bytes, kInlineBytes));
    if (!content)
      return reject_sample(concat("a file larger than ", format_size(options_.cell_limit_bytes)), field);
    sample_bytes_ += field.size() + content->size_bytes;
    if (sample_bytes_ > kSampleLimitBytes)
      return reject_sample(concat("a sample larger than ", format_size(kSampleLimitBytes)), {});
    File file{std::move(field), *std::move(content), std::nullopt};
    if (!file.content.is_reference && is_sample_number_field(file.field))
      file.number = parse_sample_number(as_bytes(file.content.data));
    sample_files_.push_back(std::move(file));
    return {};
  }

  SourceRow finish_sample() {
    in_sample_ = false;
    id_ = replace_invalid_utf8(id_of(archive_, key_)).text;
    SourceRow row{.place = next_place(archive_), .id = id_};
    if (!reason_.empty()) {
      row.verdict = RowVerdict::kRejected;
      row.reason = std::move(reason_);
      row.detail = std::move(detail_);
      return row;
    }
    cells_.clear();
    cells_.push_back({kSampleKeyFeature, {.kind = CellKind::kBytes, .data = as_bytes(key_)}});
    for (const File& file : sample_files_) cells_.push_back({file.field, cell_of(file)});
    row.cells = cells_;
    return row;
  }

  Cell cell_of(const File& file) const {
    if (!file.number) return files_.cell(file.content, archive_);
    return {.kind = CellKind::kInt64s, .data = std::as_bytes(std::span(&*file.number, 1))};
  }

  const ArchiveOptions options_;
  ArchivedFiles files_;
  std::optional<ArchivedFile> ahead_;  // read, but not yet used
  RowPlace place_{};                   // place of the last row
  std::string id_;                     // id of the last row

  bool in_sample_ = false;  // whether a sample is being read; the following members describe it
  std::uint32_t archive_ = 0;
  std::string key_;
  std::vector<File> sample_files_;
  std::uint64_t sample_bytes_ = 0;
  std::string reason_;  // why the sample is rejected; empty: it is not
  std::string detail_;
  std::vector<NamedCell> cells_;
};

}  // namespace

std::unique_ptr<RowSource> open_webdataset(std::vector<SourceFile> archives, const ArchiveOptions& options) {
  return std::make_unique<WebDatasetSource>(std::move(archives), options);
}

}  // namespace headrace
