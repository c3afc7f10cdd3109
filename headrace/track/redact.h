#pragma once

/// \file Takes secrets out of what is going to be recorded. The rules stand in docs/formats/run-record.md.
/// They are a net below the main rule, which is that no option has a secret as its value.

#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/json.h"

namespace headrace {

/// `text` with "***" in place of the user-info and the query values of URLs, and of each value that follows a
/// secret's name: "db_pass=x", "X-Api-Key: x", "Authorization: Bearer x", "--token x", and in JSON, which may
/// itself be quoted in JSON. Where a value's end is in doubt, more is masked. O(length).
std::string redact_secrets(std::string_view text);

/// Does `name` ("s3-secret-key", "TOKEN", "dbPassword2") hold or end in a word for a secret?
bool names_a_secret(std::string_view name);

/// Each word by `redact_secrets`; a word that begins with a secret's name to its end; and the word after an
/// option that names a secret.
std::vector<std::string> redact_command_line(const std::vector<std::string>& words);

/// Every text in a document by `redact_secrets`; every text below a member that names a secret is masked.
/// Numbers stay.
void redact_texts(Json& document);

}  // namespace headrace
