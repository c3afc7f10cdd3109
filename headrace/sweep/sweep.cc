#include "headrace/sweep/sweep.h"

#include <algorithm>
#include <charconv>
#include <mutex>

#include "headrace/base/text.h"
#include "headrace/evaluate/evaluate.h"
#include "headrace/net/backoff.h"
#include "headrace/os/available_memory.h"
#include "headrace/os/parallel.h"
#include "headrace/stream/dataset.h"
#include "headrace/sweep/reusing_engine.h"
#include "headrace/sweep/scratch.h"
#include "headrace/sweep/shared_ids.h"
#include "headrace/sweep/subsets.h"
#include "headrace/sweep/trace_cache.h"
#include "headrace/train/train_run.h"

namespace headrace {
namespace {

// Memory of a run's TensorFlow session and activations, besides the loaders' budgets.
constexpr std::uint64_t kSessionBytes = 256 << 20;
// A weight, its gradient, two moments, and the copy that is written.
constexpr std::uint64_t kParameterBytes = 5 * sizeof(float);

// One run to train: its options, and its score once it is known.
struct SweepRun {
  TrainOptions training;     // if it has a selection, only the selection's name is set
  std::uint64_t size = 0;    // one of subset_sizes
  std::uint64_t number = 0;  // number of the seed, from 0
  Configuration configuration{};
  std::optional<Score> score{};
  int intra_op_threads = 1;
  std::uint64_t records_done = 0;

  std::uint64_t total_records() const { return size * training.epochs; }
  std::string describe() const { return concat("training on ", size, " records with seed ", training.seed); }
};

// Counts the records that the runs have trained on. Thread-safe.
class SweepCounter {
 public:
  explicit SweepCounter(const OnSweep& on_progress) : on_progress_(on_progress) {}

  void begin(std::uint64_t total_records, std::size_t scores, std::size_t total_scores) {
    at_ = {.total_records = total_records, .scores = scores, .total_scores = total_scores};
    on_progress_(at_);
  }
  void advance(SweepRun& run, std::uint64_t records_done) { add(run, records_done, 0); }
  // The rest of the run need not be done: training stopped early, or another process has done it.
  void finish(SweepRun& run) { add(run, run.total_records(), 1); }

 private:
  void add(SweepRun& run, std::uint64_t records_done, std::size_t scores) {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t now = std::clamp(records_done, run.records_done, run.total_records());
    at_.records += now - run.records_done;
    run.records_done = now;
    at_.scores += scores;
    on_progress_(at_);
  }

  const OnSweep& on_progress_;
  std::mutex mutex_;
  SweepProgress at_;
};

class Sweep {
 public:
  Sweep(const Location& data, const Location& folder, const SweepOptions& options,
        const TrainEnvironment& environment, const Actor& actor, const OnSweep& on_progress)
      : data_(data),
        folder_(folder),
        options_(options),
        engine_(make_reusing(environment.engine)),
        traces_([&environment](const TraceRequest& request) {
          if (environment.tracer) return environment.tracer(request);
          return trace_model(request, environment.trace, environment.environment);
        }),
        environment_{*engine_,
                     environment.trace,
                     environment.environment,
                     environment.temporary_folder,
                     environment.on_print,
                     [](const ModelBinding&) {},
                     true,
                     [this](const TraceRequest& request) { return traces_.trace(request); }},
        actor_(actor),
        counter_(on_progress),
        claims_(claim_by_lease(folder.at("leases"), actor.id, options.leases)) {}

  Result<SweepResult> run(const std::stop_token& stop) {
    // A stop request, or an error in one run, stops all runs.
    const std::stop_callback passed_on(stop, [this] { stop_.request_stop(); });
    HEADRACE_CHECK(check_test_split());
    HEADRACE_CHECK(plan());
    HEADRACE_CHECK(find_scores());
    HEADRACE_CHECK(divide_into_classes());
    HEADRACE_CHECK(check_memory());
    HEADRACE_CHECK(check_ids());
    while (true) {
      HEADRACE_CHECK(train_unclaimed());
      if (std::ranges::all_of(runs_, [](const SweepRun& run) { return run.score.has_value(); })) break;
      if (!sleep_unless_stopped(options_.look_each, stop_.get_token())) return stopped();
    }
    add_remarks();
    for (SweepRun& run : runs_) result_.scores.push_back(*std::move(run.score));
    return std::move(result_);
  }

