#include "headrace/statistics/report_lines.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"

namespace headrace {
namespace {

constexpr std::size_t kInflatedBytes = 64 << 10;
constexpr std::size_t kLineLimitBytes = 1 << 20;
constexpr std::size_t kMaxReasons = 200;
constexpr std::size_t kShownBytes = 300;

// Inflates a report, and cuts it into lines.
class ReportReader {
 public:
  explicit ReportReader(const std::function<Status(std::string_view)>& visit)
      : visit_(visit), inflater_(Compression::kGzip), inflated_(kInflatedBytes) {}

  Status feed(BytesView compressed) {
    while (true) {
      HEADRACE_TRY(const InflateStep step, inflater_.step(compressed, inflated_));
      compressed = compressed.subspan(step.consumed_bytes);
      rest_ += as_text(BytesView(inflated_).first(step.produced_bytes));
      HEADRACE_CHECK(take_lines());
      if (compressed.empty() && step.produced_bytes < inflated_.size()) return {};
    }
  }
  Status finish() const {
    HEADRACE_CHECK(inflater_.finish());
    return rest_.empty() ? Status() : Error{Code::kDataLoss, "the last line has no end"};
  }

 private:
  Status take_lines() {
    std::size_t begin = 0;
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
      HEADRACE_CHECK(visit_(std::string_view(rest_).substr(begin, end - begin)));
      begin = end + 1;
    }
    rest_.erase(0, begin);
    return rest_.size() <= kLineLimitBytes ? Status() : Error{Code::kDataLoss, "a line is longer than 1 MiB"};
  }

  const std::function<Status(std::string_view)>& visit_;
  Inflater inflater_;
  Bytes inflated_;
  std::string rest_;
};

std::string text_of(const Json& line, const char* key) {
  const Json& found = line[key];
  return found.is_string() ? printable_line(found.text(), kShownBytes) : "";
}

}  // namespace

Status visit_report_lines(const PublishedFolder& published, const CallOptions& call,
                          const std::function<Status(std::string_view)>& visit) {
  for (const ManifestPart& part : published.manifest.parts) {
    if (part.role != "report") continue;
    const Location report = published.folder.at(part.key);
    HEADRACE_TRY(const ObjectInfo object, report.store->stat(report.key, call));
    if (object.size_bytes != part.size_bytes) {
      return Error{Code::kDataLoss, concat(report.describe(), " has ", object.size_bytes, " bytes, but the ",
                                           "manifest says ", part.size_bytes)};
    }
    ReportReader reader(visit);
    Status read =
        read_in_pieces(*report.store, object, call, [&](BytesView piece) { return reader.feed(piece); });
    if (read) read = reader.finish();
    if (!read) return std::move(read).error().in(report.describe());
  }
  return {};
}

Result<std::map<std::pair<std::string, std::string>, ReportedRows>> summarize_reports(
    const PublishedFolder& published, std::size_t examples, const CallOptions& call) {
  std::map<std::pair<std::string, std::string>, ReportedRows> out;
  HEADRACE_CHECK(visit_report_lines(published, call, [&](std::string_view text) -> Status {
    const Json line = parse_json(text).value_or(Json());
    if (!line.is_object()) return Error{Code::kDataLoss, "a line is not a JSON object"};
    std::pair<std::string, std::string> kind(text_of(line, "status"), text_of(line, "reason"));
    if (kind.first == "written" || (!out.contains(kind) && out.size() == kMaxReasons)) return {};
    ReportedRows& rows = out[std::move(kind)];
    if (rows.count++ >= examples) return {};
    const Json& row = line["row"];
    rows.examples.push_back({.id = text_of(line, "id"),
                             .detail = text_of(line, "detail"),
                             .source = text_of(line, "source"),
                             .row = row.is_unsigned() ? row.as<std::uint64_t>() : 0});
    return {};
  }));
  return out;
}

}  // namespace headrace
