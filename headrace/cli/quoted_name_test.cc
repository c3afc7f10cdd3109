#include "headrace/cli/quoted_name.h"

#include <gtest/gtest.h>

#include <string>

namespace headrace {
namespace {

TEST(QuotedName, LeavesPlainNamesAsTheyAre) {
  for (const char* name :
       {"a", "s3://b/train-00000-of-00017.tfrecord.gz", "a_b+c,d=e@f%20", "gr\xc3\xbc\xc3\x9f"}) {
    EXPECT_EQ(quoted_name(name, Quoting::kShell), name);
    EXPECT_EQ(quoted_name(name, Quoting::kUnsafe), name);
  }
}

TEST(QuotedName, QuotesWhatAShellWouldSplitOrExpandForATerminalOnly) {
  for (const char* name : {"a b", "a*", "$(reboot)", "~a", "a;b", "a#b", "\"a\"", "a\\b", "!a"}) {
    EXPECT_EQ(quoted_name(name, Quoting::kShell), "'" + std::string(name) + "'");
    EXPECT_EQ(quoted_name(name, Quoting::kUnsafe), name);
  }
  EXPECT_EQ(quoted_name("it's", Quoting::kShell), "'it'\\''s'");
  EXPECT_EQ(quoted_name("", Quoting::kShell), "''");
}

TEST(QuotedName, EscapesWhatSteersATerminalOrEndsALineAlways) {
  for (const Quoting quoting : {Quoting::kShell, Quoting::kUnsafe}) {
    EXPECT_EQ(quoted_name("a\nb", quoting), "$'a\\012b'");
    EXPECT_EQ(quoted_name("\x1b[31mit's \\", quoting), "$'\\033[31mit\\'s \\\\'");
    EXPECT_EQ(quoted_name("a\tb", quoting), "$'a\\011b'");
    EXPECT_EQ(quoted_name("a\x7f\xc2\x9b", quoting), "$'a\\177\\302\\233'");
    EXPECT_EQ(quoted_name("gr\xc3\xbc\xe2\x80\xae", quoting), "$'gr\xc3\xbc\\342\\200\\256'");
    EXPECT_EQ(quoted_name("a\xff\xe2\x82", quoting), "$'a\\377\\342\\202'");
  }
}

}  // namespace
}  // namespace headrace