 private:
  static Error stopped() { return {Code::kCancelled, "measuring a learning curve was stopped"}; }

  Result<std::shared_ptr<const Dataset>> open_split(const std::string& split) const {
    return Dataset::open(data_, {.split = split,
                                 .version = options_.training.data_version,
                                 .on_corrupt = options_.training.on_corrupt,
                                 .call = call()});
  }

  // Checks that the splits share no ids, before the first run trains. Does nothing if all scores are known.
  Status check_ids() const {
    if (std::ranges::all_of(runs_, [](const SweepRun& run) { return run.score.has_value(); })) return {};
    HEADRACE_TRY(const auto training, open_split(options_.training.split));
    HEADRACE_TRY(const auto test, open_split(options_.test_split));
    LoaderOptions reading;
    reading.batch_size = options_.training.batch_size;
    reading.threads = 1;
    reading.on_corrupt = options_.training.on_corrupt;
    reading.memory_budget_bytes = options_.training.memory_budget_bytes;
    reading.stop = stop_.get_token();
    return check_ids_apart(training, test, reading);
  }

  // Checks the test split before the first run trains.
  Status check_test_split() const {
    if (options_.test_split == options_.training.split)
      return Error{Code::kInvalidArgument,
                   concat("the test split and the split to train on are both ", options_.test_split,
                          ": scores would be measured on records that were learnt")};
    HEADRACE_TRY(const auto test, open_split(options_.test_split));
    if (test->record_count() > 0) return {};
    return Error{Code::kInvalidArgument, concat("the split ", options_.test_split, " of ", data_.describe(),
                                                " has no records to test on")};
  }

  // Calls `work` for all runs without a score, several in parallel. The first error stops the others.
  Status for_each_open(int threads, const std::function<Status(SweepRun&)>& work) {
    std::optional<Error> first;
    std::mutex mutex;
    const Status done = parallel_for(threads, runs_.size(), [&](std::size_t i) -> Status {
      if (runs_[i].score) return {};
      if (stop_.stop_requested()) return stopped();
      Status worked = work(runs_[i]);
      if (worked) return worked;
      const std::scoped_lock lock(mutex);
      if (!first) first = Error(worked.error()).in(runs_[i].describe());
      stop_.request_stop();
      return worked;
    });
    return first ? Status(*first) : done;
  }

  Status plan() {
    TrainOptions whole = options_.training;
    whole.subset.reset();
    HEADRACE_TRY(const TrainPlan first, plan_training(data_, whole, environment_, stop_.get_token()));
    HEADRACE_TRY(const std::vector<std::uint64_t> sizes, subset_sizes(first.part_records, options_.sizes));
    for (const std::uint64_t size : sizes) {
      for (std::uint64_t number = 0; number < options_.seeds; ++number)
        runs_.push_back(run_of(first.part_records, size, number));
    }
    engine_->keep_idle(most_idle(first));
    choose_parallel_runs(first);
    binding_ = first.model.binding;
    label_ = first.label;
    const bool reads_labels = options_.training.class_weights == "balanced";
    if (reads_labels) HEADRACE_CHECK(divide_into_classes());
    return for_each_open(parallel_runs_, [&](SweepRun& run) -> Status {
      HEADRACE_TRY(const TrainPlan plan, plan_training(data_, reads_labels ? options_of(run) : run.training,
                                                       environment_, stop_.get_token()));
      HEADRACE_TRY(const std::string digest, trace_digest(plan.model));
      run.intra_op_threads = plan.intra_op_threads;
      run.configuration = plan.configuration;
      run.configuration.erase("data");  // the manifest's digest identifies the data, wherever they lie
      run.configuration["traced model"] = digest;
      run.configuration["test split"] = options_.test_split;
      return {};
    });
  }

  // The run of a size and a seed. A subset of all records is the same, stratified or not.
  SweepRun run_of(std::uint64_t part_records, std::uint64_t size, std::uint64_t number) const {
    SweepRun out{.training = options_.training, .size = size, .number = number};
    out.training.seed += number;
    if (options_.stratify.empty() || size == part_records) {
      out.training.subset = subset_range(part_records, size, number);
    } else {
      out.training.selection = std::make_shared<const RecordSelection>(
          RecordSelection{concat(size, " by ", options_.stratify, " from ", subset_place(number)), {}});
    }
    return out;
  }

