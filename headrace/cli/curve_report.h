#pragma once

/// \file The objects that `learning-curve` writes: the page, the document, and the table of scores.
/// docs/formats/learning-curve.md

#include <optional>
#include <stop_token>
#include <string>

#include "headrace/store/location.h"
#include "headrace/study/curve_study.h"
#include "headrace/track/recorder.h"

namespace headrace {

/// The answer for one curve, and its comparison with another one.
struct CurveAnswer {
  CurveStudy study;
  std::optional<CurveStudy> other{};
  std::optional<CurveComparison> comparison{};

  const CurveComparison* compared() const { return comparison ? &*comparison : nullptr; }
  std::string json() const { return curve_study_to_json(study, compared()); }
  std::string page() const { return curve_study_to_html(study, other ? &*other : nullptr, compared()); }
};

/// Creates the page, then the document, in `folder`, unless they are there already. Returns the page.
/// \error kFailedPrecondition  objects of another curve are there
Result<Location> write_curve(const Location& folder, const CurveAnswer& answer, const std::stop_token& stop);

/// Creates the report of the recorder's run below `folder`: the table of scores, then the page and the
/// document. Adds them to the record. Each run has a folder of its own, because another call, with more
/// scores, has another result. Returns the page.
/// \error as `write_curve`
Result<Location> write_curve_report(const Location& folder, const std::string& csv, const CurveAnswer& answer,
                                    RunRecorder& recorder, const std::stop_token& stop);

}  // namespace headrace
