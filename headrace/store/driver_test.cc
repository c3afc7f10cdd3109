#include "headrace/store/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using Given = std::vector<std::pair<std::string, std::string>>;

const StoreDriver& s3() { return **StoreRegistry::driver("s3"); }

TEST(Drivers, SayAllThatIsAskedOfThem) {
  std::set<std::string_view> schemes;
  for (const StoreDriver* driver : StoreRegistry::drivers()) {
    EXPECT_TRUE(schemes.insert(driver->scheme).second) << driver->scheme << " twice";
    EXPECT_TRUE(driver->open != nullptr) << driver->scheme;
    EXPECT_FALSE(driver->summary.empty() || driver->summary.ends_with('.')) << driver->scheme;
    const auto example = StoreRegistry::parse(driver->example);
    ASSERT_TRUE(example) << example.error().message;
    EXPECT_EQ(example->scheme, driver->scheme);
    for (const Option& option : driver->options) {
      EXPECT_FALSE(option.sentence.empty()) << option.name;
      EXPECT_FALSE(option.variable.empty()) << option.name;
    }
    for (const std::string& line : split(describe_driver(*driver), '\n'))
      EXPECT_LE(line.size(), 100U) << line;
  }
  EXPECT_THAT(schemes, IsSupersetOf({"file", "memory", "s3"}));
}

TEST(Drivers, AreListedWhereASchemeIsUnknown) {
  const auto unknown = StoreRegistry(Environment{}).open("gopher://host/a");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kInvalidArgument);
  EXPECT_THAT(unknown.error().message, HasSubstr("file, memory, s3"));
}

TEST(Drivers, TellTheServerOfAStoreThatIsOpen) {
  Environment environment;
  environment.variables = {{"AWS_ACCESS_KEY_ID", "id"},
                           {"AWS_SECRET_ACCESS_KEY", "canary"},
                           {"AWS_ENDPOINT_URL", "http://minio:9000"}};
  StoreRegistry stores(environment);
  const Url url = StoreRegistry::parse("s3://bucket/key").value_or(Url());
  EXPECT_EQ(stores.server_of(url), "");
  ASSERT_TRUE(stores.open("s3://bucket"));
  EXPECT_EQ(stores.server_of(url), "http://minio:9000");
  const auto file = stores.open("file:///tmp");
  ASSERT_TRUE(file);
  EXPECT_EQ(stores.server_of(file->url), "");
  stores.put(url, file->store);  // another store, of which nothing is known
  EXPECT_EQ(stores.server_of(url), "");
}

TEST(Drivers, AreDescribedInLinesOfTheirOptionsAndVariables) {
  static constexpr Option kOptions[] = {{.name = "most-parts",
                                         .type = OptionType::kInteger,
                                         .default_value = "4",
                                         .sentence = "How many.",
                                         .minimum = 1,
                                         .maximum = 9,
                                         .variable = "X_PARTS"},
                                        {.name = "token", .sentence = "A secret.", .variable = "X_TOKEN"}};
  static constexpr DriverVariable kVariables[] = {{"X_A, X_B", "Both at once."}};
  StoreDriver driver{.scheme = "x", .example = "x://host/key", .summary = "Objects"};
  EXPECT_EQ(describe_driver(driver), "x://host/key\n  Objects.\n");
  driver.details = "First.\nSecond.";
  driver.options = kOptions;
  driver.variables = kVariables;
  EXPECT_EQ(describe_driver(driver),
            "x://host/key\n"
            "  Objects.\n"
            "\n"
            "  First.\n"
            "  Second.\n"
            "\n"
            "  Options (storage_options in Python), and the environment variable of each:\n"
            "    most_parts  X_PARTS\n"
            "      How many. Default: 4. Range: from 1 to 9.\n"
            "    token  X_TOKEN\n"
            "      A secret.\n"
            "\n"
            "  Other environment variables:\n"
            "    X_A, X_B\n"
            "      Both at once.\n");
}

TEST(Drivers, AreDescribedInLinesOfNinetySixCharacters) {
  const std::string fits(96 - 2 - 4, 'a'), exceeds = fits + "a";
  const std::string of_fits = "abc " + fits, of_exceeds = "abc " + exceeds;
  StoreDriver driver{.scheme = "x", .example = "x://", .summary = "S", .details = of_fits};
  EXPECT_EQ(describe_driver(driver), "x://\n  S.\n\n  abc " + fits + "\n");
  driver.details = of_exceeds;
  EXPECT_EQ(describe_driver(driver), "x://\n  S.\n\n  abc\n  " + exceeds + "\n");
  const std::string word(200, 'w');
  driver.details = word;
  EXPECT_EQ(describe_driver(driver), "x://\n  S.\n\n  " + word + "\n") << "a long word is not cut";
}

