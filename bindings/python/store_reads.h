#pragma once

/// \file Ranges of objects into new bytes of Python.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings/python/buffers.h"
#include "headrace/store/store.h"

namespace headrace::python {

struct Range {
  std::string key;
  std::uint64_t offset_bytes = 0;
  std::optional<std::uint64_t> size_bytes{};  // none: up to the end
  std::optional<Version> version{};
};

/// Up to the object's end, if that comes first. Takes the memory that there is content for, and of one
/// version. REQUIRES: not the GIL
/// \error as Store::read_into; kResourceExhausted
Status read_range(Store& store, const Range& range, const CallOptions& call, NewBytes& bytes);

/// All of them, many in flight; into as many `bytes`. REQUIRES: not the GIL
/// \error as Store::read_many; kResourceExhausted
Status read_ranges(Store& store, const std::vector<Range>& ranges, const CallOptions& call,
                   std::vector<NewBytes>& bytes);

}  // namespace headrace::python
