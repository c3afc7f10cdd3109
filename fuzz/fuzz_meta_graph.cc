#include <cstdlib>

#include "headrace/engine/tensorflow/meta_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  const auto graph = tensorflow::parse_meta_graph(std::as_bytes(std::span(data, size)));
  if (!graph) return 0;
  for (const auto& [name, signature] : graph->signatures) {
    const auto tensors = graph->tensors.find(name);
    if (tensors == graph->tensors.end() || tensors->second.inputs.size() != signature.inputs.size() ||
        tensors->second.outputs.size() != signature.outputs.size())
      std::abort();
    for (const auto& [input, info] : signature.inputs) {
      if (tensors->second.inputs.at(input).empty()) std::abort();
      if (info.shape && info.shape->rank() > Shape::kRankMax) std::abort();
    }
  }
  return 0;
}
