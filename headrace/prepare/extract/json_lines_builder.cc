#include "headrace/prepare/extract/json_lines_builder.h"

#include "headrace/base/crc32c.h"
#include "headrace/codec/deflate.h"
#include "headrace/track/created_once.h"

namespace headrace {
namespace {

constexpr std::size_t kMemberBytes = 1 << 20;
constexpr int kLevel = 6;

}  // namespace

Status JsonLinesBuilder::add(std::string_view json) {
  text_ += json;
  text_ += '\n';
  ++lines_;
  return text_.size() < kMemberBytes ? Status{} : end_member();
}

Status JsonLinesBuilder::end_member() {
  HEADRACE_TRY(const Bytes member, gzip_compress(as_bytes(text_), kLevel));
  append(compressed_, member);
  text_.clear();
  return {};
}

ManifestPart JsonLinesBuilder::take_part(const std::string& name, std::string_view role) {
  ManifestPart part{.key = name,
                    .size_bytes = compressed_.size(),
                    .crc32c = crc32c(compressed_),
                    .role = std::string(role),
                    .records = lines_};
  *this = {};
  return part;
}

Result<std::optional<ManifestPart>> JsonLinesBuilder::write(const Location& folder, const std::string& name,
                                                            std::string_view role) {
  if (lines_ == 0) return std::optional<ManifestPart>();
  HEADRACE_CHECK(end_member());
  HEADRACE_CHECK(create_once(folder.at(name), compressed_));
  return std::optional(take_part(name, role));
}

Result<std::optional<ManifestPart>> JsonLinesBuilder::write_work(const Location& folder,
                                                                 const std::string& name,
                                                                 std::string_view role) {
  if (lines_ == 0) return std::optional<ManifestPart>();
  HEADRACE_CHECK(end_member());
  HEADRACE_CHECK(write_unless_same(folder.at(name), compressed_));
  return std::optional(take_part(name, role));
}

}  // namespace headrace
