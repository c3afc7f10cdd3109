/// How fast do JPEGs of about 400 × 300 become batches of 150 × 150, beside libjpeg-turbo's decoding alone?
///
///   headrace_bench_decode_images write FOLDER COUNT [SEED]   photo-like pictures of about 40 kB
///   headrace_bench_decode_images libjpeg FOLDER REPEATS   jpeg_read_scanlines, full size; nothing is resized
///   headrace_bench_decode_images libjpeg-half FOLDER REPEATS   the same at 4/8
///   headrace_bench_decode_images libjpeg-convert FOLDER REPEATS   full size, and a 150 × 150 picture encoded
///   headrace_bench_decode_images exact FOLDER REPEATS     ours, resized; into batches of 32
///   headrace_bench_decode_images scaled FOLDER REPEATS    the same from scaled pictures
///
/// All but `write` print JSON: images, bytes of a file, seconds of each repeat. bench/decode_images.py pins
/// it and runs the peers beside it.

#include <cstdio>
// libjpeg's headers need <cstdio> before them.
#include <jpeglib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <set>

#include "bench/measuring/repeats.h"
#include "headrace/base/text.h"
#include "headrace/codec/image/image_decoder.h"
#include "headrace/codec/image/image_encoder.h"
#include "headrace/codec/image/resize.h"

namespace headrace {
namespace {

constexpr ImageSize kTarget = {150, 150};
constexpr std::size_t kBatchImages = 32;

// Noise of all sizes, the finer the fainter, as photographs have; colours change slowly.
Status make_photo(std::mt19937_64& random, ImageSize size, Image& photo) {
  const std::size_t pixels = std::size_t{size.width} * size.height;
  std::vector<float> sum(pixels * 3, 0), layer(pixels * 3);
  Resizer resizer;
  Image grid;
  const auto add_layer = [&](ImageSize grid_size, float strength, bool is_grey) -> Status {
    HEADRACE_CHECK(grid.reshape(grid_size, 3));
    std::uint8_t* samples = grid.mutable_view().data;
    for (std::size_t i = 0; i < std::size_t{grid_size.width} * grid_size.height * 3; ++i)
      samples[i] = is_grey && i % 3 != 0 ? samples[i - 1] : static_cast<std::uint8_t>(random());
    HEADRACE_CHECK(resizer.resize(grid.view(), ResizeMethod::kBilinear, dense_pixels(layer.data(), size, 3)));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += (layer[i] - 127.5F) * strength;
    return {};
  };
  HEADRACE_CHECK(add_layer({4, 3}, 0.5F, false));
  HEADRACE_CHECK(add_layer({16, 12}, 0.15F, false));
  for (std::uint32_t step = 32; step > 1; step /= 2) {
    const float strength = 0.15F + 0.3F * static_cast<float>(step) / 32;
    HEADRACE_CHECK(add_layer({size.width / step, size.height / step}, strength, true));
  }
  HEADRACE_CHECK(photo.reshape(size, 3));
  for (std::size_t i = 0; i < sum.size(); ++i)
    photo.mutable_view().data[i] = static_cast<std::uint8_t>(std::clamp(sum[i] + 127.5F, 0.0F, 255.0F));
  return {};
}

Status write(const std::filesystem::path& folder, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Image photo;
  std::filesystem::create_directories(folder);
  for (std::size_t i = 0; i < count; ++i) {
    const ImageSize size = {static_cast<std::uint32_t>(380 + random() % 61),
                            static_cast<std::uint32_t>(300 + random() % 31)};
    HEADRACE_CHECK(make_photo(random, size, photo));
    Bytes jpeg;
    HEADRACE_CHECK(encode_jpeg(photo.view(), {.quality = 90}, jpeg));
    std::ofstream(folder / concat(zero_padded(i, 5), ".jpg"), std::ios::binary) << as_text(jpeg);
  }
  return {};
}

std::vector<Bytes> read_all(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.insert(entry.path());
  }
  std::vector<Bytes> files;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    files.push_back(to_bytes(std::string(std::istreambuf_iterator<char>(file), {})));
  }
  return files;
}

// As a program that uses libjpeg alone would be written, all kept from picture to picture.
class Libjpeg {
 public:
  Libjpeg() {
    jpeg_.err = jpeg_std_error(&errors_);
    jpeg_create_decompress(&jpeg_);
    encoder_.err = &errors_;
    jpeg_create_compress(&encoder_);
  }
  ~Libjpeg() {
    jpeg_destroy_decompress(&jpeg_);
    jpeg_destroy_compress(&encoder_);
  }
  Libjpeg(const Libjpeg&) = delete;
  Libjpeg& operator=(const Libjpeg&) = delete;

