#include "headrace/store/ignite/ignite_caches.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr int kMostConnects = 3;
constexpr std::chrono::milliseconds kShortestConnect{1'000};

}  // namespace

IgniteClient::IgniteClient(std::string root, std::string name, IgniteOptions options)
    : root_(std::move(root)), name_(std::move(name)), options_(std::move(options)) {}

std::string IgniteClient::describe(std::string_view key) const {
  return concat(root_, root_.ends_with('/') || key.empty() ? "" : "/", key);
}

std::int64_t IgniteClient::now_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(options_.now().time_since_epoch()).count();
}

// A connection may be lost while it is being made, or a node may be starting.
Result<std::shared_ptr<ignite::Cluster>> IgniteClient::connect(const CallOptions& call) const {
  ignite::ClusterOptions options = options_.cluster;
  // Later calls with a longer deadline also use this connection.
  options.connection.connect_timeout =
      std::min(options.connection.connect_timeout, std::max(call.deadline, kShortestConnect));
  const auto until = std::chrono::steady_clock::now() + call.deadline;
  Backoff backoff(options.backoff, options.seed);
  for (int attempt = 1;; ++attempt) {
    Result<std::shared_ptr<ignite::Cluster>> cluster = ignite::Cluster::connect(options, call.stop);
    if (cluster || cluster.error().code != Code::kUnavailable || attempt == kMostConnects ||
        std::chrono::steady_clock::now() >= until || !sleep_unless_stopped(backoff.next(), call.stop))
      return cluster;
  }
}

Result<IgniteCaches> IgniteClient::for_reading(const CallOptions& call) {
  const std::scoped_lock lock(mutex_);
  if (cluster_ == nullptr) {
    HEADRACE_TRY(cluster_, connect(call));
  }
  return IgniteCaches{ignite::Cache(cluster_, concat(name_, ".heads")).within(call.deadline),
                      ignite::Cache(cluster_, concat(name_, ".chunks")).within(call.deadline), call.stop,
                      call.deadline};
}

Result<IgniteCaches> IgniteClient::for_writing(const CallOptions& call) {
  HEADRACE_TRY(IgniteCaches caches, for_reading(call));
  const std::scoped_lock lock(mutex_);
  if (!is_created_) {
    HEADRACE_CHECK(caches.heads.get_or_create({.is_replicated = true}, call.stop));
    HEADRACE_CHECK(caches.chunks.get_or_create({.backups = options_.backups}, call.stop));
    is_created_ = true;
  }
  return caches;
}

void IgniteClient::forget_caches() {
  const std::scoped_lock lock(mutex_);
  is_created_ = false;
}

bool is_missing(const Error& error) { return error.code == Code::kNotFound; }

}  // namespace headrace
