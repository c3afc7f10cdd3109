// `runs import`: records runs of other trackers. Programs of the Python package read the files of the
// trackers, except event files, which are read here.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "headrace/artifact/artifact_draft.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/own_package.h"
#include "headrace/engine/tensorflow/tensorflow.h"
#include "headrace/events/log_layout.h"
#include "headrace/os/child_process.h"
#include "headrace/os/python_program.h"
#include "headrace/run_import/allowed_files.h"
#include "headrace/run_import/event_folders.h"
#include "headrace/run_import/imported_record.h"
#include "headrace/track/json_number.h"
#include "headrace/track/recorder.h"

namespace headrace {
namespace {

constexpr std::chrono::milliseconds kGrace{1000};

constexpr Positional kImportPositionals[] = {
    {.name = "SOURCE",
     .sentence = "MLflow's folder mlruns or its SQLite database, a folder with event files, a folder of "
                 "offline runs of Weights & Biases or one run-*.wandb, or a folder with Neptune's export."},
    {.name = "FOLDER", .sentence = "The folder whose _headrace/runs/ gets the records."},
};

constexpr Option kImportOptions[] = {
    {.name = "artifacts-from",
     .type = OptionType::kTextList,
     .unit = "URL",
     .sentence = "Copy files of runs from this folder, too. Default: only what lies in SOURCE."},
    {.name = "from",
     .sentence = "Format of SOURCE. Default: recognised by the names in it.",
     .choices = "mlflow-files|mlflow-database|tensorboard|wandb|neptune"},
    {.name = "unfinished",
     .type = OptionType::kFlag,
     .sentence = "Import runs that have not ended in SOURCE, too, with the status `stopped`."},
};

struct Counts {
  std::uint64_t imported = 0;
  std::uint64_t known = 0;       // were already recorded
  std::uint64_t unfinished = 0;  // were left out
  std::vector<std::string> problems{};
};

// Imports the runs that it is given, one after the other.
class RunsImport {
 public:
  RunsImport(CommandContext& context, Location root, bool takes_unfinished)
      : context_(context), root_(std::move(root)), takes_unfinished_(takes_unfinished) {}

  Counts& counts() { return counts_; }

  // Begins the record of a run. Returns false if the run is not to be imported.
  Result<bool> begin(ImportedRun run) {
    if (run.status == RunStatus::kUnfinished && !takes_unfinished_) {
      ++counts_.unfinished;
      return false;
    }
    ImportOptions options{.command_line = context_.command_line};
    options.versions = {{"headrace", HEADRACE_VERSION}};
    options.now = context_.environment.now();
    options.call = context_.call();
    HEADRACE_TRY(record_, ImportedRecord::begin(root_, std::move(run), std::move(options)));
    if (!record_) ++counts_.known;
    return record_.has_value();
  }

  ImportedRecord* record() { return record_ ? &*record_ : nullptr; }

  Status finish() {
    HEADRACE_CHECK(record_->finish());
    const ImportedRun& run = record_->run();
    context_.console.note(concat(record_->id(), "  ", context_.console.name(run.name)));
    record_.reset();
    ++counts_.imported;
    return {};
  }

  // Reports that a run cannot be imported. Later runs may be imported, unless the error is one of the store.
  Status give_up(std::string_view name, const Status& why) {
    record_.reset();
    const Code code = why.error().code;
    const bool is_of_run = code == Code::kDataLoss || code == Code::kInvalidArgument ||
                           code == Code::kFailedPrecondition || code == Code::kNotFound ||
                           code == Code::kResourceExhausted;
    if (!is_of_run) return why;
    counts_.problems.push_back(concat(name, name.empty() ? "" : ": ", why.error().message));
    context_.console.warn(counts_.problems.back());
    return {};
  }

