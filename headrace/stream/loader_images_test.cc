#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "headrace/stream/small_dataset_test.h"
#include "headrace/stream/small_images_test.h"

namespace headrace::loader_images_test {
namespace {

using testing::HasSubstr;

constexpr ImageSize kSize = {.width = 8, .height = 6};
constexpr std::uint64_t kRecords = 21;

Bytes encoded_image(std::uint64_t number) {
  const auto more = static_cast<std::uint32_t>(number);
  const Image picture = striped_picture({10 + more, 40 - more}, 3, number);
  return number % 2 == 0 ? png_of(picture) : jpeg_of(picture);
}

// The rows of a batch, one after another: their weights and the bytes of all columns.
using Rows = std::vector<std::string>;

class LoaderImagesTest : public LoaderTest {
 protected:
  // Records with an image, a second copy of it, the number of the record, and (number modulo 3) tags.
  void write(const std::map<std::uint64_t, Bytes>& others = {}, std::uint64_t count = kRecords) {
    Bytes data;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto other = others.find(i);
      const Bytes image = other == others.end() ? encoded_image(i) : other->second;
      const std::vector<std::int64_t> number = {static_cast<std::int64_t>(i)};
      const std::vector<std::int64_t> tags(i % 3, number[0]);
      ExampleBuilder builder;
      builder.add_int64s("number", number);
      builder.add_int64s("tags", tags);
      builder.add_bytes("image", image);
      builder.add_bytes("copy", image);
      Bytes record;
      builder.append_to(record);
      append_record(data, record);
    }
    ASSERT_TRUE(store->write("data/a", data, {}));
  }

  static LoaderOptions image_options() {
    LoaderOptions with;
    with.columns = {{.name = "image", .type = DataType::kBytes, .length = 1},
                    {.name = "number", .type = DataType::kInt64, .length = 1},
                    {.name = "tags", .type = DataType::kInt64}};
    with.images.columns = {{"image", {.size = kSize}}};
    with.shuffle = ShuffleMode::kNone;
    with.batch_size = 8;
    with.seed = 44;
    return with;
  }

  static Rows rows_of(const Batch& batch) {
    Rows rows;
    const ColumnData tags = batch.data(2);
    const std::uint64_t image_bytes = batch.data(0).value_count / batch.rows;
    for (std::size_t row = 0; row < batch.rows; ++row) {
      const auto* image = reinterpret_cast<const char*>(batch.column(0));
      std::string text(image + row * image_bytes, image_bytes);
      text += concat(" weight ", batch.weights()[row], " record ",
                     reinterpret_cast<const std::int64_t*>(batch.column(1))[row], " tags");
      for (std::int64_t i = tags.row_offsets[row]; i < tags.row_offsets[row + 1]; ++i)
        text += concat(" ", reinterpret_cast<const std::int64_t*>(tags.values)[i]);
      rows.push_back(std::move(text));
    }
    return rows;
  }

  // All batches of all ranks.
  std::vector<Rows> read(LoaderOptions with, std::uint64_t world_size = 1) {
    std::vector<Rows> batches;
    with.world_size = world_size;
    for (with.rank = 0; with.rank < world_size; ++with.rank) {
      auto loader = make_loader(open(with.on_corrupt), with);
      EXPECT_TRUE(loader) << loader.error().message;
      for (std::size_t b = 0; loader; ++b) {
        const auto batch = (*loader)->next();
        EXPECT_TRUE(batch) << batch.error().message;
        if (!batch || !*batch) break;
        if (b == batches.size()) batches.emplace_back();
        const Rows rows = rows_of(**batch);
        batches[b].insert(batches[b].end(), rows.begin(), rows.end());
      }
    }
    return batches;
  }