  void decode(BytesView file, unsigned eighths) {
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&jpeg_, TRUE);
    jpeg_.out_color_space = JCS_RGB;
    jpeg_.scale_num = eighths;
    jpeg_.scale_denom = 8;
    jpeg_start_decompress(&jpeg_);
    const std::size_t row_bytes = std::size_t{jpeg_.output_width} * 3;
    if (pixels_.size() < row_bytes * jpeg_.output_height) pixels_.resize(row_bytes * jpeg_.output_height);
    while (jpeg_.output_scanline < jpeg_.output_height) {
      JSAMPROW row = &pixels_[jpeg_.output_scanline * row_bytes];
      jpeg_read_scanlines(&jpeg_, &row, 1);
    }
    jpeg_finish_decompress(&jpeg_);
  }

  // RGB without gaps, colour at half of the resolution.
  void encode(const std::uint8_t* pixels, ImageSize size, int quality) {
    unsigned char* out = encoded_.data();
    unsigned long out_bytes = encoded_.size();  // more than a picture of kTarget needs
    jpeg_mem_dest(&encoder_, &out, &out_bytes);
    encoder_.image_width = size.width;
    encoder_.image_height = size.height;
    encoder_.input_components = 3;
    encoder_.in_color_space = JCS_RGB;
    jpeg_set_defaults(&encoder_);
    jpeg_set_quality(&encoder_, quality, TRUE);
    jpeg_start_compress(&encoder_, TRUE);
    while (encoder_.next_scanline < size.height) {
      // The library has no constant rows; it does not write to them.
      JSAMPROW row = const_cast<JSAMPROW>(&pixels[std::size_t{encoder_.next_scanline} * size.width * 3]);
      jpeg_write_scanlines(&encoder_, &row, 1);
    }
    jpeg_finish_compress(&encoder_);
  }

 private:
  jpeg_decompress_struct jpeg_{};
  jpeg_compress_struct encoder_{};
  jpeg_error_mgr errors_{};
  std::vector<unsigned char> pixels_;
  std::vector<unsigned char> encoded_ = std::vector<unsigned char>(1 << 20);
};

class Ours {
 public:
  Status decode(BytesView file, std::size_t row, bool is_scaled) {
    DecodeOptions options = {.channels = 3};
    if (is_scaled) options.at_least = kTarget;
    HEADRACE_CHECK(decoder_.decode(file, options, image_));
    const MutablePixelsView target = dense_pixels(&batch_[row * kRowBytes], kTarget, 3);
    return resizer_.resize(image_.view(), ResizeMethod::kBilinear, target);
  }

 private:
  static constexpr std::size_t kRowBytes = std::size_t{kTarget.width} * kTarget.height * 3;
  ImageDecoder decoder_;
  Resizer resizer_;
  Image image_;
  std::vector<std::uint8_t> batch_ = std::vector<std::uint8_t>(kBatchImages * kRowBytes);
};

// The pixels that libjpeg-convert encodes: the files at kTarget, one after the other.
Result<std::vector<std::uint8_t>> resize_all(const std::vector<Bytes>& files) {
  constexpr std::size_t kBytes = std::size_t{kTarget.width} * kTarget.height * 3;
  std::vector<std::uint8_t> out(files.size() * kBytes);
  ImageDecoder decoder;
  Resizer resizer;
  Image image;
  for (std::size_t i = 0; i < files.size(); ++i) {
    HEADRACE_CHECK(decoder.decode(files[i], {.channels = 3}, image));
    const MutablePixelsView target = dense_pixels(&out[i * kBytes], kTarget, 3);
    HEADRACE_CHECK(resizer.resize(image.view(), ResizeMethod::kBilinear, target));
  }
  return out;
}

Status run(const std::vector<std::string>& arguments) {
  const std::string& how = arguments.at(0);
  const auto number = parse_number<std::uint64_t>(arguments.at(2));
  const auto seed = arguments.size() > 3 ? parse_number<std::uint64_t>(arguments[3]) : 44;
  if (!number || !seed) return Error{Code::kInvalidArgument, "not a number"};
  if (how == "write") return write(arguments[1], *number, *seed);
  const std::vector<Bytes> files = read_all(arguments[1]);
  Libjpeg libjpeg;
  Ours ours;
  std::vector<std::uint8_t> small;
  if (how == "libjpeg-convert") {
    HEADRACE_TRY(small, resize_all(files));
  }
  const auto decode_all = [&]() -> Status {
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (how.starts_with("libjpeg"))
        libjpeg.decode(files[i], how == "libjpeg-half" ? 4 : 8);
      else
        HEADRACE_CHECK(ours.decode(files[i], i % kBatchImages, how == "scaled"));
      if (!small.empty()) libjpeg.encode(&small[i * (small.size() / files.size())], kTarget, 90);
    }
    return {};
  };
  HEADRACE_CHECK(decode_all());
  Repeats repeats;
  for (std::uint64_t i = 0; i < *number; ++i) HEADRACE_CHECK(repeats.time(decode_all));
  std::size_t bytes = 0;
  for (const Bytes& file : files) bytes += file.size();
  Json out = repeats.to_json();
  out["records"] = files.size();
  out["file_bytes"] = bytes / files.size();
  std::cout << out.dump() << "\n";
  return {};
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const headrace::Status status = headrace::run(std::vector<std::string>(argv + 1, argv + argc));
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
