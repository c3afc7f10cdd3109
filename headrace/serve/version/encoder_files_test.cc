#include "headrace/serve/version/encoder_files.h"

#include <gtest/gtest.h>

#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

TEST(EncoderFiles, AllObjectsBelongToTheEncoder) {
  const std::shared_ptr<Store> store = make_memory_store("models");
  const Location folder{store, "use"};
  const auto nothing = find_encoder_files(folder, {});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Code::kNotFound);

  ASSERT_TRUE(store->write("other/notes.txt", as_bytes("n"), {}));
  const auto other = find_encoder_files({store, "other"}, {});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kInvalidArgument);

  ASSERT_TRUE(store->write("use/saved_model.pb", as_bytes("graph"), {}));
  ASSERT_TRUE(store->write("use/notes.txt", as_bytes("n"), {}));
  ASSERT_TRUE(store->write("user", as_bytes("not below it"), {}));
  const auto found = find_encoder_files(folder, {});
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ((*found)->files.size(), 2U);
  EXPECT_EQ((*found)->files[0].name, "notes.txt");
  EXPECT_EQ((*found)->files[1].key, "use/saved_model.pb");
  EXPECT_EQ((*found)->size_bytes, 6U);

  const auto again = find_encoder_files(folder, {});
  ASSERT_TRUE(store->write("use/notes.txt", as_bytes("m"), {}));
  const auto changed = find_encoder_files(folder, {});
  ASSERT_TRUE(again && changed);
  EXPECT_EQ((*again)->digest, (*found)->digest);
  EXPECT_NE((*changed)->digest, (*found)->digest);
}

}  // namespace
}  // namespace headrace
