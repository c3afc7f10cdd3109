#pragma once

/// \file Takes secrets out of what is going to be recorded. The rules stand in docs/formats/run-record.md.
/// They are a net below the main rule, which is that no option has a secret as its value.

#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// `text` with "***" in place of the user-info and the query values of URLs, and of values that follow a
/// secret's name. O(length).
std::string redact_secrets(std::string_view text);

/// Does `name` ("s3-secret-key", "TOKEN") end in a word for a secret?
bool names_a_secret(std::string_view name);

/// Each word by `redact_secrets`, and the word after an option that names a secret.
std::vector<std::string> redact_command_line(const std::vector<std::string>& words);

}  // namespace headrace
