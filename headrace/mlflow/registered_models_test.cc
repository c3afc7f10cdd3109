#include "headrace/mlflow/registered_models.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"
#include "headrace/store/registry.h"
#include "headrace/track/mlflow_states.h"

namespace headrace::mlflow {
namespace {

// Calls something before a write, and can become unavailable.
class WatchedStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    if (const auto before = take()) before();
    if (writes_left.fetch_sub(1) <= 0) return Error{Code::kUnavailable, "out of reach"};
    return ForwardingStore::write(key, data, options);
  }
  std::atomic<int> writes_left = 1'000'000;  // then the store is out of reach
  // Once.
  void before_next_write(std::function<void()> call) {
    const std::scoped_lock lock(mutex_);
    before_write_ = std::move(call);
  }

 private:
  std::function<void()> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(before_write_, nullptr);
  }

  std::mutex mutex_;
  std::function<void()> before_write_;
};

// A process that has the registry open.
class RegistryUser {
 public:
  RegistryUser(const Location& root, std::string artifacts)
      : experiments_(root, clock()),
        logged_models_(root, experiments_, clock(), ignore),
        registry_(root, logged_models_, std::move(artifacts), clock(), ignore) {}

  Result<Json> ask(std::string_view route, Json fields) {
    const auto call = RegisteredModels::calls().at(
        concat(route.substr(0, route.find(' ')), " mlflow/", route.substr(route.find(' ') + 1)));
    return (registry_.*call)(RequestFields(std::move(fields)), {});
  }
  Json good(std::string_view route, Json fields) {
    auto answer = ask(route, std::move(fields));
    EXPECT_TRUE(answer) << route << ": " << answer.error().message;
    return answer ? *std::move(answer) : Json();
  }
  Code code(std::string_view route, Json fields) {
    const auto answer = ask(route, std::move(fields));
    EXPECT_FALSE(answer) << route;
    return answer ? Code::kUnknown : answer.error().code;
  }
  void create(const std::string& name) { good("POST registered-models/create", {{"name", name}}); }
  std::string create_version(const std::string& name, const std::string& source = "s3://a/b") {
    return good("POST model-versions/create", {{"name", name}, {"source", source}})["model_version"]
        .get<std::string>("version");
  }
  Json model(const std::string& name) {
    return good("GET registered-models/get", {{"name", name}})["registered_model"];
  }
  Json version(const std::string& name, std::string_view number) {
    return good("GET model-versions/get", {{"name", name}, {"version", number}})["model_version"];
  }
  std::vector<std::string> found(std::string_view route, Json fields, std::string_view list,
                                 std::string_view key) {
    std::vector<std::string> out;
    const Json answer = good(route, std::move(fields));
    for (const Json& each : answer[list].values()) out.push_back(each.get<std::string>(key));
    return out;
  }
  std::vector<std::string> models(const std::string& filter, Json order = Json::array()) {
    return found("GET registered-models/search", {{"filter", filter}, {"order_by", std::move(order)}},
                 "registered_models", "name");
  }
  std::vector<std::string> versions(const std::string& filter, Json order = Json::array()) {
    return found("GET model-versions/search", {{"filter", filter}, {"order_by", std::move(order)}},
                 "model_versions", "version");
  }
  std::string new_logged_model() {
    return (*logged_models_.create(RequestFields(Json({{"name", "net"}, {"source_run_id", "run-1"}})),
                                   {}))["model"]["info"]
        .get<std::string>("model_id");
  }

 private:
  ClockMs clock() {
    return [this] { return now_ms_.fetch_add(1); };
  }
  static void ignore(const std::string&) {}

  std::atomic<std::int64_t> now_ms_ = 1'795'000'000'000;
  Experiments experiments_;
  LoggedModels logged_models_;
  RegisteredModels registry_;
};

class RegisteredModelsTest : public testing::Test {
 protected:
  Location root() {
    Location root = *stores_.open("memory://runs");
    root.store = store_;
    return root;
  }

  StoreRegistry stores_{Environment{}};
  std::shared_ptr<WatchedStore> store_ = std::make_shared<WatchedStore>(stores_.open("memory://runs")->store);
  RegistryUser user_{root(), ""};
  RegistryUser other_{root(), "headrace+memory://runs/_headrace/mlflow/artifacts"};
};

