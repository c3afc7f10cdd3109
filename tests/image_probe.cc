// The program of tests/python/test_image_codec.py: images in files, one JSON line for each step on standard
// input, one for its result on standard output. Pixels lie in files as they do in memory.
//
//   {"do": "header", "file": …}
//   {"do": "decode", "file": …, "to": …, "channels": …, "background": […], "upright": …, "at_least": […]}
//   {"do": "resize", "file": …, "size": […], "channels": …, "to": …, "to_size": […], "method": …, "float": …}
//   {"do": "encode", "file": …, "size": […], "channels": …, "to": …, "format": …, "subsampling": …}

#include <fstream>
#include <iostream>
#include <iterator>

#include "headrace/base/json.h"
#include "headrace/codec/image/image_decoder.h"
#include "headrace/codec/image/image_encoder.h"
#include "headrace/codec/image/resize.h"

namespace headrace {
namespace {

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return to_bytes(std::string(std::istreambuf_iterator<char>(file), {}));
}

void write_file(const std::string& path, BytesView data) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
}

ImageSize size_of(const Json& json) {
  return {json.at(0).as<std::uint32_t>(), json.at(1).as<std::uint32_t>()};
}

RgbColor background_of(const Json& json) {
  return {json.at(0).as<std::uint8_t>(), json.at(1).as<std::uint8_t>(), json.at(2).as<std::uint8_t>()};
}

// Objects that all steps share, as in a program that goes through many images.
struct Steps {
  ImageDecoder decoder;
  Resizer resizer;
  Image image;
};

Result<Json> header(const Json& step) {
  HEADRACE_TRY(const ImageHeader found, read_image_header(read_file(step.get<std::string>("file"))));
  return Json{{"format", image_format_name(found.format)},
              {"size", Json::array({found.size.width, found.size.height})},
              {"channels", found.channels},
              {"bits", found.bits},
              {"orientation", found.orientation}};
}

Result<Json> decode(Steps& steps, const Json& step) {
  DecodeOptions options = {.channels = step.get_or("channels", 0U),
                           .is_upright = step.get_or("upright", true)};
  if (step.contains("background")) options.background = background_of(step["background"]);
  if (step.contains("at_least")) options.at_least = size_of(step["at_least"]);
  HEADRACE_CHECK(steps.decoder.decode(read_file(step.get<std::string>("file")), options, steps.image));
  const PixelsView pixels = steps.image.view();
  write_file(step.get<std::string>("to"),
             std::as_bytes(std::span(pixels.data, pixels.row_samples() * pixels.size.height)));
  return Json{{"size", Json::array({pixels.size.width, pixels.size.height})}, {"channels", pixels.channels}};
}

template <typename Sample>
Result<Json> resize(Steps& steps, const Json& step) {
  const ImageSize size = size_of(step["to_size"]);
  const auto channels = step.get<std::uint32_t>("channels");
  const Bytes data = read_file(step.get<std::string>("file"));
  const auto* samples = reinterpret_cast<const std::uint8_t*>(data.data());
  std::vector<Sample> resized(std::size_t{size.width} * size.height * channels);
  const ResizeMethod method = step["method"] == "area" ? ResizeMethod::kArea : ResizeMethod::kBilinear;
  HEADRACE_CHECK(steps.resizer.resize(dense_pixels(samples, size_of(step["size"]), channels), method,
                                      dense_pixels(resized.data(), size, channels)));
  write_file(step.get<std::string>("to"), std::as_bytes(std::span(resized)));
  return Json::object();
}

Result<Json> encode(const Json& step) {
  const Bytes data = read_file(step.get<std::string>("file"));
  const auto* samples = reinterpret_cast<const std::uint8_t*>(data.data());
  const PixelsView pixels = dense_pixels(samples, size_of(step["size"]), step.get<std::uint32_t>("channels"));
  Bytes encoded;
  if (step["format"] == "PNG") {
    HEADRACE_CHECK(encode_png(pixels, 6, encoded));
  } else {
    const auto subsampling = static_cast<ChromaSubsampling>(step.get_or("subsampling", 2));
    HEADRACE_CHECK(encode_jpeg(pixels, {.quality = 95, .subsampling = subsampling}, encoded));
  }
  write_file(step.get<std::string>("to"), encoded);
  return Json::object();
}

Result<Json> run(Steps& steps, const Json& step) {
  if (step["do"] == "header") return header(step);
  if (step["do"] == "decode") return decode(steps, step);
  if (step["do"] == "encode") return encode(step);
  return step.get_or("float", false) ? resize<float>(steps, step) : resize<std::uint8_t>(steps, step);
}

}  // namespace
}  // namespace headrace

int main() {
  headrace::Steps steps;
  for (std::string line; std::getline(std::cin, line);) {
    auto result = headrace::run(steps, *headrace::parse_json(line));
    if (!result) {
      result = headrace::Json{{"error", headrace::code_name(result.error().code)},
                              {"message", result.error().message}};
    }
    std::cout << result->dump() << '\n';
  }
}
