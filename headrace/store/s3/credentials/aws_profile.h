#pragma once

/// \file AWS's shared configuration files: "[section]", "name = value", nested "  name = value" lines.
/// https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/base/environment.h"

namespace headrace {

/// Settings of one profile. Nested settings have names such as "s3.addressing_style".
struct AwsProfile {
  std::string name;
  std::string found_in;  // the files that have the profile, for messages; empty: no file has it
  std::map<std::string, std::string, std::less<>> settings;

  std::optional<std::string> get(std::string_view name) const;
};

/// The settings in `[section]` of `text`. None if there is no such section. Lines that cannot be understood
/// are skipped, as AWS's tools do. A later section of the same name adds to the first.
std::optional<std::map<std::string, std::string, std::less<>>> parse_aws_section(std::string_view text,
                                                                                 std::string_view section);

/// The profile that AWS_PROFILE names, else "default".
std::string selected_aws_profile(const Environment& environment);

/// Reads the profile `name` from the configuration file and the credentials file. The credentials file takes
/// precedence. Missing files count as empty. At most 1 MiB of each is read.
AwsProfile read_aws_profile(const Environment& environment, const std::string& name);

}  // namespace headrace
