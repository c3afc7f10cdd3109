#pragma once

/// \file Removes secrets from texts that are going to be recorded. docs/formats/run-record.md has the rules.
/// They are a second line of defence: the main rule is that no option takes a secret as its value.

#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/json.h"

namespace headrace {

/// Returns `text` with "***" in place of the user-info and the query values of URLs, and of each value that
/// follows a secret's name: "db_pass=x", "X-Api-Key: x", "Authorization: Bearer x", "--token x", and in JSON,
/// which may itself be quoted in JSON. If it is unclear where a value ends, masks more. Cost: linear in the
/// length.
std::string redact_secrets(std::string_view text);

/// Whether `name` ("s3-secret-key", "TOKEN", "dbPassword2") contains or ends in a word for a secret.
bool names_a_secret(std::string_view name);

/// Redacts each word as `redact_secrets` does. Also masks the rest of a word that begins with a secret's
/// name, and the word after an option that names a secret.
std::vector<std::string> redact_command_line(const std::vector<std::string>& words);

/// Redacts every text in a document as `redact_secrets` does, and masks every text below a member whose name
/// names a secret. Numbers stay.
void redact_texts(Json& document);

}  // namespace headrace
