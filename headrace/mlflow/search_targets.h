#pragma once

/// \file The columns by which MLflow's clients can search, and the pages of the results.

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

/// A page of a list: the elements from `begin` to before `end`.
struct ListPage {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string next_token{};  // the token of the next page; empty: this is the last one
};
/// The page of at most `most` elements that `token` names, in a list of `count` elements. An empty token
/// names the first page.
/// \error kInvalidArgument  `token` is not from this function
Result<ListPage> find_page(std::size_t count, std::string_view token, std::size_t most);

}  // namespace headrace::mlflow