TEST_F(RegisteredModelsTest, AModelIsThereForEverybodyOnceItIsCreated) {
  const Json created = user_.good("POST registered-models/create",
                                  {{"name", "cats é \"?%\\"},
                                   {"description", "finds cats"},
                                   {"tags", Json::array({{{"key", "team"}, {"value", "a"}}})}});
  const Json model = other_.model("cats é \"?%\\");
  EXPECT_EQ(model, created["registered_model"]);
  EXPECT_EQ(model["description"], Json("finds cats"));
  EXPECT_EQ(model["tags"], Json::array({{{"key", "team"}, {"value", "a"}}}));
  EXPECT_EQ(other_.code("POST registered-models/create", {{"name", "cats é \"?%\\"}}), Code::kAlreadyExists);
  EXPECT_EQ(other_.code("GET registered-models/get", {{"name", "dogs"}}), Code::kNotFound);
}

TEST_F(RegisteredModelsTest, VersionsHaveNumbersThatAreNeverGivenTwice) {
  user_.create("cats");
  EXPECT_EQ(user_.create_version("cats"), "1");
  EXPECT_EQ(other_.create_version("cats"), "2");
  other_.good("DELETE model-versions/delete", {{"name", "cats"}, {"version", "2"}});
  EXPECT_EQ(user_.code("GET model-versions/get", {{"name", "cats"}, {"version", "2"}}), Code::kNotFound);
  EXPECT_EQ(user_.create_version("cats"), "3");
  EXPECT_EQ(user_.versions(""), (std::vector<std::string>{"3", "1"}));
  EXPECT_EQ(user_.code("POST model-versions/create", {{"name", "dogs"}, {"source", "a"}}), Code::kNotFound);
}

TEST_F(RegisteredModelsTest, AnAliasLeadsToItsVersionUntilThatIsDeleted) {
  user_.create("cats");
  user_.create_version("cats");
  user_.create_version("cats");
  user_.good("POST registered-models/alias", {{"name", "cats"}, {"alias", "best"}, {"version", "1"}});
  const auto number = [&](std::string_view alias) {
    return other_.good("GET registered-models/alias",
                       {{"name", "cats"}, {"alias", alias}})["model_version"]["version"];
  };
  EXPECT_EQ(number("best"), Json("1"));
  EXPECT_EQ(number("latest"), Json("2"));
  EXPECT_EQ(other_.version("cats", "1")["aliases"], Json::array({"best"}));
  EXPECT_EQ(other_.model("cats")["aliases"], Json::array({{{"alias", "best"}, {"version", "1"}}}));
  for (const char* const alias : {"v1", "Latest", "a b", "a/b"}) {
    EXPECT_EQ(
        user_.code("POST registered-models/alias", {{"name", "cats"}, {"alias", alias}, {"version", "1"}}),
        Code::kInvalidArgument);
  }
  EXPECT_EQ(
      user_.code("POST registered-models/alias", {{"name", "cats"}, {"alias", "new"}, {"version", "3"}}),
      Code::kNotFound);
  user_.good("DELETE model-versions/delete", {{"name", "cats"}, {"version", "1"}});
  EXPECT_EQ(user_.code("GET registered-models/alias", {{"name", "cats"}, {"alias", "best"}}),
            Code::kInvalidArgument);
  user_.good("DELETE registered-models/alias", {{"name", "cats"}, {"alias", "best"}});
}

TEST_F(RegisteredModelsTest, AStageCanTakeTheLastVersionOutOfIt) {
  user_.create("cats");
  for (int i = 0; i < 3; ++i) user_.create_version("cats");
  const auto move = [&](std::string_view number, std::string_view stage, bool archives) {
    return Json(
        {{"name", "cats"}, {"version", number}, {"stage", stage}, {"archive_existing_versions", archives}});
  };
  user_.good("POST model-versions/transition-stage", move("1", "production", false));
  other_.good("POST model-versions/transition-stage", move("2", "Production", true));
  EXPECT_EQ(user_.version("cats", "1")["current_stage"], Json("Archived"));
  const auto latest = [&](Json stages) {
    return user_.found("POST registered-models/get-latest-versions",
                       {{"name", "cats"}, {"stages", std::move(stages)}}, "model_versions", "version");
  };
  EXPECT_EQ(latest(Json::array({"production"})), std::vector<std::string>{"2"});
  EXPECT_EQ(latest(Json::array()), (std::vector<std::string>{"1", "3", "2"}));
  EXPECT_EQ(user_.code("POST model-versions/transition-stage", move("1", "shelf", false)),
            Code::kInvalidArgument);
  EXPECT_EQ(user_.code("POST model-versions/transition-stage", move("1", "None", true)),
            Code::kInvalidArgument);
}

