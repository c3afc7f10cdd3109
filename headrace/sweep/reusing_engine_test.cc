#include "headrace/sweep/reusing_engine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace headrace {
namespace {

// Its state is a number, which `prepare` adds one to.
class CountingModel final : public Model {
 public:
  CountingModel(std::string folder, int& alive) : folder_(std::move(folder)), alive_(alive) { ++alive_; }
  ~CountingModel() override { --alive_; }

  const std::string& folder() const override { return folder_; }
  const std::map<std::string, Signature, std::less<>>& signatures() const override { return signatures_; }
  Result<std::unique_ptr<Call>> prepare(std::string_view, std::vector<std::string>,
                                        std::vector<std::string>) override {
    ++value_;
    return std::unique_ptr<Call>();
  }
  Status save_state(const std::string& prefix) override {
    std::ofstream(prefix + ".index") << value_;
    return {};
  }
  Status restore_state(const std::string& prefix) override {
    std::ifstream file(prefix + ".index");
    return file >> value_ ? Status{} : Status(Error{Code::kDataLoss, prefix});
  }

 private:
  const std::string folder_;
  const std::map<std::string, Signature, std::less<>> signatures_{};
  int& alive_;
  int value_ = 0;
};

class CountingEngine final : public Engine {
 public:
  std::string version() const override { return "counting 1"; }
  Result<std::unique_ptr<Model>> load(const std::string& folder, const ModelOptions&) override {
    if (!std::filesystem::exists(folder + "/saved_model.pb")) return Error{Code::kNotFound, "no model"};
    ++loads;
    auto model = std::make_unique<CountingModel>(folder, alive);
    if (std::filesystem::exists(folder + "/variables/variables.index"))
      HEADRACE_CHECK(model->restore_state(folder + "/variables/variables"));
    return std::unique_ptr<Model>(std::move(model));
  }

  int loads = 0;
  int alive = 0;
};

class ReusingEngineTest : public testing::Test {
 protected:
  ReusingEngineTest() : root(testing::TempDir() + "headrace-reusing-engine") {
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root);
  }
  ~ReusingEngineTest() override { std::filesystem::remove_all(root); }

  std::string folder(const std::string& name, const std::string& graph, int value) const {
    const std::string path = root + "/" + name;
    std::filesystem::create_directories(path + "/variables");
    std::ofstream(path + "/saved_model.pb") << graph;
    std::ofstream(path + "/variables/variables.index") << value;
    return path;
  }

  int value_of(Model& model) const {
    EXPECT_TRUE(model.save_state(root + "/saved"));
    int value = 0;
    std::ifstream(root + "/saved.index") >> value;
    return value;
  }

  const std::string root;
  CountingEngine engine;
};

TEST_F(ReusingEngineTest, AGraphIsLoadedOnceAndHasTheVariablesOfItsFolderEachTime) {
  const auto reusing = make_reusing(engine);
  reusing->keep_idle(2);
  {
    const auto model = *reusing->load(folder("first", "graph", 10), {});
    (void)model->prepare("train", {}, {});
    EXPECT_EQ(value_of(*model), 11);
  }
  const std::string other = folder("second", "graph", 20);
  const auto again = *reusing->load(other, {});
  EXPECT_EQ(value_of(*again), 20);
  EXPECT_EQ(again->folder(), other);
  EXPECT_EQ(engine.loads, 1);
  EXPECT_EQ(value_of(**reusing->load(folder("first", "graph", 10), {})), 10);
  EXPECT_EQ(engine.loads, 2) << "the first one is in use";
}

TEST_F(ReusingEngineTest, AnotherGraphOrOtherThreadsAreLoaded) {
  const auto reusing = make_reusing(engine);
  reusing->keep_idle(2);
  (void)reusing->load(folder("a", "graph", 1), {});
  (void)reusing->load(folder("b", "another graph", 1), {});
  EXPECT_EQ(engine.loads, 2);
  (void)reusing->load(folder("a", "graph", 1), {.intra_op_threads = 2});
  EXPECT_EQ(engine.loads, 3);
}

TEST_F(ReusingEngineTest, KeepsAtMostSoMany) {
  {
    const auto reusing = make_reusing(engine);
    reusing->keep_idle(2);
    for (const char* graph : {"a", "b", "c", "d"}) (void)reusing->load(folder(graph, graph, 1), {});
    EXPECT_EQ(engine.alive, 2);
    (void)reusing->load(folder("d", "d", 1), {});
    EXPECT_EQ(engine.loads, 4);
  }
  EXPECT_EQ(engine.alive, 0);
}

TEST_F(ReusingEngineTest, SaysWhatTheEngineSays) {
  const auto reusing = make_reusing(engine);
  reusing->keep_idle(2);
  EXPECT_EQ(reusing->version(), "counting 1");
  EXPECT_EQ(reusing->load(root + "/nothing", {}).error().code, Code::kNotFound);
  { const auto model = *reusing->load(folder("a", "graph", 1), {}); }
  std::ofstream(root + "/a/variables/variables.index") << "damaged";
  EXPECT_EQ(reusing->load(root + "/a", {}).error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace headrace
