#include "headrace/cli/servers/serve/configured_models.h"

#include <gmock/gmock.h>

#include <thread>

#include "headrace/base/text.h"
#include "headrace/cli/servers/serve/models_status.h"
#include "headrace/serve/live_model/test_model_test.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

// Models whose place begins with "late" are loaded when the test says so.
class ConfiguredModelsTest : public testing::Test {
 protected:
  void begin(const ServingConfiguration& first) {
    models.emplace(
        served,
        ConfiguredModelsParts{.start =
                                  [this](const std::string& name, const ModelConfiguration& model) {
                                    started.push_back(concat(name, " ", model.place));
                                    if (are_threads_refused)
                                      throw std::system_error(EAGAIN, std::generic_category());
                                    const bool is_late = model.place.starts_with("late");
                                    return start_test_model(name, {1, 2}, is_late ? gate : nullptr);
                                  },
                              .remark = [this](const std::string& text) { remarks.push_back(text); },
                              .drain_max = milliseconds(1)},
        first);
  }
  static ServingConfiguration of(std::map<std::string, std::string> places) {
    ServingConfiguration out;
    for (const auto& [name, place] : places) out.models[name].place = place;
    return out;
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& [name, live] : served.all()) out.push_back(name);
    return out;
  }
  template <typename Condition>
  void attend_until(Condition condition) {
    for (int i = 0; i < 20'000 && !condition(); ++i) {
      models->attend();
      std::this_thread::sleep_for(milliseconds(1));
    }
    ASSERT_TRUE(condition());
  }

  std::shared_ptr<std::atomic<bool>> gate = std::make_shared<std::atomic<bool>>(false);
  bool are_threads_refused = false;
  std::vector<std::string> started;
  std::vector<std::string> remarks;
  ServedModels served;
  std::optional<ConfiguredModels> models;
};

TEST_F(ConfiguredModelsTest, ModelsOfTheBeginningAreFoundAtOnce) {
  begin(of({{"a", "late"}, {"b", "place"}}));
  EXPECT_THAT(names(), ElementsAre("a", "b"));
  EXPECT_FALSE(served.are_ready());
  *gate = true;
  attend_until([&] { return served.are_ready(); });
}

TEST_F(ConfiguredModelsTest, AnAddedModelIsFoundOnceItIsReadyAndUnsettlesNobody) {
  begin(of({{"a", "place"}}));
  attend_until([&] { return served.are_ready(); });
  const auto entry = *served.find("a");
  models->change_to(of({{"a", "place"}, {"b", "late"}}));
  models->attend();
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_TRUE(served.are_ready());
  EXPECT_TRUE(served.table()->coming.contains("b"));
  *gate = true;
  attend_until([&] { return names().size() == 2; });
  EXPECT_TRUE(served.table()->coming.empty());
  EXPECT_EQ(*served.find("a"), entry) << "it has not changed";
  EXPECT_THAT(started, ElementsAre("a place", "b late"));
}

TEST_F(ConfiguredModelsTest, ARemovedModelAnswersThoseWhoHoldItAndIsEndedThen) {
  begin(of({{"a", "place"}, {"b", "place"}}));
  attend_until([&] { return served.are_ready(); });
  auto held = *served.find("b");
  const std::weak_ptr<LiveModel> live = held->live;
  models->change_to(of({{"a", "place"}}));
  EXPECT_EQ(served.find("b").error().code, Code::kNotFound);
  models->attend();
  EXPECT_FALSE(live.expired());
  EXPECT_TRUE(held->live->find({}, {})) << "its time is not over";
  held = nullptr;
  attend_until([&] { return live.expired(); });
}

TEST_F(ConfiguredModelsTest, ARemovedModelThatIsHeldForTooLongIsStopped) {
  begin(of({{"a", "place"}, {"b", "place"}}));
  attend_until([&] { return served.are_ready(); });
  const auto held = *served.find("b");
  models->change_to(of({{"a", "place"}}));
  attend_until([&] { return !held->live->find({}, {}); });
}

