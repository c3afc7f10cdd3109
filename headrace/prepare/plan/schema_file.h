#pragma once

/// \file Schemas and vocabularies in files of any store.

#include <stop_token>
#include <string>

#include "headrace/prepare/schema/schema.h"
#include "headrace/store/registry.h"

namespace headrace {

/// \error those of the store and parse_schema
Result<Schema> schema_of_file(StoreRegistry& stores, const std::string& url, const std::stop_token& stop);

/// Reads the vocabularies that the schema names by a URL, with one value in each line.
/// \error kInvalidArgument  a file is empty or has a value twice
Status read_vocabularies(StoreRegistry& stores, Schema& schema, const std::stop_token& stop);

}  // namespace headrace
