#include "headrace/base/duration.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"

namespace headrace {
namespace {

constexpr Positional kPresignPositionals[] = {
    {.name = "URL",
     .sentence = "An object in a store that has presigned URLs, such as s3://; it need not exist yet."}};

constexpr Option kPresignOptions[] = {
    {.name = "expires",
     .default_value = "1h",
     .unit = "DURATION",
     .sentence = "How long the URL is valid: 30s, 15m, 1h, 7d. Temporary keys may expire sooner."},
    {.name = "method",
     .default_value = "GET",
     .sentence = "What the URL permits: reading or writing.",
     .choices = "GET|PUT"}};

Status check_presign(const OptionValues& options) {
  if (const auto lifetime = parse_duration(options.text("expires"));
      !lifetime || *lifetime > kLongestPresigned || *lifetime < std::chrono::seconds(1)) {
    return Error{Code::kInvalidArgument, "--expires is a time of 1s to 7d, such as 30s, 15m, 1h"};
  }
  return {};
}

// An example URL for each kind of store that can presign.
std::vector<std::string> examples() {
  std::vector<std::string> urls;
  for (const StoreDriver* driver : StoreRegistry::drivers())
    if (driver->presign != nullptr) urls.emplace_back(driver->example);
  return urls;
}

Status run_presign(CommandContext& context, const std::vector<std::string>& arguments,
                   const OptionValues& options) {
  HEADRACE_TRY(const Url url, StoreRegistry::parse(arguments[0]));
  HEADRACE_TRY(const StoreDriver* const driver, StoreRegistry::driver(url.scheme));
  if (driver->presign == nullptr) {
    return Error{Code::kInvalidArgument,
                 concat(arguments[0], ": only objects at ", join(examples(), ", "), " have presigned URLs")};
  }
  const auto lifetime = std::chrono::ceil<std::chrono::seconds>(*parse_duration(options.text("expires")));
  HEADRACE_TRY(const PresignedUrl made,
               driver->presign(url, context.environment, {options.text("method"), lifetime}, context.stop));
  const std::string end = format_time(made.usable_until);
  if (context.console.json()) {
    context.console.result(Json({{"url", made.url}, {"usable_until", end}}).dump());
    return {};
  }
  context.console.result(made.url);
  const bool is_cut = made.usable_until < context.environment.now() + lifetime - std::chrono::minutes(1);
  context.console.note(concat("valid until ", end, is_cut ? ", when the keys that signed it expire" : "",
                              "; anyone who has the URL can use it without keys"));
  return {};
}

}  // namespace

extern const Command kPresignCommand;
const Command kPresignCommand = {
    .name = "presign",
    .summary = "Make a URL that lets others read or write one object for a while",
    .details =
        "The URL is signed with your keys. No request is sent, so the command does not check whether the "
        "object exists. Treat the URL as a password until it expires.\n"
        "  headrace presign s3://datasets/reviews.tar.gz\n"
        "  curl -T local.bin \"$(headrace presign -q --method PUT --expires 15m s3://inbox/local.bin)\"",
    .positionals = kPresignPositionals,
    .options = kPresignOptions,
    .run = run_presign,
    .check = check_presign};

}  // namespace headrace
