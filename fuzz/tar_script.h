#pragma once

/// \file For fuzzers of readers of tars: the input as a script of what to write into one, since random bytes
/// would never get past a header's checksum.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "fuzz/script.h"
#include "headrace/codec/tar.h"

namespace headrace {

struct TarHeader {
  std::string_view path;    // what is longer than the header's field is cut off
  std::string_view prefix;  // likewise
  std::uint64_t data_bytes = 0;
  char type = '0';
  /// Laid over all of that.
  BytesView overlay{};
  std::size_t overlay_at = 0;
};

/// Appends a header of POSIX.1-1988 whose checksum is right, whatever its fields are.
inline void append_tar_header(Bytes& tar, const TarHeader& with) {
  std::array<char, kTarBlockBytes> header{};
  const auto put = [&](std::string_view text, std::size_t at, std::size_t size_max) {
    std::copy_n(text.begin(), std::min(text.size(), size_max), header.begin() + at);
  };
  put(with.path, 0, 100);
  std::snprintf(header.data() + 124, 12, "%011llo", static_cast<unsigned long long>(with.data_bytes));
  header[156] = with.type;
  put("ustar", 257, 5);
  put(with.prefix, 345, 155);
  std::copy(with.overlay.begin(), with.overlay.end(),
            reinterpret_cast<std::byte*>(header.data()) + with.overlay_at);
  std::fill_n(header.begin() + 148, 8, ' ');
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(header.data() + 148, 8, "%06o", sum);
  append(tar, std::as_bytes(std::span(header)));
}

/// Appends a file's data, filled up to whole blocks.
inline void append_tar_data(Bytes& tar, BytesView data) {
  append(tar, data);
  tar.resize((tar.size() + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes);
}

}  // namespace headrace