TEST_F(ConfiguredModelsTest, AModelThatIsLoadedAnewTakesThePlaceOfTheOldOneWhenItIsReady) {
  begin(of({{"a", "place"}}));
  attend_until([&] { return served.are_ready(); });
  const auto before = (*served.find("a"))->live.get();
  models->change_to(of({{"a", "late one"}}));
  models->attend();
  EXPECT_EQ((*served.find("a"))->live.get(), before);
  models->change_to(of({{"a", "late two"}}));
  *gate = true;
  attend_until([&] { return (*served.find("a"))->live.get() != before; });
  EXPECT_THAT(started, ElementsAre("a place", "a late one", "a late two"));
}

TEST_F(ConfiguredModelsTest, ACanaryGoesOnWhenItsModelIsLoadedAnewFromTheSamePlace) {
  ServingConfiguration configuration = of({{"a", "place"}});
  configuration.models["a"].canary = CanaryOptions{.version = std::uint64_t{7}, .weight = 5};
  begin(configuration);
  attend_until([&] { return served.are_ready(); });
  const std::shared_ptr<Canary> canary = (*served.find("a"))->canary;
  const auto load_anew = [&] {
    const auto before = (*served.find("a"))->live.get();
    models->change_to(configuration);
    attend_until([&] { return (*served.find("a"))->live.get() != before; });
  };
  configuration.models["a"].lanes = 3;
  load_anew();
  EXPECT_EQ((*served.find("a"))->canary, canary) << "so that one that is withdrawn stays withdrawn";
  configuration.models["a"].place = "elsewhere";
  load_anew();
  EXPECT_NE((*served.find("a"))->canary, canary);
}

TEST_F(ConfiguredModelsTest, AChangeThatIsTakenBackLeavesTheModelAsItWas) {
  begin(of({{"a", "place"}}));
  attend_until([&] { return served.are_ready(); });
  const auto before = *served.find("a");
  models->change_to(of({{"a", "late"}}));
  models->change_to(of({{"a", "place"}}));
  *gate = true;
  models->attend();
  EXPECT_TRUE(served.table()->coming.empty());
  EXPECT_EQ(*served.find("a"), before);
}

TEST_F(ConfiguredModelsTest, DeadlinesAndCanariesChangeWithoutALoad) {
  ServingConfiguration configuration = of({{"a", "place"}});
  configuration.models["a"].canary =
      CanaryOptions{.version = 2U, .weight = 5, .max_error_rate = 0, .min_requests = 1};
  begin(configuration);
  attend_until([&] { return served.are_ready(); });
  const LiveModel* const live = (*served.find("a"))->live.get();
  (*served.find("a"))->canary->begin(2).finish(CanaryRequest::Outcome::kFailed);
  EXPECT_EQ(models_json(served)["a"]["canary"]["state"], "withdrawn");
  const auto withdrawals = models->take_withdrawals();
  ASSERT_EQ(withdrawals.size(), 1U);
  EXPECT_EQ(withdrawals[0].version, VersionName(2U));
  EXPECT_THAT(withdrawals[0].reason, HasSubstr("1 of 1 requests failed"));
  EXPECT_TRUE(models->take_withdrawals().empty()) << "it is told once";

  configuration.models["a"].deadline = milliseconds(7);
  models->change_to(configuration);
  EXPECT_EQ((*served.find("a"))->deadline, milliseconds(7));
  EXPECT_TRUE((*served.find("a"))->canary->counts().withdrawn) << "its own section has not changed";

  configuration.models["a"].canary->weight = 6;
  models->change_to(configuration);
  EXPECT_FALSE((*served.find("a"))->canary->counts().withdrawn);
  EXPECT_EQ(models_json(served)["a"]["canary"]["state"], "in force");
  configuration.models["a"].canary.reset();
  models->change_to(configuration);
  EXPECT_EQ((*served.find("a"))->canary, nullptr);
  EXPECT_EQ((*served.find("a"))->live.get(), live);
  EXPECT_THAT(started, ElementsAre("a place"));
}

