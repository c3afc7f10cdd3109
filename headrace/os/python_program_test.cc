#include "headrace/os/python_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "headrace/base/text.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

class PythonProgram : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() / "headrace-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(std::string_view name) const { return concat(folder_, "/", name); }
  std::string make_file(std::string_view name, fs::perms permissions = fs::perms::owner_read) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name)) << "#!/bin/sh\n";
    fs::permissions(path(name), permissions);
    return path(name);
  }
  std::string make_program(std::string_view name) const { return make_file(name, fs::perms::owner_all); }

  std::string folder_;
};

TEST_F(PythonProgram, AProgramIsAFileThatSomebodyMayExecute) {
  for (const fs::perms who : {fs::perms::owner_exec, fs::perms::group_exec, fs::perms::others_exec})
    EXPECT_TRUE(is_executable_file(make_file(concat("may-", static_cast<unsigned>(who)), who)));
  fs::create_symlink(make_program("program"), path("link"));
  EXPECT_TRUE(is_executable_file(path("link")));
  EXPECT_FALSE(is_executable_file(make_file("text", fs::perms::owner_read | fs::perms::owner_write)));
  EXPECT_FALSE(is_executable_file(folder_));
  EXPECT_FALSE(is_executable_file(path("missing")));
}

TEST_F(PythonProgram, ANameIsSoughtInTheFoldersOfPathInTheirOrder) {
  make_file("a/tool");  // which is not a program
  const std::string in_b = make_program("b/tool"), only_in_c = make_program("c/other");
  make_program("c/tool");
  const Environment environment{
      .variables = {{"PATH", concat("::", path("a"), ":", path("b"), ":", path("c"))}}};
  EXPECT_EQ(find_program("tool", environment), in_b);
  EXPECT_EQ(find_program("other", environment), only_in_c);
  EXPECT_EQ(find_program("none", environment), std::nullopt);
  EXPECT_EQ(find_program("sh", environment), std::nullopt);
  EXPECT_THAT(find_program("sh", {}), testing::Optional(testing::EndsWith("/bin/sh"))) << "without PATH";
}

TEST_F(PythonProgram, APathIsTakenAsItIs) {
  const std::string program = make_program("tool");
  EXPECT_EQ(find_program(program, {}), program);
  EXPECT_EQ(find_program(make_file("text"), {}), std::nullopt);
  make_program("below/tool");
  const Environment environment{.variables = {{"PATH", folder_}}};
  EXPECT_EQ(find_program("below/tool", environment), std::nullopt) << "PATH is for names";
}

TEST_F(PythonProgram, PythonIsTheChosenOneElseThatOfPath) {
  const std::string chosen = make_program("chosen"), on_path = make_program("bin/python3");
  const auto with = [&](std::string_view python, std::string_view folder) {
    return Environment{.variables = {{"HEADRACE_PYTHON", std::string(python)}, {"PATH", path(folder)}}};
  };
  EXPECT_EQ(*chosen_python(with(chosen, "bin")), chosen);
  EXPECT_EQ(*find_python(with(chosen, "bin")), chosen);
  EXPECT_EQ(*chosen_python(with("python3", "bin")), on_path) << "a name is sought on PATH";
  EXPECT_EQ(*chosen_python(with("", "bin")), std::nullopt);
  EXPECT_EQ(*find_python(with("", "bin")), on_path);

  for (const auto& found : {find_python(with(path("none"), "bin")), find_python(with("", "empty"))}) {
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::kNotFound);
    EXPECT_THAT(found.error().message, HasSubstr("HEADRACE_PYTHON"));
  }
  const auto wrong = chosen_python(with(path("none"), "bin"));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::kNotFound);
  EXPECT_EQ(wrong.error().message, concat("HEADRACE_PYTHON is ", path("none"), ", which is not a program"));
}

TEST_F(PythonProgram, ThePackageLiesBesideTheExecutableInACheckoutAnInstallationOrAWheel) {
  const std::string executable = make_program("built/headrace/bin/headrace");
  const auto none = find_python_package(executable);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_THAT(none.error().message, HasSubstr(path("built/headrace/bin/../lib/headrace/python")));
  // Each comes before those that were there already.
  for (const std::string_view place :
       {"built", "built/headrace/lib/headrace/python", "built/headrace/python"}) {
    make_file(concat(place, "/headrace/__init__.py"));
    EXPECT_EQ(find_python_package(executable).value_or(""), fs::canonical(path(place)).string());
  }
}

TEST_F(PythonProgram, ThePackageComesFirstInThePathOfPython) {
  EXPECT_THAT(variables_with_package("/package", {.variables = {{"HOME", "/home"}}}),
              UnorderedElementsAre(Pair("HOME", "/home"), Pair("PYTHONPATH", "/package")));
  EXPECT_THAT(variables_with_package("/package", {.variables = {{"PYTHONPATH", "/a:/b"}}}),
              UnorderedElementsAre(Pair("PYTHONPATH", "/package:/a:/b")));
}

}  // namespace
}  // namespace headrace
