#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "headrace/engine/tensorflow/tensorflow.h"
#include "headrace/engine/tensorflow/trace.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

// A folder with made-up wheels and interpreters: shell scripts that answer what a test needs.
class FindTensorFlow : public testing::Test {
 protected:
  void SetUp() override {
    root_ = (fs::temp_directory_path() / "headrace-find-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
    root_ = fs::canonical(root_).string();
    environment_.variables["PATH"] = root_ + "/bin:/usr/bin:/bin";
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string make_wheel(const std::string& prefix) const {
    const std::string folder = root_ + "/" + prefix + "/lib/python3.11/site-packages/tensorflow";
    fs::create_directories(folder);
    std::ofstream(folder + "/libtensorflow_cc.so.2") << "not a library";
    return folder;
  }
  std::string make_interpreter(const std::string& path, const std::string& answer) const {
    const std::string file = root_ + "/" + path;
    fs::create_directories(fs::path(file).parent_path());
    std::ofstream(file) << "#!/bin/sh\necho \"" << answer << "\"\n";
    fs::permissions(file, fs::perms::owner_all);
    return file;
  }

  std::string root_;
  Environment environment_;
};

TEST_F(FindTensorFlow, TheOptionComesFirstThenTheVariableThenTheInterpreters) {
  const std::string optional = make_wheel("a");
  const std::string variable = make_wheel("b");
  const std::string chosen = make_wheel("c");
  const std::string on_path = make_wheel("d");
  make_interpreter("bin/python3", on_path);
  const auto found = [&](const std::string& option) {
    const auto library = find_tensorflow(option, environment_);
    return library ? library->folder : library.error().message;
  };
  EXPECT_EQ(found(""), on_path);
  environment_.variables["HEADRACE_PYTHON"] = make_interpreter("mine/python", chosen);
  EXPECT_EQ(found(""), chosen);
  environment_.variables["HEADRACE_TENSORFLOW"] = variable;
  EXPECT_EQ(found(""), variable);
  EXPECT_EQ(found(optional), optional);
  EXPECT_EQ(found(optional + "/libtensorflow_cc.so.2"), optional);
}

TEST_F(FindTensorFlow, WhereItIsNotInstalledTheMessageSaysWhatToInstall) {
  environment_.variables["HEADRACE_PYTHON"] = make_interpreter("mine/python", "");
  const auto library = find_tensorflow("", environment_);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, Code::kNotFound);
  EXPECT_THAT(library.error().message, testing::HasSubstr(root_ + "/mine/python"));
  EXPECT_THAT(library.error().message, testing::HasSubstr("pip install tensorflow-cpu"));
}

TEST_F(FindTensorFlow, AWrongVariableIsNamed) {
  environment_.variables["HEADRACE_TENSORFLOW"] = "/no/such/folder";
  const auto library = find_tensorflow("", environment_);
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().message, testing::HasSubstr("/no/such/folder (from HEADRACE_TENSORFLOW)"));
  environment_.variables.erase("HEADRACE_TENSORFLOW");
  environment_.variables["HEADRACE_PYTHON"] = "/no/such/python";
  const auto interpreter = find_tensorflow("", environment_);
  ASSERT_FALSE(interpreter);
  EXPECT_THAT(interpreter.error().message, testing::HasSubstr("HEADRACE_PYTHON is /no/such/python"));
}

TEST_F(FindTensorFlow, WithoutAnyPythonItIsNotFound) {
  environment_.variables["PATH"] = root_;
  const auto library = find_tensorflow("", environment_);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, Code::kNotFound);
}

TEST_F(FindTensorFlow, TheInterpreterOfTheWheelsEnvironmentComesBeforeThatOnPath) {
  const std::string folder = make_wheel("venv");
  const std::string on_path = make_interpreter("bin/python3", "");
  EXPECT_EQ(*find_interpreter(environment_, folder), on_path);
  const std::string own = make_interpreter("venv/bin/python3", "");
  EXPECT_EQ(*find_interpreter(environment_, folder), own);
  environment_.variables["HEADRACE_PYTHON"] = make_interpreter("mine/python", "");
  EXPECT_EQ(*find_interpreter(environment_, folder), root_ + "/mine/python");
}

TEST_F(FindTensorFlow, AFileThatIsNoLibraryIsRefused) {
  set_tensorflow_environment();
  const auto library = find_tensorflow(make_wheel("a"), environment_);
  ASSERT_TRUE(library);
  const auto engine = open_tensorflow(*library);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(engine.error().message, testing::HasSubstr("loading TensorFlow: " + root_));
}