TEST_F(ConfiguredModelsTest, ACanaryIsRolledBackAtOnceAlsoWhileAnotherModelIsAwaited) {
  ServingConfiguration configuration = of({{"a", "place"}});
  configuration.models["a"].canary = CanaryOptions{.version = 2U, .weight = kFullShare};
  begin(configuration);
  attend_until([&] { return served.are_ready(); });
  const LiveModel* const live = (*served.find("a"))->live.get();
  configuration.models["a"].place = "late";
  models->change_to(configuration);
  models->attend();
  EXPECT_TRUE((*served.find("a"))->canary->draws({}));

  configuration.models["a"].canary->weight = 0;
  configuration.models["a"].deadline = milliseconds(7);
  models->change_to(configuration);
  EXPECT_FALSE((*served.find("a"))->canary->draws({}));
  EXPECT_EQ((*served.find("a"))->deadline, milliseconds(7));
  EXPECT_EQ((*served.find("a"))->live.get(), live);
  configuration.models["a"].canary.reset();
  models->change_to(configuration);
  EXPECT_EQ((*served.find("a"))->canary, nullptr);

  *gate = true;
  attend_until([&] { return (*served.find("a"))->live.get() != live; });
  EXPECT_EQ((*served.find("a"))->canary, nullptr);
  EXPECT_EQ((*served.find("a"))->deadline, milliseconds(7));
  EXPECT_THAT(started, ElementsAre("a place", "a late"));
}

TEST_F(ConfiguredModelsTest, AVersionOfAReleaseThatCannotComeIsToldOnce) {
  ServingConfiguration configuration = of({{"a", "late"}});
  configuration.models["a"].canary = CanaryOptions{.version = 2U};
  configuration.models["a"].shadow = ShadowOptions{.version = 3U};
  begin(configuration);
  models->remark_absent_versions();
  EXPECT_TRUE(remarks.empty()) << "the model is not ready";
  *gate = true;
  attend_until(
      [&] { return served.are_ready() && models_json(served)["a"]["canary"]["state"] == "in force"; });
  models->remark_absent_versions();
  models->remark_absent_versions();
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("gets no requests: the model a has no version 3")));
  EXPECT_EQ(models_json(served)["a"]["shadow"]["state"], "no such version");

  configuration.models["a"].canary->version = std::string("candidat");
  configuration.models["a"].shadow->version = 1U;
  models->change_to(configuration);
  models->remark_absent_versions();
  models->remark_absent_versions();
  EXPECT_THAT(remarks, ElementsAre(testing::_, HasSubstr("has changed"), HasSubstr("no label candidat")));
  EXPECT_EQ(models_json(served)["a"]["canary"]["state"], "no such version");
  EXPECT_EQ(models_json(served)["a"]["shadow"]["state"], "in force");
}

TEST_F(ConfiguredModelsTest, AModelForWhichTheSystemRefusesAThreadCostsNobodyElse) {
  begin(of({{"a", "place"}}));
  attend_until([&] { return served.are_ready(); });
  are_threads_refused = true;
  models->change_to(of({{"a", "place"}, {"b", "place"}}));
  models->attend();
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_THAT(remarks.back(), HasSubstr("b: cannot start a thread, and will try again"));
  are_threads_refused = false;
  models->change_to(of({{"a", "place"}, {"b", "other place"}}));
  attend_until([&] { return names().size() == 2; });
}

TEST_F(ConfiguredModelsTest, OperatorsSeeTheStateOfTheConfiguration) {
  begin(of({{"a", "place"}}));
  EXPECT_FALSE(models_json(served).contains("/configuration"));
  models->set_status({.place = "s3://b/serving.toml", .problem = "line 3 is wrong"});
  EXPECT_EQ(models_json(served)["/configuration"]["problem"], "line 3 is wrong");
  EXPECT_THAT(release_metrics(served), HasSubstr("headrace_serve_configuration_is_current 0\n"));
  models->set_status({.place = "s3://b/serving.toml", .changes = 2});
  EXPECT_THAT(release_metrics(served), HasSubstr("headrace_serve_configuration_is_current 1\n"));
  EXPECT_THAT(release_metrics(served), HasSubstr("headrace_serve_configuration_changes_total 2\n"));
}

}  // namespace
}  // namespace headrace
