#pragma once

/// \file The objects of about 4 kB that the programs of bench/ read from Apache Ignite.

#include <string_view>

#include "headrace/net/ignite/object_encoder.h"
#include "headrace/net/ignite/value.h"

namespace headrace::ignite {

inline constexpr std::size_t kBenchVectorValues = 960;

inline Bytes bench_vector() { return Bytes(kBenchVectorValues * sizeof(float), std::byte{0x3e}); }

/// Row number `i`; views `vector` and `name`.
inline Value bench_row(std::int64_t i, const Bytes& vector, std::string_view name) {
  const Value metadata = *make_object(
      "bench.Metadata", {{"split", std::string_view("train")}, {"label", static_cast<std::int32_t>(i % 10)}});
  return *make_object("bench.Row", {{"id", i},
                                    {"name", name},
                                    {"weight", 0.5},
                                    {"vector", PrimitiveArray{TypeCode::kFloatArray, vector}},
                                    {"metadata", metadata}});
}

}  // namespace headrace::ignite