  // The options to train with. A selection's records are in memory only as long as they are needed. The
  // strata are in memory as long as any run trains.
  TrainOptions options_of(const SweepRun& run) const {
    TrainOptions out = run.training;
    if (!strata_) return out;
    out.memory_budget_bytes -= strata_->bytes();
    if (!out.selection) return out;
    const auto ranges = stratified_ranges(strata_->counts(), run.size, run.number);
    out.selection = std::make_shared<const RecordSelection>(
        RecordSelection{out.selection->name, strata_->select(ranges)});
    return out;
  }

  // Checks the memory before the first run trains. The run with all records trains first, but a subset with
  // its selection may take more memory.
  Status check_memory() const {
    if (!strata_) return {};
    const auto check = [&](const SweepRun& run) -> Status {
      const Status fits =
          check_training_memory(data_, options_of(run), *binding_, environment_, stop_.get_token());
      if (fits || fits.error().code != Code::kResourceExhausted) return fits;
      return Error(fits.error())
          .in(concat("--stratify ", options_.stratify, ": the classes of the records take ",
                     format_size(strata_->bytes()), " of the memory budget, ",
                     format_size(options_.training.memory_budget_bytes), "; ", run.describe()));
    };
    const auto is_open = [](const SweepRun& run) { return !run.score; };
    const auto is_selected = [](const SweepRun& run) { return !run.score && run.training.selection; };
    const auto largest = std::ranges::find_if(runs_, is_open);
    const auto largest_selected = std::ranges::find_if(runs_, is_selected);
    if (largest != runs_.end()) HEADRACE_CHECK(check(*largest));
    if (largest_selected != runs_.end() && largest_selected != largest)
      HEADRACE_CHECK(check(*largest_selected));
    return {};
  }

  // Reads the labels before the first run trains, once, if a stratified subset is needed.
  Status divide_into_classes() {
    const auto is_needed = [](const SweepRun& run) { return run.training.selection && !run.score; };
    if (strata_ || std::ranges::none_of(runs_, is_needed)) return {};
    HEADRACE_TRY(ReadStrata read,
                 read_strata(data_, options_.stratify, options_.training, environment_, stop_.get_token()));
    const std::size_t classes = read.strata.counts().size();
    if (runs_.back().size < classes)
      return Error{
          Code::kInvalidArgument,
          concat("--stratify ", options_.stratify, ": the training part has records of ", classes,
                 " classes, and the smallest size is ", runs_.back().size,
                 " records, which cannot have one of each; give fewer --sizes, or leave --stratify out")};
    strata_.emplace(std::move(read.strata));
    unread_records_ = read.unread_records;
    return {};
  }

  // How many idle models to keep: they take at most half of the free memory.
  std::size_t most_idle(const TrainPlan& plan) const {
    const std::uint64_t model_bytes = std::max<std::uint64_t>(1, plan.model.parameters * kParameterBytes);
    const auto available = available_memory_bytes();
    return available ? std::min<std::size_t>(options_.seeds, *available / 2 / model_bytes) : options_.seeds;
  }

  void choose_parallel_runs(const TrainPlan& plan) {
    parallel_runs_ = options_.at_once;
    if (parallel_runs_ != 0) return;
    const std::uint64_t bytes =
        options_.training.memory_budget_bytes + kSessionBytes + plan.model.parameters * kParameterBytes;
    const std::uint64_t idle_bytes = most_idle(plan) * plan.model.parameters * kParameterBytes;
    const std::uint64_t available = available_memory_bytes().value_or(bytes);
    const std::uint64_t fitting = (available - std::min(available, idle_bytes)) / bytes;
    parallel_runs_ = std::max(1, available_cores() / plan.intra_op_threads);
    parallel_runs_ =
        static_cast<int>(std::clamp<std::uint64_t>(fitting, 1, static_cast<std::uint64_t>(parallel_runs_)));
  }

  Status find_scores() {
    HEADRACE_CHECK(for_each_open(parallel_runs_, [&](SweepRun& run) -> Status {
      HEADRACE_TRY(run.score, read_score(folder_, run.configuration, call()));
      return {};
    }));
    std::uint64_t records = 0;
    std::size_t scores = 0;
    for (const SweepRun& run : runs_) {
      records += run.score ? 0 : run.total_records();
      scores += run.score ? 1 : 0;
    }
    counter_.begin(records, scores, runs_.size());
    return {};
  }

