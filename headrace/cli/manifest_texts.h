#pragma once

/// \file Parts that the manifests for other machines share.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/options.h"
#include "headrace/base/result.h"

namespace headrace {

/// The options that were given, as arguments, except those named in `left_out`.
std::vector<std::string> given_options(const OptionValues& values,
                                       const std::set<std::string_view>& left_out);

/// A text as a JSON string. JSON is YAML, too, so no text is misread as another type.
std::string quoted_for_yaml(const std::string& text);

/// Checks that all arguments are UTF-8. `otherwise`: what the message tells the user to do instead.
/// \error kInvalidArgument  one is not UTF-8
Status check_manifest_texts(const std::vector<std::string>& arguments, std::string_view otherwise);

/// A Dockerfile for an image with this version of Headrace, which runs `headrace` as the user nobody.
/// `extra`: of the Python package.
std::string image_dockerfile(std::string_view extra);

}  // namespace headrace
