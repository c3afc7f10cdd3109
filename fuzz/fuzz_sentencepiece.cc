#include <algorithm>
#include <cstdlib>

#include "headrace/engine/use/tokenizer.h"

namespace headrace {
namespace {

std::vector<std::int32_t> tokens(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::int32_t> ids;
  tokenizer.tokenize(
      text, [&](std::span<const std::int32_t> some) { ids.insert(ids.end(), some.begin(), some.end()); });
  return ids;
}

}  // namespace
}  // namespace headrace

// The first byte says how many of the rest are a text; what follows is a model.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  if (size == 0) return 0;
  const BytesView bytes = std::as_bytes(std::span(data, size));
  const std::size_t text_bytes = std::min<std::size_t>(data[0], size - 1);
  const std::string_view text = as_text(bytes.subspan(1, text_bytes));
  const auto model = parse_sentencepiece_model(bytes.subspan(1 + text_bytes));
  if (!model) return 0;
  const auto tokenizer = Tokenizer::create(*model);
  if (!tokenizer) return 0;
  const std::vector<std::int32_t> ids = tokens(*tokenizer, text);
  if (ids.size() < 3 || ids.front() != Tokenizer::kBegin || ids.back() != Tokenizer::kEnd) std::abort();
  const auto vocabulary_size = static_cast<std::int32_t>(tokenizer->vocabulary_size());
  if (std::ranges::any_of(ids, [&](std::int32_t id) { return id < 0 || id >= vocabulary_size; }))
    std::abort();
  // Longer than the tokenizer's window: still every part of it is covered.
  std::string repeated;
  for (int i = 0; i < 300; ++i) repeated += text;
  if (tokens(*tokenizer, repeated).size() < 3) std::abort();
  return 0;
}