  // Adds the classes that the training records lack to the score; the other sizes of this call do not matter.
  // A subset that is stratified by the learnt label has all classes.
  Status find_missing_classes(const SweepRun& run, const TrainOptions& training, Score& score) const {
    if (run.training.selection && options_.stratify == label_) return {};
    HEADRACE_TRY(const std::vector<std::string> missing,
                 missing_classes(data_, training, environment_, stop_.get_token()));
    if (missing.empty()) return {};
    score.missing_class = missing.front();
    score.missing_classes = missing.size();
    return {};
  }

  // Trains the runs that no other process has claimed.
  Status train_unclaimed() {
    return for_each_open(parallel_runs_, [&](SweepRun& run) -> Status {
      const std::uint64_t task = lease_task(run.configuration);
      HEADRACE_TRY(run.score, read_score(folder_, run.configuration, call()));
      if (!run.score) {
        HEADRACE_TRY(const bool is_free, claims_->claim(task));
        if (!is_free) return {};
        Status done = train_claimed(run);
        claims_->release(task);
        HEADRACE_CHECK(std::move(done));
      }
      counter_.finish(run);
      return {};
    });
  }

  static std::uint64_t lease_task(const Configuration& configuration) {
    std::uint64_t task = 0;
    const std::string digits = configuration_digest(configuration).substr(0, 15);
    std::from_chars(digits.data(), digits.data() + digits.size(), task, 16);
    return task;
  }

  Status train_claimed(SweepRun& run) {
    // Another process may have trained this run since the last look.
    HEADRACE_TRY(run.score, read_score(folder_, run.configuration, call()));
    if (run.score) return {};
    HEADRACE_TRY(const TrainedScore trained, train_and_evaluate(run));
    // A score is not kept if records were damaged: the data may be repaired, and the score would remain. If
    // the class of a record is unknown, a repair changes the subset, even if the subset has no damaged record
    // now.
    const bool is_of_unread = run.training.selection && unread_records_ > 0;
    if (trained.corrupt_records == 0 && !is_of_unread) {
      HEADRACE_TRY(run.score, create_score(folder_, trained.score, call()));
    } else {
      run.score = trained.score;
    }
    if (trained.corrupt_records > 0)
      run.score->remarks.push_back(concat("the score with ", run.score->records, " records and seed ",
                                          run.score->seed, " is not kept: ", trained.corrupt_records,
                                          " damaged records were left out"));
    const std::scoped_lock lock(mutex_);
    ++result_.trained;
    return {};
  }

  void add_remark(const std::string& remark) {
    if (std::ranges::find(result_.remarks, remark) == result_.remarks.end())
      result_.remarks.push_back(remark);
  }

  // Adds the remarks once all scores are known, whichever process trained the runs.
  void add_remarks() {
    for (const SweepRun& run : runs_) {
      for (const std::string& remark : run.score->remarks) add_remark(remark);
    }
    if (unread_records_ > 0)
      add_remark(concat("--stratify ", options_.stratify, ": ", unread_records_,
                        " records are damaged or have no such label; they count as one more class, and no "
                        "score of a stratified subset is kept"));
    for (const SweepRun& run : runs_) {
      remark_on_size(run);
      remark_on_missing_classes(run);
    }
    remark_on_epochs();
  }

  // Many rare classes make a subset larger, because each is rounded up, or raised to one record.
  void remark_on_size(const SweepRun& run) {
    if (!run.training.selection) return;
    const std::uint64_t records = run.score->records;
    const std::uint64_t off = records > run.size ? records - run.size : run.size - records;
    if (off <= run.size / 10) return;
    add_remark(concat("--stratify ", options_.stratify, ": the subset of ", run.size, " records has ",
                      records,
                      ", because the share of each rare class is rounded, to at least one record; "
                      "rare classes have more than their share there"));
  }

