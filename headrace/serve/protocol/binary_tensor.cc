#include "headrace/serve/protocol/binary_tensor.h"

#include "headrace/base/text.h"
#include "headrace/serve/protocol/repeated_values.h"

namespace headrace {

Result<std::vector<std::string_view>> parse_binary_texts(BytesView data, std::uint64_t elements) {
  const auto fail = [](std::string message) { return Error{Code::kInvalidArgument, std::move(message)}; };
  std::vector<std::string_view> out;
  while (!data.empty()) {
    if (out.size() == elements) return fail("the binary data has more byte strings than its shape");
    std::uint32_t size = 0;
    if (data.size() < sizeof size) return fail("the binary data ends within the size of a byte string");
    size = load_little_endian<std::uint32_t>(data.data());
    data = data.subspan(sizeof size);
    if (data.size() < size) return fail("the binary data ends within a byte string");
    out.push_back(as_text(data.first(size)));
    data = data.subspan(size);
  }
  if (out.size() == elements) return out;
  return fail(concat("the binary data has ", out.size(), " byte strings, the shape ", elements));
}

std::uint64_t binary_tensor_size(const AnswerOutput& output) {
  if (output.type != DataType::kBytes) return numbers_size(output);
  std::uint64_t size = 0;
  for (const AnswerPart& part : output.parts) {
    for (const std::string_view text : texts_of(part)) size += sizeof(std::uint32_t) + text.size();
  }
  return size;
}

void append_binary_tensor(Bytes& out, const AnswerOutput& output) {
  if (output.type != DataType::kBytes) return append_numbers(out, output);
  for (const AnswerPart& part : output.parts) {
    for (const std::string_view text : texts_of(part)) {
      append_little_endian(out, static_cast<std::uint32_t>(text.size()));
      append(out, as_bytes(text));
    }
  }
}

}  // namespace headrace
