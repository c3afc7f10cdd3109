#include "tests/interleave/commands.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/record_run.h"
#include "headrace/coordinate/task_claims.h"
#include "headrace/evaluate/evaluate.h"
#include "headrace/evaluate/evaluation.h"
#include "headrace/predict/dataset_input.h"
#include "headrace/predict/predict.h"
#include "headrace/prepare/execute/shared_job.h"
#include "headrace/prepare/execute/task_runner.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/track/folder_owner.h"
#include "headrace/train/export.h"
#include "headrace/train/train.h"
#include "tests/interleave/log_commands.h"
#include "tests/interleave/output.h"
#include "tests/interleave/process.h"
#include "tests/interleave/tiny_engine.h"

namespace headrace::interleave {
namespace {

namespace fs = std::filesystem;
constexpr int kKerasEpochs = 3;
constexpr int kManyRows = 70;

constexpr std::string_view kPlan =
    "plan memory://data/in memory://out/x --schema memory://data/schema.toml --shard-records 4 --slice-size "
    "1 "
    "--compression-level 1 --seed ";
constexpr std::string_view kPrepare =
    "prepare memory://data/in memory://out/x --schema memory://data/schema.toml --shard-records 4 "
    "--slice-size 1 "
    "--compression-level 1 --workers 1 --seed ";

// A dataset of the input lies beside it; and one of many rows, for learning curves.
void prepare_sets(const std::shared_ptr<Store>& data) {
  const Surroundings in{.world = {.data = data}, .control = std::make_shared<StallControl>(StallOptions{})};
  std::string line = concat(kPrepare, "1 --max-rejects 1");
  line.replace(line.find("memory://out/x"), 14, "memory://data/set");
  for (const std::string& each :
       {line, std::string("prepare memory://data/rows memory://data/many --split train=0.8,test=0.2 "
                          "--schema memory://data/schema.toml --workers 1")}) {
    if (const Status done = Process(in).run(each); !done)
      give_up(concat("no dataset to train on: ", done.error().message));
  }
}

// `headrace execute`: with a clock of its own, as it waits for other processes.
Status execute(const Surroundings& in) {
  Process process(in);
  HEADRACE_TRY(const Location output, process.stores.open("memory://out/x"));
  HEADRACE_TRY(const std::unique_ptr<SharedJob> job, open_shared_job(output, {.stores = &process.stores}));
  PlanTasks tasks = job->tasks(RejectLimit{.rows = 1}, {}, process.stores, {});
  auto time = std::make_shared<std::chrono::steady_clock::time_point>();
  const auto claims =
      claim_by_lease(tasks.context().work_folder(), hex64(random_name_bits()),
                     {.renewed_each = std::chrono::hours(1), .now = [time] { return *time; }});
  return run_tasks(tasks, *claims,
                   {.now = [time] { return *time; },
                    .sleep =
                        [time](std::chrono::milliseconds pause, const std::stop_token&) {
                          *time += 10 * pause;
                          return true;
                        }},
                   [](const PrepareState&) {});
}

TinyEngine& engine() {
  static TinyEngine tiny;
  return tiny;
}

// `headrace train`, with an engine for tests.
Status train_run(const Surroundings& in, std::string_view run, int seed, bool overwrite, bool is_named) {
  Process process(in);
  const std::string line = concat("train memory://data/set memory://out/", run, " --seed ", seed);
  return process.with(line, [&](CommandContext& context, const ParsedCommandLine& parsed) -> Status {
    HEADRACE_TRY(const Location data, context.stores.open(parsed.arguments[0]));
    HEADRACE_TRY(const Location output, context.stores.open(parsed.arguments[1]));
    return record_run(
        context, "train", output, parsed.options, [&](RunRecorder& recorder, RunEnd&) -> Status {
          HEADRACE_CHECK(recorder.add_input("data", data));
          const TraceOptions trace;
          const TrainEnvironment with{.engine = engine(),
                                      .trace = trace,
                                      .environment = context.environment,
                                      .temporary_folder = local_folder(),
                                      .tracer = tiny_tracer(local_folder())};
          const TrainOptions options{.epochs = 2,
                                     .batch_size = 4,
                                     .validation = 0,
                                     .seed = static_cast<std::uint64_t>(seed),
                                     .memory_budget_bytes = 1 << 20,
                                     .overwrite = overwrite};
          HEADRACE_TRY(
              const TrainResult result,
              train(
                  data, make_stoppable(output, {}), options, with, actor_of(context, "train", recorder),
                  [](const TrainProgress&) {}, [](const EpochMetrics&) {}, {}));
          HEADRACE_CHECK(recorder.add_output("export", output.at("export")));
          if (!is_named) return {};
          HEADRACE_TRY(const NamedVersion named,
                       publish_named_model(recorder.root(), "m", output.at("export"), result.export_digest,
                                           recorder.run_id()));
          return recorder.add_output("named-model", named.folder);
        });
  });
}

// As Resume of python/headrace/keras.py: continues, publishes after each epoch, keeps the latest.
Status train_in_keras(const Surroundings& in) {
  Process process(in);
  constexpr std::string_view kKind = "keras-checkpoint";
  HEADRACE_TRY(const Location folder, process.stores.open("memory://out/x"));
  HEADRACE_TRY(FolderOwner owner, FolderOwner::take(folder, kKind, "keras Resume", virtual_now()));
  HEADRACE_TRY(const auto before, owner.published(kKind));
  std::uint64_t epoch = 0;
  if (before) epoch = parse_json(before->manifest.attributes_json)->get<std::uint64_t>("epoch");
  while (epoch < kKerasEpochs) {
    ++epoch;
    HEADRACE_TRY(const StagedFolder staged, StagedFolder::create(local_folder()));
    std::ofstream(concat(staged.path(), "/variables-", zero_padded(epoch, 8), owner.suffix(), ".npz"))
        << epoch;
    Manifest manifest{
        .kind = std::string(kKind), .plan = "p", .attributes_json = concat("{\"epoch\":", epoch, "}")};
    HEADRACE_CHECK(owner.publish(staged.path(), "variables", std::move(manifest)));
    HEADRACE_TRY(const std::vector<std::uint64_t> numbers, owner.numbers());
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i) HEADRACE_CHECK(owner.unpublish(kKind, numbers[i]));
  }
  return {};
}

Result<ExportedModel> open_model(StoreRegistry& stores) {
  HEADRACE_TRY(const Location run, stores.open("memory://out/model"));
  return open_exported_model(run, engine(), local_folder());
}

Status predict_records(const Surroundings& in, bool overwrite) {
  Process process(in);
  const std::string line = "predict memory://out/model --data memory://data/set --to memory://out/x";
  return process.with(line, [&](CommandContext& context, const ParsedCommandLine& parsed) -> Status {
    HEADRACE_TRY(const Location data, context.stores.open("memory://data/set"));
    HEADRACE_TRY(const Location output, context.stores.open("memory://out/x"));
    return record_run(
        context, "predict", output, parsed.options, [&](RunRecorder& recorder, RunEnd&) -> Status {
          HEADRACE_TRY(const ExportedModel model, open_model(context.stores));
          HEADRACE_CHECK(recorder.add_input("model", model.folder));
          const PredictOptions options{
              .batch_size = overwrite ? std::uint64_t{2} : std::uint64_t{4},
              .workers = 1,
              .overwrite = overwrite,
              .format = overwrite ? PredictionFormat::kCsv : PredictionFormat::kJsonLines};
          HEADRACE_TRY(
              const std::unique_ptr<PredictInput> input,
              open_dataset_input(model, data, {.split = "train", .memory_budget_bytes = 1 << 20}, {}));
          HEADRACE_CHECK(predict(model, *input, output, options, actor_of(context, "predict", recorder),
                                 [](std::uint64_t, std::uint64_t) {}, {}));
          return recorder.add_output("predictions", output);
        });
  });
}

Status evaluate_run(const Surroundings& in) {
  Process process(in);
  return process.with(
      "evaluate memory://out/x --data memory://data/set",
      [&](CommandContext& context, const ParsedCommandLine& parsed) -> Status {
        HEADRACE_TRY(const Location run, context.stores.open("memory://out/x"));
        HEADRACE_TRY(const Location data, context.stores.open("memory://data/set"));
        return record_run(
            context, "evaluate", run.at("evaluations"), parsed.options,
            [&](RunRecorder& recorder, RunEnd&) -> Status {
              HEADRACE_TRY(const ExportedModel model, open_exported_model(run, engine(), local_folder()));
              HEADRACE_CHECK(recorder.add_input("model", model.folder));
              const EvaluateOptions options{.split = "train", .memory_budget_bytes = 1 << 20};
              HEADRACE_TRY(const Evaluation done,
                           evaluate(model, data, options, [](std::uint64_t, std::uint64_t) {}, {}));
              const Location to = run.at(concat("evaluations/", recorder.run_id(), ".json"));
              const Location page = run.at(concat("evaluations/", recorder.run_id(), ".html"));
              HEADRACE_CHECK(write_text(*page.store, page.key, evaluation_to_html(done, recorder.run_id()),
                                        {.only_if_absent = true}));
              HEADRACE_CHECK(write_text(*to.store, to.key, evaluation_to_json(done, recorder.run_id()) + "\n",
                                        {.only_if_absent = true}));
              return recorder.add_output("evaluation", to);
            },
            {.continues_earlier = false});
      });
}

std::vector<TestCommand> make_commands() {
  std::vector<TestCommand> commands = {
      words("prepare", concat(kPrepare, "1 --max-rejects 1")),
      words("prepare-overwrite", concat(kPrepare, "2 --max-rejects 1 --overwrite")),
      words("prepare-append", "prepare memory://data/more memory://out/x --append --workers 1"),
      words("prepare-retry", "prepare memory://data/in memory://out/x --retry-failed --workers 1"),
      words("plan", concat(kPlan, "1")),
      words("plan-overwrite", concat(kPlan, "3 --overwrite")),
      words("plan-append", "plan memory://data/more memory://out/x --append"),
      {"execute", execute},
      words("publish", "publish memory://out/x --max-rejects 1"),
      {"train", [](const Surroundings& in) { return train_run(in, "x", 1, false, false); }},
      {"train-overwrite", [](const Surroundings& in) { return train_run(in, "x", 2, true, false); }},
      {"train-name", [](const Surroundings& in) { return train_run(in, "x", 1, false, true); }},
      {"train-overwrite-name", [](const Surroundings& in) { return train_run(in, "x", 2, true, true); }},
      {"train-other-name", [](const Surroundings& in) { return train_run(in, "y", 3, false, true); }},
      {"keras", train_in_keras},
      {"predict", [](const Surroundings& in) { return predict_records(in, false); }},
      {"predict-overwrite", [](const Surroundings& in) { return predict_records(in, true); }},
      {"evaluate", evaluate_run},
      {"train-model", [](const Surroundings& in) { return train_run(in, "model", 4, false, false); }},
      words("named-alias", "models alias memory://out/models/m stable 1"),
      words("named-alias-2", "models alias memory://out/models/m stable 2"),
      words("named-export", "models export memory://out/models/m memory://copy/served"),
      words("gc", "gc --older-than 0s memory://out/x"),
      words("rm", "rm -r --yes memory://out/x"),
      words("sync-from", "sync memory://out/x memory://copy/x"),
      words("sync-to", "sync memory://data/set memory://out/x"),
      words("sync-delete", "sync --delete --yes memory://data/set memory://out/x"),
      words("lineage", "lineage memory://out/x", true),
      words("runs", "runs ls memory://out", true),
  };
  for (TestCommand& command : metric_commands()) commands.push_back(std::move(command));
  for (TestCommand& command : media_commands()) commands.push_back(std::move(command));
  for (TestCommand& command : request_log_commands()) commands.push_back(std::move(command));
  for (TestCommand& command : artifact_commands()) commands.push_back(std::move(command));
  for (TestCommand& command : curve_commands()) commands.push_back(std::move(command));
  return commands;
}

}  // namespace