  // Looks only at a seed's smallest subset: the seed's larger subsets contain its records, so they have all
  // its classes.
  void remark_on_missing_classes(const SweepRun& run) {
    const Score& score = *run.score;
    if (run.size != runs_.back().size || score.missing_classes == 0) return;
    add_remark(
        concat("the smallest subset of seed ", score.seed, ", ", score.records,
               " records, has none of the class ", score.missing_class,
               score.missing_classes == 1 ? "" : concat(" and of ", score.missing_classes - 1, " others"),
               ": its score also counts how often that class is missed; give --stratify ",
               label_.empty() ? "" : concat(label_, " "), "or fewer --sizes"));
  }

  struct TrainedScore {
    Score score;
    std::uint64_t corrupt_records = 0;  // in training and evaluation
  };

  Result<TrainedScore> train_and_evaluate(SweepRun& run) {
    TrainOptions training = options_of(run);
    Score score{.configuration = run.configuration, .seed = training.seed};
    // Before the training, so that labels that cannot be read do not waste a finished training.
    HEADRACE_CHECK(find_missing_classes(run, training, score));
    HEADRACE_TRY(const Scratch scratch, make_scratch(environment_.temporary_folder));
    const Location& output = scratch.output;
    const auto on_step = [&](const TrainProgress& at) {
      counter_.advance(run, at.step * run.training.batch_size);
    };
    HEADRACE_TRY(TrainResult trained, train(
                                          data_, output, training, environment_, actor_, on_step,
                                          [](const EpochMetrics&) {}, stop_.get_token()));
    training.selection.reset();  // frees its memory, so that the evaluation has the whole budget
    HEADRACE_TRY(const ExportedModel model,
                 open_exported_model(output, environment_.engine, environment_.temporary_folder,
                                     run.intra_op_threads));
    const EvaluateOptions options{.split = options_.test_split,
                                  .data_version = training.data_version,
                                  .on_corrupt = training.on_corrupt,
                                  .memory_budget_bytes = training.memory_budget_bytes};
    HEADRACE_TRY(const Evaluation evaluation,
                 evaluate(
                     model, data_, options, [](std::uint64_t, std::uint64_t) {}, stop_.get_token()));
    score.records = trained.train_records;
    score.metrics = recorded_metrics(evaluation);
    score.seconds = trained.training_seconds;
    score.epochs = trained.history.size();
    score.best_epoch = best_epoch(trained.history);
    score.remarks = std::move(trained.remarks);
    return TrainedScore{.score = std::move(score),
                        .corrupt_records = trained.corrupt_records + evaluation.corrupt_records};
  }

  // Remarks on the sizes at which more epochs would have given smaller errors.
  void remark_on_epochs() {
    if (options_.training.validation == 0) return;
    std::vector<std::string> sizes;
    for (std::size_t i = 0; i < runs_.size(); i += options_.seeds) {
      const auto ends_best = [](const SweepRun& run) { return run.score->best_epoch == run.score->epochs; };
      const auto first = runs_.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::all_of(first, first + static_cast<std::ptrdiff_t>(options_.seeds), ends_best))
        sizes.push_back(concat(first->score->records));
    }
    if (sizes.empty()) return;
    result_.remarks.push_back(
        concat("the validation loss with ", join(sizes, ", "),
               " records was lowest after the last epoch: with more --epochs these errors "
               "would be smaller, and the curve would be different"));
  }

  CallOptions call() const { return {.stop = stop_.get_token()}; }

  const Location& data_;
  const Location& folder_;
  const SweepOptions& options_;
  const std::unique_ptr<ReusingEngine> engine_;
  TraceCache traces_;
  const TrainEnvironment environment_;
  const Actor& actor_;
  SweepCounter counter_;
  const std::unique_ptr<TaskClaims> claims_;
  std::stop_source stop_;
  std::mutex mutex_;  // guards result_ while runs train
  SweepResult result_;
  std::optional<Strata> strata_;
  std::uint64_t unread_records_ = 0;     // records whose class is unknown in strata_
  std::optional<ModelBinding> binding_;  // the model's
  std::string label_;                    // the label that the model learns
  std::vector<SweepRun> runs_;           // by size, largest first, then by seed
  int parallel_runs_ = 1;
};

}  // namespace

Result<SweepResult> measure_sweep(const Location& data, const Location& folder, const SweepOptions& options,
                                  const TrainEnvironment& environment, const Actor& actor,
                                  const OnSweep& on_progress, const std::stop_token& stop) {
  return Sweep(data, folder, options, environment, actor, on_progress).run(stop);
}

}  // namespace headrace
