#include <algorithm>
#include <array>

#include "headrace/base/text.h"
#include "headrace/cli/inspection.h"
#include "headrace/cli/objects.h"
#include "headrace/stream/tar_shard.h"
#include "headrace/stream/tfrecord_object.h"

namespace headrace {
namespace {

constexpr std::size_t kMaximumObjects = 1'000'000;
constexpr std::size_t kMaximumLabels = 1000;  // more values than that are not labels
constexpr std::array<std::string_view, 7> kSplitNames = {"train", "test", "validation", "valid",
                                                         "val",   "dev",  "eval"};

// "train-00001-of-00017.tfrecord" → "train"; "" if the name does not begin with a usual split name.
std::string split_of(std::string_view key) {
  const std::string name = to_lower(last_segment(key));
  for (const std::string_view split : kSplitNames) {
    if (name.starts_with(split) &&
        (name.size() == split.size() || name[split.size()] < 'a' || name[split.size()] > 'z'))
      return std::string(split);
  }
  return "";
}

// "train-00001.tfrecord" → "train-#.tfrecord"
std::string pattern_of(std::string_view key) {
  std::string pattern;
  for (const char c : last_segment(key)) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || !pattern.ends_with('#')) pattern += digit ? '#' : c;
  }
  return pattern;
}

// The common properties of all values of one feature.
struct ObservedFeature {
  std::string type;
  std::size_t least = ~std::size_t{0};
  std::size_t most = 0;
  std::uint64_t records = 0;

  void observe(const Feature& feature) {
    std::string this_type = "nothing";
    std::size_t size = 0;
    if (const auto* bytes = std::get_if<std::vector<BytesView>>(&feature.values)) {
      this_type = data_type_name(DataType::kBytes), size = bytes->size();
    } else if (const auto* floats = std::get_if<std::vector<float>>(&feature.values)) {
      this_type = data_type_name(DataType::kFloat32), size = floats->size();
    } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&feature.values)) {
      this_type = data_type_name(DataType::kInt64), size = integers->size();
    }
    type = type.empty() || type == this_type ? this_type : "mixed";
    least = std::min(least, size);
    most = std::max(most, size);
    ++records;
  }
  std::string describe(std::uint64_t of_records) const {
    std::string out = type;
    if (least != most) out += concat("[", least, " to ", most, "]");
    if (least == most && most != 1) out += concat("[", most, "]");
    if (records < of_records) out += concat(", in ", records, " of ", of_records, " records");
    return out;
  }
};

// The class that a feature named "label" gives: a number, or the position of the 1 in a one-hot vector.
std::string label_of(const std::vector<Feature>& features) {
  const auto found = std::find_if(features.begin(), features.end(),
                                  [](const Feature& feature) { return feature.name == "label"; });
  if (found == features.end()) return "";
  const auto* values = std::get_if<std::vector<std::int64_t>>(&found->values);
  if (values == nullptr || values->empty()) return "";
  if (values->size() == 1) return concat((*values)[0]);
  if (std::count(values->begin(), values->end(), 1) != 1) return "";
  return concat("class ", std::find(values->begin(), values->end(), 1) - values->begin());
}

struct ObservedObject {
  std::string key;
  std::string_view form;  // "none", "gzip" or "zlib" if it is a TFRecord file, compressed like that; or "tar"
};

constexpr std::string_view kTar = "tar";

class ForeignReader {
 public:
  ForeignReader(CommandContext& context, const Location& folder, const InspectOptions& options)
      : context_(context), options_(options), folder_(folder) {}

  Result<Inspection> run(const std::vector<ObjectInfo>& objects) {
    inspection_.url = folder_.url.text();
    inspection_.kind = "TFRecord files";
    inspection_.bad.emplace();
    for (const ObjectInfo& object : objects) inspection_.size_bytes += object.size_bytes;
    std::uint64_t not_tfrecord = 0;
    for (const ObjectInfo& object : objects) {
      HEADRACE_TRY(const bool is_tfrecord, read(object));
      not_tfrecord += is_tfrecord ? 0 : 1;
    }
    if (observed_.empty()) {
      return refused_ ? *refused_
                      : Error{Code::kInvalidArgument,
                              concat("no manifest, TFRecord file or tar lies at ", folder_.describe())};
    }
    const auto tars = std::ranges::count(observed_, kTar, &ObservedObject::form);
    if (tars > 0)
      inspection_.kind =
          tars == std::ssize(observed_) ? "WebDataset tars" : "TFRecord files and WebDataset tars";
    if (not_tfrecord > 0) inspection_.objects["other (left out)"] = not_tfrecord;
    for (const auto& [name, feature] : features_) inspection_.features[name] = feature.describe(examples_);
    warn_of_odd_compression();
    warn_of_odd_names();
    return std::move(inspection_);
  }

