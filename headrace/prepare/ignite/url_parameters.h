#pragma once

/// \file The parameters of the URLs for Apache Ignite. Grammar: docs/formats/ignite-input.md.

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/store/url.h"

namespace headrace {

using UrlParameters = std::map<std::string, std::string, std::less<>>;

/// Parses the query of a URL, which may have the parameters in `known`.
/// \error kInvalidArgument  an unknown or repeated parameter; a wrong escape; not UTF-8
Result<UrlParameters> parse_url_parameters(const Url& url, std::span<const std::string_view> known);

/// An error "the URL ignite-sql://host …" that says what is wrong. It does not show the query.
Error wrong_url(const Url& url, std::string_view what);

/// Splits names at commas. \error kInvalidArgument  a name is empty; the message names `parameter`
Result<std::vector<std::string>> names_in(const Url& url, std::string_view parameter,
                                          const std::string& names);

}  // namespace headrace
