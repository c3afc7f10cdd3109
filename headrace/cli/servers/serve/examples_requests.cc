#include "headrace/cli/servers/serve/examples_requests.h"

#include "headrace/serve/protocol/examples_answer.h"

namespace headrace {
namespace {

// A MultiInferenceRequest while its tasks are run.
struct TaskRun {
  MultiInferenceRequest tasks;
  std::function<void(Bytes)> send;
  std::size_t next = 0;
  Bytes response{};
};

void run_next_task(const std::shared_ptr<ModelRequest>& request, const std::shared_ptr<TaskRun>& run) {
  if (run->next == run->tasks.tasks().size()) return run->send(std::move(run->response));
  const auto& [specification, method] = run->tasks.tasks()[run->next];
  const auto bind = [run, method = method](const ServedSignature& signature) {
    return run->tasks.bind(signature, method);
  };
  const auto add = [request, run](const BatchAnswers& answers) -> Status {
    const ExamplesMethod asked = run->tasks.tasks()[run->next].method;
    HEADRACE_TRY(const Bytes results, results_message(answers, *request->signature(), asked));
    append_task_result(run->response, results, asked, request->model(), request->version_number(),
                       request->signature()->name);
    ++run->next;
    run_next_task(request, run);
    return {};
  };
  run_rows(request, specification.signature_name, bind, AnswerEncoding::kBinary, add);
}

}  // namespace

std::string_view api_name(ExamplesMethod method) {
  return method == ExamplesMethod::kClassify ? "classify" : "regress";
}

void run_examples(const std::shared_ptr<ModelRequest>& request, const ExamplesRequest& examples,
                  ExamplesMethod method, AnswerEncoding encoding,
                  std::function<Status(const BatchAnswers&)> answer) {
  const auto bind = [examples, method](const ServedSignature& signature) {
    return examples.bind(signature, method);
  };
  run_rows(request, examples.signature_name(), bind, encoding, std::move(answer));
}

void run_tasks(const std::shared_ptr<ModelRequest>& request, MultiInferenceRequest tasks,
               std::function<void(Bytes)> send) {
  run_next_task(request, std::make_shared<TaskRun>(TaskRun{std::move(tasks), std::move(send)}));
}

}  // namespace headrace