 private:
  CommandContext& context_;
  Location root_;
  bool takes_unfinished_;
  Counts counts_;
  std::optional<ImportedRecord> record_;
};

Status import_event_runs(CommandContext& context, const Location& source, RunsImport& import) {
  HEADRACE_TRY(const EventFolderRuns found, event_folder_runs(source, context.call()));
  for (const std::string& problem : found.problems)
    HEADRACE_CHECK(import.give_up("", Error{Code::kDataLoss, problem}));
  for (const EventFolderRun& each : found.runs) {
    HEADRACE_TRY(const bool is_new, import.begin(each.run));
    if (!is_new) continue;
    const Status copied = import_event_folder(each, *import.record(), context.call());
    HEADRACE_CHECK(copied ? import.finish() : import.give_up(each.run.name, copied));
  }
  return {};
}

// Follows the program python/headrace/_src/imports, whose source_run.py describes the messages.
class ProgramImport {
 public:
  ProgramImport(CommandContext& context, AllowedFiles allowed, RunsImport& import)
      : context_(context), allowed_(std::move(allowed)), import_(import) {}

  Status run(const std::string& format, const std::string& path) {
    HEADRACE_TRY(const std::string interpreter, find_interpreter(context_.environment, ""));
    HEADRACE_TRY(const std::string package, own_python_package());
    const ChildConversation conversation{
        .on_line = [this](std::string_view line) { return take(line); },
        .on_error_line = [this](std::string_view line) { context_.console.note(line); }};
    const auto ended = converse_with_child({interpreter, "-m", "headrace._src.imports", format, path},
                                           variables_with_package(package, context_.environment),
                                           {.stop = context_.stop, .grace = kGrace}, conversation);
    if (!ended) return ended.error();
    if (ended->exit_status == 0) return {};
    return Error{Code::kFailedPrecondition, concat(interpreter, ": ", trim(ended->error_tail))};
  }

 private:
  Result<std::string> take(std::string_view line) {
    try {
      HEADRACE_TRY(const Json message, parse_json(line));
      if (message.members().size() != 1) throw JsonError("not an object of one member");
      const auto& [name, value] = *message.members().begin();
      return take(name, value);
    } catch (const JsonError& error) {
      return Error{Code::kInternal, concat("the program that reads the runs sent a message that cannot be "
                                           "understood: ",
                                           error.what())};
    }
  }

  // \throws JsonError
  Result<std::string> take(const std::string& name, const Json& value) {
    if (name == "run") return begin(value);
    if (name == "problem") {
      HEADRACE_CHECK(import_.give_up("", Error{Code::kDataLoss, value.text()}));
      return std::string();
    }
    if (import_.record() == nullptr) return std::string();  // given up
    const std::string run = import_.record()->run().name;
    Status done;
    if (name == "points") {
      done = add_points(*import_.record(), value);
    } else if (name == "end") {
      done = add_files(*import_.record());
      if (done) done = import_.finish();
    } else {
      throw JsonError(name);
    }
    if (!done) HEADRACE_CHECK(import_.give_up(run, done));
    return std::string();
  }

  Result<std::string> begin(const Json& value) {
    ImportedRun run = imported_run_from_json(value);
    const std::string name = run.name;
    const Result<bool> is_new = begin(value, std::move(run));
    if (!is_new) HEADRACE_CHECK(import_.give_up(name, is_new.error()));
    return std::string(is_new && *is_new ? "take\n" : "skip\n");
  }

  Result<bool> begin(const Json& value, ImportedRun run) {
    HEADRACE_TRY(const Location place, context_.stores.open(value.get<std::string>("place")));
    run.place = recorded_url(place);
    const std::size_t known_remarks = run.remarks.size();
    files_.clear();
    for (const Json& file : value.at("files").values())
      find_files(file.at(std::size_t{0}).text(), file.at(1).text(), run);
    const std::vector<std::string> remarks(run.remarks.begin() + static_cast<std::ptrdiff_t>(known_remarks),
                                           run.remarks.end());
    HEADRACE_TRY(const bool is_new, import_.begin(std::move(run)));
    if (is_new) {
      for (const std::string& remark : remarks) context_.console.warn(remark);
    }
    return is_new;
  }

  struct File {
    Location place;    // the URL of an object or a folder
    std::string path;  // the path within the artifact
  };

