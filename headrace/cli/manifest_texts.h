#pragma once

/// \file The parts that manifests for other machines have in common.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/options.h"
#include "headrace/base/result.h"

namespace headrace {

/// The options that were given, as arguments, but for `left_out`.
std::vector<std::string> given_options(const OptionValues& values,
                                       const std::set<std::string_view>& left_out);

/// As JSON, which is YAML too: no text means anything else than itself.
std::string quoted_for_yaml(const std::string& text);

/// \error kInvalidArgument  one is not UTF-8; `otherwise` says what to do instead
Status check_manifest_texts(const std::vector<std::string>& arguments, std::string_view otherwise);

/// An image with this version of Headrace, which runs `headrace` as nobody. `extra`: of the Python package.
std::string image_dockerfile(std::string_view extra);

}  // namespace headrace
