#pragma once

/// \file The fuzzer's input as a script of what to make: for formats that random bytes would not get far
/// into.

#include <algorithm>

#include "headrace/base/bytes.h"

namespace headrace {

/// Takes bytes off the front of the fuzzer's input; zeros when it is used up.
class Script {
 public:
  explicit Script(BytesView input) : input_(input) {}
  bool empty() const { return input_.empty(); }
  unsigned byte() { return empty() ? 0 : std::to_integer<unsigned char>(take(1)[0]); }
  unsigned word() {
    const unsigned high = byte();
    return high << 8 | byte();
  }
  BytesView take(std::size_t size) {
    const BytesView out = input_.first(std::min(size, input_.size()));
    input_ = input_.subspan(out.size());
    return out;
  }

 private:
  BytesView input_;
};

}  // namespace headrace
