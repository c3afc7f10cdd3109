#include "headrace/coordinate/configuration.h"

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

// Configurations from before outputs had chains may be this large.
constexpr std::uint64_t kConfigurationLimitBytes = 256 << 20;
constexpr std::size_t kShownBytes = 10'000;

std::string to_text(const Configuration& configuration) { return Json(configuration).dump() + "\n"; }

std::string shown(const Configuration& configuration, const std::string& name) {
  const auto found = configuration.find(name);
  if (found == configuration.end()) return "(absent)";
  const std::string& value = found->second;
  if (value.empty()) return "(none)";
  if (value.size() <= kShownBytes) return value;
  return concat(value.size(), " bytes with the SHA-256 ", sha256_hex(as_bytes(value)));
}

std::string differences(const Configuration& before, const Configuration& now) {
  Configuration names = before;
  names.insert(now.begin(), now.end());
  std::vector<std::string> lines;
  for (const auto& [name, ignored] : names) {
    if (shown(before, name) != shown(now, name))
      lines.push_back(concat(name, " was ", shown(before, name), " and is now ", shown(now, name)));
  }
  return join(lines, "; ");
}

}  // namespace

std::string configuration_digest(const Configuration& configuration) {
  return sha256_hex(as_bytes(to_text(configuration)));
}

Result<Configuration> read_configuration(const Location& object) {
  HEADRACE_TRY(const ReadObject read, read_object(*object.store, object.key, kConfigurationLimitBytes));
  const std::string_view text = as_text(read.data);
  const Json document = parse_json(text).value_or(Json());
  if (!document.is_object())
    return Error{Code::kDataLoss, concat(object.describe(), " is damaged: start over with --overwrite")};
  Configuration configuration;
  for (const auto& [name, value] : document.members())
    configuration[name] = value.is_string() ? value.text() : value.dump();
  return configuration;
}

Status check_same(const Configuration& before, const Configuration& now, const std::string& what) {
  if (before == now) return {};
  return Error{
      Code::kFailedPrecondition,
      concat(what, " was started with another configuration: ", differences(before, now),
             ". Give the same options to continue, another URL to keep both, or --overwrite to start over")};
}

}  // namespace headrace
