#pragma once

/// \file Decodes images into rows of a batch.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "headrace/stream/image_options.h"

namespace headrace {

/// The largest small picture. Small pictures are decoded in memory that the thread's ImageReader keeps.
inline constexpr std::uint64_t kSmallPicturePixels = 1 << 20;

/// The most memory that an ImageReader for these columns keeps, or takes for small pictures.
std::uint64_t image_reader_bytes(const ImageOptions& images);

/// Memory that threads share for decoding large pictures. Threads take turns if necessary. Thread-safe.
class PictureMemory {
 public:
  explicit PictureMemory(std::uint64_t bytes) : all_(bytes), free_(bytes) {}

  /// Reserves bytes from its construction to its destruction. It allocates nothing.
  class Share {
   public:
    /// Blocks until other threads have released enough. A share that is larger than all of the memory waits
    /// for all other shares, and is then the only one.
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

/// Decodes, resizes and augments images. Not thread-safe; each thread has its own and keeps it.
class ImageReader {
 public:
  /// Borrows `memory`.
  ImageReader(std::uint64_t seed, std::vector<Augmentation> augmentations, PictureMemory& memory)
      : seed_(seed), augmentations_(std::move(augmentations)), memory_(&memory) {}

  /// Writes an image's pixels to `row`, which has room for a row of the column in a batch and is aligned for
  /// its values. `at` selects the random values. On errors the pixels are unspecified. A large picture may
  /// block for `PictureMemory`.
  /// \error kDataLoss, kInvalidArgument, kUnimplemented  the image cannot be read; see ImageDecoder
  /// \error kResourceExhausted                           it declares more pixels than `max_pixels`
  /// \throws std::bad_alloc                              no memory
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
  std::vector<std::byte> resized_;  // used if a batch holds only a part of the resized image
};

}  // namespace headrace
