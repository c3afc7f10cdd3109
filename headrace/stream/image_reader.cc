#include "headrace/stream/image_reader.h"

#include <algorithm>
#include <new>

#include "headrace/base/text.h"

namespace headrace {
namespace {

std::uint64_t sample_bytes(const ImageColumn& column) {
  return column.is_float ? sizeof(float) : sizeof(std::uint8_t);
}

bool is_crop(const Augmentation& augmentation) { return std::holds_alternative<Crop>(augmentation); }

}  // namespace

std::uint64_t image_reader_bytes(const ImageOptions& images) {
  if (images.columns.empty()) return 0;
  const ImageHeader worst{.size = {kSmallPicturePixels, 1}, .is_cmyk = true, .has_several_scans = true};
  std::uint64_t resized = 0;
  for (const auto& [name, column] : images.columns) {
    const std::uint64_t pixels = std::uint64_t{column.size.width} * column.size.height;
    resized = std::max(resized, pixels * column.channels * sample_bytes(column));
  }
  return decode_memory_bytes(worst, 0) + (std::ranges::any_of(images.augmentations, is_crop) ? resized : 0);
}

PictureMemory::Share::Share(PictureMemory& memory, std::uint64_t bytes)
    : memory_(memory), bytes_(std::min(bytes, memory.all_)) {
  std::unique_lock lock(memory_.mutex_);
  memory_.returned_.wait(lock, [this] { return memory_.free_ >= bytes_; });
  memory_.free_ -= bytes_;
}

PictureMemory::Share::~Share() {
  const std::lock_guard lock(memory_.mutex_);
  memory_.free_ += bytes_;
  memory_.returned_.notify_all();
}

Status ImageReader::read(BytesView encoded, const ImageColumn& column, const DrawPosition& at,
                         std::byte* row) {
  HEADRACE_TRY(const ImageHeader header, read_image_header(encoded));
  HEADRACE_CHECK(check_declared_size(header, encoded.size(), column.max_pixels));
  if (std::uint64_t{header.size.width} * header.size.height <= kSmallPicturePixels)
    return decode(encoded, column, at, row);
  const PictureMemory::Share share(*memory_, decode_memory_bytes(header, column.channels));
  Status status = decode(encoded, column, at, row);
  decoder_ = ImageDecoder();
  picture_ = Image();
  return status;
}

Status ImageReader::decode(BytesView encoded, const ImageColumn& column, const DrawPosition& at,
                           std::byte* row) {
  DecodeOptions options{
      .channels = column.channels, .background = column.background, .max_pixels = column.max_pixels};
  if (column.is_scaled) options.at_least = column.size;
  Status status = decoder_.decode(encoded, options, picture_);
  // The declared size was checked before, so the image is not the reason.
  if (!status && status.error().code == Code::kResourceExhausted) throw std::bad_alloc();
  HEADRACE_CHECK(status);
  return column.is_float ? place(column, at, reinterpret_cast<float*>(row))
                         : place(column, at, reinterpret_cast<std::uint8_t*>(row));
}

// Resizes the picture straight into the row, or resizes it elsewhere and copies the cropped part.
template <typename Sample>
Status ImageReader::place(const ImageColumn& column, const DrawPosition& at, Sample* row) {
  const bool is_cropped = std::ranges::any_of(augmentations_, is_crop);
  const std::size_t samples = std::size_t{column.size.width} * column.size.height * column.channels;
  if (is_cropped && resized_.size() < samples * sizeof(Sample)) resized_.resize(samples * sizeof(Sample));
  Sample* const resized = is_cropped ? reinterpret_cast<Sample*>(resized_.data()) : row;
  Pixels<Sample> pixels = dense_pixels(resized, column.size, column.channels);
  HEADRACE_CHECK(resizer_.resize(picture_.view(), column.method, pixels));
  augment(augmentations_, seed_, at, pixels);
  if (!is_cropped) return {};
  for (std::size_t y = 0; y < pixels.size.height; ++y)
    row = std::copy_n(pixels.row(y), pixels.row_samples(), row);
  return {};
}

}  // namespace headrace