 private:
  // Returns false if the object is neither a TFRecord file nor a tar.
  Result<bool> read(const ObjectInfo& object) {
    Location location = folder_;
    location.key = location.url.path = object.key;
    const std::string split = split_of(object.key);
    SplitCounts counts;
    TfrecordSummary summary;
    const auto visit = [&](BytesView record) {
      observe(record, split, counts);
      return true;
    };
    const auto advance = [&](std::uint64_t more) {
      context_.console.progress("reading", done_ += more, inspection_.size_bytes, "bytes");
    };
    const auto is_tar = is_tar_shard({location, object}, context_.call());
    if (!is_tar) {
      if (is_tar.error().code != Code::kInvalidArgument) return is_tar.error();
      refused_ = is_tar.error();
      inspection_.warnings.push_back(refused_->message);
      return false;
    }
    const Status status =
        *is_tar ? read_tar_samples({location, object}, context_.call(), summary.records, visit, advance)
                : read_tfrecord(location, object, options_.record_limit_bytes, context_.call(), summary,
                                visit, advance);
    if (!status && status.error().code == Code::kInvalidArgument) return false;
    if (!status && status.error().code != Code::kDataLoss) return status.error();
    if (!status) inspection_.bad->push_back({location.describe(), status.error().message});
    if (object.size_bytes == 0) inspection_.warnings.push_back(concat(location.describe(), " is empty"));
    observed_.push_back({object.key, *is_tar ? kTar : compression_name(summary.compression)});
    ++inspection_.objects[concat(observed_.back().form, " files")];
    SplitCounts& total = inspection_.splits[split.empty() ? "(no split)" : split];
    total.records += summary.records;
    for (const auto& [label, count] : counts.labels) total.labels[label] += count;
    return true;
  }

  void observe(BytesView record, const std::string& split, SplitCounts& counts) {
    if (shown_[split]++ < options_.first_records) {
      inspection_.first_records.push_back(
          concat(split, split.empty() ? "" : " ", shown_[split] - 1, ": ", describe_record(record)));
    }
    ++examples_;
    const auto features = parse_example(record);
    if (!features) return;  // not a tf.Example; `features` counts only those that are
    for (const Feature& feature : *features) features_[feature.name].observe(feature);
    const std::string label = label_of(*features);
    if (!label.empty() && (counts.labels.size() < kMaximumLabels || counts.labels.contains(label)))
      ++counts.labels[label];
  }

  std::string name_of(const std::string& key) const { return folder_.store->describe(key); }

  void warn_of_odd_compression() {
    std::map<std::string_view, std::uint64_t> files;
    for (const ObservedObject& object : observed_) ++files[object.form];
    files.erase(kTar);
    if (files.size() < 2) return;
    const std::string_view usual = std::max_element(files.begin(), files.end(), [](auto& a, auto& b) {
                                     return a.second < b.second;
                                   })->first;
    for (const ObservedObject& object : observed_) {
      if (object.form == usual || object.form == kTar) continue;
      inspection_.warnings.push_back(concat(name_of(object.key), " has compression ", object.form, ", ",
                                            files[usual], " others have ", usual,
                                            "; readers that expect one compression fail on it, but "
                                            "Headrace detects each file's"));
    }
  }

  void warn_of_odd_names() {
    std::map<std::string, std::uint64_t> files;
    for (const ObservedObject& object : observed_) ++files[pattern_of(object.key)];
    const auto usual =
        std::max_element(files.begin(), files.end(), [](auto& a, auto& b) { return a.second < b.second; });
    for (const ObservedObject& object : observed_) {
      const std::string pattern = pattern_of(object.key);
      const bool odd = files[pattern] == 1 && usual->second > 1 &&
                       (split_of(object.key).empty() || split_of(object.key) == split_of(usual->first));
      if (!odd) continue;
      inspection_.warnings.push_back(concat(name_of(object.key), " does not match the pattern of the ",
                                            usual->second, " other files, ", usual->first,
                                            ": readers that use the pattern miss it; rename it if it belongs "
                                            "to them"));
    }
  }

  CommandContext& context_;
  const InspectOptions& options_;
  const Location folder_;
  Inspection inspection_;
  std::vector<ObservedObject> observed_;
  std::optional<Error> refused_;
  std::map<std::string, ObservedFeature> features_;
  std::map<std::string, std::uint64_t> shown_;  // by split
  std::uint64_t examples_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace

Result<Inspection> inspect_foreign(CommandContext& context, const Location& location,
                                   const InspectOptions& options) {
  std::vector<ObjectInfo> objects;
  HEADRACE_TRY(const auto single, find_object(location, context.call()));
  if (single) objects.push_back(*single);
  if (!single) {
    const ListOptions list = {.collapse_folders = true, .call = context.call()};
    HEADRACE_CHECK(location.store->list(folder_prefix(location.key), list, [&](const ObjectInfo& object) {
      if (!object.is_folder()) objects.push_back(object);
      return objects.size() < kMaximumObjects && !context.stop.stop_requested();
    }));
  }
  HEADRACE_CHECK(check_stop(context.stop, "listing"));
  return ForeignReader(context, location, options).run(objects);
}

}  // namespace headrace
