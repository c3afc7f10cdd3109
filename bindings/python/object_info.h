#pragma once

/// \file The facts about an object of a store, as Python gets them.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "headrace/store/store.h"

namespace headrace::python {

/// Key, size in bytes, version, time of the last write in seconds since 1970.
using InfoTuple = std::tuple<nanobind::object, std::uint64_t, std::string, std::optional<double>>;

/// `root_bytes` of the key are those of the folder that Python's keys lie in. REQUIRES: the GIL
InfoTuple tuple_of(const ObjectInfo& object, std::size_t root_bytes);

/// None for none.
std::optional<Version> version_of(const std::optional<std::string>& token);

}  // namespace headrace::python
