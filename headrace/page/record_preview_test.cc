#include "headrace/page/record_preview.h"

#include <gmock/gmock.h>

#include "headrace/codec/image/image_encoder.h"
#include "headrace/record/example.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr PreviewLimits kAll = {.texts = 6, .text_bytes = 40, .pictures = 3, .numbers = 9};

RecordPreview preview_of(ExampleBuilder& builder, const PreviewLimits& limits = kAll) {
  Bytes record;
  builder.append_to(record);
  auto preview =
      preview_record(record, {{"kind", {"tea", "coffee"}}, {"tags", {"hot", "cold", "sweet"}}}, limits);
  EXPECT_TRUE(preview) << preview.error().message;
  return preview ? *std::move(preview) : RecordPreview();
}

Bytes picture() {
  Image image;
  EXPECT_TRUE(image.reshape({4, 3}, 3));
  Bytes png;
  EXPECT_TRUE(encode_png(image.view(), 1, png));
  return png;
}

TEST(RecordPreview, ShowsTextsPicturesAndNumbers) {
  ExampleBuilder builder;
  const Bytes png = picture();
  const std::vector<BytesView> list = {as_bytes("a"), as_bytes("b")};
  builder.add_bytes("text", as_bytes("a text"));
  builder.add_bytes_list("words", list);
  builder.add_bytes("photo", png);
  const std::vector<float> sizes = {0.5F, 3};
  const std::vector<std::int64_t> age = {41};
  builder.add_floats("sizes", sizes);
  builder.add_int64s("age", age);
  const RecordPreview preview = preview_of(builder);
  EXPECT_THAT(preview.texts, ElementsAre(Pair("text", "a text"), Pair("words", "a, b")));
  EXPECT_THAT(preview.thumbnails, ElementsAre(Pair("photo", testing::Not(IsEmpty()))));
  EXPECT_THAT(preview.numbers, ElementsAre(Pair("age", "41"), Pair("sizes", "0.5, 3")));
}

TEST(RecordPreview, NamesTheValuesOfAVocabulary) {
  ExampleBuilder builder;
  const std::vector<std::int64_t> kind = {1}, tags = {1, 0, 1};
  builder.add_int64s("kind", kind);
  builder.add_int64s("tags", tags);
  EXPECT_THAT(preview_of(builder).numbers, ElementsAre(Pair("kind", "coffee"), Pair("tags", "hot, sweet")));
  const std::vector<std::int64_t> unknown = {7}, negative = {-1};
  builder.add_int64s("kind", unknown);
  builder.add_int64s("tags", negative);
  EXPECT_THAT(preview_of(builder).numbers, ElementsAre(Pair("kind", "7"), Pair("tags", "-1")));
}

TEST(RecordPreview, KeepsItsLimits) {
  ExampleBuilder builder;
  const std::string text(1000, 'x');
  const std::vector<std::string> names = {"a", "b", "c"};
  for (const std::string& name : names) builder.add_bytes(name, as_bytes(text));
  const std::vector<float> vector(17);
  builder.add_floats("vector", vector);
  const RecordPreview preview = preview_of(builder, {.texts = 2, .text_bytes = 10, .numbers = 3});
  EXPECT_THAT(preview.texts, ElementsAre(Pair("a", "xxxxxxxxxx…"), Pair("b", "xxxxxxxxxx…")));
  EXPECT_THAT(preview.numbers, IsEmpty()) << "too long to read";
}

TEST(RecordPreview, ShowsATextWithABadByteAndNoOtherBytes) {
  ExampleBuilder builder;
  builder.add_bytes("text", as_bytes("all but one byte \xff is right"));
  const std::string other("\x01\xff\xfe\x80\xff\xff", 6);
  builder.add_bytes("other", as_bytes(other));
  const RecordPreview preview = preview_of(builder);
  ASSERT_THAT(preview.texts, SizeIs(1));
  EXPECT_THAT(preview.texts[0], Pair("text", EndsWith("\xef\xbf\xbd is right")));
}

TEST(RecordPreview, RefusesWhatIsNoExample) {
  const auto preview = preview_record(as_bytes("no example"), {}, kAll);
  ASSERT_FALSE(preview);
  EXPECT_EQ(preview.error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace headrace
