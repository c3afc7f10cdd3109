#include "headrace/cli/serve_manifests.h"

#include "headrace/base/text.h"
#include "headrace/cli/manifest_texts.h"
#include "headrace/store/url.h"

namespace headrace {
namespace {

// Options that manifests decide themselves, or that only concern manifests.
const std::set<std::string_view>& decided_options() {
  static const std::set<std::string_view> kDecided = {
      "print-manifest", "image",      "replicas", "listen",    "port",     "admin-listen",
      "cache",          "admin-port", "drain",    "port-file", "grpc-port"};
  return kDecided;
}

// Options that name files on the machine that prints the manifest.
constexpr std::string_view kFileOptions[] = {"tls-certificate", "tls-key", "tls-client-ca", "tokens",
                                             "encoder-weights"};

// Options that name places, which must be in a store.
constexpr std::string_view kPlaceOptions[] = {"config", "log-requests", "warm-up"};

std::vector<std::string> serve_arguments(const std::vector<std::string>& models, const OptionValues& values) {
  std::vector<std::string> out = {"serve"};
  out.insert(out.end(), models.begin(), models.end());
  for (std::string& option : given_options(values, decided_options())) out.push_back(std::move(option));
  out.insert(out.end(),
             {"--listen=0.0.0.0", "--admin-listen=0.0.0.0", "--cache=/cache/models", "--drain=50s"});
  return out;
}

std::string yaml_list(const std::vector<std::string>& texts, std::string_view indent) {
  std::string out;
  for (const std::string& text : texts) out += concat(indent, "- ", quoted_for_yaml(text), "\n");
  return out;
}

constexpr std::string_view kPodPorts = R"(          ports:
            - name: http
              containerPort: 8501
            - name: admin
              containerPort: 8502
)";
constexpr std::string_view kPodGrpcPort = R"(            - name: grpc
              containerPort: 8500
)";

// The rest of the pod, behind its ports.
constexpr std::string_view kPod = R"(          envFrom:
            # kubectl create secret generic headrace-store --from-literal=AWS_ACCESS_KEY_ID=… and so on
            - secretRef:
                name: headrace-store
                optional: true
          startupProbe:
            httpGet:
              path: /startupz
              port: admin
            periodSeconds: 2
            failureThreshold: 300
          readinessProbe:
            httpGet:
              path: /readyz
              port: admin
            periodSeconds: 2
          livenessProbe:
            httpGet:
              path: /livez
              port: admin
          lifecycle:
            preStop:
              # Until no load balancer sends new requests here.
              exec:
                command: ["sleep", "5"]
          resources:
            requests:
              cpu: "2"
              memory: 2Gi
            limits:
              memory: 4Gi
          volumeMounts:
            - name: cache
              mountPath: /cache
      volumes:
        - name: cache
          emptyDir: {}
)";

constexpr std::string_view kService = R"(---
apiVersion: v1
kind: Service
metadata:
  name: headrace-serve
spec:
  selector:
    app: headrace-serve
  ports:
    - name: http
      port: 8501
      targetPort: http
)";
constexpr std::string_view kServiceGrpcPort = R"(    - name: grpc
      port: 8500
      targetPort: grpc
      # One connection carries many calls: a mesh, or a client that balances, spreads them over the pods.
)";

constexpr std::string_view kBudget = R"(---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: headrace-serve
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app: headrace-serve
)";

std::string autoscaler(std::int64_t replicas) {
  return concat(R"(---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: headrace-serve
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: headrace-serve
  minReplicas: )",
                replicas, "\n  maxReplicas: ", 4 * replicas, R"(
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: 70
    # Rows that wait; an adapter, such as prometheus-adapter, has to offer this metric.
    - type: Pods
      pods:
        metric:
          name: headrace_serve_waiting_rows
        target:
          type: AverageValue
          averageValue: "64")");
}

std::string kubernetes_manifest(const std::vector<std::string>& arguments, const OptionValues& values) {
  const std::int64_t replicas = values.integer("replicas");
  const std::string& image = values.text("image");
  const bool has_grpc = !values.flag("no-grpc");
  return concat(R"(apiVersion: apps/v1
kind: Deployment
metadata:
  name: headrace-serve
spec:
  replicas: )",
                replicas, R"(
  selector:
    matchLabels:
      app: headrace-serve
  strategy:
    rollingUpdate:
      maxUnavailable: 0
  template:
    metadata:
      labels:
        app: headrace-serve
      annotations:
        prometheus.io/scrape: "true"
        prometheus.io/port: "8502"
    spec:
      # Longer than --drain, so that requests in flight are answered.
      terminationGracePeriodSeconds: 60
      containers:
        - name: headrace
          image: )",
                quoted_for_yaml(image), "\n          args:\n", yaml_list(arguments, "            "),
                kPodPorts, has_grpc ? kPodGrpcPort : "", kPod, kService, has_grpc ? kServiceGrpcPort : "",
                kBudget, autoscaler(replicas));
}

std::string compose_file(const std::vector<std::string>& arguments, const OptionValues& values) {
  return concat(R"(services:
  headrace-serve:
    image: )",
                quoted_for_yaml(values.text("image")), "\n    command:\n", yaml_list(arguments, "      "),
                R"yaml(    ports:
      - "127.0.0.1:8501:8501"
)yaml",
                values.flag("no-grpc") ? "" : "      - \"127.0.0.1:8500:8500\"\n", R"yaml(    environment:
      - AWS_ACCESS_KEY_ID
      - AWS_SECRET_ACCESS_KEY
      - AWS_SESSION_TOKEN
      - AWS_REGION
      - AWS_ENDPOINT_URL
    volumes:
      - cache:/cache
    healthcheck:
      test: ["CMD", "python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8502/readyz')"]
      interval: 5s
      start_period: 10m
    stop_grace_period: 60s
    restart: unless-stopped
volumes:
  cache: {})yaml");
}

}  // namespace

Result<std::string> serve_manifest(const std::vector<std::string>& models, const OptionValues& values) {
  const std::string& kind = values.text("print-manifest");
  if (kind == "dockerfile") return image_dockerfile("[tensorflow]");
  for (const std::string_view option : kFileOptions) {
    if (!values.given(option)) continue;
    return Error{Code::kInvalidArgument,
                 concat("--", option,
                        " names a file of this machine, which a container does not have: leave it "
                        "out, and add the file to the manifest as a secret or a volume")};
  }
  for (const std::string_view option : kPlaceOptions) {
    if (!values.given(option)) continue;
    const std::string scheme = scheme_of(values.text(option));
    if (!scheme.empty() && scheme != "file") continue;
    return Error{Code::kInvalidArgument,
                 concat("--", option,
                        " names a place on this machine, which a container does not have: put it into a "
                        "store, and give its URL there")};
  }
  const std::vector<std::string> arguments = serve_arguments(models, values);
  HEADRACE_CHECK(check_manifest_texts(arguments, "rename it"));
  HEADRACE_CHECK(check_manifest_texts({values.text("image")}, "rename it"));
  return kind == "compose" ? compose_file(arguments, values) : kubernetes_manifest(arguments, values);
}

}  // namespace headrace
