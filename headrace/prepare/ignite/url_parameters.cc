#include "headrace/prepare/ignite/url_parameters.h"

#include <algorithm>
#include <optional>

#include "headrace/base/text.h"
#include "headrace/net/url_encoding.h"

namespace headrace {

Error wrong_url(const Url& url, std::string_view what) {
  return {Code::kInvalidArgument, concat("the URL ", url.scheme, "://", url.authority, " ", what)};
}

Result<UrlParameters> parse_url_parameters(const Url& url, std::span<const std::string_view> known) {
  UrlParameters parameters;
  if (url.query.empty()) return parameters;
  for (const std::string& part : split(url.query, '&')) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    if (std::ranges::find(known, name) == known.end() || equals == part.npos) {
      return wrong_url(url, concat("has a parameter \"", printable_line(name, 40),
                                   "\" that is unknown or has no value; the known parameters are ",
                                   join({known.begin(), known.end()}, ", "),
                                   " (write & within a value as %26; users and passwords come from the "
                                   "environment, such as HEADRACE_IGNITE_USER)"));
    }
    std::optional<std::string> value = percent_decode(std::string_view(part).substr(equals + 1));
    if (!value) return wrong_url(url, concat("has a % without two digits in ", name, "; write % as %25"));
    if (!is_valid_utf8(*value)) return wrong_url(url, concat("has a parameter ", name, " that is not UTF-8"));
    if (!parameters.emplace(name, *std::move(value)).second)
      return wrong_url(url, concat("has the parameter ", name, " twice"));
  }
  return parameters;
}

Result<std::vector<std::string>> names_in(const Url& url, std::string_view parameter,
                                          const std::string& names) {
  std::vector<std::string> out;
  for (const std::string& name : split(names, ',')) {
    if (trim(name).empty()) return wrong_url(url, concat("has an empty column in ", parameter));
    out.emplace_back(trim(name));
  }
  return out;
}

}  // namespace headrace
