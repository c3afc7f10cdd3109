#include "headrace/cli/servers/serve/received_request.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace headrace {
namespace {

char lower_ascii(char character) {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character + ('a' - 'A')) : character;
}

bool equals_in_any_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower_ascii(x) == lower_ascii(y); });
}

}  // namespace

std::optional<std::string_view> RequestHead::header(std::string_view name) const {
  for (const Field& field : fields_) {
    if (equals_in_any_case(text(field.name), name)) return text(field.value);
  }
  return std::nullopt;
}

bool RequestBody::reserve(std::size_t capacity) {
  if (capacity <= capacity_) return true;
  if (!charge_.try_add(capacity - capacity_)) return false;
  // Not zeroed, so that the pages of a body that never comes are never touched.
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[capacity + kPaddingBytes]);
  if (!memory) return false;
  if (size_ > 0) std::memcpy(memory.get(), memory_.get(), size_);
  std::memset(memory.get() + size_, 0, kPaddingBytes);
  memory_ = std::move(memory);
  capacity_ = capacity;
  return true;
}

bool RequestBody::append(BytesView bytes, std::uint64_t limit_bytes) {
  if (bytes.empty()) return true;
  if (const std::size_t wanted = size_ + bytes.size(); wanted > capacity_) {
    const std::uint64_t doubled = std::max<std::uint64_t>({wanted, 2 * std::uint64_t{capacity_}, 4096});
    if (!reserve(std::max<std::size_t>(wanted, std::min(doubled, limit_bytes)))) return false;
  }
  std::memcpy(memory_.get() + size_, bytes.data(), bytes.size());
  added(bytes.size());
  return true;
}

void RequestBody::added(std::size_t bytes) {
  size_ += bytes;
  std::memset(memory_.get() + size_, 0, kPaddingBytes);
}

}  // namespace headrace
