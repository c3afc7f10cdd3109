#pragma once

/// \file Turns the clauses of a filter into SQL conditions on a row `r` of the table of runs. Values are
/// bound, and never become part of the text.

#include <string>
#include <string_view>

#include "headrace/run_index/database.h"
#include "headrace/track/search_filter.h"

namespace headrace {

/// The tables and columns in which the columns of a search target are stored.
struct ColumnPlaces {
  std::string (*attribute)(const std::string& key);  // the column of an attribute: "r.id"
  std::string_view metrics;                          // a table with run, name and value; NaN is null
  std::string_view parameters;                       // a table with run, name, value and number

  /// The table of an entity. REQUIRES: it is no attribute and no dataset
  std::string_view table_of(Entity entity) const;
};

/// " AND …" for each clause; empty if the filter has none. REQUIRES: no clause names a dataset
Sql conditions_of(const SearchFilter& filter, const ColumnPlaces& places);

}  // namespace headrace
