#include "headrace/prepare/source/stretch.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "headrace/prepare/table/json_lines_source.h"
#include "headrace/prepare/table/table_source.h"

namespace headrace {
namespace {

constexpr std::uint64_t kHeadBytes = 64 << 10;
constexpr std::string_view kGzip = "\x1f\x8b";

class StretchRows final : public RowSource {
 public:
  StretchRows(Bytes bytes, std::unique_ptr<RowParser> parser, const std::string& url)
      : bytes_(std::move(bytes)), parser_(std::move(parser)) {
    parser_->begin_file(url, url, 0);
    parser_->feed(bytes_);
  }

  Result<std::optional<SourceRow>> next() override {
    Result<std::optional<SourceRow>> row = parser_->next();
    if (!row || *row || is_ended_) return row;
    parser_->end_file();
    is_ended_ = true;
    return parser_->next();
  }
  std::uint64_t consumed_bytes() const override { return is_ended_ ? bytes_.size() : 0; }

 private:
  const Bytes bytes_;
  const std::unique_ptr<RowParser> parser_;
  bool is_ended_ = false;
};

Result<Bytes> read_bytes(const Location& location, const InputFile& file, std::uint64_t offset_bytes,
                         std::uint64_t size_bytes) {
  Bytes bytes(std::min(size_bytes, file.size_bytes - offset_bytes));
  const ReadOptions options{.offset_bytes = offset_bytes, .if_version = Version{file.version}};
  HEADRACE_TRY(const ReadResult read, location.store->read_into(location.key, bytes, options));
  bytes.resize(read.bytes_read);
  return bytes;
}

// Returns the complete lines of bytes that begin in the middle of a file, and may reach its end.
std::string_view whole_lines(std::string_view text, bool is_at_end) {
  text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return is_at_end ? text : text.substr(0, text.rfind('\n') + 1);
}

}  // namespace

Result<std::unique_ptr<RowSource>> open_stretch(const Input& input, const InputFile& file,
                                                std::uint64_t offset_bytes, std::uint64_t size_bytes,
                                                StoreRegistry& stores, std::uint64_t cell_limit_bytes) {
  const bool is_table = input.format == InputFormat::kCsv || input.format == InputFormat::kTsv;
  if (!is_table && input.format != InputFormat::kJsonLines) return std::unique_ptr<RowSource>();
  HEADRACE_TRY(const Location location, stores.open(file.url));
  HEADRACE_TRY(const Bytes head, read_bytes(location, file, 0, kHeadBytes));
  HEADRACE_TRY(const Bytes middle, read_bytes(location, file, offset_bytes, size_bytes));
  const std::string_view start = as_text(head), text = as_text(middle);
  if (start.starts_with(kGzip) || text.empty()) return std::unique_ptr<RowSource>();
  const std::string_view lines = whole_lines(text, offset_bytes + middle.size() == file.size_bytes);
  const std::string_view header = is_table ? start.substr(0, start.find('\n') + 1) : "";
  const bool is_certain =
      !is_table || (!header.empty() && header.find('"') == header.npos && text.find('"') == text.npos);
  if (!is_certain) return std::unique_ptr<RowSource>();
  Bytes bytes;
  append(bytes, as_bytes(header));
  append(bytes, as_bytes(lines));
  HEADRACE_TRY(std::unique_ptr<RowParser> parser, make_row_parser(input, cell_limit_bytes));
  return std::unique_ptr<RowSource>(
      std::make_unique<StretchRows>(std::move(bytes), std::move(parser), file.url));
}

}  // namespace headrace
