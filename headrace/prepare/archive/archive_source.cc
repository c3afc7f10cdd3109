#include "headrace/prepare/archive/archive_source.h"

#include <utility>

#include "headrace/prepare/archive/archived_files.h"
#include "headrace/prepare/archive/layout_rows.h"

namespace headrace {
namespace {

class ArchiveSource final : public RowSource {
 public:
  ArchiveSource(std::vector<SourceFile> archives, Layout layout, const ArchiveOptions& options)
      : options_(options), files_(std::move(archives)), rows_(layout, options.cell_limit_bytes) {}

  Result<std::optional<SourceRow>> next() override {
    while (true) {
      HEADRACE_TRY(std::optional<ArchivedFile> file, files_.next());
      if (!file) return std::optional<SourceRow>();
      if (file->kind == EntryKind::kFolder) continue;
      HEADRACE_TRY(SourceRow row, row_of(*std::move(file)));
      return std::optional(std::move(row));
    }
  }

  std::uint64_t consumed_bytes() const override { return files_.consumed_bytes(); }

 private:
  Result<SourceRow> row_of(ArchivedFile file) {
    if (file.archive != place_.file) place_ = {.file = file.archive};
    ++place_.row;
    const std::string_view archive =
        options_.names_archives ? files_.archives()[file.archive].name : std::string_view();
    SourceRow row = rows_.classify(std::move(file.path), archive, place_);
    if (row.verdict != RowVerdict::kRow) return row;
    if (file.kind != EntryKind::kFile) return rows_.reject("a link or device, not a file");
    if (file.is_sparse) return rows_.reject("a sparse file", "pack it without --sparse");
    HEADRACE_TRY(auto content, files_.content(options_.cell_limit_bytes, 0));
    if (!content) return rows_.reject_as_too_large();
    content_ = *std::move(content);
    return rows_.row(files_.cell(content_, file.archive));
  }

  const ArchiveOptions options_;
  ArchivedFiles files_;
  LayoutRows rows_;
  RowPlace place_{};
  ArchivedContent content_;
};

}  // namespace

std::unique_ptr<RowSource> open_archive_source(std::vector<SourceFile> archives, Layout layout,
                                               const ArchiveOptions& options) {
  return std::make_unique<ArchiveSource>(std::move(archives), layout, options);
}

}  // namespace headrace
