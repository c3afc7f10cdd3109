#include "headrace/engine/hash/tokens.h"

#include <algorithm>

namespace headrace {
namespace {

struct Range {
  char32_t first, last;
  CharacterClass kind;
};
constexpr auto kSeparator = CharacterClass::kSeparator;
constexpr auto kAlone = CharacterClass::kAlone;
// Ascending and disjoint. A character that is in none of the ranges is kWord. The ranges are part of the
// format and must never change.
constexpr std::array kRanges = {
    Range{0x0080, 0x00a9, kSeparator}, Range{0x00ab, 0x00b4, kSeparator}, Range{0x00b6, 0x00b9, kSeparator},
    Range{0x00bb, 0x00bf, kSeparator}, Range{0x00d7, 0x00d7, kSeparator}, Range{0x00f7, 0x00f7, kSeparator},
    Range{0x0589, 0x058a, kSeparator}, Range{0x05be, 0x05be, kSeparator}, Range{0x060c, 0x060d, kSeparator},
    Range{0x061b, 0x061f, kSeparator}, Range{0x066a, 0x066d, kSeparator}, Range{0x06d4, 0x06d4, kSeparator},
    Range{0x0964, 0x0965, kSeparator}, Range{0x1680, 0x1680, kSeparator}, Range{0x2000, 0x206f, kSeparator},
    Range{0x20a0, 0x20cf, kSeparator}, Range{0x2190, 0x2bff, kSeparator}, Range{0x2e00, 0x2e7f, kSeparator},
    Range{0x3000, 0x3004, kSeparator}, Range{0x3005, 0x3007, kAlone},     Range{0x3008, 0x303f, kSeparator},
    Range{0x3040, 0x30fa, kAlone},     Range{0x30fb, 0x30fb, kSeparator}, Range{0x30fc, 0x318f, kAlone},
    Range{0x31a0, 0x31ff, kAlone},     Range{0x3400, 0x4dbf, kAlone},     Range{0x4e00, 0x9fff, kAlone},
    Range{0xe000, 0xf8ff, kSeparator}, Range{0xf900, 0xfaff, kAlone},     Range{0xfe10, 0xfe6f, kSeparator},
    Range{0xfeff, 0xff0f, kSeparator}, Range{0xff1a, 0xff20, kSeparator}, Range{0xff3b, 0xff40, kSeparator},
    Range{0xff5b, 0xff65, kSeparator}, Range{0xff66, 0xff9d, kAlone},     Range{0xffe0, 0xffff, kSeparator},
    Range{0x20000, 0x3ffff, kAlone},
};

}  // namespace

CharacterClass hash_character_class(char32_t code_point) {
  const auto range = std::ranges::lower_bound(kRanges, code_point, {}, &Range::last);
  return range == kRanges.end() || code_point < range->first ? CharacterClass::kWord : range->kind;
}

}  // namespace headrace
