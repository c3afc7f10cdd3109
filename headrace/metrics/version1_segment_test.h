#pragma once

/// \file For tests: a segment of version 1, which no program writes any more.

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/base/crc32c.h"

namespace headrace {

// 200 points of "loss" with a pyramid, and 3 of "few". Its from_step is 4.
inline constexpr std::string_view kVersion1 =
    "28b52ffd20c855000018140f000100420a0c0128b52ffd20cc7500003880897afd887a040100420a180128b52ffd6020"
    "022d0100a000008040c00000c000c03f00007f403f40407f400500344041cb8035140a5a32dea8022c28b52ffd202065"
    "000030000040000000010036c002000100000a005500fe5500ff5500ff5500ff5500ff5500ffd520f73f007f08011000"
    "18002a20020202020202020202020202020202020202020202020202020202020202020230083801422408c801120d08"
    "00101318e3f4e4f70620c8011a0d0813101718d193a7f40320cc0120b006421c0803120a086e1003188df6989e071a0a"
    "0871100318aca0d5d10d20034a440a046c6f737310001a0d082a102f18afabe6cd0820a0062004290000000000000000"
    "31000000000000004039000000000000004040014a0c0859101518fae4c8c10320204a300a0366657710011a0a087410"
    "181883b2e2b80a200829555555555555d53f31abaaaaaaaaaa024039abaaaaaaaaaa0240e8000000d8e328e348524d45"
    "54524943";

/// The same points each time: "loss" has the steps 10 + 2 × i and the times 1,000,000 + i × i.
inline Bytes version1_segment(std::uint8_t number = 0) {
  Bytes segment;
  for (std::size_t i = 0; i < kVersion1.size(); i += 2)
    segment.push_back(static_cast<std::byte>(std::stoi(std::string(kVersion1.substr(i, 2)), nullptr, 16)));
  // The footer begins with three fields of a byte: version, first, last. Its size and checksum follow it.
  const std::size_t trailer = segment.size() - 16;
  const auto size = load_little_endian<std::uint32_t>(segment.data() + trailer);
  std::byte* const footer = segment.data() + trailer - size;
  footer[3] = footer[5] = static_cast<std::byte>(number);
  Bytes checksum;
  append_little_endian(checksum, crc32c(BytesView(footer, size)));
  for (std::size_t i = 0; i < checksum.size(); ++i) segment[trailer + 4 + i] = checksum[i];
  return segment;
}

}  // namespace headrace
