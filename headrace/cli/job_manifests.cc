#include "headrace/cli/job_manifests.h"

#include <vector>

#include "headrace/base/text.h"
#include "headrace/cli/manifest_texts.h"
#include "headrace/cli/runners.h"

namespace headrace {
namespace {

std::vector<std::string> prepare_arguments(const std::string& from, const std::string& to,
                                           const OptionValues& values) {
  std::vector<std::string> out = {"prepare", from, to};
  for (std::string& option : given_options(values, {"print-manifest", "world-size", "image", "runner"}))
    out.push_back(std::move(option));
  out.push_back(concat("--runner=", runner_text(values)));
  return out;
}

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

}  // namespace

Result<std::string> job_manifest(const std::string& from, const std::string& to, const OptionValues& values) {
  const std::string& kind = values.text("print-manifest");
  if (kind == "dockerfile") return image_dockerfile("");
  const std::vector<std::string> arguments = prepare_arguments(from, to, values);
  if (kind == "slurm") return slurm_script(arguments, values.integer("world-size"));
  const std::string& image = values.text("image");
  HEADRACE_CHECK(check_manifest_texts(arguments, "rename it, or take --print-manifest slurm"));
  HEADRACE_CHECK(check_manifest_texts({image}, "rename it"));
  return kubernetes_job(arguments, values.integer("world-size"), image);
}

}  // namespace headrace