// Runs trace_model with an interpreter that always gives the same answer.
class TraceModel : public FindTensorFlow {
 protected:
  Error error_of(const std::string& answer) {
    const TraceOptions options{.interpreter = make_interpreter("python", answer),
                               .package_folder = root_,
                               .cache_folder = root_ + "/cache",
                               .tensorflow_version = "2.21.0"};
    const auto model = trace_model({.model = "m:f", .features = {}, .labels = {}}, options, environment_);
    return model ? Error{Code::kUnknown, "no error"} : model.error();
  }
};

TEST_F(TraceModel, ReportsTheModelsFault) {
  const Error error =
      error_of(R"({\"error\": {\"kind\": \"compile\", \"message\": \"m:f is not compiled\"}})");
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_EQ(error.message, "tracing the model m:f: m:f is not compiled");
}

TEST_F(TraceModel, ReportsAMissingAndAnotherTensorFlow) {
  const Error missing = error_of(R"({\"versions\": {\"tensorflow\": \"\", \"keras\": \"\"}})");
  EXPECT_EQ(missing.code, Code::kFailedPrecondition);
  EXPECT_THAT(missing.message, testing::HasSubstr("pip install tensorflow-cpu"));
  const Error other = error_of(R"({\"versions\": {\"tensorflow\": \"2.19.1\", \"keras\": \"3.9.0\"}})");
  EXPECT_EQ(other.code, Code::kFailedPrecondition);
  EXPECT_THAT(other.message, testing::AllOf(testing::HasSubstr("2.19.1"), testing::HasSubstr("2.21.0")));
}

TEST_F(TraceModel, AnAnswerThatIsNoJsonIsTheInterpretersFault) {
  const Error error = error_of("Illegal instruction");
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
}

TEST_F(TraceModel, AnArgumentMustBeJson) {
  const auto model = trace_model({.model = "m:f", .features = {}, .labels = {}, .arguments = {{"a", "x"}}},
                                 {.interpreter = "/bin/true"}, environment_);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, testing::HasSubstr("a=x is not a JSON value"));
}

TEST_F(TraceModel, ADescriptionThatIsNotWholeIsAnError) {
  EXPECT_EQ(read_traced_model(root_ + "/nothing").error().code, Code::kNotFound);
  std::ofstream(root_ + "/model.json") << R"({"format": 2, "model": "m:f", "seed": 1})";
  EXPECT_EQ(read_traced_model(root_).error().code, Code::kDataLoss);
  std::ofstream(root_ + "/model.json") << R"({"format": 4, "model": "m:f"})";
  EXPECT_EQ(read_traced_model(root_).error().code, Code::kUnimplemented);
  std::ofstream(root_ + "/model.json") << R"({"model": )";
  EXPECT_EQ(read_traced_model(root_).error().code, Code::kDataLoss);
}

TEST_F(TraceModel, ADescriptionWhoseFeaturesNoBatchCanHaveIsAnError) {
  const auto error = [&](const std::string& inputs, const std::string& weights) {
    std::ofstream(root_ + "/model.json")
        << R"({"format": 2, "model": "m:f", "seed": 1, "versions": {}, "targets": [], "inputs": [)" << inputs
        << R"(], "outputs": [{"tensor": "o", "name": "o", "shape": [1]}], "weights": )" << weights << "}";
    const auto model = read_traced_model(root_);
    EXPECT_FALSE(model);
    return model ? std::string() : model.error().message;
  };
  const auto input = [](const std::string& tensor, const std::string& shape) {
    return R"({"name": "x", "tensor": ")" + tensor +
           R"(", "feature": {"name": "x", "dtype": "float32", "shape": )" + shape + "}}";
  };
  const std::string weights = R"({"name": "w", "dtype": "float32", "shape": []})";
  EXPECT_THAT(error(input("a", "[2]"), R"({"name": "w", "dtype": "bytes", "shape": []})"),
              testing::HasSubstr("the weights w bytes[] are not one number"));
  EXPECT_THAT(error(input("a", "[2]"), R"({"name": "w", "dtype": "float32", "shape": [5]})"),
              testing::HasSubstr("the weights w float32[5] are not one number"));
  EXPECT_THAT(error(input("a", "[2]") + "," + input("b", "[400]"), weights),
              testing::HasSubstr("x float32[2] occurs a second time as x float32[400]"));
  EXPECT_THAT(error(input("a", "[4294967297]"), weights), testing::HasSubstr("the size 4294967297"));
}

}  // namespace
}  // namespace headrace