  // Takes the files at a URL that may be copied, and adds a remark about the others.
  void find_files(const std::string& url, const std::string& path, ImportedRun& run) {
    const auto place = context_.stores.open(url);
    if (!place) {
      run.remarks.push_back(
          concat("the files at ", url, " were not imported: Headrace cannot open this URL"));
      return;
    }
    const std::string recorded = recorded_url(*place);
    if (!allowed_.contains(*place)) {
      run.remarks.push_back(concat("the files at ", recorded, " were not imported, because they lie outside ",
                                   "the source: --artifacts-from ", recorded, " includes them"));
      return;
    }
    const auto folder = allowed_.list_local(*place, context_.call());
    if (!folder || folder->links_out == 0) {  // an object, or add_files reports why it cannot be listed
      files_.push_back({*place, path});
      return;
    }
    for (const std::string& name : folder->names) files_.push_back({place->at(name), join_key(path, name)});
    run.remarks.push_back(concat(folder->links_out, " files in ", recorded, " were not imported, because ",
                                 "they are symbolic links that lead out of the source: --artifacts-from URL ",
                                 "includes those that lead to that folder"));
  }

  static Status add_points(ImportedRecord& record, const Json& value) {
    std::vector<double> values;
    for (const Json& number : value.at("values").values()) values.push_back(number_from_json(number));
    const auto steps = value.get<std::vector<std::int64_t>>("steps");
    const auto times_us = value.get<std::vector<std::int64_t>>("times_us");
    if (steps.size() != values.size() || times_us.size() != values.size())
      throw JsonError("columns differ in their lengths");
    return record.add_points(value.get<std::string>("metric"), steps, times_us, values);
  }

  Status add_files(ImportedRecord& record) const {
    HEADRACE_TRY(ArtifactDraft draft, record.draft());
    for (const File& file : files_) {
      const Location& place = file.place;
      const auto object = place.key.empty() ? Result<ObjectInfo>(Error{Code::kNotFound, ""})
                                            : place.store->stat(place.key, context_.call());
      const Status added = object ? draft.add_file(place, file.path, context_.call())
                                  : draft.add_folder(place, file.path, context_.call());
      if (!added && added.error().code != Code::kNotFound)
        return added;  // it is no error if there are no files
    }
    return record.add_files(draft);
  }

