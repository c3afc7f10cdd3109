#pragma once

/// \file Columns that MLflow's client can search by, and pages of the results.

#include <cstddef>
#include <string>
#include <string_view>

#include "headrace/base/result.h"
#include "headrace/track/search_filter.h"

namespace headrace::mlflow {

const SearchTarget& run_target();
const SearchTarget& experiment_target();
const SearchTarget& model_target();
const SearchTarget& registered_model_target();
const SearchTarget& model_version_target();

/// A part of a list.
struct ListPage {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string next_token{};  // empty: it is the last one
};
/// \error kInvalidArgument  `token` is none that this function has made
Result<ListPage> find_page(std::size_t count, std::string_view token, std::size_t most);

}  // namespace headrace::mlflow
