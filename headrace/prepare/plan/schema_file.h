#pragma once

/// \file Reads schemas and vocabularies from files in any store.

#include <stop_token>
#include <string>

#include "headrace/prepare/schema/schema.h"
#include "headrace/store/registry.h"

namespace headrace {

/// Reads a schema in TOML, of at most 64 MiB. \error of the store, and as parse_schema
Result<Schema> schema_of_file(StoreRegistry& stores, const std::string& url, const std::stop_token& stop);

/// Reads the vocabularies that the schema names by a URL, with one value in each line, and puts the values
/// into the schema.
/// \error kInvalidArgument  a file is empty or has a value twice
Status read_vocabularies(StoreRegistry& stores, Schema& schema, const std::stop_token& stop);

}  // namespace headrace
