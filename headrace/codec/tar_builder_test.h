#pragma once

/// \file For tests: writes tars from the specification alone, independently of the code under test.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/text.h"

namespace headrace {

enum class TarFormat { kUstar, kGnu, kPax };

class TarBuilder {
 public:
  explicit TarBuilder(TarFormat format = TarFormat::kUstar) : format_(format) {}

  /// Adds a file. A name that does not fit into a header is stored in the format's own way.
  TarBuilder& file(std::string_view path, std::string_view data) {
    std::string name(path), prefix;
    const std::size_t slash = path.rfind('/', 155);
    if (path.size() > 100 && format_ == TarFormat::kUstar) {
      prefix = path.substr(0, slash);
      name = path.substr(slash + 1);
    } else if (path.size() > 100 && format_ == TarFormat::kGnu) {
      entry('L', "././@LongLink", name + '\0');
    } else if (path.size() > 100) {
      pax("path", path);
    }
    entry('0', name, data, prefix);
    return *this;
  }

  /// Adds an extended header for the next entry.
  TarBuilder& pax(std::string_view key, std::string_view value, char type = 'x') {
    const std::size_t rest = key.size() + value.size() + 3;
    std::size_t length = rest + 1;
    while (std::to_string(length).size() + rest > length) ++length;
    return entry(type, "././@PaxHeader", concat(length, ' ', key, '=', value, '\n'));
  }

  /// Adds any entry. A `size` that is not empty replaces the size of the data in the header.
  TarBuilder& entry(char type, std::string_view name, std::string_view data, std::string_view prefix = "",
                    std::string_view size = "") {
    std::array<char, 512> header{};
    name.substr(0, 100).copy(header.data(), 100);
    const std::string octal = size.empty() ? octal_of(data.size(), 11) : std::string(size);
    octal.copy(header.data() + 124, 12);
    header[156] = type;
    std::string_view(format_ == TarFormat::kGnu ? "ustar  "
                                                : "ustar\0"
                                                  "00",
                     format_ == TarFormat::kGnu ? 7 : 8)
        .copy(header.data() + 257, 8);
    prefix.copy(header.data() + 345, 155);
    seal(header);
    append(bytes, std::as_bytes(std::span(header)));
    append(bytes, as_bytes(data));
    bytes.resize((bytes.size() + 511) / 512 * 512);
    return *this;
  }

  /// Returns the tar with its end mark, in whole records of 10 KiB.
  Bytes finish() {
    bytes.resize((bytes.size() + 1024 + 10239) / 10240 * 10240);
    return bytes;
  }

  /// Sets a header's checksum.
  static void seal(std::span<char, 512> header) {
    std::fill_n(header.begin() + 148, 8, ' ');
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    octal_of(sum, 6).copy(header.data() + 148, 6);
    header[154] = '\0';
  }

  Bytes bytes;

 private:
  static std::string octal_of(std::uint64_t value, int digits) {
    std::string out(static_cast<std::size_t>(digits), '0');
    for (auto digit = out.rbegin(); digit != out.rend(); ++digit, value >>= 3)
      *digit = static_cast<char>('0' + (value & 7));
    return out;
  }

  TarFormat format_;
};

}  // namespace headrace
