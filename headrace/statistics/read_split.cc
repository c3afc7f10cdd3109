#include "headrace/statistics/read_split.h"

#include <algorithm>
#include <cmath>

#include "headrace/os/parallel.h"
#include "headrace/stream/block_loader.h"

namespace headrace {
namespace {

constexpr PreviewLimits kShown = {.texts = 6, .text_bytes = 400, .pictures = 3};

// The first records of a block.
struct Run {
  std::size_t block = 0;
  std::uint64_t first_record = 0;  // number of its first record in the split
  std::uint64_t record_count = 0;
};

std::vector<Run> all_runs(const Dataset& dataset) {
  std::vector<Run> runs;
  std::uint64_t first = 0;
  for (std::size_t block = 0; block < dataset.blocks().size(); ++block) {
    runs.push_back({block, first, dataset.blocks()[block].record_count});
    first += runs.back().record_count;
  }
  return runs;
}

std::vector<Run> choose_runs(const Dataset& dataset, std::uint64_t wanted) {
  std::vector<Run> runs = all_runs(dataset);
  if (wanted >= dataset.record_count()) return runs;
  std::ranges::sort(runs, {}, [](const Run& run) { return spread(run.block); });
  std::size_t kept = 0;
  for (; kept < runs.size() && wanted > 0; ++kept) {
    runs[kept].record_count = std::min(runs[kept].record_count, wanted);
    wanted -= runs[kept].record_count;
  }
  runs.resize(kept);
  std::ranges::sort(runs, {}, &Run::block);
  return runs;
}

Result<LoadedBlock> load(const Dataset& dataset, std::size_t block, const CallOptions& call) {
  BlockLoader loader(dataset, CorruptionPolicy::kSkipRecord, BufferPool::create());
  return loader.load(dataset.blocks()[block], call);
}

Result<SplitStatistics> read_run(const Dataset& dataset, const Run& run,
                                 const FeatureVocabularies& vocabularies, const CallOptions& call) {
  HEADRACE_TRY(const LoadedBlock block, load(dataset, run.block, call));
  SplitStatistics statistics;
  for (std::uint64_t i = 0; i < std::min(run.record_count, block.record_count()); ++i) {
    const auto record = block.record(i);
    const auto example = record ? parse_example(*record) : Result<std::vector<Feature>>(record.error());
    if (example) {
      statistics.add(*example, vocabularies, run.first_record + i);
    } else {
      ++statistics.damaged;
    }
  }
  return statistics;
}

// Chooses the same number of records of each label, as many as there is room for.
std::vector<SampleRecord> choose_samples(const SplitStatistics& statistics, std::size_t most) {
  std::vector<SampleRecord> out;
  const std::size_t each =
      std::max<std::size_t>(1, most / std::max<std::size_t>(1, statistics.places.size()));
  for (const auto& [label, sample] : statistics.places) {
    std::size_t taken = 0;
    for (const auto& [hash, record] : sample.sorted()) {
      if (out.size() == most || taken++ == each) break;
      out.push_back({.record = record, .label = label});
    }
  }
  return out;
}

}  // namespace

Result<SplitStatistics> read_split(const Dataset& dataset, const FeatureVocabularies& vocabularies,
                                   const ReadSplitOptions& options) {
  const std::uint64_t share =
      static_cast<std::uint64_t>(std::ceil(options.share * static_cast<double>(dataset.record_count())));
  const std::uint64_t wanted = std::min(share, options.most_records);
  const std::vector<Run> runs = choose_runs(dataset, wanted);
  SplitStatistics all;
  all.published_records = dataset.record_count();
  const auto at_once = static_cast<std::size_t>(std::max(1, options.threads));
  for (std::size_t begin = 0; begin < runs.size(); begin += at_once) {
    std::vector<SplitStatistics> parts(std::min(at_once, runs.size() - begin));
    HEADRACE_CHECK(parallel_for(options.threads, parts.size(), [&](std::size_t i) -> Status {
      HEADRACE_TRY(parts[i], read_run(dataset, runs[begin + i], vocabularies, options.call));
      return {};
    }));
    for (const SplitStatistics& part : parts)
      all.merge(part);  // in this order, because sums of floats depend on the order
    options.progress(all.records + all.damaged, std::min(wanted, dataset.record_count()));
  }
  all.finish();
  return all;
}

Result<std::vector<SampleRecord>> read_samples(const Dataset& dataset, const SplitStatistics& statistics,
                                               std::size_t most, const ReadSplitOptions& options) {
  std::vector<SampleRecord> samples = choose_samples(statistics, most);
  const std::vector<Run> runs = all_runs(dataset);
  std::map<std::size_t, std::vector<SampleRecord*>> by_run;
  for (SampleRecord& sample : samples) {
    const auto after = std::ranges::upper_bound(runs, sample.record, {}, &Run::first_record);
    by_run[static_cast<std::size_t>(after - runs.begin()) - 1].push_back(&sample);
  }
  const std::vector<std::pair<std::size_t, std::vector<SampleRecord*>>> work(by_run.begin(), by_run.end());
  HEADRACE_CHECK(parallel_for(options.threads, work.size(), [&](std::size_t i) -> Status {
    const auto& [run, wanted] = work[i];
    HEADRACE_TRY(const LoadedBlock block, load(dataset, run, options.call));
    for (SampleRecord* const sample : wanted) {
      HEADRACE_TRY(const BytesView record, block.record(sample->record - runs[run].first_record));
      HEADRACE_TRY(sample->preview, preview_record(record, {}, kShown));
    }
    return {};
  }));
  return samples;
}

}  // namespace headrace