TEST_F(RegisteredModelsTest, ARenamedModelKeepsEverythingAndFreesItsName) {
  user_.create("cats");
  user_.create_version("cats");
  user_.good("POST registered-models/rename", {{"name", "cats"}, {"new_name", "felines"}});
  EXPECT_EQ(other_.code("GET registered-models/get", {{"name", "cats"}}), Code::kNotFound);
  EXPECT_EQ(other_.version("felines", "1")["name"], Json("felines"));
  other_.create("cats");
  EXPECT_TRUE(other_.model("cats")["latest_versions"].values().empty());
  EXPECT_EQ(user_.code("POST registered-models/rename", {{"name", "cats"}, {"new_name", "felines"}}),
            Code::kAlreadyExists);
  EXPECT_EQ(user_.code("POST registered-models/rename", {{"name", "dogs"}, {"new_name", "wolves"}}),
            Code::kNotFound);
}

TEST_F(RegisteredModelsTest, ADeletedModelIsGoneAndItsNameIsFree) {
  user_.create("cats");
  user_.create_version("cats");
  other_.good("DELETE registered-models/delete", {{"name", "cats"}});
  EXPECT_EQ(user_.code("GET model-versions/get", {{"name", "cats"}, {"version", "1"}}), Code::kNotFound);
  EXPECT_EQ(user_.models(""), std::vector<std::string>{});
  EXPECT_EQ(user_.code("DELETE registered-models/delete", {{"name", "cats"}}), Code::kNotFound);
  user_.create("cats");
  EXPECT_EQ(user_.create_version("cats"), "1");
}

TEST_F(RegisteredModelsTest, TagsAndDescriptionsChange) {
  user_.create("cats");
  user_.create_version("cats");
  const auto with = [](Json fields, const Json& more) {
    for (const auto& [key, value] : more.members()) fields[key] = value;
    return fields;
  };
  const Json version = {{"name", "cats"}, {"version", 1}};
  user_.good("PATCH registered-models/update", {{"name", "cats"}, {"description", "a"}});
  user_.good("PATCH model-versions/update", with(version, {{"description", "b"}}));
  user_.good("POST registered-models/set-tag", {{"name", "cats"}, {"key", "k"}, {"value", "1"}});
  user_.good("POST model-versions/set-tag", with(version, {{"key", "k"}, {"value", "2"}}));
  EXPECT_EQ(other_.model("cats")["description"], Json("a"));
  EXPECT_EQ(other_.version("cats", "1")["description"], Json("b"));
  EXPECT_EQ(other_.models("tags.k = '1'"), std::vector<std::string>{"cats"});
  EXPECT_EQ(other_.versions("tags.k = '2'"), std::vector<std::string>{"1"});
  user_.good("DELETE registered-models/delete-tag", {{"name", "cats"}, {"key", "k"}});
  user_.good("DELETE model-versions/delete-tag", with(version, {{"key", "k"}}));
  EXPECT_TRUE(other_.model("cats")["tags"].values().empty());
  EXPECT_TRUE(other_.version("cats", "1")["tags"].values().empty());
  EXPECT_EQ(user_.code("POST registered-models/set-tag",
                       {{"name", "cats"}, {"key", std::string(kPromptTag)}, {"value", "true"}}),
            Code::kUnimplemented);
}

TEST_F(RegisteredModelsTest, SearchesFilterOrderAndPage) {
  for (const char* const name : {"cats", "dogs", "Catfish"}) user_.create(name);
  using Names = std::vector<std::string>;
  EXPECT_EQ(other_.models(""), (Names{"Catfish", "cats", "dogs"}));
  EXPECT_EQ(other_.models("name LIKE 'cat%'"), Names{"cats"});
  EXPECT_EQ(other_.models("name ILIKE 'cat%'"), (Names{"Catfish", "cats"}));
  EXPECT_EQ(other_.models("name != 'cats'", Json::array({"name DESC"})), (Names{"dogs", "Catfish"}));
  EXPECT_EQ(other_.models("tags.`mlflow.prompt.is_prompt` != 'true'").size(), 3U);
  EXPECT_EQ(other_.models("tags.`mlflow.prompt.is_prompt` = 'true'").size(), 0U);
  user_.good("PATCH registered-models/update", {{"name", "dogs"}, {"description", "later"}});
  EXPECT_EQ(other_.models("", Json::array({"last_updated_timestamp DESC"})),
            (Names{"dogs", "Catfish", "cats"}));
  const Json first = other_.good("GET registered-models/search", {{"max_results", 2}});
  EXPECT_EQ(first["registered_models"].values().size(), 2U);
  EXPECT_EQ(other_.found("GET registered-models/search",
                         {{"max_results", 2}, {"page_token", first["next_page_token"]}}, "registered_models",
                         "name"),
            Names{"dogs"});
  for (const Json& wrong : {Json({{"filter", "run_id = 'a'"}}), Json({{"max_results", 1001}}),
                            Json({{"order_by", Json::array({"tags.a"})}}), Json({{"page_token", "x"}})})
    EXPECT_EQ(other_.code("GET registered-models/search", wrong), Code::kInvalidArgument);
}

