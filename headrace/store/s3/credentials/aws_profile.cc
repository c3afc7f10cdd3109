#include "headrace/store/s3/credentials/aws_profile.h"

#include <fstream>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFileBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

std::string path_of(const Environment& environment, std::string_view variable, std::string_view in_home) {
  if (const auto path = environment.get(variable)) return *path;
  const auto home = environment.get("HOME");
  return home ? concat(*home, "/.aws/", in_home) : "";
}

// "[profile x]" → "profile x", with runs of white space replaced by one space.
std::optional<std::string> section_name(std::string_view line) {
  if (!line.starts_with('[')) return std::nullopt;
  const std::size_t close = line.find(']');
  if (close == std::string_view::npos) return "";
  std::string name;
  for (const char c : trim(line.substr(1, close - 1))) {
    const bool space = c == ' ' || c == '\t';
    if (!space || !name.ends_with(' ')) name += space ? ' ' : c;
  }
  return name;
}

}  // namespace

std::optional<std::string> AwsProfile::get(std::string_view setting) const {
  const auto found = settings.find(setting);
  if (found == settings.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::optional<std::map<std::string, std::string, std::less<>>> parse_aws_section(std::string_view text,
                                                                                 std::string_view section) {
  std::map<std::string, std::string, std::less<>> settings;
  bool found = false, inside = false;
  std::string outer;  // the setting that nested lines belong to
  for (const std::string& raw : split(text, '\n')) {
    const std::string_view line = trim(raw);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (const auto name = section_name(line)) {
      inside = *name == section;
      found = found || inside;
      outer.clear();
      continue;
    }
    const std::size_t equals = line.find('=');
    if (!inside || equals == std::string_view::npos) continue;
    const std::string name = to_lower(trim(line.substr(0, equals)));
    std::string_view value = trim(line.substr(equals + 1));
    // A comment begins only after white space, because secrets may contain '#' and ';'.
    value = trim(value.substr(0, std::min(value.find(" #"), value.find(" ;"))));
    const bool nested = (raw[0] == ' ' || raw[0] == '\t') && !outer.empty();
    settings[nested ? concat(outer, '.', name) : name] = value;
    if (!nested) outer = value.empty() ? name : "";
  }
  if (!found) return std::nullopt;
  return settings;
}

std::string selected_aws_profile(const Environment& environment) {
  return environment.get("AWS_PROFILE").value_or("default");
}

AwsProfile read_aws_profile(const Environment& environment, const std::string& name) {
  AwsProfile profile{.name = name};
  const std::string config = path_of(environment, "AWS_CONFIG_FILE", "config");
  const std::string credentials = path_of(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
  const auto add = [&](const std::string& path, const std::string& section) {
    if (path.empty()) return;
    const auto settings = parse_aws_section(read_file(path), section);
    if (!settings) return;
    profile.found_in += concat(profile.found_in.empty() ? "" : " and ", path);
    for (const auto& [setting, value] : *settings) profile.settings[setting] = value;
  };
  add(config, profile.name == "default" ? "default" : concat("profile ", profile.name));
  add(credentials, profile.name);
  return profile;
}

}  // namespace headrace
