#include "headrace/prepare/table/row_parser.h"

#include "headrace/base/text.h"
#include "headrace/prepare/table/byte_pieces.h"

namespace headrace {
namespace {

class FileRows final : public RowSource {
 public:
  FileRows(std::vector<SourceFile> files, CompressionOfHead compression_of_head,
           std::unique_ptr<RowParser> parser)
      : files_(std::move(files)), compression_of_head_(compression_of_head), parser_(std::move(parser)) {}

  Result<std::optional<SourceRow>> next() override {
    while (pieces_ || opened_ < files_.size()) {
      if (!pieces_) HEADRACE_CHECK(open_file());
      auto row = parser_->next();
      if (!row || *row) return row;
      if (is_ended_) {
        close_file();
      } else {
        HEADRACE_TRY(const bool has_more, pieces_->next([&](BytesView piece) { parser_->feed(piece); }));
        if (!has_more) parser_->end_file();
        is_ended_ = !has_more;
      }
    }
    return std::optional<SourceRow>();
  }

  std::uint64_t consumed_bytes() const override {
    return closed_bytes_ + (pieces_ ? pieces_->consumed_bytes() : 0);
  }

 private:
  Status open_file() {
    const SourceFile& file = files_[opened_];
    HEADRACE_TRY(pieces_, BytePieces::open(file, compression_of_head_));
    parser_->begin_file(file.location.describe(), file.name, opened_);
    ++opened_;
    is_ended_ = false;
    return {};
  }

  void close_file() {
    pieces_.reset();
    closed_bytes_ += files_[opened_ - 1].size_bytes;
  }

  const std::vector<SourceFile> files_;
  const CompressionOfHead compression_of_head_;
  const std::unique_ptr<RowParser> parser_;
  std::unique_ptr<BytePieces> pieces_;  // pieces of the file that is being read
  bool is_ended_ = false;
  std::uint32_t opened_ = 0;  // number of files
  std::uint64_t closed_bytes_ = 0;
};

}  // namespace

std::unique_ptr<RowSource> read_files(std::vector<SourceFile> files, CompressionOfHead compression_of_head,
                                      std::unique_ptr<RowParser> parser) {
  return std::make_unique<FileRows>(std::move(files), compression_of_head, std::move(parser));
}

void RowId::begin_file(std::string_view name) {
  text_ = concat(name, "@");
  file_bytes_ = text_.size();
}

std::string_view RowId::of(std::uint64_t number) {
  text_.resize(file_bytes_);
  text_internal::append_one(text_, number);
  return text_;
}

}  // namespace headrace
