#include "headrace/base/iso_time.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

std::int64_t seconds_of(std::string_view text) {
  const auto time = parse_iso_time(text);
  return time ? std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count() : -1;
}

TEST(IsoTime, IsUnderstoodWithEveryKindOfZone) {
  const std::int64_t expected = 1'795'231'560;
  EXPECT_EQ(seconds_of("2026-11-21T03:26:00Z"), expected);
  EXPECT_EQ(seconds_of("2026-11-21T03:26:00.123456Z"), expected);
  EXPECT_EQ(seconds_of("2026-11-21 03:26:00+00:00"), expected);
  EXPECT_EQ(seconds_of("2026-11-21T04:26:00+01:00"), expected);
  EXPECT_EQ(seconds_of("2026-11-20T22:56:00-0430"), expected);
  EXPECT_EQ(seconds_of("2024-02-29T00:00:00Z"), 1'709'164'800);
}

TEST(IsoTime, OfAnotherFormIsNone) {
  for (const std::string_view text :
       {"", "2026-11-21", "2026-11-21T03:26:00", "2026-13-21T03:26:00Z", "2026-02-29T00:00:00Z",
        "2026-11-21T24:00:00Z", "2026-11-21T03:26:00+1:00", "2026-11-21T03:26:00Zulu",
        "9999-01-01T00:00:00Z"})
    EXPECT_EQ(seconds_of(text), -1) << text;
}

TEST(IsoTime, IsWrittenWithMilliseconds) {
  using std::chrono::milliseconds;
  const std::chrono::system_clock::time_point begin{};
  EXPECT_EQ(format_time_ms(begin + milliseconds(1'005)), "1970-01-01T00:00:01.005Z");
  EXPECT_EQ(parse_iso_time(format_time_ms(begin + milliseconds(86'400'125))),
            begin + milliseconds(86'400'000));
}

}  // namespace
}  // namespace headrace