  std::string error_of(const LoaderOptions& with) {
    const auto loader = make_loader(open(), with);
    if (!loader) return loader.error().message;
    while (true) {
      const auto batch = (*loader)->next();
      if (!batch) return batch.error().message;
      if (!*batch) return "no error";
    }
  }
};

TEST_F(LoaderImagesTest, RowsAreDecodedAndResized) {
  write();
  for (const bool is_float : {false, true}) {
    LoaderOptions with = image_options();
    with.images.columns.at("image").is_float = is_float;
    auto loader = make_loader(open(), with);
    ASSERT_TRUE(loader) << loader.error().message;
    for (std::uint64_t i = 0; i < 16; i += 8) {
      const auto batch = (*loader)->next();
      ASSERT_TRUE(batch) << batch.error().message;
      const ColumnData image = (*batch)->data(0);
      ASSERT_EQ(image.value_count, 8U * 8 * 6 * 3);
      for (std::uint64_t row = 0; row < 8; ++row) {
        const auto expected = resized_picture(encoded_image(i + row), with.images.columns.at("image"));
        for (std::size_t s = 0; s < expected.size(); ++s) {
          const std::size_t at = row * expected.size() + s;
          const float found = is_float ? reinterpret_cast<const float*>(image.values)[at]
                                       : static_cast<float>(std::to_integer<int>(image.values[at]));
          EXPECT_NEAR(found, expected[s], is_float ? 0.52 : 0);
        }
      }
    }
  }
}

TEST_F(LoaderImagesTest, BatchesAreTheSameForAnyRanksThreadsAndPlaceToBegin) {
  write({{3, to_bytes("no image")}, {16, {}}});
  LoaderOptions with = image_options();
  with.shuffle = ShuffleMode::kExact;
  with.epochs = 3;
  with.on_corrupt = CorruptionPolicy::kSkipRecord;
  with.images.augmentations = {Flip{}, Crop{{5, 4}}, Brightness{0.2F}, Contrast{0.5F, 1.5F}};
  const std::vector<Rows> whole = read(with);
  ASSERT_EQ(whole.size(), 9U);
  for (const int threads : {1, 4}) {
    with.threads = threads;
    for (const std::uint64_t world_size : {1, 2, 3, 8}) EXPECT_EQ(read(with, world_size), whole);
  }
  with.first_epoch = 1, with.first_batch = 2;
  EXPECT_EQ(read(with, 2), std::vector<Rows>(whole.begin() + 5, whole.end()));
}

TEST_F(LoaderImagesTest, EachEpochDrawsAnew) {
  write();
  LoaderOptions with = image_options();
  with.batch_size = kRecords;
  with.epochs = 8;
  with.images.augmentations = {Crop{{5, 4}}};
  const std::vector<Rows> epochs = read(with);
  std::set<std::string> first_rows;
  for (const Rows& epoch : epochs) first_rows.insert(epoch[0]);
  EXPECT_GE(first_rows.size(), 4U) << "of 12 places of the crop";
  with.seed = 45;
  EXPECT_NE(read(with), epochs);
}

TEST_F(LoaderImagesTest, AllImagesOfARecordAreChangedAlike) {
  write();
  LoaderOptions with = image_options();
  with.columns.push_back({.name = "copy", .type = DataType::kBytes, .length = 1});
  with.images.columns["copy"] = {.size = kSize};
  with.images.augmentations = {Crop{{5, 4}}, Flip{}};
  auto loader = make_loader(open(), with);
  const auto batch = (*loader)->next();
  ASSERT_TRUE(batch) << batch.error().message;
  const ColumnData image = (*batch)->data(0), copy = (*batch)->data(3);
  ASSERT_EQ(image.value_count, 8U * 5 * 4 * 3);
  EXPECT_TRUE(std::equal(image.values, image.values + image.value_count, copy.values));
}

TEST_F(LoaderImagesTest, ABadImageIsAnErrorThatNamesTheRecord) {
  const Bytes jpeg = encoded_image(1);
  Bytes lying = jpeg;
  const Bytes mark = {std::byte{0xff}, std::byte{0xc0}};
  const auto frame = std::search(lying.begin(), lying.end(), mark.begin(), mark.end());
  frame[5] = frame[7] = std::byte{0xff};  // 65,000 × 65,000
  const std::map<std::string, Bytes> bad = {{"truncated", Bytes(jpeg.begin(), jpeg.end() - 20)},
                                            {"not an image", to_bytes("text")},
                                            {"it is a GIF", to_bytes("GIF89a and so on")},
                                            {"", {}},
                                            {"the limit is 100000000 pixels", lying}};
  for (const auto& [message, image] : bad) {
    write({{2, image}});
    const std::string found = error_of(image_options());
    EXPECT_THAT(found, HasSubstr("record 2, at byte"));
    EXPECT_THAT(found, HasSubstr("of memory://test/data/a: feature \"image\": "));
    EXPECT_THAT(found, HasSubstr(message));
    EXPECT_THAT(found, HasSubstr("; replace the image, or leave such records out with --on-corrupt"));
  }
}

TEST_F(LoaderImagesTest, BadImagesAreHolesWhereRecordsAreSkipped) {
  write();
  LoaderOptions with = image_options();
  with.on_corrupt = CorruptionPolicy::kSkipRecord;
  const std::vector<Rows> good = read(with);
  const Bytes jpeg = encoded_image(1);
  write({{0, {}}, {1, to_bytes("text")}, {5, Bytes(jpeg.begin(), jpeg.end() - 20)}, {20, {}}});
  std::vector<Rows> expected = good;
  const auto hole_of = [](std::string row) { return row.replace(row.find(" weight 1"), 9, " weight 0"); };
  // Each hole repeats the first good record of its batch, tags included.
  for (const std::size_t row : {0, 1, 5}) expected[0][row] = hole_of(good[0][2]);
  expected[2][4] = hole_of(good[2][0]);
  EXPECT_EQ(read(with), expected);
  auto loader = make_loader(open(), with);
  while (*(*loader)->next()) continue;
  EXPECT_EQ((*loader)->stats().corrupt_records, 4U);
  ASSERT_EQ((*loader)->remarks().size(), 4U);
  EXPECT_THAT((*loader)->remarks(), testing::Contains(HasSubstr("it is not an image")));
}

TEST_F(LoaderImagesTest, ABatchWithoutAGoodImageIsZeros) {
  write({{0, {}}, {1, {}}, {2, {}}}, 3);
  LoaderOptions with = image_options();
  with.batch_size = 3;
  with.on_corrupt = CorruptionPolicy::kSkipRecord;
  const std::vector<Rows> batches = read(with);
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0], Rows(3, std::string(8 * 6 * 3, '\0') + " weight 0 record 0 tags"));
}