TEST_F(RegisteredModelsTest, VersionsAreFoundByWhatTheyWereMadeFrom) {
  user_.create("cats");
  user_.create("dogs");
  user_.create_version("cats", "s3://models/1");
  for (int i = 0; i < 10; ++i) user_.create_version("cats", "s3://models/2");
  user_.good("POST model-versions/create", {{"name", "dogs"}, {"source", "s3://d"}, {"run_id", "r1"}});
  EXPECT_EQ(other_.versions("name = 'cats' AND source_path = 's3://models/1'"),
            std::vector<std::string>{"1"});
  EXPECT_EQ(other_.versions("run_id IN ('r1', 'r2')"), std::vector<std::string>{"1"});
  EXPECT_EQ(other_.versions("name = 'cats' and version_number > 9", Json::array({"version_number ASC"})),
            (std::vector<std::string>{"10", "11"}));
}

TEST_F(RegisteredModelsTest, FilesOfAVersionAreFoundByServersAndPlugins) {
  user_.create("cats");
  const auto place = [](RegistryUser& user, std::string_view number) {
    return user.good("GET model-versions/get-download-uri",
                     {{"name", "cats"}, {"version", number}})["artifact_uri"];
  };
  const std::string folder = "headrace+memory://runs/_headrace/mlflow/artifacts";
  user_.create_version("cats", "mlflow-artifacts:/1/run/artifacts/net");
  EXPECT_EQ(place(other_, "1"), Json(folder + "/1/run/artifacts/net"));
  other_.create_version("cats", folder + "/1/run/artifacts/net");
  EXPECT_EQ(place(user_, "2"), Json("mlflow-artifacts:/1/run/artifacts/net"));
  other_.create_version("cats", "s3://elsewhere/net");
  EXPECT_EQ(place(user_, "3"), Json("s3://elsewhere/net"));

  const std::string logged = other_.new_logged_model();
  other_.create_version("cats", "models:/" + logged);
  EXPECT_EQ(place(user_, "4"), Json("mlflow-artifacts:/0/models/" + logged + "/artifacts"));
  EXPECT_EQ(place(other_, "4"), Json(folder + "/0/models/" + logged + "/artifacts"));
  EXPECT_EQ(user_.version("cats", "4")["run_id"], Json("run-1"));
  user_.good("POST registered-models/alias", {{"name", "cats"}, {"alias", "best"}, {"version", "4"}});
  user_.create("copies");
  user_.create_version("copies", "models:/cats@best");
  EXPECT_EQ(user_.version("copies", "1")["source"], Json("models:/cats/4"));
  EXPECT_EQ(user_.good("GET model-versions/get-download-uri", {{"name", "copies"}, {"version", "1"}}),
            user_.good("GET model-versions/get-download-uri", {{"name", "cats"}, {"version", "4"}}));
  for (const char* const wrong : {"models:/cats", "models:/", "models:/@", "models://cats/4"}) {
    EXPECT_EQ(user_.code("POST model-versions/create", {{"name", "cats"}, {"source", wrong}}),
              Code::kInvalidArgument)
        << wrong;
  }
  EXPECT_EQ(user_.code("POST model-versions/create", {{"name", "cats"}, {"source", "models:/m-none"}}),
            Code::kNotFound);
}

TEST(ArtifactFolderUriTest, AnEmptyAuthorityMayBeMissing) {
  const ArtifactFolderUri folder("headrace+file:///data/_headrace/mlflow/artifacts");
  EXPECT_EQ(folder.kept("headrace+file:/data/_headrace/mlflow/artifacts/1/r/net"),
            "mlflow-artifacts:/1/r/net");
  EXPECT_EQ(folder.kept("headrace+file:///data/_headrace/mlflow/artifacts/1/net"), "mlflow-artifacts:/1/net");
  EXPECT_EQ(folder.kept("headrace+file:/data/_headrace/mlflow/artifacts-2/net"),
            "headrace+file:/data/_headrace/mlflow/artifacts-2/net");
  EXPECT_EQ(folder.shown("mlflow-artifacts:/1/net"),
            "headrace+file:///data/_headrace/mlflow/artifacts/1/net");
}

