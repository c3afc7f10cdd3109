#pragma once

/// \file Decodes images into rows of a batch.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "headrace/stream/image_options.h"

namespace headrace {

/// A picture of up to this many pixels is decoded in memory that its thread keeps.
inline constexpr std::uint64_t kSmallPicturePixels = 1 << 20;

/// The most memory that an ImageReader keeps, and takes for small pictures, for columns like these.
std::uint64_t image_reader_bytes(const ImageOptions& images);

/// Memory that threads share for decoding large pictures; they take turns if necessary. Thread-safe.
class PictureMemory {
 public:
  explicit PictureMemory(std::uint64_t bytes) : all_(bytes), free_(bytes) {}

  /// Holds that many bytes, from construction to destruction.
  class Share {
   public:
    /// Waits until other threads have released enough. A share that is larger than the whole waits for all
    /// others, and is then alone.
    Share(PictureMemory& memory, std::uint64_t bytes);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    PictureMemory& memory_;
    const std::uint64_t bytes_;
  };

 private:
  const std::uint64_t all_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::uint64_t free_;
};

/// Decodes, resizes and augments. One thread at a time; each thread has its own, and keeps it.
class ImageReader {
 public:
  /// Borrows `memory`.
  ImageReader(std::uint64_t seed, std::vector<Augmentation> augmentations, PictureMemory& memory)
      : seed_(seed), augmentations_(std::move(augmentations)), memory_(&memory) {}

  /// Writes the pixels to `row`, which has room for those of the column in a batch, and is aligned for them.
  /// On errors they are unspecified. Throws std::bad_alloc.
  /// \error kDataLoss, kInvalidArgument, kUnimplemented  see ImageDecoder: it is not an image that can be
  /// read
  /// \error kResourceExhausted  it declares more pixels than the column's `max_pixels`
  Status read(BytesView encoded, const ImageColumn& column, const DrawPosition& at, std::byte* row);

 private:
  Status decode(BytesView encoded, const ImageColumn& column, const DrawPosition& at, std::byte* row);
  template <typename Sample>
  Status place(const ImageColumn& column, const DrawPosition& at, Sample* row);

  std::uint64_t seed_;
  std::vector<Augmentation> augmentations_;
  PictureMemory* memory_;
  ImageDecoder decoder_;
  Resizer resizer_;
  Image picture_;
  std::vector<std::byte> resized_;  // where the batch holds only a part of it
};

}  // namespace headrace
