#include "headrace/sweep/score.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/record/sealed_json.h"
#include "headrace/track/json_number.h"

namespace headrace {
namespace {

constexpr std::string_view kScoreFormat = "headrace.score";
constexpr int kScoreVersion = 1;
constexpr std::uint64_t kScoreLimitBytes = 1 << 20;
constexpr std::size_t kNameDigits = 32;

Result<Score> score_in(const Json& json) {
  if (json.get<std::string>("format") != kScoreFormat || json.get<int>("version") > kScoreVersion)
    return Error{Code::kDataLoss, "it is not a score that this version of Headrace can read"};
  Score out{.records = json.get<std::uint64_t>("records"),
            .seed = json.get<std::uint64_t>("seed"),
            .seconds = json.get<double>("seconds"),
            .epochs = json.get<std::uint64_t>("epochs"),
            .best_epoch = json.get<std::uint64_t>("best_epoch")};
  json.get_to("configuration", out.configuration);
  for (const auto& [name, number] : json.at("metrics").members())
    out.metrics[name] = number_from_json(number);
  if (json.contains("missing_class")) {
    out.missing_class = json.get<std::string>("missing_class");
    out.missing_classes = json.get<std::uint64_t>("missing_classes");
  }
  if (json.contains("remarks")) json.get_to("remarks", out.remarks);
  return out;
}

}  // namespace

std::string score_key(const Configuration& configuration) {
  return concat("scores/", configuration_digest(configuration).substr(0, kNameDigits), ".json");
}

std::string score_to_json(const Score& score) {
  Json metrics = Json::object();
  for (const auto& [name, number] : score.metrics) metrics[name] = number_to_json(number);
  Json json = {{"format", kScoreFormat},   {"version", kScoreVersion}, {"configuration", score.configuration},
               {"records", score.records}, {"seed", score.seed},       {"metrics", metrics},
               {"seconds", score.seconds}, {"epochs", score.epochs},   {"best_epoch", score.best_epoch}};
  if (score.missing_classes > 0) {
    json["missing_class"] =
        replace_invalid_utf8(std::string_view(score.missing_class).substr(0, kScoreRemarkBytes)).text;
    json["missing_classes"] = score.missing_classes;
  }
  std::vector<std::string> remarks;
  for (const std::string& remark : score.remarks) {
    if (remarks.size() < kMostScoreRemarks)
      remarks.push_back(replace_invalid_utf8(std::string_view(remark).substr(0, kScoreRemarkBytes)).text);
  }
  if (!remarks.empty()) json["remarks"] = remarks;
  return seal_json(json.dump() + "\n");
}

Result<Score> parse_score(std::string_view json) {
  if (!is_sealed_json(json)) return Error{Code::kDataLoss, "its checksum is wrong"};
  return read_json(json, "it is not a score", score_in);
}

Result<std::optional<Score>> read_score(const Location& folder, const Configuration& configuration,
                                        const CallOptions& call) {
  const Location object = folder.at(score_key(configuration));
  const auto read = read_object(*object.store, object.key, kScoreLimitBytes, call);
  if (!read && read.error().code == Code::kNotFound) return std::optional<Score>();
  if (!read) return read.error();
  Result<Score> score = parse_score(as_text(read->data));
  if (score && score->configuration == configuration) return std::optional(*std::move(score));
  return Error{Code::kDataLoss,
               concat(object.describe(), ": ",
                      score ? "it is the score of another configuration" : score.error().message,
                      "; remove it to have it measured again")};
}

Result<Score> create_score(const Location& folder, const Score& score, const CallOptions& call) {
  const Location object = folder.at(score_key(score.configuration));
  const auto written =
      write_text(*object.store, object.key, score_to_json(score), {.only_if_absent = true, .call = call});
  if (written) return score;
  if (written.error().code != Code::kAlreadyExists) return written.error();
  HEADRACE_TRY(const std::optional<Score> there, read_score(folder, score.configuration, call));
  return there ? *there : score;  // it was removed in the meantime
}

}  // namespace headrace
