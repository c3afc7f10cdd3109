#pragma once

/// \file Small files for tests: a SentencePiece model and an .npz, written byte by byte.

#include <libdeflate.h>

#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/bytes.h"

namespace headrace::testing_models {

inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string field(int number, std::string_view bytes) {
  std::string out;
  put_varint(out, number << 3 | 2);
  put_varint(out, bytes.size());
  return out += bytes;
}

inline std::string field(int number, std::uint64_t integer) {
  std::string out;
  put_varint(out, number << 3);
  put_varint(out, integer);
  return out;
}

/// A model file with the pieces <unk>, <s> and </s>, followed by `pieces`.
inline std::string model_file(const std::vector<std::pair<std::string, float>>& pieces,
                              std::string_view character_map = {}) {
  std::string file;
  const auto add = [&](std::string_view text, float score) {
    std::string piece = field(1, text);
    put_varint(piece, 2 << 3 | 5);
    put(piece, score);
    file += field(1, piece);
  };
  for (const char* text : {"<unk>", "<s>", "</s>"}) add(text, 0);
  for (const auto& [text, score] : pieces) add(text, score);
  return file + field(2, field(3, 1)) + field(3, field(1, "test") + field(2, character_map));
}

/// A normaliser's map that replaces single bytes by texts.
inline std::string character_map(const std::vector<std::pair<unsigned char, std::string>>& replacements) {
  // The root's children start at unit 256, each byte's value lies at unit 512 + byte.
  std::vector<std::uint32_t> units(1024, 0x80000000U);
  units[0] = 256U << 10;
  std::string texts;
  for (const auto& [byte, text] : replacements) {
    const std::uint32_t node = 256U ^ byte, leaf = 512U + byte;
    units[node] = (node ^ leaf) << 10 | 0x100U | byte;
    units[leaf] = 0x80000000U | static_cast<std::uint32_t>(texts.size());
    texts += text + '\0';
  }
  std::string map;
  put(map, static_cast<std::uint32_t>(units.size() * 4));
  map.append(reinterpret_cast<const char*>(units.data()), units.size() * 4);
  return map + texts;
}

inline std::string npy_file(std::string_view dtype, std::string_view shape, std::string_view data) {
  std::string header = "{'descr': '" + std::string(dtype) + "', 'fortran_order': False, 'shape': (";
  header += std::string(shape) + "), }";
  header.resize(118, ' ');
  std::string file("\x93NUMPY\x01\x00", 8);
  put(file, static_cast<std::uint16_t>(header.size()));
  return file + header + std::string(data);
}

/// A zip of the files, deflated or stored.
inline std::string zip_file(const std::vector<std::pair<std::string, std::string>>& files, bool deflated) {
  std::string out, directory;
  for (const auto& [name, content] : files) {
    std::string data = content;
    if (deflated) {
      libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
      data.resize(libdeflate_deflate_compress_bound(compressor, content.size()));
      data.resize(
          libdeflate_deflate_compress(compressor, content.data(), content.size(), data.data(), data.size()));
      libdeflate_free_compressor(compressor);
    }
    std::string common;
    put(common, std::uint16_t{20}), put(common, std::uint16_t{0});
    put(common, static_cast<std::uint16_t>(deflated ? 8 : 0));
    put(common, std::uint32_t{0});
    put(common, libdeflate_crc32(0, content.data(), content.size()));
    put(common, static_cast<std::uint32_t>(data.size())),
        put(common, static_cast<std::uint32_t>(content.size()));
    put(common, static_cast<std::uint16_t>(name.size())), put(common, std::uint16_t{0});
    directory += std::string("PK\x01\x02") + std::string("\x14\x00", 2) + common + std::string(10, '\0');
    put(directory, static_cast<std::uint32_t>(out.size()));
    directory += name;
    out += std::string("PK\x03\x04") + common + name + data;
  }
  std::string end("PK\x05\x06\0\0\0\0", 8);
  put(end, static_cast<std::uint16_t>(files.size())), put(end, static_cast<std::uint16_t>(files.size()));
  put(end, static_cast<std::uint32_t>(directory.size())), put(end, static_cast<std::uint32_t>(out.size()));
  put(end, std::uint16_t{0});
  return out + directory + end;
}

}  // namespace headrace::testing_models
