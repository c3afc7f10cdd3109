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
  if (const Status found = request->choose_signature(specification.signature_name); !found)
    return request->send_error(found.error());
  const auto bound = run->tasks.bind(*request->signature(), method);
  if (!bound) return request->send_error(bound.error());
  run_rows(request, **bound, [request, run](const BatchAnswers& answers) -> Status {
    const ExamplesMethod asked = run->tasks.tasks()[run->next].method;
    HEADRACE_TRY(const Bytes results, results_message(answers, *request->signature(), asked));
    append_task_result(run->response, results, asked, request->model(), request->version_number(),
                       request->signature()->name);
    ++run->next;
    run_next_task(request, run);
    return {};
  });
}

}  // namespace

void run_examples(const std::shared_ptr<ModelRequest>& request, const ExamplesRequest& examples,
                  ExamplesMethod method, std::function<Status(const BatchAnswers&)> answer) {
  if (const Status found = request->choose_signature(examples.signature_name()); !found)
    return request->send_error(found.error());
  const auto bound = examples.bind(*request->signature(), method);
  if (!bound) return request->send_error(bound.error());
  run_rows(request, **bound, std::move(answer));
}

void run_tasks(const std::shared_ptr<ModelRequest>& request, MultiInferenceRequest tasks,
               std::function<void(Bytes)> send) {
  run_next_task(request, std::make_shared<TaskRun>(TaskRun{std::move(tasks), std::move(send)}));
}

}  // namespace headrace
