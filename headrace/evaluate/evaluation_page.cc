#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/evaluate/evaluation.h"
#include "headrace/evaluate/target_parts.h"
#include "headrace/page/html.h"

namespace headrace {
namespace {

constexpr std::size_t kFrameBytes = 256 << 10;  // room for everything but the targets
constexpr std::size_t kUrlBytes = 1000;
constexpr std::size_t kRemarkBytes = 300;
constexpr std::size_t kFactNameBytes = 60;
constexpr std::size_t kMostMetrics = 24;
constexpr std::size_t kMostTargets = 50;

std::string metric_facts(const Evaluation& evaluation) {
  std::string out = html_fact(grouped(evaluation.records), "records");
  std::size_t shown = 0;
  for (const auto& [name, value] : evaluation.metrics) {
    if (++shown > kMostMetrics) break;
    out += html_fact(shortened(value), beginning_of(name, kFactNameBytes));
  }
  const bool is_alone = evaluation.targets.size() == 1;
  if (is_alone && evaluation.targets.front().kind != TargetKind::kRegression) {
    const TargetEvaluation& target = evaluation.targets.front();
    out += html_fact(shortened(target.accuracy()), beginning_of(accuracy_name(target), kFactNameBytes));
  }
  return html_element("div", out, "facts");
}

std::string origin(const Evaluation& evaluation, std::string_view run_id) {
  const auto input = [](const EvaluatedInput& of) {
    return concat(beginning_of(of.url, kUrlBytes), " (", of.digest.substr(0, 8), ")");
  };
  return html_hint(concat("Split ", beginning_of(evaluation.split, kFactNameBytes), " of ",
                          input(evaluation.data), ", model ", evaluation.model.digest.substr(0, 8), ", run ",
                          run_id));
}

std::string oddities(const Evaluation& evaluation) {
  std::vector<std::string> texts;
  if (evaluation.corrupt_records > 0)
    texts.push_back(concat(grouped(evaluation.corrupt_records), " corrupt records were left out"));
  for (const std::string& remark : evaluation.remarks) texts.push_back(beginning_of(remark, kRemarkBytes));
  return html_warnings(texts);
}

std::string target_title(const TargetEvaluation& target) {
  std::string out =
      concat(beginning_of(target.output, kFactNameBytes), ": ", beginning_of(target.label, kFactNameBytes),
             " (", target_kind_name(target.kind), ")");
  if (target.kind != TargetKind::kRegression) out += concat(", accuracy ", shortened(target.accuracy()));
  return out;
}

}  // namespace

std::string evaluation_to_html(const Evaluation& evaluation, std::string_view run_id) {
  const std::string title = beginning_of(evaluation.model.url, kUrlBytes);
  std::string body = concat(html_element("h1", html_escaped(title)), origin(evaluation, run_id),
                            metric_facts(evaluation), oddities(evaluation));
  std::size_t room = kEvaluationPageBytes - kFrameBytes;
  bool is_whole = evaluation.targets.size() <= kMostTargets;
  for (std::size_t i = 0; i < std::min(evaluation.targets.size(), kMostTargets); ++i) {
    std::string content;
    for (const PagePart& part : target_parts(evaluation.targets[i])) {
      const std::string heading = part.title.empty() ? "" : html_element("h3", html_escaped(part.title));
      const std::size_t bytes = heading.size() + part.html.size();
      is_whole = is_whole && bytes <= room;
      if (bytes > room) continue;
      room -= bytes;
      content += heading + part.html;
    }
    body += html_card(target_title(evaluation.targets[i]), content);
  }
  if (!is_whole)
    body += html_hint(
        "Parts were left out, because the page can have at most 2 MiB; the JSON of the evaluation has "
        "all numbers.");
  return html_document(title, body);
}

}  // namespace headrace
