#include "headrace/artifact/artifact.h"
#include "headrace/artifact/content.h"
#include "headrace/base/text.h"
#include "tests/interleave/log_commands.h"
#include "tests/interleave/process.h"

namespace headrace::interleave {
namespace {

// Two files that are kept, of which all artifacts have one, and one by reference.
Result<ArtifactDraft> draft_cats(Process& process, std::string_view file) {
  HEADRACE_TRY(ArtifactDraft draft, ArtifactDraft::make("cats", "dataset"));
  HEADRACE_TRY(const Location own, process.stores.open(concat("memory://data/in/", file)));
  HEADRACE_CHECK(draft.add_file(own));
  HEADRACE_TRY(const Location shared, process.stores.open("memory://data/notes/ok"));
  HEADRACE_CHECK(draft.add_file(shared));
  HEADRACE_TRY(const Location referred, process.stores.open("memory://data/schema.toml"));
  HEADRACE_CHECK(draft.add_reference(referred));
  return draft;
}

Status log_version(Process& process, std::string_view file, RunRecorder& recorder) {
  HEADRACE_TRY(const ArtifactDraft draft, draft_cats(process, file));
  HEADRACE_TRY(const ArtifactVersion version,
               log_artifact(recorder.root(), draft, recorder.run_id(), virtual_now()));
  return recorder.add_output(recorded_artifact(recorder.root(), version));
}

// As hr.init, Run.log_artifact and Run.finish.
Status log_cats(const Surroundings& in, std::string_view file) {
  Process process(in);
  HEADRACE_TRY(RunRecorder recorder, start_logging_run(process, "a"));
  const Status logged = log_version(process, file, recorder);
  const Status recorded = recorder.finish(logged, {});
  return logged ? recorded : logged;
}

// A program that ends before its version is there.
Status begin_cats(const Surroundings& in) {
  Process process(in);
  HEADRACE_TRY(const ArtifactDraft draft, draft_cats(process, "1.csv"));
  HEADRACE_TRY(const ArtifactDraft::Complete complete, draft.complete({}));
  HEADRACE_TRY(const Location root, process.stores.open("memory://out/x"));
  return keep_contents(root, complete.contents, {});
}

}  // namespace

std::vector<TestCommand> artifact_commands() {
  return {
      {"artifact-log", [](const Surroundings& in) { return log_cats(in, "1.csv"); }},
      {"artifact-log-other", [](const Surroundings& in) { return log_cats(in, "2.csv"); }},
      {"artifact-begin", begin_cats},
      words("artifact-alias", "artifacts alias memory://out/x cats:v1 stable"),
      words("artifact-alias-2", "artifacts alias memory://out/x cats:v2 stable"),
      words("artifact-get", "artifacts get memory://out/x cats memory://copy/cats", true),
  };
}

}  // namespace headrace::interleave