TEST(Drivers, CheckTheirOptionsAndMayLackThat) {
  static constexpr Option kOptions[] = {
      {.name = "part-bytes", .default_value = "7", .sentence = "Size.", .variable = "X_BYTES"}};
  StoreDriver driver{.scheme = "x", .example = "x://", .summary = "S", .options = kOptions};
  const auto without = with_options(driver, Given{}, {.variables = {{"A", "b"}}});
  ASSERT_TRUE(without);
  EXPECT_EQ(without->variables.size(), 1U) << "a default sets no variable";
  EXPECT_EQ(with_options(driver, Given{{"part-bytes", "8"}}, {})->get("X_BYTES"), "8");
  driver.check_options = [](const OptionValues& values, Environment&) -> Status {
    if (values.given("part-bytes")) return Error{Code::kInvalidArgument, "contradiction"};
    return {};
  };
  EXPECT_EQ(with_options(driver, Given{{"part-bytes", "8"}}, {}).error().message, "contradiction");
  EXPECT_TRUE(with_options(driver, Given{}, {}));
}

TEST(StoreRegistry, NamesItsSchemes) {
  const auto unknown = StoreRegistry::driver("gopher");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(
      unknown.error().message,
      testing::StartsWith("no store driver for \"gopher://\"; the schemes built in are file, memory, s3"));
  EXPECT_THAT(
      StoreRegistry::driver("https").error().message,
      testing::AllOf(testing::HasSubstr("download it first"),
                     testing::HasSubstr("a setting of its driver: headrace stores names the variable")));
  EXPECT_EQ(StoreRegistry::schemes().size(), StoreRegistry::drivers().size());
  EXPECT_TRUE((*StoreRegistry::driver("file"))->url_form.may_lack_authority);
  EXPECT_EQ(StoreRegistry::parse("gopher://host/a")->path, "a") << "which only `open` refuses";
  EXPECT_FALSE(StoreRegistry::parse("gopher:///a"));
  EXPECT_EQ(StoreRegistry::parse("/a/b")->text(), "file:///a/b");
}

TEST(Drivers, OptionsSetTheirVariables) {
  const Environment before{.variables = {{"AWS_REGION", "here"}, {"HOME", "/home/me"}}};
  const auto with = with_options(s3(), Given{{"region", "there"}, {"verify-tls", "false"}}, before);
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_EQ(with->get("AWS_REGION"), "there");
  EXPECT_EQ(with->get("S3_VERIFY_SSL"), "false");
  EXPECT_EQ(with->get("HOME"), "/home/me");
  EXPECT_EQ(with_options(s3(), Given{}, before)->variables, before.variables);
}

TEST(Drivers, RefuseOptionsThatTheyLackOrThatContradictEachOther) {
  for (const Given& wrong :
       {Given{{"regoin", "x"}}, Given{{"verify-tls", "canary"}}, Given{{"access-key-id", "canary"}},
        Given{{"secret-access-key", "canary"}}, Given{{"session-token", "canary"}},
        Given{{"access-key-id", "a"}, {"secret-access-key", "canary"}, {"anonymous", "true"}}}) {
    const auto refused = with_options(s3(), wrong, {});
    ASSERT_FALSE(refused) << wrong.front().first;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  }
  EXPECT_FALSE(with_options(**StoreRegistry::driver("memory"), Given{{"region", "x"}}, {}));
}

TEST(Drivers, KeysOfAnotherPlaceAreHiddenFromWhoIsAnonymous) {
  const Environment before{.variables = {{"AWS_ACCESS_KEY_ID", "a"}, {"AWS_SECRET_ACCESS_KEY", "b"}}};
  const auto anonymous = with_options(s3(), Given{{"anonymous", "true"}}, before);
  ASSERT_TRUE(anonymous);
  EXPECT_EQ(anonymous->get("AWS_ACCESS_KEY_ID"), std::nullopt);
  EXPECT_EQ(anonymous->get("HEADRACE_S3_ANONYMOUS"), "true");
  const auto own = with_options(s3(), Given{{"access-key-id", "c"}, {"secret-access-key", "d"}},
                                {.variables = {{"AWS_SESSION_TOKEN", "of a"}}});
  EXPECT_EQ(own->get("AWS_SESSION_TOKEN"), std::nullopt) << "it belongs to the other keys";
  EXPECT_EQ(own->get("AWS_ACCESS_KEY_ID"), "c");
}

