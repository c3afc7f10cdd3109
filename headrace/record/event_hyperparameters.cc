// The part of EventEncoder for TensorBoard's table of trials: the plugin "hparams", whose messages are in the
// metadata of three tags.

#include <algorithm>

#include "headrace/record/event.h"
#include "headrace/record/event_reader.h"
#include "headrace/record/event_wire.h"

namespace headrace {
namespace {

// The fields of HParamsPluginData: which of the three messages it holds.
constexpr std::uint32_t kExperiment = 2, kTrialStart = 3, kTrialEnd = 4;
// DataType of api.proto, in the order of HyperparameterValue's alternatives.
constexpr std::uint32_t kBoolType = 2, kNumberType = 3, kTextType = 1;

void write_hyperparameter_value(WireWriter& message, std::uint32_t field, const HyperparameterValue& value) {
  message.message(field, [&](WireWriter& out) {  // google.protobuf.Value
    if (const auto* number = std::get_if<double>(&value)) out.fixed64(2, *number);
    if (const auto* text = std::get_if<std::string_view>(&value)) out.text(3, *text);
    if (const auto* flag = std::get_if<bool>(&value)) out.varint(4, *flag ? 1 : 0);
  });
}

void write_label(WireWriter& message, const SeriesLabel& label, std::uint32_t first_field) {
  if (!label.display_name.empty()) message.text(first_field, label.display_name);
  if (!label.description.empty()) message.text(first_field + 1, label.description);
}

void write_domain(WireWriter& info, const HyperparameterDomain& domain) {
  info.text(1, domain.name);
  write_label(info, domain.label, 2);
  constexpr std::uint32_t kTypes[] = {kBoolType, kNumberType, kTextType};
  info.varint(4, domain.values.empty() ? kNumberType : kTypes[domain.values.front().index()]);
  if (domain.values.empty()) {
    info.message(6, [&](WireWriter& interval) {
      interval.fixed64(1, domain.least);
      interval.fixed64(2, domain.greatest);
    });
    return;
  }
  info.message(5, [&](WireWriter& list) {
    for (const HyperparameterValue& value : domain.values) write_hyperparameter_value(list, 1, value);
  });
}

template <typename WriteMessage>
void append_plugin_content(Bytes& out, double wall_time_s, std::string_view tag, std::uint32_t which,
                           WriteMessage&& write_message) {
  append_event(out, {wall_time_s, 0}, [&](WireWriter& event) {
    event.message(event_field::kSummary, [&](WireWriter& summary) {
      summary.message(kSummaryValue, [&](WireWriter& value) {
        value.text(value_field::kTag, tag);
        value.message(value_field::kTensor, [](WireWriter& tensor) {
          tensor.varint(tensor_field::kDtype, dtype::kFloat);
          write_shape(tensor, {0});
        });
        value.message(value_field::kMetadata, [&](WireWriter& metadata) {
          metadata.message(metadata_field::kPluginData, [&](WireWriter& data) {
            data.text(metadata_field::kPluginName, "hparams");
            data.message(metadata_field::kPluginContent,
                         [&](WireWriter& content) { content.message(which, write_message); });
          });
          metadata.varint(metadata_field::kDataClass, static_cast<std::uint64_t>(DataClass::kTensor));
        });
      });
    });
  });
}

}  // namespace

void EventEncoder::experiment(Bytes& out, double wall_time_s, const ExperimentDescription& experiment) {
  append_plugin_content(out, wall_time_s, "_hparams_/experiment", kExperiment, [&](WireWriter& message) {
    if (!experiment.description.empty()) message.text(1, experiment.description);
    message.fixed64(3, wall_time_s);
    for (const HyperparameterDomain& domain : experiment.hyperparameters) {
      message.message(4, [&](WireWriter& info) { write_domain(info, domain); });
    }
    for (const MetricName& metric : experiment.metrics) {
      message.message(5, [&](WireWriter& info) {
        info.message(1, [&](WireWriter& name) {
          if (!metric.group.empty()) name.text(1, metric.group);
          name.text(2, metric.tag);
        });
        write_label(info, metric.label, 3);
      });
    }
    if (!experiment.name.empty()) message.text(6, experiment.name);
  });
}

void EventEncoder::trial_start(Bytes& out, double wall_time_s, std::string_view trial,
                               std::span<const Hyperparameter> hyperparameters) {
  std::vector<Hyperparameter> sorted(hyperparameters.begin(), hyperparameters.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  append_plugin_content(out, wall_time_s, "_hparams_/session_start_info", kTrialStart,
                        [&](WireWriter& message) {
                          for (const Hyperparameter& hyperparameter : sorted) {
                            message.message(1, [&](WireWriter& entry) {
                              entry.text(1, hyperparameter.name);
                              write_hyperparameter_value(entry, 2, hyperparameter.value);
                            });
                          }
                          message.text(4, trial);
                          message.fixed64(5, wall_time_s);
                        });
}

void EventEncoder::trial_end(Bytes& out, double wall_time_s, TrialStatus status) {
  append_plugin_content(out, wall_time_s, "_hparams_/session_end_info", kTrialEnd, [&](WireWriter& message) {
    message.varint(1, static_cast<std::uint64_t>(status));
    message.fixed64(2, wall_time_s);
  });
}

}  // namespace headrace
