#include "headrace/track/mlflow_states.h"

#include <gmock/gmock.h>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// The example of docs/formats/mlflow-state.md.
constexpr std::string_view kExperiments =
    R"({"change":"5f0c","experiments":{"1":{"created":1795762095000,"name":"cats","tags":{},)"
    R"("updated":1795762095000}},"format":"headrace.mlflow.experiments","version":1,)"
    R"("zz_sha256":"6bdd843c56e930d3330c7590df4c0e5f9f353e51aa6fb11688fc45a374d58719"})"
    "\n";

// `members`: sorted, without the checksum.
std::string mlflow_state(std::string_view members) {
  const std::string digest = sha256_hex(as_bytes(concat("{", members, "}")));
  return concat("{", members, R"(,"zz_sha256":")", digest, "\"}\n");
}

Location mlflow_root() {
  return {std::shared_ptr<Store>(make_memory_store("b")), "runs", {"memory", "b", "runs"}};
}

void put_state(const Location& root, std::string_view name, std::string_view content) {
  ASSERT_TRUE(write_text(*root.store, root.at(concat("_headrace/mlflow/", name)).key, content));
}

TEST(MlflowStates, TheExampleOfTheFormatIsWhole) {
  EXPECT_TRUE(check_mlflow_state(as_bytes(kExperiments), "headrace.mlflow.experiments"));
  EXPECT_EQ(check_mlflow_state(as_bytes(kExperiments), "headrace.mlflow.run").error().code, Code::kDataLoss);
}

TEST(MlflowStates, EveryFlippedBitIsFound) {
  for (std::size_t bit = 0; bit < kExperiments.size() * 8; ++bit) {
    std::string flipped(kExperiments);
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(check_mlflow_state(as_bytes(flipped), "headrace.mlflow.experiments")) << bit;
  }
}

TEST(MlflowStates, NamesOfParamsAndTextsOfAnyKindMisleadNobody) {
  const std::string state = mlflow_state(
      R"("format":"headrace.mlflow.run","params":{"a":",\"zz_sha256\":\"","version":"9","zz_sha256":"x"},)"
      R"("tags":{"lone":"\ud800"},"version":1)");
  const Status checked = check_mlflow_state(as_bytes(state), "headrace.mlflow.run");
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST(MlflowStates, ANewerVersionAndOtherBytesAreTold) {
  const std::string newer = mlflow_state(R"("format":"headrace.mlflow.run","version":2)");
  EXPECT_EQ(check_mlflow_state(as_bytes(newer), "headrace.mlflow.run").error().code, Code::kUnimplemented);
  for (const char* other : {"", "{}\n", ",\"zz_sha256\":\"", "{\"a\":1,\"zz_sha256\":\"00\"}\n"})
    EXPECT_EQ(check_mlflow_state(as_bytes(other), "headrace.mlflow.run").error().code, Code::kDataLoss);
}

TEST(MlflowStates, AllStatesAreReadAndFilesAreNot) {
  const Location root = mlflow_root();
  const std::string run = mlflow_state(R"("format":"headrace.mlflow.run","version":1)");
  put_state(root, "experiments/00000001", kExperiments);
  put_state(root, "runs/a/00000001", run);
  put_state(root, "runs/a/00000002", run);
  put_state(root, "models/m-1/00000001", mlflow_state(R"("format":"headrace.mlflow.model","version":1)"));
  put_state(root, "artifacts/0/a/artifacts/00000001", "a file");
  VerifiedObjects found{.objects = 1};
  ASSERT_TRUE(verify_mlflow_states(root, found));
  EXPECT_EQ(found.objects, 5U);
  EXPECT_THAT(found.bad, IsEmpty());
}

TEST(MlflowStates, DamageAndGapsAreNamed) {
  const Location root = mlflow_root();
  const std::string run = mlflow_state(R"("format":"headrace.mlflow.run","version":1)");
  put_state(root, "runs/a/00000001", run);
  put_state(root, "runs/a/00000003", run);
  put_state(root, "runs/b/00000002", run);
  put_state(root, "runs/c/00000001", run + " ");
  put_state(root, "runs/d/00000001", kExperiments);
  VerifiedObjects found;
  ASSERT_TRUE(verify_mlflow_states(root, found));
  EXPECT_EQ(found.objects, 5U);
  EXPECT_THAT(found.bad, UnorderedElementsAre(Field(&BadObject::url, HasSubstr("runs/a/00000003")),
                                              Field(&BadObject::url, HasSubstr("runs/b/00000002")),
                                              Field(&BadObject::url, HasSubstr("runs/c/00000001")),
                                              Field(&BadObject::url, HasSubstr("runs/d/00000001"))));
}

}  // namespace
}  // namespace headrace
