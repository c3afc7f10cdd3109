#include "headrace/cli/answer_given.h"

#include <unistd.h>

#include <algorithm>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/encoder_options.h"
#include "headrace/cli/model_options.h"
#include "headrace/cli/table_options.h"
#include "headrace/cli/text_lines.h"
#include "headrace/cli/worker_count.h"
#include "headrace/evaluate/predictor.h"
#include "headrace/predict/answer_writer.h"
#include "headrace/predict/predict.h"
#include "headrace/predict/raw_input.h"
#include "headrace/stream/batch_tensors.h"

namespace headrace {

Result<TextEncoders> encoders_of(CommandContext& context, const ExportedModel& model,
                                 const OptionValues& values) {
  return encoders_of(model.contract.encoders, encoder_sources(context, values.text("encoder-weights")));
}

namespace {

// Prints answers as they come: lines for people, one JSON document for programs.
class AnswerPrinter {
 public:
  AnswerPrinter(Console& console, const ExportedModel& model) : console_(console) {
    if (!console_.json()) return;
    const Json head = {{"model", model.folder.url.text()}};
    const std::string text = head.dump();
    print(text.substr(0, text.size() - 1) + R"(,"predictions":[)" + "\n");
  }

  // `what`: "text" or "image"; `text`: the input as it was given.
  void add(std::string_view what, const std::string& text, const Answers& answers, std::size_t row) {
    if (console_.json()) {
      // The comma comes first, so that a program that reads line by line has each answer whole with its line.
      print(concat(any_ ? "," : "", answers.to_json(row, json_member(what, text)), "\n"));
    } else {
      console_.result(concat(answers.to_text(row), "  ", text));
    }
    any_ = true;
  }

  Status finish() {
    if (console_.json()) print("]}\n");
    return status_;
  }

 private:
  void print(const std::string& text) {
    if (status_) status_ = console_.result_bytes(as_bytes(text));
  }

  Console& console_;
  bool any_ = false;
  Status status_;
};

Status answer(const ExportedModel& model, const TextEncoder& encoder, std::span<const std::string> texts,
              int workers, AnswerPrinter& printer) {
  HEADRACE_TRY(const Answers answers, predict_texts(model, encoder, texts, workers));
  for (std::size_t i = 0; i < texts.size(); ++i) printer.add("text", texts[i], answers, i);
  return {};
}

}  // namespace

Status answer_texts(CommandContext& context, const ExportedModel& model, const OptionValues& values) {
  HEADRACE_TRY(const EncoderDescription wanted, text_encoder_of(model));
  HEADRACE_TRY(const TextEncoders encoders, encoders_of(context, model, values));
  const TextEncoder& encoder = *encoders.at(wanted.name);
  AnswerPrinter printer(context.console, model);
  for (const std::string& text : values.list("text")) {
    if (text != kStandardInput) {
      HEADRACE_CHECK(answer(model, encoder, {&text, 1}, 1, printer));
      continue;
    }
    TextLines lines(STDIN_FILENO, context.stop);
    while (true) {
      HEADRACE_TRY(const std::vector<std::string> texts, lines.next());
      if (texts.empty()) break;
      if (context.stop.stop_requested()) return Error{Code::kCancelled, "predicting was stopped"};
      HEADRACE_CHECK(answer(model, encoder, texts, workers_from(values), printer));
      HEADRACE_CHECK(context.console.flush());  // a program may wait for it before it writes more
    }
  }
  return printer.finish();
}

Status answer_images(CommandContext& context, const ExportedModel& model, const OptionValues& values) {
  constexpr std::uint64_t kAtOnce = 32;
  std::vector<std::string> urls;
  for (const std::string& name : values.list("image")) {
    HEADRACE_TRY(const Location image, context.stores.open(name));
    urls.push_back(image.url.text());
  }
  HEADRACE_TRY(const std::unique_ptr<PredictInput> input, open_image_input(model, urls, context.stores, {}));
  HEADRACE_TRY(const std::unique_ptr<PieceReader> reader, input->open(0, kAtOnce, context.stop));
  HEADRACE_TRY(Predictor predictor, Predictor::create(model));
  BatchTensors tensors(model.contract.binding.input_features());
  AnswerPrinter printer(context.console, model);
  for (std::size_t done = 0; done < urls.size();) {
    HEADRACE_TRY(const std::optional<PredictRows> rows, reader->next());
    if (!rows) break;
    const std::uint64_t count = std::min<std::uint64_t>(rows->batch.rows, urls.size() - done);
    HEADRACE_TRY(const std::span<const TensorView> columns, tensors.view(rows->batch, count));
    HEADRACE_TRY(const Answers answers, predictor.run(columns, count));
    for (std::size_t i = 0; i < count; ++i) printer.add("image", values.list("image")[done++], answers, i);
  }
  return printer.finish();
}

namespace {

// Describes a model for a program that needs to know it before it sends rows.
Json describe_model(const ExportedModel& model, const std::vector<RawColumn>& columns) {
  Json out = binding_with_classes(model.contract);
  out["model"] = model.folder.url.text();
  out["columns"] = Json::array();
  for (const RawColumn& column : columns)
    out["columns"].push_back({{"name", column.name}, {"is_url", column.is_url}});
  return out;
}

}  // namespace

Status answer_rows(CommandContext& context, const ExportedModel& model, const OptionValues& values) {
  Console& console = context.console;
  console.begin_stream();
  HEADRACE_TRY(const InputFormat layout,
               parse_input_format(values.has("layout") ? values.text("layout") : "jsonl"));
  HEADRACE_TRY(const PredictionFormat format, parse_prediction_format(values.text("format")));
  HEADRACE_TRY(const char delimiter, delimiter_from(values));
  HEADRACE_TRY(std::unique_ptr<RowParser> parser,
               make_row_parser({.format = layout, .delimiter = delimiter}));
  HEADRACE_TRY(const Location here, context.stores.open(kStandardInput));
  RowStream stream(STDIN_FILENO, std::move(parser), here.url.text(), context.stop);
  HEADRACE_TRY(TextEncoders encoders, encoders_of(context, model, values));
  HEADRACE_TRY(const std::unique_ptr<PredictInput> input,
               open_row_stream(model, stream, layout, context.stores, std::move(encoders),
                               {.on_corrupt = corruption_policy(values)}));
  HEADRACE_TRY(const std::unique_ptr<PieceReader> reader,
               input->open(0, PredictOptions{}.batch_size, context.stop));
  HEADRACE_TRY(AnswerWriter answers,
               AnswerWriter::create(model, {format, input->names()}, [&](BytesView bytes, std::uint64_t) {
                 return console.result_bytes(bytes);
               }));
  if (console.json()) {
    HEADRACE_TRY(const std::vector<RawColumn> columns, raw_columns(model));
    HEADRACE_CHECK(console.result_bytes(as_bytes(describe_model(model, columns).dump() + "\n")));
  }
  for (bool has_more = true; has_more;) {
    HEADRACE_CHECK(console.flush());  // a program may wait for its answers before it writes more
    HEADRACE_TRY(has_more, stream.wait());
    while (true) {
      HEADRACE_TRY(const std::optional<PredictRows> rows, reader->next());
      if (!rows) break;
      HEADRACE_CHECK(answers.add(*rows));
    }
  }
  HEADRACE_CHECK(answers.finish());
  for (const std::string& remark : reader->remarks()) console.warn(remark);
  if (reader->left_out() > 0)
    console.warn(concat(reader->left_out(), " rows could not be read and were left out"));
  return {};
}

}  // namespace headrace