// A store with the counters that the test gives.
class CounterStore final : public ForwardingStore {
 public:
  CounterStore(std::vector<StoreCounter> counters)
      : ForwardingStore(make_memory_store("counted")), counters_(std::move(counters)) {}
  std::vector<StoreCounter> counters() const override { return counters_; }

 private:
  const std::vector<StoreCounter> counters_;
};

TEST(StoreRegistry, AddsUpTheCountersOfOneName) {
  StoreRegistry stores{Environment()};
  stores.put({"memory", "a"}, std::make_shared<CounterStore>(std::vector<StoreCounter>{
                                  {"requests", "Sent.", 5}, {"faults", "Met.", 1}}));
  stores.put({"memory", "b"},
             std::make_shared<CounterStore>(std::vector<StoreCounter>{{"requests", "Sent.", 7}}));
  EXPECT_FALSE(stores.open("none://c"));
  EXPECT_FALSE(stores.open("memory://a")->store->counters().empty());
  const std::vector<StoreCounter> sums = stores.counters();
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].name, "requests");
  EXPECT_EQ(sums[0].help, "Sent.");
  EXPECT_EQ(sums[0].value, 12U);
  EXPECT_EQ(sums[1].name, "faults");
  EXPECT_EQ(sums[1].value, 1U);
}

TEST(StoreRegistry, OpensAStoreOnceAndWarnsOnce) {
  std::vector<std::string> warnings;
  StoreRegistry stores(Environment{.variables = {{"S3_VERIFY_SSL", "0"}, {"HEADRACE_S3_ANONYMOUS", "1"}}},
                       [&](const std::string& warning) { warnings.push_back(warning); });
  const auto a = stores.open("memory://x/a"), b = stores.open("memory://x/b"),
             other = stores.open("memory://y/a");
  ASSERT_TRUE(a && b && other);
  EXPECT_EQ(a->store, b->store);
  EXPECT_NE(a->store, other->store);
  EXPECT_EQ(b->key, "b");
  EXPECT_EQ(b->url.text(), "memory://x/b");
  EXPECT_TRUE(warnings.empty());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(stores.open("s3://bucket/a"));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], testing::StartsWith("s3://bucket"));
}

TEST(FileDriver, ExaminesTheDiskOfAFolderAndRefusesOneThatIsNotThere) {
  std::vector<Finding> found;
  const StoreDriver& file = **StoreRegistry::driver("file");
  const auto examine = [&](std::string_view url) {
    return file.examine(*StoreRegistry::parse(url), {}, {},
                        [&](const Finding& finding) { found.push_back(finding); });
  };
  EXPECT_TRUE(examine("file:///proc/self"));
  EXPECT_FALSE(examine("file:///proc/self/none/below"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "disk");
  EXPECT_EQ(found[0].outcome, Finding::Outcome::kOk);
  EXPECT_THAT(found[0].text, testing::EndsWith(" at /proc/self"));
  EXPECT_EQ(found[1].outcome, Finding::Outcome::kFailure);
  EXPECT_EQ(found[1].text, "/proc/self/none/below does not exist");
  EXPECT_EQ(found[1].advice, "create it, or correct the URL");
}

TEST(StoreRegistry, ANameWithoutSchemeIsOfTheWorkingFolder) {
  StoreRegistry stores{Environment{}};
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(stores.parse("some/folder")->text(), concat("file://", here, "/some/folder"));
  EXPECT_EQ(stores.parse("/some/folder")->text(), "file:///some/folder");
  EXPECT_EQ(stores.parse("memory://a/b")->text(), "memory://a/b");
  EXPECT_EQ(stores.parse("./s3:/b/o")->text(), concat("file://", here, "/s3:/b/o"));
  for (const char* misspelt : {"s3:/b/o", "s3//b/o", "memory:/a", "file:/a"})
    EXPECT_EQ(stores.parse(misspelt).error().code, Code::kInvalidArgument) << misspelt;
}

}  // namespace
}  // namespace headrace
