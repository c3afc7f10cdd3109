#include "headrace/cli/curve_report.h"

#include "headrace/base/text.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/track/created_once.h"

namespace headrace {
namespace {

Status create_part(const Location& folder, std::string_view name, const std::string& text) {
  Status created = create_once(folder.at(name), as_bytes(text));
  if (created || created.error().code != Code::kFailedPrecondition) return created;
  return Error{Code::kFailedPrecondition,
               concat(folder.at(name).describe(),
                      " belongs to another learning curve; choose another folder, or remove that object")};
}

}  // namespace

// The page is written first: anyone who finds the document also finds its page.
Result<Location> write_curve(const Location& folder, const CurveAnswer& answer, const std::stop_token& stop) {
  const Location to = make_stoppable(folder, stop);
  HEADRACE_CHECK(create_part(to, "report.html", answer.page()));
  HEADRACE_CHECK(create_part(to, "learning-curve.json", answer.json() + "\n"));
  return to.at("report.html");
}

Result<Location> write_curve_report(const Location& folder, const std::string& csv, const CurveAnswer& answer,
                                    RunRecorder& recorder, const std::stop_token& stop) {
  const Location report = folder.at("reports/" + recorder.run_id());
  HEADRACE_CHECK(create_part(make_stoppable(report, stop), "scores.csv", csv));
  HEADRACE_TRY(const Location page, write_curve(report, answer, stop));
  HEADRACE_CHECK(recorder.add_output("scores", report.at("scores.csv")));
  HEADRACE_CHECK(recorder.add_output("page", report.at("report.html")));
  HEADRACE_CHECK(recorder.add_output("learning-curve", report.at("learning-curve.json")));
  return page;
}

}  // namespace headrace
