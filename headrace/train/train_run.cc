#include "headrace/train/train_run.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/coordinate/versions.h"
#include "headrace/model/contract.h"
#include "headrace/model/offered_features.h"
#include "headrace/os/parallel.h"
#include "headrace/stream/batch_tensors.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/stage_output.h"
#include "headrace/train/checkpoint.h"
#include "headrace/train/class_weights.h"
#include "headrace/train/export.h"

namespace headrace {
namespace {

constexpr std::string_view kTraceKind = "trace";
constexpr std::string_view kModelFile = "model.json";
constexpr std::string_view kTrainingLog = "events/train";
constexpr std::string_view kValidationLog = "events/validation";

// Patterns for the variables in the folder `folder`.
std::vector<std::string> variables_in(std::string_view folder) {
  return {concat(folder, "variables.index"), concat(folder, "variables.data-#####-of-#####")};
}

// Patterns for the SavedModel in the folder `folder`.
std::vector<std::string> saved_model_in(std::string_view folder) {
  std::vector<std::string> names = variables_in(concat(folder, "variables/"));
  for (const char* name : {"saved_model.pb", "fingerprint.pb", "assets/*"})
    names.push_back(concat(folder, name));
  return names;
}

// Patterns for objects that an owner may leave behind and that no manifest names. Their names end in
// `suffix`, or lie in the folder that `suffix` names. The export with fixed names is not included: readers
// use it, and the copy of a later owner's export replaces whatever the first owner has left there
// (copy_to_fixed_names).
std::vector<std::string> names_with(std::string_view suffix) {
  const std::string files = suffix.empty() ? "" : concat(suffix.substr(1), "/");
  std::vector<std::string> names = {concat("model/", files, "model.json"),
                                    concat("model/", files, "graph.pb"),
                                    concat("checkpoints/variables-########", suffix, ".npz"),
                                    concat("checkpoints/variables-########-within", suffix, ".npz")};
  std::ranges::move(saved_model_in(concat("model/", files, "saved_model/")), std::back_inserter(names));
  std::ranges::move(variables_in(concat("checkpoints/step-########", suffix, "/")),
                    std::back_inserter(names));
  if (!files.empty()) std::ranges::move(saved_model_in(concat("export/", files)), std::back_inserter(names));
  return names;
}

StageOutput train_output() {
  std::vector<std::string> names = names_with("");
  std::ranges::move(saved_model_in("export/"), std::back_inserter(names));
  for (const std::string_view log : {kTrainingLog, kValidationLog}) {
    for (const char* name : {"events.out.tfevents.headrace", "events.out.tfevents.headrace.######"})
      names.push_back(concat(log, "/", name));
  }
  return {.stage = "train",
          .former_claim = kConfigurationKey,
          .folders = {{kExportFolder, "saved_model"},
                      {kCheckpointsFolder, kCheckpointKind, kKerasCheckpointKind},
                      {kModelFolder, kTraceKind}},
          .names = std::move(names),
          .names_of = [](std::uint64_t number, const OwnershipEntry& entry) {
            return names_with(number == 0 ? "" : owner_suffix(number, entry.action));
          }};
}

// Finds the augmentations, and sets the size of images where options give one.
Status find_images(TrainRun& run) {
  const std::optional<ImageSize>& size = run.options.image_size;
  HEADRACE_TRY(run.augmentations, parse_augmentations("--augment", run.options.augment));
  const std::optional<ImageSize> crop = crop_size(run.augmentations);
  if (crop && !size)
    return Error{Code::kInvalidArgument,
                 "--augment crop needs --image-size: the size to which images are resized before the crop"};
  bool has_images = false;
  for (ModelFeature& feature : run.request.features) {
    if (feature.type != DataType::kUint8) continue;
    has_images = true;
    const std::optional<ImageSize>& taken = crop ? crop : size;
    if (taken) feature.shape = {taken->height, taken->width, -1};
  }
  if (has_images || (!size && run.augmentations.empty())) return {};
  return Error{Code::kInvalidArgument,
               concat(size ? "--image-size" : "--augment",
                      " is for images, and none of the features that the model may take is one: leave it "
                      "out, or name an image with --features; the dataset has ",
                      list_features(*run.dataset->attributes()))};
}

Status find_weights(TrainRun& run, const DatasetAttributes& attributes) {
  const TrainOptions& options = run.options;
  if (!options.weights.empty()) {
    HEADRACE_TRY(ModelFeature weights, named_feature(attributes, "--weights", options.weights));
    const bool is_number = weights.type == DataType::kFloat32 || weights.type == DataType::kInt64;
    if (!is_number || weights.size() != 1 || weights.classes > 0)
      return Error{Code::kInvalidArgument, concat("--weights ", options.weights, ": ", describe(weights),
                                                  " is not one number for each record")};
    weights.is_optional = false;  // a missing weight is an error, not a weight of 0
    for (ModelFeature& feature : run.request.features)
      feature.is_optional = feature.is_optional && feature.name != weights.name;  // the two share a column
    run.request.weights = std::move(weights);
  }
  if (options.class_weights.empty()) return {};
  if (run.request.labels.size() > 1)
    return Error{
        Code::kInvalidArgument,
        "--class-weights are for a single label; with several, weigh records: give --weights the feature "
        "that has a weight for each record"};
  if (options.class_weights == kBalanced) return {};
  const auto vocabulary = attributes.vocabularies.find(run.request.labels.front().name);
  HEADRACE_TRY(run.request.class_weights,
               parse_class_weights(options.class_weights, vocabulary == attributes.vocabularies.end()
                                                              ? std::vector<std::string>()
                                                              : vocabulary->second));
  return {};
}

Status find_features(TrainRun& run, const DatasetAttributes& attributes) {
  HEADRACE_TRY(OfferedFeatures offered,
               offer_features(attributes, run.options.features, run.options.labels, run.options.weights));
  run.request = {.model = run.options.model,
                 .features = std::move(offered.features),
                 .labels = std::move(offered.labels),
                 .inputs = std::move(offered.inputs),
                 .outputs = std::move(offered.outputs),
                 .seed = run.options.seed};
  HEADRACE_CHECK(find_weights(run, attributes));
  return find_images(run);
}

Result<WindowArrangement> wanted_arrangement(const TrainRun& run) {
  const TrainOptions& options = run.options;
  if (!options.balance.empty())
    return find_arrangement(*run.dataset, ArrangementKind::kBalance, options.balance);
  if (!options.bucket.empty())
    return find_arrangement(*run.dataset, ArrangementKind::kBucket, options.bucket);
  return WindowArrangement{};
}

// Names the stage with the version of the order.
std::string stage_name(int order_version, bool is_arranged) {
  return concat("train ", named_order_version(order_version, is_arranged));
}

std::string value_of(const Configuration& configuration, const std::string& key) {
  const auto found = configuration.find(key);
  return found == configuration.end() ? std::string() : found->second;
}

// Keys of a configuration.
constexpr const char* kDataUrl = "data";
constexpr const char* kDataDigest = "data manifest";
constexpr const char* kEpochs = "epochs";
constexpr const char* kIntraOpThreads = "intra-op-threads";

// The records to train on: the part before the validation part, or a subset of it.
Result<RecordRange> training_range(const TrainRun& run) {
  const RecordRange whole{0, run.validation_range.first};
  const std::optional<RecordRange>& subset = run.options.subset;
  const bool is_native = run.options.loop == TrainLoop::kNative;
  if (run.options.selection && (subset || !is_native))
    return Error{
        Code::kInvalidArgument,
        concat("the selection ", run.options.selection->name, " of records of ", run.data.describe(),
               subset ? " is given together with a subset" : " is for the native loop, not for Keras'")};
  if (!subset) return whole;
  const bool is_in_it =
      subset->count > 0 && subset->first <= whole.count && subset->count <= whole.count - subset->first;
  if (is_in_it) return *subset;
  return Error{Code::kInvalidArgument, concat("the training part of ", run.data.describe(), " has ",
                                              whole.count, " records, so a subset of ", subset->count,
                                              " from number ", subset->first, " is not possible")};
}

Status open_data(TrainRun& run) {
  const Location& data = run.data;
  const TrainOptions& options = run.options;
  HEADRACE_TRY(const DataVersion version, choose_data_version(data, run.run, options));
  HEADRACE_TRY(run.dataset, Dataset::open(data, {.split = options.split,
                                                 .version = version.number,
                                                 .on_corrupt = options.on_corrupt,
                                                 .call = {.stop = run.stop}}));
  const DatasetAttributes& attributes = *run.dataset->attributes();
  if (Status found = find_features(run, attributes); !found)
    return std::move(found).error().in(data.describe());
  HEADRACE_TRY(run.arrangement, wanted_arrangement(run));
  const std::uint64_t records = run.dataset->record_count();
  run.validation_range = run.dataset->order(run.order_version).validation_range(options.validation);
  HEADRACE_TRY(run.train_range, training_range(run));
  if (options.validation == 0 || run.validation_range.count > 0 || records == 0) return {};
  return Error{Code::kInvalidArgument,
               concat("--validation ", options.validation,
                      ": a hash of each record's id decides, and none of the ", records, " records of ",
                      data.describe(), " falls into the validation part; give a larger share, or 0")};
}

// A run that began with version 1 of the order continues with version 1.
int order_version_of(const std::optional<Configuration>& begun) {
  return begun && value_of(*begun, "stage") == stage_name(1, false) ? 1 : kOrderVersion;
}

// Digest of the checkpoint that --init-from names; empty without it.
Result<std::string> initial_checkpoint(TrainRun& run) {
  const auto& from = run.options.init_from;
  if (!from) return std::string();
  if (run.options.overwrite && from->describe() == run.run.describe())
    return Error{Code::kInvalidArgument,
                 concat("--init-from names ", run.run.describe(), ", which --overwrite would remove")};
  HEADRACE_TRY(const auto latest, read_published(from->at("checkpoints")));
  if (!latest) {
    return Error{Code::kNotFound,
                 concat("--init-from ", from->describe(), ": no run has a checkpoint there")};
  }
  run.init_kind = latest->manifest.kind;
  if (run.init_kind == kCheckpointKind) return latest->digest;
  if (run.init_kind != kKerasCheckpointKind) {
    return Error{Code::kInvalidArgument,
                 concat("--init-from ", from->describe(), ": its checkpoints/ holds a ", run.init_kind,
                        ", not checkpoints of a run")};
  }
  if (run.options.loop == TrainLoop::kKeras) return latest->digest;
  return Error{Code::kInvalidArgument, concat("--init-from ", from->describe(),
                                              " was trained by Keras' fit: give --loop keras here too")};
}

bool may_take_images(const TrainRun& run) {
  return std::ranges::find(run.request.features, DataType::kUint8, &ModelFeature::type) !=
         run.request.features.end();
}

Configuration describe(const TrainRun& run, const std::string& init_digest) {
  const TrainOptions& options = run.options;
  const bool is_arranged = run.arrangement.kind != ArrangementKind::kNone;
  Configuration out{{"stage", stage_name(run.order_version, is_arranged)},
                    {kDataUrl, run.data.url.text()},
                    {kDataDigest, run.dataset->digest()},
                    {"split", options.split},
                    {"model", options.model},
                    {"features", options.features},
                    {"labels", options.labels},
                    {kEpochs, concat(options.epochs)},
                    {"batch-size", concat(options.batch_size)},
                    {"validation", concat(options.validation)},
                    {"seed", concat(options.seed)},
                    {"learning-rate", options.learning_rate ? concat(*options.learning_rate) : "as compiled"},
                    {"steps", concat(options.steps)},
                    {"early-stop", concat(options.early_stop)},
                    {"init-from", init_digest},
                    {"on-corrupt", std::string(policy_name(options.on_corrupt))},
                    {kIntraOpThreads, concat(run.intra_op_threads)},
                    {"engine", run.environment.engine.version()}};
  if (options.loop == TrainLoop::kKeras) {
    out["loop"] = "keras";
    out["callbacks"] = options.callbacks;
  }
  if (options.selection) out["subset"] = options.selection->name;
  if (options.subset) out["subset"] = concat(options.subset->count, " from ", options.subset->first);
  if (!options.balance.empty()) out["balance"] = options.balance;
  if (!options.bucket.empty()) out["bucket"] = options.bucket;
  if (!options.weights.empty()) out["weights"] = options.weights;
  if (!options.class_weights.empty()) out["class-weights"] = options.class_weights;
  if (!options.augment.empty()) out["augment"] = options.augment;
  if (options.image_size)
    out["image-size"] = concat(options.image_size->height, 'x', options.image_size->width);
  return out;
}

// A run may continue with more epochs than it began with. In that case, this is the configuration that it
// began with.
Configuration former_configuration(const Configuration& wanted, const std::optional<Configuration>& begun) {
  if (!begun) return wanted;
  Configuration former = wanted;
  former[kEpochs] = value_of(*begun, kEpochs);
  const auto before = parse_number<std::uint64_t>(former[kEpochs]);
  const auto now = parse_number<std::uint64_t>(value_of(wanted, kEpochs));
  return before && now && *before < *now ? former : wanted;
}

}  // namespace

Result<DataVersion> choose_data_version(const Location& data, const Location& run,
                                        const TrainOptions& options) {
  if (options.data_version) return DataVersion{*options.data_version};
  HEADRACE_TRY(const std::optional<NumberedObject> latest, read_current_manifest(data));
  if (!latest) {
    return Error{
        Code::kInvalidArgument,
        concat(data.describe(), " is not a dataset that headrace prepare has published: headrace prepare ",
               data.describe(), " DATASET makes one to train on")};
  }
  if (options.overwrite) return DataVersion{latest->number};
  HEADRACE_TRY(const std::optional<Configuration> begun, begun_configuration(run, train_output()));
  if (!begun || value_of(*begun, kDataUrl) != data.url.text()) return DataVersion{latest->number};
  const std::string digest = value_of(*begun, kDataDigest);
  if (digest == sha256_hex(latest->data)) return DataVersion{latest->number};
  HEADRACE_TRY(const std::optional<std::uint64_t> former, version_of_digest(data, digest));
  if (!former) return DataVersion{latest->number};
  return DataVersion{*former, concat(run.describe(), " was begun on version ", *former, " of ",
                                     data.describe(), " and continues with it; the latest is version ",
                                     latest->number, ": train on that in another RUN, or with --overwrite")};
}

// Convolutions run fastest on all cores, small operations on one thread.
int choose_intra_op_threads(const TrainRun& run, const std::optional<Configuration>& begun) {
  if (run.options.intra_op_threads) return *run.options.intra_op_threads;
  if (begun) {
    if (const auto before = parse_number<int>(value_of(*begun, kIntraOpThreads))) return *before;
  }
  return may_take_images(run) ? available_cores() : 1;
}

double TrainRun::wall_time_s() const {
  return std::chrono::duration<double>(environment.environment.now().time_since_epoch()).count();
}

LoaderSource TrainRun::training_source() const {
  return {.dataset = dataset, .range = train_range, .selection = options.selection};
}

TrainResult begin_result(const TrainRun& run) {
  TrainResult result;
  result.remarks = run.dataset->remarks();
  result.train_records = run.train_records();
  result.validation_records = run.validation_range.count;
  return result;
}

LoaderOptions columns_for(const TrainRun& run, const ModelBinding& binding, bool trains) {
  LoaderOptions out;
  const BatchTensors tensors(binding.step_features());
  out.columns = tensors.columns();
  out.images.columns = tensors.images();
  if (trains) out.arrangement = run.arrangement;
  if (!trains || out.images.columns.empty()) return out;
  out.images.augmentations = run.augmentations;
  if (crop_size(run.augmentations)) {
    for (auto& [name, image] : out.images.columns) image.size = *run.options.image_size;
  }
  return out;
}

void add_remark(TrainResult& result, const std::string& remark) {
  if (std::ranges::find(result.remarks, remark) == result.remarks.end()) result.remarks.push_back(remark);
}

Status describe_run(TrainRun& run, const std::optional<Configuration>& begun) {
  HEADRACE_CHECK(open_data(run));
  HEADRACE_TRY(const std::string init_digest, initial_checkpoint(run));
  run.intra_op_threads = choose_intra_op_threads(run, begun);
  run.configuration = describe(run, init_digest);
  run.plan = configuration_digest(run.configuration);
  return {};
}

Status open_run(TrainRun& run) {
  std::optional<Configuration> begun;
  if (!run.options.overwrite) {
    HEADRACE_TRY(begun, begun_configuration(run.run, train_output()));
    run.order_version = order_version_of(begun);
  }
  HEADRACE_CHECK(describe_run(run, begun));
  HEADRACE_TRY(run.seen,
               examine_output(run.run, train_output(), former_configuration(run.configuration, begun),
                              run.options.overwrite));
  return {};
}

Result<TracedModel> trace_run(const TrainRun& run) {
  HEADRACE_TRY(const TraceRequest request, weighed_request(run));
  if (run.environment.tracer) return run.environment.tracer(request);
  return trace_model(request, run.environment.trace, run.environment.environment);
}

Result<OwnedOutput> claim_run(const TrainRun& run) {
  return OwnedOutput::take(run.run, train_output(), run.seen,
                           {.configuration = run.configuration,
                            .actor = run.actor,
                            .action = OwnedOutput::action_for(run.seen, run.options.overwrite)});
}

LoaderBudgets loader_budgets(const TrainRun& run) {
  const std::uint64_t all = run.options.memory_budget_bytes;
  // Validation reads in order, which needs less memory; but decoding images needs as much as in training.
  const std::uint64_t validation = run.validation_range.count == 0 ? 0 : all / (may_take_images(run) ? 2 : 4);
  return {all - validation, validation};
}

LoaderOptions native_loader_options(const TrainRun& run, const ModelBinding& binding, ShuffleMode shuffle) {
  const bool trains = shuffle != ShuffleMode::kNone;
  LoaderOptions out = columns_for(run, binding, trains);
  out.batch_size = run.options.batch_size;
  out.shuffle = shuffle;
  out.order_version = run.order_version;
  out.seed = run.options.seed;
  out.epochs = trains ? run.options.epochs : 1;
  out.on_corrupt = run.options.on_corrupt;
  out.is_in_background = run.intra_op_threads > 1;  // the threads of a step wait for each other
  out.threads = run.options.loader_threads;
  const LoaderBudgets budgets = loader_budgets(run);
  out.memory_budget_bytes = trains ? budgets.training_bytes : budgets.validation_bytes;
  out.stop = run.stop;
  return out;
}

Result<KeptModel> open_kept_model(const TrainRun& run, const PublishedFolder& published) {
  HEADRACE_TRY(StagedFolder folder, StagedFolder::create(run.environment.temporary_folder));
  HEADRACE_CHECK(
      download_published(published, folder_of_part(published.manifest, kModelFile), folder.path()));
  HEADRACE_TRY(TracedModel model, read_traced_model(folder.path()));
  return KeptModel{std::move(folder), std::move(model)};
}

Error folder_is_gone(const TrainRun& run, std::string_view folder) {
  const auto now = read_chain(run.run);
  if (now && now->last != run.seen.chain.last) return lost_output(run.run, now->last);
  return {Code::kDataLoss, concat(run.run.describe(), " is exported, but nothing is published in its folder ",
                                  folder, "/; restore the folder, or start over with --overwrite")};
}

Result<std::optional<PublishedFolder>> find_begun(const TrainRun& run, std::string_view folder) {
  if (!run.seen.is_own) return std::optional<PublishedFolder>();
  return published_in(run.run, folder, run.seen.chain);
}

Status keep_model(const TrainRun& run, OwnedOutput& owned, const std::string& folder) {
  Manifest manifest{.kind = std::string(kTraceKind), .created_by = run.actor.run, .plan = run.plan};
  const auto kept = publish_folder(folder, owned.in(kModelFolder), owned.files_folder(), kModelFile, "trace",
                                   std::move(manifest));
  return kept ? Status{} : Status(kept.error());
}

Result<bool> is_exported(const TrainRun& run, TrainResult& result) {
  HEADRACE_TRY(const std::optional<PublishedFolder> exported, find_begun(run, kExportFolder));
  if (!exported || exported->manifest.plan != run.plan)
    return false;  // the export is of a run with fewer epochs
  result.export_digest = exported->digest;
  HEADRACE_CHECK(
      remove_superseded(run.run, train_output(), run.seen.chain.generation(), run.seen.chain.entry));
  HEADRACE_CHECK(copy_to_fixed_names(*exported));
  return true;
}

Status export_run(const TrainRun& run, OwnedOutput& owned, Model& model, TrainResult& result) {
  const ExportDescription description{
      .contract = make_contract(result.model.binding, result.model.metric_names, *run.dataset->attributes()),
      .epoch = result.exported_epoch,
      .step = result.steps};
  HEADRACE_TRY(result.export_digest, export_model(model, result.model, owned, description,
                                                  run.environment.temporary_folder, run.plan, run.actor.run));
  HEADRACE_CHECK(remove_superseded(run.run, train_output(), owned.generation(), owned.entry()));
  HEADRACE_CHECK(remove_superseded_events(run, result.history.size(), owned.entry()));
  HEADRACE_TRY(const auto exported,
               read_published(owned.in(kExportFolder).folder(), {.number = owned.in(kExportFolder).last()}));
  return exported ? copy_to_fixed_names(*exported) : Status{};
}

std::uint64_t best_epoch(const std::vector<EpochMetrics>& history) {
  std::uint64_t best = history.empty() ? 0 : history.back().epoch;
  double lowest = std::numeric_limits<double>::infinity();
  for (const EpochMetrics& metrics : history) {
    const auto found = metrics.values.find("val_loss");
    if (found != metrics.values.end() && found->second < lowest) lowest = found->second, best = metrics.epoch;
  }
  return best;
}

Error diverged(std::string_view what, std::uint64_t epoch, std::uint64_t step, bool is_run_temporary) {
  constexpr std::string_view kAdvice =
      "Look at the data with headrace inspect, or try a smaller --learning-rate";
  if (is_run_temporary)
    return {Code::kAborted, concat(what, " at step ", step, " in epoch ", epoch, ". ", kAdvice)};
  const std::string kept = epoch <= 1 ? "no checkpoint was written yet"
                                      : concat("the checkpoint after epoch ", epoch - 1, " is kept");
  return {Code::kAborted, concat(what, " at step ", step, " in epoch ", epoch, "; ", kept, ". ", kAdvice,
                                 " with --overwrite or another RUN")};
}

Error with_train_advice(Error error, bool is_run_temporary) {
  if (error.code == Code::kDataLoss && !is_run_temporary)
    error.message += " (that is another configuration: use --overwrite, or another RUN)";
  return error;
}

Status remove_superseded_events(const TrainRun& run, std::uint64_t epoch, std::uint64_t owner) {
  for (const std::string_view log : {kTrainingLog, kValidationLog})
    HEADRACE_CHECK(remove_superseded_segments(run.run.at(log), epoch, owner));
  return {};
}

RunEvents::RunEvents(const TrainRun& run, const std::string& suffix)
    : run_(run),
      training_(run.run.at(kTrainingLog), "headrace", suffix),
      validation_(run.run.at(kValidationLog), "headrace", suffix) {}

EventStamp RunEvents::stamp(std::uint64_t step) const {
  return {run_.wall_time_s(), static_cast<std::int64_t>(step)};
}

void RunEvents::begin(std::uint64_t epoch) { training_.begin(epoch, run_.wall_time_s()); }

void RunEvents::batch_loss(std::uint64_t step, double loss) {
  training_.scalar(stamp(step), "batch_loss", static_cast<float>(loss));
}

void RunEvents::time_spent(std::uint64_t epoch, const EpochSeconds& seconds) {
  if (!(seconds.all > 0)) return;
  const EventStamp now = stamp(epoch);
  const double input = std::clamp(seconds.input / seconds.all, 0.0, 1.0);
  const double hand_over = std::clamp(seconds.hand_over / seconds.all, 0.0, 1.0 - input);
  training_.scalar(now, "epoch_input_percent", static_cast<float>(100 * input));
  training_.scalar(now, "epoch_hand_over_percent", static_cast<float>(100 * hand_over));
  training_.scalar(now, "epoch_compute_percent", static_cast<float>(100 * (1 - input - hand_over)));
}

Status RunEvents::end(const EpochMetrics& metrics) {
  constexpr std::string_view kValidation = "val_";
  const EventStamp now = stamp(metrics.epoch);
  bool is_validated = false;
  validation_.begin(metrics.epoch, now.wall_time_s);
  for (const auto& [name, value] : metrics.values) {
    const bool is_of_validation = name.starts_with(kValidation);
    EventLog& log = is_of_validation ? validation_ : training_;
    log.scalar(now, concat("epoch_", is_of_validation ? name.substr(kValidation.size()) : name),
               static_cast<float>(value));
    is_validated |= is_of_validation;
  }
  if (is_validated) HEADRACE_CHECK(validation_.end());
  return training_.end();
}

}  // namespace headrace
