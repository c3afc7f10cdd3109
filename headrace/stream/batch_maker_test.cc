#include "headrace/stream/batch_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace headrace {
namespace {

std::string text_of(std::size_t size, std::mt19937& random) {
  std::string text(size, ' ');
  for (char& letter : text) letter = static_cast<char>('a' + random() % 26);
  return text;
}

// Sizes around every boundary of the ways to copy, each after what puts it at another alignment.
TEST(BatchMaker, GathersStringsOfEverySize) {
  constexpr std::size_t kLarge = 32 << 10;
  std::mt19937 random(1);
  std::vector<std::string> texts;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kLarge - 1, kLarge, kLarge + 1, kLarge + 63, kLarge + 64,
        std::size_t{7}, 3 * kLarge + 17, std::size_t{100}, kLarge + 130}) {
    texts.push_back(text_of(size, random));
  }
  const std::vector<Column> columns = {{.name = "text", .type = DataType::kBytes, .length = 1}};
  std::vector<Bytes> records(texts.size());
  std::vector<Window::Place> places;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ExampleBuilder builder;
    builder.add_bytes("text", as_bytes(texts[i]));
    builder.append_to(records[i]);
    places.push_back({.data = records[i]});
  }
  PictureMemory pictures(0);
  auto maker = BatchMaker::create({.columns = columns}, pictures);
  ASSERT_TRUE(maker);
  const auto pool = BatchPool::create(batch_columns(columns, {}), texts.size());
  const auto make = [&] {
    Batch batch = pool->take();
    EXPECT_TRUE(maker->make({.places = places,
                             .find = [](std::uint64_t) { return std::nullopt; },
                             .describe = [](std::size_t) { return std::string(); }},
                            batch));
    const ColumnData data = batch.data(0);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto* bytes = reinterpret_cast<const char*>(data.values);
      const std::string found(bytes + data.byte_offsets[i], bytes + data.byte_offsets[i + 1]);
      EXPECT_TRUE(found == texts[i]) << "string " << i;
    }
    return data.values;
  };
  const std::byte* first = make();
  EXPECT_EQ(make(), first) << "the memory is used again";
  // More than there was room for.
  texts.back() = text_of(40 * kLarge, random);
  ExampleBuilder builder;
  builder.add_bytes("text", as_bytes(texts.back()));
  records.back().clear();
  builder.append_to(records.back());
  places.back() = {.data = records.back()};
  make();
}

}  // namespace
}  // namespace headrace
