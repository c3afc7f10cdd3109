#include "headrace/serve/configuration/followed_configuration.h"

#include <utility>

namespace headrace {

Result<FollowedConfiguration> FollowedConfiguration::open(Location file, Parse parse,
                                                          const CallOptions& call) {
  FollowedConfiguration out(std::move(file), std::move(parse));
  HEADRACE_TRY(const ReadText read, out.read(call));
  HEADRACE_CHECK(out.take(read));
  return out;
}

Result<FollowedConfiguration::ReadText> FollowedConfiguration::read(const CallOptions& call) const {
  HEADRACE_TRY(const ReadObject read, read_object(*file_.store, file_.key, kMostConfigurationBytes, call));
  return ReadText{std::string(as_text(read.data)), read.object.version};
}

Result<bool> FollowedConfiguration::take(const ReadText& read) {
  version_ = read.version;
  problem_.reset();
  auto parsed = parse_(read.text, file_.describe());
  if (!parsed) {
    problem_ = parsed.error();
    return *problem_;
  }
  if (*parsed == current_) return false;
  current_ = *std::move(parsed);
  return true;
}

Result<bool> FollowedConfiguration::poll(const CallOptions& call) {
  HEADRACE_TRY(const ObjectInfo now, file_.store->stat(file_.key, call));
  if (read_ && now.version == read_->version) return take(*std::exchange(read_, std::nullopt));
  if (!read_ && now.version == version_) {
    if (problem_) return *problem_;
    return false;
  }
  read_.reset();
  HEADRACE_TRY(read_, read(call));
  if (problem_) return *problem_;
  return false;
}

}  // namespace headrace
