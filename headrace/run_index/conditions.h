#pragma once

/// \file Clauses of a filter as conditions of SQL, on a row `r` of the table of runs. Values are bound, never
/// part of the text.

#include <string>
#include <string_view>

#include "headrace/run_index/database.h"
#include "headrace/track/search_filter.h"

namespace headrace {

/// Where the columns of a target are.
struct ColumnPlaces {
  std::string (*attribute)(const std::string& key);  // the column of an attribute: "r.id"
  std::string_view metrics;                          // a table with run, name and value; NaN is null
  std::string_view parameters;                       // a table with run, name, value and number

  /// REQUIRES: no attribute, no dataset
  std::string_view table_of(Entity entity) const;
};

/// " AND …" for each clause; empty if there is none. REQUIRES: no clause names a dataset
Sql conditions_of(const SearchFilter& filter, const ColumnPlaces& places);

}  // namespace headrace
