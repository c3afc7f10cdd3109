#include "headrace/prepare/ignite/cache_url.h"

#include <array>

#include "headrace/prepare/ignite/url_parameters.h"

namespace headrace {
namespace {

constexpr std::array<std::string_view, 1> kReadParameters = {"columns"};
constexpr std::array<std::string_view, 1> kWriteParameters = {"type"};

Error no_cache(const Url& url) {
  return wrong_url(url, "names no cache: write ignite-cache://host:10800/CACHE");
}

}  // namespace

Result<IgniteCacheUrl> parse_ignite_cache_url(const Url& url) {
  HEADRACE_TRY(const UrlParameters parameters, parse_url_parameters(url, kReadParameters));
  if (url.path.empty()) return no_cache(url);
  IgniteCacheUrl out{.hosts = url.authority, .cache = url.path};
  if (const auto columns = parameters.find("columns"); columns != parameters.end()) {
    HEADRACE_TRY(out.columns, names_in(url, "columns", columns->second));
  }
  return out;
}

Result<IgniteCacheTarget> parse_ignite_cache_target(std::string_view text) {
  HEADRACE_TRY(const Url url, parse_url(text, "", {.takes_query = true}));
  HEADRACE_TRY(const UrlParameters parameters, parse_url_parameters(url, kWriteParameters));
  if (url.path.empty()) return no_cache(url);
  const auto type = parameters.find("type");
  return IgniteCacheTarget{
      .hosts = url.authority, .cache = url.path, .type = type == parameters.end() ? url.path : type->second};
}

}  // namespace headrace
