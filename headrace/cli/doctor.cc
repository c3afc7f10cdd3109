#include <filesystem>
#include <nlohmann/json.hpp>

#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"
#include "headrace/store/examine.h"
#include "headrace/store/s3/s3_examine.h"

namespace headrace {
namespace {

using Outcome = Finding::Outcome;

constexpr std::chrono::milliseconds kPatience{10'000};
constexpr int kAttempts = 3;

constexpr Positional kPositionals[] = {{.name = "URL", .sentence = "The bucket or folder to test."}};

constexpr Option kOptions[] = {
    {.name = "no-write",
     .type = OptionType::kFlag,
     .sentence = "Write nothing. Conditions, checksums and speed are then not tested."},
    {.name = "size",
     .type = OptionType::kSize,
     .default_value = "64MiB",
     .unit = "SIZE",
     .sentence = "Size of the object for measuring speed; 0: do not measure.",
     .minimum = 0,
     .maximum = 1 << 30}};

std::string_view word_for(Outcome outcome) {
  return outcome == Outcome::kOk ? "ok" : outcome == Outcome::kWarning ? "warning" : "failure";
}

// Shows each finding as it comes, or all of them as a document in the end.
class Findings {
 public:
  explicit Findings(Console& console) : console_(console) {}

  void add(const Finding& finding) {
    ++count_;
    if (finding.outcome == Outcome::kFailure) ++failures_;
    const std::string_view word = word_for(finding.outcome);
    document_.push_back(
        {{"name", finding.name}, {"outcome", word}, {"text", finding.text}, {"advice", finding.advice}});
    if (console_.json()) return;
    console_.result(concat(padded(word, 9), padded(finding.name, 22), finding.text));
    if (!finding.advice.empty()) console_.result(concat(padded("", 31), "→ ", finding.advice));
  }

  Status finish(std::string_view url) {
    if (console_.json()) {
      console_.result(nlohmann::json({{"url", url}, {"healthy", failures_ == 0}, {"checks", document_}})
                          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    if (failures_ == 0) return {};
    return Error{Code::kFailedPrecondition,
                 concat(url, ": ", failures_, failures_ == 1 ? " failure" : " failures", " in ", count_,
                        " checks; what to do about each stands above")};
  }

 private:
  static std::string padded(std::string_view text, std::size_t width) {
    std::string out(text);
    out.resize(std::max(width, text.size() + 1), ' ');
    return out;
  }

  Console& console_;
  nlohmann::json document_ = nlohmann::json::array();
  int count_ = 0;
  int failures_ = 0;
};

// The settings that all else rests on; none if they are wrong.
std::optional<S3Options> s3_settings(const Environment& environment, const Report& report) {
  Result<S3Options> options = s3_options_from(environment);
  if (!options) {
    report({"settings", Outcome::kFailure, options.error().message,
            "docs/environment.md lists the variables, docs/credentials.md where keys may come from"});
    return std::nullopt;
  }
  options->max_attempts = kAttempts;
  options->outlasts_outages = false;
  return *std::move(options);
}

void examine_disk(const std::string& path, const Report& report) {
  std::filesystem::path folder = "/" + path;
  std::error_code failed;
  while (!std::filesystem::exists(folder, failed) && folder.has_relative_path())
    folder = folder.parent_path();
  const auto space = std::filesystem::space(folder, failed);
  if (failed) return report({"disk", Outcome::kFailure, concat(folder.string(), ": ", failed.message())});
  report({"disk", Outcome::kOk,
          concat(format_size(space.available), " free of ", format_size(space.capacity), " at ",
                 folder.string())});
}

// True if it is worth while to try out writing there.
bool examine_place(const Url& url, const std::optional<S3Options>& s3, const CallOptions& call,
                   const Report& report) {
  if (s3) return examine_s3(url.authority, *s3, call, report);
  if (url.scheme == "file") examine_disk(url.path, report);
  return true;
}

void examine_folder(CommandContext& context, const std::string& url, const OptionValues& options,
                    const Report& report) {
  const CallOptions call{.deadline = kPatience, .stop = context.stop};
  std::optional<S3Options> s3;
  if (url.starts_with("s3://")) {
    s3 = s3_settings(context.environment, report);
    if (!s3) return;
  }
  const auto location = context.stores.open(url);
  if (!location) return report({"URL", Outcome::kFailure, location.error().message});
  if (!examine_place(location->url, s3, call, report)) return;
  const auto object = find_object(*location, call);
  const std::string folder = object && *object ? parent_key(location->key) : location->key;
  if (options.flag("no-write")) {
    return report(
        {"writing", Outcome::kOk, "not tested (--no-write), nor are conditions, checksums and speed"});
  }
  if (s3) examine_s3_checksums(location->url.authority, folder, *s3, call, report);
  examine_writes(*location->store, folder, {options.size_bytes("size"), call}, report);
}

Status run(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues& options) {
  Findings findings(context.console);
  examine_folder(context, arguments[0], options, [&](const Finding& finding) { findings.add(finding); });
  HEADRACE_CHECK(check_stop(context.stop, "examining the store"));
  return findings.finish(arguments[0]);
}

}  // namespace

extern const Command kDoctorCommand;
const Command kDoctorCommand = {
    .name = "doctor",
    .summary = "Test whether a store can be used, and find out what is wrong",
    .details =
        "Checks settings, credentials, connection, TLS, clocks and permissions, one after another. Then "
        "writes, reads, replaces and removes an object named headrace-doctor-… below URL, to test whether "
        "the store keeps the conditions that concurrent writers rely on, and to measure its speed. Fails if "
        "any check fails.\n"
        "  headrace doctor s3://datasets\n"
        "  headrace doctor s3://datasets --no-write\n"
        "  headrace doctor /mnt/share/datasets --size 1GiB",
    .positionals = kPositionals,
    .options = kOptions,
    .run = run};

}  // namespace headrace
