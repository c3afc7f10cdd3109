#include "headrace/store/url.h"

#include <algorithm>
#include <filesystem>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kQuotedBytes = 1'000;  // most bytes of a URL in a message

std::string_view without_slashes(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// Returns the part of a URL that messages may quote: without query and user-info, which may contain secrets.
std::string_view quotable(std::string_view text) {
  text = text.substr(0, text.find('?'));
  const std::size_t at = text.find('@');
  return at == std::string_view::npos ? text : text.substr(at + 1);
}

Url file_url(const std::filesystem::path& path) {
  return {"file", "", std::string(without_slashes(path.lexically_normal().generic_string()))};
}

bool is_scheme(std::string_view text) {
  return !text.empty() && text.front() >= 'a' && text.front() <= 'z' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-") == text.npos;
}

bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(text, [](char character) {
    return static_cast<unsigned char>(character) < ' ' || character == '\x7f';
  });
}

// If the text begins with the scheme and a misspelt "://", returns where that ends; else 0.
std::size_t end_of_misspelt_separator(std::string_view text, std::string_view scheme) {
  if (to_lower(text.substr(0, scheme.size())) != scheme) return 0;
  const std::string_view rest = text.substr(scheme.size());
  if (!rest.starts_with(':') && !rest.starts_with("//")) return 0;
  return scheme.size() + std::min(rest.find_first_not_of(":/"), rest.size());
}

}  // namespace

std::string Url::text() const {
  const bool has_slash = !path.empty() || authority.empty();
  return concat(scheme, "://", authority, has_slash ? "/" : "", path, query.empty() ? "" : "?", query);
}

std::string scheme_of(std::string_view text) {
  const std::size_t colon = text.find("://");
  return colon == std::string_view::npos ? "" : to_lower(text.substr(0, colon));
}

Status check_not_misspelt_url(std::string_view path, std::span<const std::string> schemes) {
  for (const std::string& scheme : schemes) {
    const std::size_t end = end_of_misspelt_separator(path, scheme);
    if (end == 0) continue;
    const std::string_view rest = path.substr(end);
    const bool may_hold_secret = rest.find_first_of("@?") != rest.npos;
    return Error{Code::kInvalidArgument,
                 concat("\"", quotable(path), "\" is a path of this machine, but looks like a ", scheme,
                        ":// URL: write ", scheme, scheme == "file" ? ":///" : "://",
                        may_hold_secret ? "…" : rest, ", or put ./ before it if a path is meant")};
  }
  return {};
}

Result<Url> parse_url(std::string_view text, std::string_view working_folder, const UrlForm& form) {
  const auto refuse = [&](std::string_view why) {
    return Error{Code::kInvalidArgument,
                 concat("\"", printable_line(quotable(text), kQuotedBytes), "\" is not a store URL: ", why)};
  };
  if (text.empty()) return refuse("it is empty");
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return file_url(std::filesystem::path(working_folder) / text);

  const std::string scheme = scheme_of(text);
  if (!is_scheme(scheme)) {
    return refuse(
        "the scheme before :// does not begin with a letter, or contains characters other than letters, "
        "digits, + and -");
  }
  std::string_view rest = text.substr(colon + 3);
  Url url{.scheme = scheme};
  const bool takes_query = form.takes_query && scheme != "file";  // paths of file:// may contain a '?'
  if (const std::size_t question = rest.find('?'); takes_query && question != rest.npos) {
    url.query = rest.substr(question + 1);
    rest = rest.substr(0, question);
  }
  const std::size_t slash = rest.find('/');
  url.authority = rest.substr(0, slash);
  if (url.authority.find('@') != std::string::npos) {
    return Error{Code::kInvalidArgument,
                 concat("a ", scheme,
                        ":// URL contains a user or password before '@'; remove it and give "
                        "credentials in the environment instead")};
  }
  if (has_control_characters(url.authority) || has_control_characters(url.query))
    return refuse("its bucket, host or query contains a control character");
  if (slash != std::string_view::npos) url.path = std::string(without_slashes(rest.substr(slash)));
  if (scheme == "file") {
    if (!url.authority.empty() && url.authority != "localhost")
      return refuse("file:// takes an absolute path: file:///folder");
    return file_url("/" + url.path);
  }
  if (form.has_bucket_in_path && !url.authority.empty()) {
    if (url.path.empty()) return refuse(concat("a name is missing after the host: ", scheme, "://host/name"));
    const std::size_t end = std::min(url.path.find('/'), url.path.size());
    url.authority = concat(url.authority, "/", url.path.substr(0, end));
    url.path = std::string(without_slashes(std::string_view(url.path).substr(end)));
    if (has_control_characters(url.authority)) return refuse("its name contains a control character");
  }
  if (url.authority.empty() && !(form.may_lack_authority && slash == 0))
    return refuse("it names no bucket or host");
  return url;
}

std::string join_key(std::string_view folder, std::string_view name) {
  return concat(folder, folder.empty() || name.empty() ? "" : "/", name);
}

std::string folder_prefix(std::string_view key) { return concat(key, key.empty() ? "" : "/"); }

std::string parent_key(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(key.substr(0, slash));
}

std::string_view last_segment(std::string_view key) { return key.substr(key.rfind('/') + 1); }

}  // namespace headrace
