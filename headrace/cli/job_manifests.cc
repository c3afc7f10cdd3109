#include "headrace/cli/job_manifests.h"

#include <set>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/runners.h"

namespace headrace {
namespace {

std::vector<std::string> prepare_arguments(const std::string& from, const std::string& to,
                                           const OptionValues& values) {
  static const std::set<std::string_view> kOfManifests = {"print-manifest", "world-size", "image", "runner"};
  std::vector<std::string> out = {"prepare", from, to};
  for (const Option& option : values.table()) {
    if (!values.given(option.name) || kOfManifests.contains(option.name)) continue;
    if (option.type == OptionType::kFlag) {
      if (values.flag(option.name)) out.push_back(concat("--", option.name));
    } else if (option.type == OptionType::kTextList) {
      for (const std::string& text : values.list(option.name))
        out.push_back(concat("--", option.name, "=", text));
    } else {
      out.push_back(concat("--", option.name, "=", values.shown(option.name)));
    }
  }
  out.push_back(concat("--runner=", runner_text(values)));
  return out;
}

// As JSON, which is YAML too: no text means anything else than itself.
std::string quoted_for_yaml(const std::string& text) { return Json(text).dump(); }

std::string quoted_for_shell(const std::string& text) {
  std::string out = "'";
  for (const char character : text) {
    if (character == '\'') {
      out += "'\\''";
    } else {
      out += character;
    }
  }
  return out + "'";
}

Status check_utf8(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (is_valid_utf8(argument)) continue;
    return Error{Code::kInvalidArgument, concat("the argument ", printable_line(argument, 200),
                                                " is not UTF-8, and a job of Kubernetes has no other texts; "
                                                "rename it, or take --print-manifest slurm")};
  }
  return {};
}

std::string kubernetes_job(const std::vector<std::string>& arguments, std::int64_t world_size,
                           const std::string& image) {
  std::string list;
  for (const std::string& argument : arguments)
    list += concat("            - ", quoted_for_yaml(argument), "\n");
  return concat(R"(apiVersion: batch/v1
kind: Job
metadata:
  name: headrace-prepare
spec:
  completionMode: Indexed
  completions: )",
                world_size, "\n  parallelism: ", world_size, R"(
  backoffLimitPerIndex: 5
  podFailurePolicy:
    rules:
      # A wrong command line stays wrong.
      - action: FailJob
        onExitCodes:
          containerName: headrace
          operator: In
          values: [2]
      # A node that went away is nobody's failure.
      - action: Ignore
        onPodConditions:
          - type: DisruptionTarget
            status: "True"
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: headrace
          image: )",
                quoted_for_yaml(image), R"(
          args:
)",
                list, R"(          env:
            - name: WORLD_SIZE
              value: ")",
                world_size, R"("
          envFrom:
            # kubectl create secret generic headrace-store --from-literal=AWS_ACCESS_KEY_ID=… and so on
            - secretRef:
                name: headrace-store
                optional: true
          resources:
            requests:
              cpu: "2"
              memory: 2Gi
            limits:
              memory: 4Gi)");
}

std::string slurm_script(const std::vector<std::string>& arguments, std::int64_t world_size) {
  std::string command = "headrace";
  for (const std::string& argument : arguments) command += concat(" \\\n  ", quoted_for_shell(argument));
  return concat(R"(#!/bin/bash
#SBATCH --job-name=headrace-prepare
#SBATCH --array=0-)",
                world_size - 1, R"(
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --requeue
#SBATCH --output=headrace-prepare-%A_%a.log
exec )",
                command);
}

std::string dockerfile() {
  return concat(R"(FROM python:3.11-slim
RUN pip install --no-cache-dir headrace==)",
                HEADRACE_VERSION, R"(
USER nobody
ENV HOME=/tmp
ENTRYPOINT ["headrace"])");
}

}  // namespace

Result<std::string> job_manifest(const std::string& from, const std::string& to, const OptionValues& values) {
  const std::string& kind = values.text("print-manifest");
  if (kind == "dockerfile") return dockerfile();
  const std::vector<std::string> arguments = prepare_arguments(from, to, values);
  if (kind == "slurm") return slurm_script(arguments, values.integer("world-size"));
  const std::string& image = values.text("image");
  HEADRACE_CHECK(check_utf8(arguments));
  HEADRACE_CHECK(check_utf8({image}));
  return kubernetes_job(arguments, values.integer("world-size"), image);
}

}  // namespace headrace
