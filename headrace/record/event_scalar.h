#pragma once

/// \file The commonest event by far, one scalar without metadata, read in one go: several times as fast as
/// event_reader.h, and with the same outcome. Pure.

#include <cstdint>
#include <string_view>

#include "headrace/base/bytes.h"

namespace headrace {

struct ScalarEvent {
  double wall_time_s = 0;
  std::int64_t step = 0;
  std::string_view tag{};
  float value = 0;
};

/// True if `record` is an event as TensorFlow, PyTorch and EventEncoder lay out a float32 scalar: fields in
/// ascending order, lengths below 128; a simple_value, or a tensor of rank 0. False says nothing of it.
bool parse_scalar_event(BytesView record, ScalarEvent& out);

}  // namespace headrace