TEST_F(RegisteredModelsTest, NamesThatMlflowRefusesAreRefused) {
  for (const std::string& name : {std::string(), std::string("  "), std::string("a/b"), std::string("a:b"),
                                  std::string(".."), std::string(257, 'a')})
    EXPECT_EQ(user_.code("POST registered-models/create", {{"name", name}}), Code::kInvalidArgument) << name;
}

TEST_F(RegisteredModelsTest, IfTwoCreateOneNameAtOnceOneOfThemHasIt) {
  store_->before_next_write([&] {
    other_.good("POST registered-models/create", {{"name", "cats"}, {"description", "the other"}});
  });
  EXPECT_EQ(user_.code("POST registered-models/create", {{"name", "cats"}}), Code::kAlreadyExists);
  EXPECT_EQ(user_.model("cats")["description"], Json("the other"));
  EXPECT_EQ(user_.models(""), std::vector<std::string>{"cats"});
}

TEST_F(RegisteredModelsTest, AModelWhoseCreationWasCutShortIsNotThere) {
  store_->writes_left = 1;
  EXPECT_EQ(user_.code("POST registered-models/create", {{"name", "cats"}}), Code::kUnavailable);
  store_->writes_left = 1'000'000;
  EXPECT_EQ(other_.models(""), std::vector<std::string>{});
  other_.create("cats");
  EXPECT_EQ(user_.models(""), std::vector<std::string>{"cats"});
}

TEST_F(RegisteredModelsTest, VersionsThatTwoCreateAtOnceAreBothThere) {
  user_.create("cats");
  store_->before_next_write([&] { EXPECT_EQ(other_.create_version("cats", "s3://other"), "1"); });
  EXPECT_EQ(user_.create_version("cats", "s3://own"), "2");
  EXPECT_EQ(other_.version("cats", "1")["source"], Json("s3://other"));
  EXPECT_EQ(other_.version("cats", "2")["source"], Json("s3://own"));
}

TEST_F(RegisteredModelsTest, AStalledWriterMakesItsChangeToTheModelAsItIsThen) {
  user_.create("cats");
  user_.create_version("cats");
  store_->before_next_write([&] {
    other_.good("POST registered-models/rename", {{"name", "cats"}, {"new_name", "felines"}});
    other_.good("POST registered-models/set-tag", {{"name", "felines"}, {"key", "a"}, {"value", "1"}});
  });
  user_.good("POST registered-models/set-tag", {{"name", "cats"}, {"key", "b"}, {"value", "2"}});
  EXPECT_EQ(other_.model("felines")["tags"].values().size(), 2U);

  store_->before_next_write([&] {
    other_.good("DELETE model-versions/delete", {{"name", "felines"}, {"version", "1"}});
  });
  EXPECT_EQ(
      user_.code("POST registered-models/alias", {{"name", "felines"}, {"alias", "best"}, {"version", "1"}}),
      Code::kNotFound);
}

TEST_F(RegisteredModelsTest, AChangeOfADeletedModelDoesNotReachItsSuccessor) {
  user_.create("cats");
  store_->before_next_write([&] {
    other_.good("DELETE registered-models/delete", {{"name", "cats"}});
    other_.create("cats");
  });
  user_.good("POST registered-models/set-tag", {{"name", "cats"}, {"key", "a"}, {"value", "1"}});
  EXPECT_TRUE(user_.model("cats")["tags"].values().empty());
}

TEST_F(RegisteredModelsTest, ManyThreadsLoseNoVersion) {
  user_.create("cats");
  std::vector<std::thread> threads;
  for (RegistryUser* const user : {&user_, &other_, &user_, &other_}) {
    threads.emplace_back([user] {
      for (int i = 0; i < 10; ++i) user->create_version("cats");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(user_.versions("").size(), 40U);
  EXPECT_EQ(user_.create_version("cats"), "41");
}

TEST_F(RegisteredModelsTest, ItsStatesAreVerified) {
  user_.create("cats");
  user_.good("POST model-versions/create",
             {{"name", "cats"},
              {"source", "s3://a"},
              {"tags", Json::array({{{"key", "version"}, {"value", "\"version\":9"}}})}});
  VerifiedObjects found;
  ASSERT_TRUE(verify_mlflow_states(root(), found));
  EXPECT_EQ(found.objects, 3U);  // one of names, two of the model
  EXPECT_TRUE(found.bad.empty());
}

}  // namespace
}  // namespace headrace::mlflow
