#include <cstdlib>

#include "headrace/net/http/http_message.h"
#include "headrace/net/http/http_proxy.h"
#include "headrace/store/glob.h"
#include "headrace/store/url.h"

namespace {

using namespace headrace;

bool has_control_characters(std::string_view text) {
  for (const char character : text) {
    if (static_cast<unsigned char>(character) < ' ' || character == '\x7f') return true;
  }
  return false;
}

void check_url(std::string_view text, const UrlForm& form) {
  const auto url = parse_url(text, "/working", form);
  if (!url) return;
  if (url->scheme.empty() || url->scheme.front() < 'a' || url->scheme.front() > 'z') std::abort();
  if (url->authority.empty() && url->scheme != "file" && !form.may_lack_authority) std::abort();
  if (!url->query.empty() && (url->scheme == "file" || !form.takes_query)) std::abort();
  if (has_control_characters(url->authority) || has_control_characters(url->query)) std::abort();
  if (url->path.starts_with('/') || url->path.ends_with('/')) std::abort();
  if (url->authority.substr(0, url->authority.find('/')).find('@') != std::string::npos) std::abort();
  const auto again = parse_url(url->text(), "/elsewhere", form);
  if (!again || !(*again == *url)) std::abort();
}

void check_endpoint(std::string_view text) {
  const auto endpoint = parse_http_endpoint(text);
  if (!endpoint) return;
  const auto again = parse_http_endpoint(endpoint->text());
  if (!again || !(*again == *endpoint)) std::abort();
  for (const char character : endpoint->host_field()) {
    if (static_cast<unsigned char>(character) <= ' ') std::abort();  // it goes into a header field
  }
}

void check_proxies(std::string_view text) {
  Environment environment;
  environment.variables = {{"HTTPS_PROXY", std::string(text)}, {"NO_PROXY", std::string(text)}};
  const auto proxies = http_proxies_from(environment);
  if (!proxies || !proxies->for_https) return;
  for (const char character : proxies->for_https->authorization) {
    if (static_cast<unsigned char>(character) < ' ') std::abort();
  }
}

void check_pattern(std::string_view text) {
  const std::size_t half = text.size() / 2;
  const std::string_view pattern = text.substr(0, half), key = text.substr(half);
  if (matches_pattern(pattern, key) && !key.starts_with(literal_prefix(pattern))) std::abort();
  if (!is_pattern(pattern) && pattern.find('\\') == pattern.npos &&
      matches_pattern(pattern, pattern) == false)
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_url(text, {});
  check_url(text, {.may_lack_authority = true});
  check_url(text, {.takes_query = true});
  check_url(text, {.may_lack_authority = true, .takes_query = true});
  check_url(text, {.has_bucket_in_path = true});
  check_url(text, {.may_lack_authority = true, .has_bucket_in_path = true, .takes_query = true});
  check_endpoint(text);
  check_proxies(text);
  check_pattern(text);
  return 0;
}
