#include "headrace/track/redact.h"

#include <algorithm>
#include <array>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::string_view kMask = "***";
constexpr std::array<std::string_view, 9> kSecretNames = {"password", "passwd",     "secret",
                                                          "token",    "credential", "signature",
                                                          "api_key",  "access_key", "secret_key"};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool ends_a_value(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '"' || c == '\'' || c == '&' || c == ',' ||
         c == ';' || c == '<' || c == '>' || c == '#';
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::size_t end_of_value(std::string_view text, std::size_t from) {
  const auto end = std::find_if(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), ends_a_value);
  return static_cast<std::size_t>(end - text.begin());
}

// The name that ends at the end of `text`.
std::string_view last_name(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && is_name_character(text[begin - 1])) --begin;
  return text.substr(begin);
}

// One URL, from its scheme's "://" to white space or a quote: user-info, and each value of the query.
std::string redact_url_rest(std::string_view rest) {
  const std::size_t authority_end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::size_t at = rest.substr(0, authority_end).rfind('@');
  std::string out;
  if (at != std::string_view::npos) {
    out = kMask;
    rest.remove_prefix(at);
  }
  const std::size_t query = rest.find('?');
  out += rest.substr(0, query);
  if (query == std::string_view::npos) return out;
  rest.remove_prefix(query);
  bool in_value = false;
  for (const char c : rest) {
    if (c == '&' || c == '#' || !in_value) out += c;
    if (c == '=' && !in_value) out += kMask;
    in_value = c == '=' || (in_value && c != '&' && c != '#');
  }
  return out;
}

}  // namespace

bool names_a_secret(std::string_view name) {
  std::string plain = to_lower(name);
  std::replace(plain.begin(), plain.end(), '-', '_');
  return std::any_of(kSecretNames.begin(), kSecretNames.end(),
                     [&](std::string_view secret) { return plain.ends_with(secret); });
}

std::string redact_secrets(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("://")) {
      const std::size_t end = std::min(text.find_first_of(" \t\r\n\"'<>", i), text.size());
      out += concat("://", redact_url_rest(text.substr(i + 3, end - i - 3)));
      i = end - 1;
      continue;
    }
    out += text[i];
    if ((text[i] != '=' && text[i] != ':') || !names_a_secret(last_name(text.substr(0, i)))) continue;
    std::size_t begin = i + 1;
    while (begin < text.size() && is_blank(text[begin])) out += text[begin++];
    const std::size_t end = end_of_value(text, begin);
    if (end > begin) out += kMask;
    i = std::max(end, begin) - 1;
  }
  return out;
}

std::vector<std::string> redact_command_line(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  bool hidden = false;
  for (const std::string& word : words) {
    out.push_back(hidden ? std::string(kMask) : redact_secrets(word));
    hidden = word.starts_with("-") && word.find('=') == std::string::npos && names_a_secret(word);
  }
  return out;
}

}  // namespace headrace
