#pragma once

/// \file The rows of a cache of Apache Ignite as an input: ignite-cache://. docs/decisions/ignite-cache.md.

namespace headrace {

class InputKind;

const InputKind& ignite_cache_input_kind();

}  // namespace headrace
