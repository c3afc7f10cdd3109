#include "headrace/mlflow/names.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace::mlflow {
namespace {

constexpr std::size_t kNameCharacters = 250;
constexpr std::size_t kParamCharacters = 6000;
constexpr std::size_t kTagCharacters = 8000;
constexpr std::size_t kExperimentTagCharacters = 20'000;
constexpr std::size_t kExperimentCharacters = 500;
constexpr std::size_t kRunIdBytes = 64;
constexpr std::size_t kRegisteredModelCharacters = 256;  // the limit of MLflow's database
constexpr std::size_t kAliasCharacters = 255;
constexpr std::size_t kRegistryTagCharacters = 100'000;

bool is_letter_or_digit(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9');
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char each) { return (static_cast<unsigned char>(each) & 0xc0) != 0x80; }));
}

Status check_length(std::string_view what, std::size_t most, std::string_view text) {
  if (text.size() <= most || characters(text) <= most) return {};
  return Error{Code::kInvalidArgument,
               concat("'", what, "' exceeds the maximum length of ", most, " characters")};
}

// Whether normalizing the name as a path changes it (posixpath.normpath).
bool is_other_path(std::string_view name) {
  if (name.empty() || name == "." || name.starts_with('/') || name.ends_with('/')) return true;
  for (const std::string& part : split(name, '/')) {
    if (part.empty() || part == "." || part == "..") return true;
  }
  return false;
}

}  // namespace

Status check_entity_name(std::string_view name, std::string_view kind) {
  const auto is_allowed = [](char each) {
    return is_letter_or_digit(each) || std::string_view("/_.- :").find(each) != std::string_view::npos ||
           static_cast<unsigned char>(each) >= 0x80;
  };
  if (!std::ranges::all_of(name, is_allowed)) {
    return Error{Code::kInvalidArgument,
                 concat("Invalid value \"", printable_line(name, 100), "\" for parameter '", kind,
                        "' supplied: Names may only contain alphanumerics, underscores (_), dashes (-), "
                        "periods (.), spaces ( ), colon(:) and slashes (/).")};
  }
  if (is_other_path(name)) {
    return Error{Code::kInvalidArgument,
                 concat("Invalid value \"", printable_line(name, 100), "\" for parameter '", kind,
                        "' supplied: Names may be treated as files, and must not resolve to other names")};
  }
  return check_length(kind, kNameCharacters, name);
}

Status check_param_value(std::string_view value) {
  return check_length("Param value", kParamCharacters, value);
}

Status check_tag_value(std::string_view value) { return check_length("Tag value", kTagCharacters, value); }

Status check_experiment_tag_value(std::string_view value) {
  return check_length("value", kExperimentTagCharacters, value);
}

Status check_experiment_name(std::string_view name) {
  if (name.empty()) return Error{Code::kInvalidArgument, "Invalid experiment name: ''"};
  return check_length("name", kExperimentCharacters, name);
}

Status check_run_id(std::string_view id) {
  const bool is_valid = !id.empty() && id.size() <= kRunIdBytes && is_letter_or_digit(id[0]) &&
                        std::ranges::all_of(id, [](char each) {
                          return is_letter_or_digit(each) || each == '_' || each == '-' || each == '.';
                        });
  if (is_valid) return {};
  return Error{Code::kInvalidArgument,
               concat("Invalid value \"", printable_line(id, 100), "\" for parameter 'run_id' supplied.")};
}

Status check_model_name(std::string_view name) {
  if (!name.empty() && name.find_first_of("/:.%\"'") == name.npos) return {};
  return Error{Code::kInvalidArgument,
               concat("Invalid model name ('", printable_line(name, 100),
                      "') provided. It must be a non-empty string without / : . % \" '")};
}

Status check_registered_model_name(std::string_view name) {
  if (trim(name).empty())
    return Error{Code::kInvalidArgument, "Missing value for required parameter 'name'."};
  if (name.find_first_of("/:") != name.npos || name == "." || name == "..") {
    return Error{Code::kInvalidArgument,
                 concat("Invalid model name '", printable_line(name, 100),
                        "'. Names cannot contain '/' or ':', and must not resolve to other names")};
  }
  return check_length("name", kRegisteredModelCharacters, name);
}

Status check_alias(std::string_view alias) {
  const bool is_valid = !alias.empty() && std::ranges::all_of(alias, [](char each) {
    return is_letter_or_digit(each) || each == '_' || each == '-' || static_cast<unsigned char>(each) >= 0x80;
  });
  if (!is_valid) {
    return Error{Code::kInvalidArgument,
                 concat("Invalid alias name: '", printable_line(alias, 100),
                        "'. Names may only contain alphanumerics, underscores (_), and dashes (-)")};
  }
  return check_length("Registered model alias name", kAliasCharacters, alias);
}

Status check_alias_is_free(std::string_view alias) {
  const std::string lower = to_lower(alias);
  const bool is_version =
      lower.size() > 1 && lower[0] == 'v' &&
      std::string_view(lower).find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (lower != "latest" && !is_version) return {};
  return Error{Code::kInvalidArgument, concat("the alias name '", alias, "' is reserved")};
}

Status check_registry_tag_value(std::string_view value) {
  return check_length("value", kRegistryTagCharacters, value);
}

}  // namespace headrace::mlflow
