#include "headrace/engine/use/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/engine/use/test_models.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_models::npy_file;
using testing_models::zip_file;

constexpr std::uint64_t kLimit = 1 << 20;

std::vector<std::pair<std::string, std::string>> two_arrays() {
  return {{"a.npy", npy_file("<f4", "2, 3", std::string(24, 'x'))}, {"b.npy", npy_file("|u1", "4,", "abcd")}};
}

TEST(Npz, ReadsStoredAndDeflatedArrays) {
  for (const bool deflated : {false, true}) {
    const std::string bytes = zip_file(two_arrays(), deflated);
    const auto file = NpzFile::open(as_bytes(bytes), kLimit);
    ASSERT_TRUE(file);
    EXPECT_THAT(file->names(), ElementsAre("a", "b"));
    const auto a = file->read("a");
    ASSERT_TRUE(a);
    EXPECT_EQ(a->dtype, "<f4");
    EXPECT_THAT(a->shape, ElementsAre(2, 3));
    EXPECT_EQ(as_text(a->data()), std::string(24, 'x'));
    EXPECT_EQ(as_text(file->read("b")->data()), "abcd");
    EXPECT_EQ(file->read("c").error().code, Code::kNotFound);
  }
}

TEST(Npz, ReadsAScalar) {
  const auto array = parse_npy(to_bytes(npy_file("<f8", "", "12345678")));
  ASSERT_TRUE(array);
  EXPECT_TRUE(array->shape.empty());
  EXPECT_EQ(as_text(array->data()), "12345678");
}

TEST(Npz, RefusesArraysThatItCannotRepresent) {
  std::string columns_first = npy_file("<f4", "1,", "1234");
  columns_first.replace(columns_first.find("False"), 5, "True ");
  EXPECT_EQ(parse_npy(to_bytes(columns_first)).error().code, Code::kUnimplemented);
  EXPECT_EQ(parse_npy(to_bytes(npy_file("|O", "1,", "1234"))).error().code, Code::kDataLoss);
  EXPECT_EQ(parse_npy(to_bytes(npy_file("<f4", "2,", "1234"))).error().code, Code::kDataLoss);
  EXPECT_EQ(parse_npy(to_bytes(npy_file("<f4", "4611686018427387904, 4", ""))).error().code, Code::kDataLoss);
  EXPECT_EQ(parse_npy({}).error().code, Code::kDataLoss);
}

TEST(Npz, RefusesMoreDataThanAllowed) {
  const std::string bytes = zip_file(two_arrays(), true);
  const auto file = NpzFile::open(as_bytes(bytes), 200);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("more than 200 bytes"));
}

TEST(Npz, RefusesEveryTruncation) {
  const std::string bytes = zip_file(two_arrays(), true);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(NpzFile::open(as_bytes(bytes).first(size), kLimit)) << size;
  }
}

TEST(Npz, ReadsTheOriginalOrAnErrorAfterAnyChangedByte) {
  const std::string original = zip_file(two_arrays(), true);
  for (std::size_t at = 0; at < original.size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string bytes = original;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      const auto file = NpzFile::open(as_bytes(bytes), kLimit);
      if (!file) continue;
      const auto b = file->read("b");
      if (b) {
        EXPECT_EQ(as_text(b->data()), "abcd") << at;
      }
    }
  }
}

}  // namespace
}  // namespace headrace