  CommandContext& context_;
  AllowedFiles allowed_;
  RunsImport& import_;
  std::vector<File> files_;  // of the open run
};

constexpr std::string_view kSqliteMagic = "SQLite format 3";

// The format of a source: by its bytes if it is a file, otherwise by the names in it.
Result<std::string> format_of(const Location& source, const CallOptions& call) {
  const auto object = source.key.empty() ? Result<ObjectInfo>(Error{Code::kNotFound, ""})
                                         : source.store->stat(source.key, call);
  if (object && !object->is_folder()) {
    Bytes begin(std::min<std::uint64_t>(object->size_bytes, kSqliteMagic.size()));
    ReadOptions options;
    options.call = call;
    HEADRACE_CHECK(read_exactly(*source.store, source.key, begin, options));
    if (as_text(begin) == kSqliteMagic) return std::string("mlflow-database");
    if (source.key.ends_with(".wandb")) return std::string("wandb");
  }
  const std::string prefix = folder_prefix(source.key);
  std::set<std::string_view> seen;
  HEADRACE_CHECK(source.store->list(prefix, {.call = call}, [&](const ObjectInfo& each) {
    const std::string_view name = std::string_view(each.key).substr(prefix.size());
    if (name.ends_with("/meta.yaml") && split(name, '/').size() == 2) seen.insert("mlflow-files");
    if (name.ends_with(".wandb")) seen.insert("wandb");
    if (name.ends_with(".parquet")) seen.insert("neptune");
    if (is_event_file(name)) seen.insert("tensorboard");
    return !seen.contains("mlflow-files") && !seen.contains("wandb");
  }));
  for (const std::string_view format : {"mlflow-files", "wandb", "neptune", "tensorboard"}) {
    if (seen.contains(format)) return std::string(format);
  }
  return Error{Code::kNotFound, concat(source.describe(),
                                       " holds no runs of MLflow, TensorBoard, Weights & "
                                       "Biases or Neptune; is it the right folder?")};
}

// The folders of the source. If the source is a file, its artifacts lie beside it, in the folders of its
// tracker.
std::vector<Location> places_in(const Location& source, std::string_view format) {
  Location beside = source;
  beside.key = beside.url.path = parent_key(source.key);
  std::vector<Location> places;
  if (format == "mlflow-database") {
    places = {beside.at("mlruns"), beside.at("mlartifacts")};
  } else {
    places = {source};
    if (format == "wandb" && source.key.ends_with(".wandb")) places.push_back(beside.at("files"));
  }
  const AllowedFiles near({beside});  // the source may itself be a symbolic link
  std::erase_if(places,
                [&](const Location& place) { return place.key != source.key && !near.contains(place); });
  return places;
}

Result<AllowedFiles> allowed_files(CommandContext& context, const Location& source, std::string_view format,
                                   const OptionValues& options) {
  std::vector<Location> places = places_in(source, format);
  for (const std::string& url : options.list("artifacts-from")) {
    HEADRACE_TRY(Location place, context.stores.open(url));
    places.push_back(std::move(place));
  }
  return AllowedFiles(std::move(places));
}

Status show(CommandContext& context, const Counts& counts) {
  if (context.console.json()) {
    context.console.result(Json({{"imported", counts.imported},
                                 {"known", counts.known},
                                 {"unfinished", counts.unfinished},
                                 {"problems", counts.problems}})
                               .dump());
  } else {
    std::string line = concat("imported ", counts.imported, " runs");
    if (counts.known > 0) line += concat("; ", counts.known, " were imported before");
    if (counts.unfinished > 0)
      line += concat("; ", counts.unfinished, " have not ended: --unfinished imports them");
    context.console.result(line);
  }
  if (counts.problems.empty()) return {};
  return Error{Code::kDataLoss, concat(counts.problems.size(),
                                       " runs could not be imported: see the "
                                       "warnings, then run the same command again")};
}

Status import_runs(CommandContext& context, const std::vector<std::string>& arguments,
                   const OptionValues& options) {
  HEADRACE_TRY(const Location source, context.stores.open(arguments[0]));
  HEADRACE_TRY(const Location root, context.stores.open(arguments[1]));
  std::string format;
  if (options.given("from")) {
    format = options.text("from");
  } else {
    HEADRACE_TRY(format, format_of(source, context.call()));
  }
  RunsImport import(context, root, options.flag("unfinished"));
  if (format == "tensorboard") {
    HEADRACE_CHECK(import_event_runs(context, source, import));
  } else if (source.url.scheme != "file") {
    return Error{Code::kInvalidArgument, concat(source.describe(),
                                                " must be on this machine: copy it with "
                                                "headrace cp -r first")};
  } else {
    HEADRACE_TRY(AllowedFiles allowed, allowed_files(context, source, format, options));
    HEADRACE_CHECK(ProgramImport(context, std::move(allowed), import).run(format, concat("/", source.key)));
  }
  return show(context, import.counts());
}

}  // namespace

extern const Command kRunsImportCommand;
const Command kRunsImportCommand = {
    .name = "runs import",
    .summary = "Record runs of MLflow, TensorBoard, Weights & Biases or Neptune",
    .details =
        "Each run of SOURCE becomes a record in FOLDER, with its name, params, tags, metrics, status and\n"
        "files. A run that was imported before is left as it is, and an import that was cut short goes "
        "on.\n"
        "MLflow, Weights & Biases and Neptune are read by the Python of HEADRACE_PYTHON.\n"
        "docs/how-to/import-runs.md says what is read from each.\n"
        "\n"
        "  headrace runs import mlruns/ s3://datasets/runs\n"
        "  headrace runs import s3://old/logs s3://datasets/runs",
    .positionals = kImportPositionals,
    .options = kImportOptions,
    .run = import_runs};

}  // namespace headrace