TEST_F(LoaderImagesTest, LargePicturesTakeTurns) {
  std::map<std::uint64_t, Bytes> large;
  for (std::uint64_t i = 0; i < 6; ++i) large[i] = jpeg_of(striped_picture({1200, 1000}, 1, i));
  write(large, 6);
  LoaderOptions with = image_options();
  with.batch_size = 1;
  with.threads = 4;
  with.epochs = 2;
  EXPECT_EQ(read(with).size(), 12U);
}

TEST_F(LoaderImagesTest, ThePublishedSchemaSaysWhatMayBeAnImage) {
  publish({16}, 4);
  LoaderOptions with = image_options();
  with.columns = {{.name = "x", .type = DataType::kBytes, .length = 1}};
  with.images.columns = {{"x", {.size = kSize}}};
  EXPECT_THAT(error_of(with), HasSubstr("x is wanted as bytes, but in memory://test/data x is float32[8]"));
  with.columns[0].name = "text";
  with.images.columns = {{"text", {.size = kSize}}};
  EXPECT_THAT(error_of(with),
              HasSubstr("record 0, at byte 0 uncompressed, of memory://test/data/train-00000: feature "
                        "\"text\": it is not an image"));
}

TEST_F(LoaderImagesTest, WhatCannotBeIsRefused) {
  write();
  const auto refused = [&](auto change) {
    LoaderOptions with = image_options();
    change(with);
    return error_of(with);
  };
  EXPECT_THAT(refused([](auto& with) { with.images.columns["x"] = {.size = kSize}; }),
              HasSubstr("image column x: there is no such column"));
  EXPECT_THAT(refused([](auto& with) { with.columns[0].length.reset(); }),
              HasSubstr("image column image: an image is one byte string"));
  EXPECT_THAT(refused([](auto& with) { with.images.columns["image"].size.width = 0; }),
              HasSubstr("an image cannot have 6 × 0 pixels"));
  EXPECT_THAT(refused([](auto& with) { with.images.columns["image"].channels = 5; }),
              HasSubstr("1 to 4 channels"));
  EXPECT_THAT(refused([](auto& with) { with.images.columns.clear(), with.images.augmentations = {Flip{}}; }),
              HasSubstr("no image column to augment"));
  EXPECT_THAT(
      refused([](auto& with) {
        with.images.augmentations = {Crop{{5, 5}}, Crop{{6, 5}}};
      }),
      HasSubstr("image column image: a crop of 5 × 6 of an image of 5 × 5 pixels: make the crop smaller"));
  EXPECT_THAT(refused([](auto& with) { with.images.augmentations = {Brightness{-1}}; }),
              HasSubstr("a brightness of -1"));
  EXPECT_THAT(refused([](auto& with) {
                with.images.augmentations = {Contrast{2, 1}};
              }),
              HasSubstr("a contrast from 2 to 1"));
  EXPECT_THAT(refused([](auto& with) { with.memory_budget_bytes = 70 << 20; }),
              HasSubstr("and decoding images needs 83.9 MB, but the memory budget is 73.4 MB"));
}

}  // namespace
}  // namespace headrace::loader_images_test
