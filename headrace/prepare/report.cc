#include "headrace/prepare/report.h"

#include <nlohmann/json.hpp>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"

namespace headrace {
namespace {

constexpr std::size_t kMemberBytes = 1 << 20;
constexpr int kLevel = 6;

}  // namespace

Status ReportBuilder::add(const ReportLine& line) {
  nlohmann::json document = {{"id", line.id}, {"status", line.status}};
  const auto set = [&](const char* name, std::string_view text) {
    if (!text.empty()) document[name] = text;
  };
  set("reason", line.reason);
  set("detail", line.detail);
  set("source", line.source);
  if (line.row != 0) document["row"] = line.row;
  if (line.image) {
    document["height"] = line.image->size.height;
    document["width"] = line.image->size.width;
    document["channels"] = line.image->channels;
  }
  text_ += document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  ++lines_;
  return text_.size() < kMemberBytes ? Status{} : end_member();
}

Status ReportBuilder::end_member() {
  HEADRACE_TRY(const Bytes member, gzip_compress(as_bytes(text_), kLevel));
  append(compressed_, member);
  text_.clear();
  return {};
}

Result<std::optional<ManifestPart>> ReportBuilder::write(const Location& output, const std::string& name) {
  if (lines_ == 0) return std::optional<ManifestPart>();
  HEADRACE_CHECK(end_member());
  HEADRACE_CHECK(output.store->write(output.at(name).key, compressed_, {}));
  ManifestPart part{.key = name,
                    .size_bytes = compressed_.size(),
                    .crc32c = crc32c(compressed_),
                    .role = "report",
                    .records = lines_};
  *this = {};
  return std::optional(std::move(part));
}

}  // namespace headrace
