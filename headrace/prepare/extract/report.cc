#include "headrace/prepare/extract/report.h"

#include "headrace/base/json.h"

namespace headrace {

Status ReportBuilder::add(const ReportLine& line) {
  Json document = {{"id", line.id}, {"status", line.status}};
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
  return lines_.add(document.dump());
}

Result<std::optional<ManifestPart>> ReportBuilder::write(const Location& folder, const std::string& name) {
  return lines_.write(folder, name, "report");
}

Result<std::optional<ManifestPart>> ReportBuilder::write_work(const Location& folder,
                                                              const std::string& name) {
  return lines_.write_work(folder, name, "report");
}

}  // namespace headrace
