#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/objects.h"
#include "headrace/store/examine.h"

namespace headrace {
namespace {

using Outcome = Finding::Outcome;

constexpr std::chrono::milliseconds kPatience{10'000};

constexpr Positional kDoctorPositionals[] = {
    {.name = "URL", .sentence = "The bucket or folder to test. It must exist."}};

constexpr Option kDoctorOptions[] = {
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

// Shows each finding as it comes, or all of them as one document at the end.
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
      console_.result(Json({{"url", url}, {"healthy", failures_ == 0}, {"checks", document_}}).dump());
    }
    if (failures_ == 0) return {};
    return Error{Code::kFailedPrecondition,
                 concat(url, ": ", failures_, failures_ == 1 ? " failure" : " failures", " in ", count_,
                        " checks; see the advice above")};
  }

 private:
  static std::string padded(std::string_view text, std::size_t width) {
    std::string out(text);
    out.resize(std::max(width, text.size() + 1), ' ');
    return out;
  }

  Console& console_;
  Json document_ = Json::array();
  int count_ = 0;
  int failures_ = 0;
};

void examine_folder(CommandContext& context, const std::string& text, const OptionValues& options,
                    const Report& report) {
  const CallOptions call{.deadline = kPatience, .stop = context.stop};
  const auto url = StoreRegistry::parse(text);
  const auto driver = url ? StoreRegistry::driver(url->scheme) : url.error();
  if (!driver) return report({"URL", Outcome::kFailure, driver.error().message});
  const StoreDriver& of_url = **driver;
  if (of_url.examine != nullptr && !of_url.examine(*url, context.environment, call, report)) return;
  const auto location = context.stores.open(text);
  if (!location) return report({"URL", Outcome::kFailure, location.error().message});
  const auto object = find_object(*location, call);
  const std::string folder = object && *object ? parent_key(location->key) : location->key;
  if (options.flag("no-write")) {
    return report(
        {"writing", Outcome::kOk, "not tested (--no-write); neither are conditions, checksums and speed"});
  }
  if (of_url.examine_own_writes != nullptr)
    of_url.examine_own_writes(*url, folder, context.environment, call, report);
  examine_writes(*location->store, folder, {options.size_bytes("size"), call}, report);
}

Status run_doctor(CommandContext& context, const std::vector<std::string>& arguments,
                  const OptionValues& options) {
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
    .positionals = kDoctorPositionals,
    .options = kDoctorOptions,
    .run = run_doctor};

}  // namespace headrace
