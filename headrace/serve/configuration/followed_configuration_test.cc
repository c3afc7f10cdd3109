#include "headrace/serve/configuration/followed_configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string model_text(std::string_view name) {
  return concat("[models.", name, "]\nplace = \"s3://b/m\"\n");
}

class FollowedConfigurationTest : public testing::Test {
 protected:
  void write(std::string_view text) { ASSERT_TRUE(write_text(*store, "serving.toml", text)); }
  Result<FollowedConfiguration> open() {
    return FollowedConfiguration::open({.store = store, .key = "serving.toml"},
                                       [this](std::string_view text, std::string_view source) {
                                         ++parses;
                                         return parse_serving_configuration(
                                             text, source, {}, [](const std::string&) { return Status(); });
                                       },
                                       {});
  }
  static std::string names(const FollowedConfiguration& followed) {
    std::string out;
    for (const auto& [name, model] : followed.current().models) out += concat(name, " ");
    return out;
  }

  std::shared_ptr<Store> store = make_memory_store("test");
  int parses = 0;
};

TEST_F(FollowedConfigurationTest, AChangeCountsAtTheSecondLook) {
  write(model_text("a"));
  auto followed = open();
  ASSERT_TRUE(followed) << followed.error().message;
  EXPECT_EQ(names(*followed), "a ");
  EXPECT_FALSE(*followed->poll({}));
  write(model_text("b"));
  EXPECT_FALSE(*followed->poll({}));
  EXPECT_TRUE(followed->is_settling());
  EXPECT_EQ(names(*followed), "a ");
  EXPECT_TRUE(*followed->poll({}));
  EXPECT_FALSE(followed->is_settling());
  EXPECT_EQ(names(*followed), "b ");
  EXPECT_FALSE(*followed->poll({}));
  EXPECT_EQ(parses, 2);
}

TEST_F(FollowedConfigurationTest, AFileThatIsStillWrittenIsNotTakenInBetween) {
  write(model_text("a"));
  auto followed = open();
  write(model_text("b") + model_text("c"));
  EXPECT_FALSE(*followed->poll({}));
  write(model_text("b"));  // cut off, though it would parse
  EXPECT_FALSE(*followed->poll({}));
  EXPECT_TRUE(followed->is_settling());
  write(model_text("b") + model_text("d"));
  EXPECT_FALSE(*followed->poll({}));
  EXPECT_TRUE(*followed->poll({}));
  EXPECT_EQ(names(*followed), "b d ");
  EXPECT_EQ(parses, 2);
}

TEST_F(FollowedConfigurationTest, AWrongFileChangesNothingAndIsToldUntilItIsRight) {
  write(model_text("a"));
  auto followed = open();
  write("[models.b]");
  EXPECT_FALSE(*followed->poll({}));
  for (int i = 0; i < 3; ++i) {
    const auto polled = followed->poll({});
    ASSERT_FALSE(polled);
    EXPECT_THAT(polled.error().message, HasSubstr("line 1: [models.b]: place is missing"));
  }
  EXPECT_EQ(parses, 2) << "it is parsed once";
  EXPECT_EQ(names(*followed), "a ");
  write(model_text("a"));
  EXPECT_FALSE(followed->poll({})) << "not yet read a second time";
  const auto right = followed->poll({});
  ASSERT_TRUE(right);
  EXPECT_FALSE(*right) << "the same models as before";
}

TEST_F(FollowedConfigurationTest, AFileThatIsGoneChangesNothing) {
  write(model_text("a"));
  auto followed = open();
  ASSERT_TRUE(remove_object(*store, "serving.toml"));
  EXPECT_EQ(followed->poll({}).error().code, Code::kNotFound);
  EXPECT_EQ(names(*followed), "a ");
  write(model_text("b"));
  EXPECT_FALSE(*followed->poll({}));
  EXPECT_TRUE(*followed->poll({}));
}

TEST_F(FollowedConfigurationTest, ItHasToBeThereAndRightAtTheBeginning) {
  EXPECT_EQ(open().error().code, Code::kNotFound);
  write("");
  EXPECT_THAT(open().error().message, HasSubstr("no model"));
  write(std::string(kMostConfigurationBytes + 1, '#'));
  EXPECT_EQ(open().error().code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace headrace
