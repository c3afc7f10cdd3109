#pragma once

/// \file For the fuzzers of the server's protocols: signatures to choose from, and a model that answers.

#include <cstdlib>

#include "fuzz/script.h"
#include "headrace/serve/protocol/echo_test.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// The signature that a byte chooses. Its outputs are its inputs.
inline ServedSignature chosen_signature(unsigned choice) {
  const std::vector<ServedTensor> one = {{"x", static_cast<DataType>(choice / 8 % kDataTypes),
                                          choice % 2 == 0 ? Shape{-1, 2} : Shape{-1, -1, -1}}};
  switch (choice % 8) {
    case 0:
    case 1:
      return {"s", one, one, true};
    case 2: {
      const std::vector<ServedTensor> two = {{"a", DataType::kFloat32, {-1, -1}},
                                             {"b_bytes", DataType::kBytes, {-1}}};
      return {"s", two, two, true};
    }
    case 3: {
      const std::vector<ServedTensor> whole = {{"x", DataType::kBytes, {}}, {"y", DataType::kInt64, {-1, 2}}};
      return {"s", whole, whole, false};
    }
    case 4: {
      const std::vector<ServedTensor> scalars = {{"x", DataType::kFloat32, {-1}}};
      return {"s", scalars, scalars, true};
    }
    default:
      break;
  }
  const std::vector<ServedTensor> rows = {{std::string(kRawRowsInput), DataType::kBytes, {-1}}};
  std::vector<ServedColumn> columns = {{"a", choice % 8 == 6, true}};
  if (choice % 8 == 7) columns.push_back({"b", false, choice % 16 == 7});
  return {"s", rows, rows, true, columns};
}

}  // namespace headrace
