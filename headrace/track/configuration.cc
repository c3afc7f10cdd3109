#include "headrace/track/configuration.h"

#include <nlohmann/json.hpp>

#include "headrace/base/digest.h"
#include "headrace/base/json_depth.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

using nlohmann::json;

std::string to_text(const Configuration& configuration) {
  return json(configuration).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string shown(const Configuration& configuration, const std::string& name) {
  const auto found = configuration.find(name);
  return found == configuration.end() ? "(absent)" : found->second.empty() ? "(none)" : found->second;
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
  constexpr std::uint64_t kLimitBytes = 1 << 20;
  HEADRACE_TRY(const ReadObject read, read_object(*object.store, object.key, kLimitBytes));
  const std::string_view text = as_text(read.data);
  const json document = check_json_depth(text) ? json::parse(text, nullptr, false) : json();
  if (!document.is_object())
    return Error{Code::kDataLoss, concat(object.describe(), " is damaged: start over with --overwrite")};
  Configuration configuration;
  for (const auto& [name, value] : document.items())
    configuration[name] = value.is_string() ? value.get<std::string>() : value.dump();
  return configuration;
}

Status check_configuration(const Location& object, const Configuration& configuration) {
  HEADRACE_TRY(const Configuration previous, read_configuration(object));
  if (previous == configuration) return {};
  return Error{
      Code::kFailedPrecondition,
      concat(object.describe(),
             " was started with another configuration: ", differences(previous, configuration),
             ". Give the same options to continue, another URL to keep both, or --overwrite to start over")};
}

Status replace_configuration(const Location& object, const Configuration& configuration) {
  HEADRACE_CHECK(write_text(*object.store, object.key, to_text(configuration)));
  return {};
}

Status claim_configuration(const Location& object, const Configuration& configuration) {
  const auto created =
      write_text(*object.store, object.key, to_text(configuration), {.only_if_absent = true});
  if (created) return {};
  if (created.error().code != Code::kAlreadyExists) return created.error();
  return check_configuration(object, configuration);
}

}  // namespace headrace
