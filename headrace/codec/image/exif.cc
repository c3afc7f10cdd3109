#include "headrace/codec/image/exif.h"

namespace headrace {
namespace {

constexpr std::uint32_t kOrientationTag = 0x0112;
constexpr std::size_t kEntryBytes = 12;

// Reads numbers in either byte order. A number beyond the end is 0.
class TiffReader {
 public:
  explicit TiffReader(BytesView tiff)
      : tiff_(tiff), is_little_endian_(tiff.size() >= 2 && tiff[0] == std::byte{'I'}) {}

  bool has_signature() const {
    return tiff_.size() >= 8 && tiff_[0] == tiff_[1] && (is_little_endian_ || tiff_[0] == std::byte{'M'}) &&
           number(2, 2) == 42;
  }

  std::uint32_t number(std::size_t offset, std::size_t width) const {
    if (offset > tiff_.size() || tiff_.size() - offset < width) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t at = is_little_endian_ ? width - 1 - i : i;
      value = value << 8 | std::to_integer<std::uint32_t>(tiff_[offset + at]);
    }
    return value;
  }

 private:
  BytesView tiff_;
  bool is_little_endian_;
};

// The width in bytes of TIFF's unsigned integer types 1, 3 and 4; 0 for all other types.
std::size_t width_of_type(std::uint32_t type) {
  switch (type) {
    case 1:
      return 1;
    case 3:
      return 2;
    case 4:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

std::uint32_t exif_orientation(BytesView tiff) {
  const TiffReader reader(tiff);
  if (!reader.has_signature()) return 1;
  const std::size_t directory = reader.number(4, 4);
  const std::uint32_t entries = reader.number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (entry >= tiff.size()) break;
    if (reader.number(entry, 2) != kOrientationTag) continue;
    const std::uint32_t value = reader.number(entry + 8, width_of_type(reader.number(entry + 2, 2)));
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

}  // namespace headrace
