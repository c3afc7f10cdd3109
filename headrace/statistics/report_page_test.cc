#include <gmock/gmock.h>

#include "headrace/statistics/dataset_report.h"

namespace headrace {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHostile = "<script>alert('1')</script>\" onload=\"x";

TEST(ReportPage, LetsNothingOfTheDataBecomeMarkup) {
  const std::string hostile(kHostile);
  DatasetReport report{.url = hostile, .manifest = 1, .plan = hostile, .created_by = hostile};
  report.attributes.schema = hostile;
  report.attributes.counts["rejected"] = 1;
  report.attributes.reasons[hostile] = 1;
  report.attributes.inputs = {{hostile, 1, hostile}};
  report.vocabularies = {{hostile, {hostile, "other"}}};
  for (const std::string& name : {hostile, std::string("test")}) {
    SplitReport& split = report.splits[name];
    const Feature label{.name = hostile, .values = std::vector<std::int64_t>{0}};
    const Feature text{.name = "text", .values = std::vector<BytesView>{as_bytes(kHostile)}};
    for (std::uint64_t record = 0; record < 3; ++record)
      split.statistics.add({label, text}, report.vocabularies, record);
    split.statistics.finish();
    split.samples = {
        {.label = hostile, .preview = {.texts = {{hostile, hostile}}, .thumbnails = {{hostile, {}}}}}};
  }
  report.reported[{hostile, hostile}] = {1, {{hostile, hostile, hostile, 1}}};
  judge(report);
  const std::string page = dataset_report_to_html(report);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("\" onload")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert("));
}

}  // namespace
}  // namespace headrace