std::span<const TestCommand> test_commands() {
  static const std::vector<TestCommand> commands = make_commands();
  return commands;
}

const TestCommand* find_command(std::string_view name) {
  const auto all = test_commands();
  const auto found = std::ranges::find(all, name, &TestCommand::name);
  return found == all.end() ? nullptr : &*found;
}

std::shared_ptr<Store> make_data(bool early) {
  std::shared_ptr<Store> data = make_memory_store("data");
  const auto put = [&](const std::string& key, std::string_view text) { (void)write_text(*data, key, text); };
  const auto row = [](int i, std::string_view note) {
    return concat("row-", i, ",text number ", i, ",", i % 2 == 0 ? "neg" : "pos", ",memory://data/notes/",
                  note, "\n");
  };
  constexpr std::string_view kHead = "id,text,label,note\n";
  put("schema.toml", R"(id = "id"
[features.sentence]
type = "vector"
column = "text"
encoder = "hash:4"
[features.label]
type = "label"
one_hot = true
vocabulary = ["neg", "pos"]
[features.note]
type = "bytes"
uri = true
)");
  put("in/1.csv", concat(kHead, row(1, "ok"), row(2, "ok"), row(3, "ok")));
  put("in/2.csv", concat(kHead, row(4, "ok"), row(5, "ok"), row(6, "late")));
  put("more/3.csv", concat(kHead, row(7, "ok"), row(8, "ok")));
  put("notes/ok", "a note");
  if (!early) put("notes/late", "a late note");
  std::string rows(kHead);
  for (int i = 0; i < kManyRows; ++i) rows += row(i, "ok");
  put("rows/1.csv", rows);
  prepare_sets(data);
  return data;
}

}  // namespace headrace::interleave
