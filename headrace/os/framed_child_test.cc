#include "headrace/os/framed_child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLimitBytes = 64 << 20;
const FrameWait kPatient{};

std::unique_ptr<FramedChild> start(const std::string& script) {
  auto child = FramedChild::start({"/bin/sh", "-c", script}, {});
  EXPECT_TRUE(child);
  return *std::move(child);
}

// Frames are what goes both ways, so cat sends back what it is sent.
constexpr const char* kEcho = "exec /bin/cat <&1";

TEST(FramedChild, AnswersFramesOfAnySize) {
  const auto child = start(kEcho);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}}) {
    const std::string text(size, 'x');
    ASSERT_TRUE(child->send(as_bytes(text), kPatient));
    const auto answer = child->receive(kLimitBytes, kPatient);
    ASSERT_TRUE(answer);
    EXPECT_EQ(as_text(*answer), text);
  }
}

TEST(FramedChild, MoreThanTheLimitIsNotRead) {
  const auto child = start(kEcho);
  ASSERT_TRUE(child->send(as_bytes("1234567890"), kPatient));
  const auto answer = child->receive(9, kPatient);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kDataLoss);
  EXPECT_EQ(answer.error().message, "the program sent a frame of 10 bytes; the limit is 9");
}

TEST(FramedChild, SaysHowAProgramEnded) {
  for (const auto& [script, how] : {std::pair{"exit 3", "exit status 3"}, {"kill -SEGV $$", "signal 11"}}) {
    const auto child = start(script);
    const auto answer = child->receive(kLimitBytes, kPatient);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::kUnavailable);
    EXPECT_EQ(answer.error().message, "the program has ended");
    EXPECT_THAT(child->end(std::chrono::seconds(60)), testing::StartsWith(how));
  }
}

TEST(FramedChild, AProgramThatEndedIsNoticedThoughAnotherHoldsItsStreams) {
  const auto child = start("sleep 1000 & exit 0");
  const auto answer = child->receive(kLimitBytes, kPatient);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
}

TEST(FramedChild, SilenceEndsBothWaysOfWaiting) {
  const auto child = start("sleep 1000");
  const FrameWait impatient{.silence_max = std::chrono::milliseconds(50)};
  const auto answer = child->receive(kLimitBytes, impatient);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(answer.error().message, "the program was silent for 50 ms");
  const Status sent = child->send(Bytes(8 << 20), impatient);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(child->end({}), "signal 9 (Killed)");
}

TEST(FramedChild, AProgramThatGoesOnSendingMayTakeLongerThanTheSilenceAllowed) {
  const auto child =
      start("printf '\\101\\0\\0\\0'; i=0; while [ $i -lt 65 ]; do i=$((i + 1)); printf x; sleep 0.01; done");
  const auto answer = child->receive(65, {.silence_max = std::chrono::milliseconds(600)});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(as_text(*answer), std::string(65, 'x'));
}

TEST(FramedChild, AProgramMayEndByItselfWithinTheGrace) {
  EXPECT_EQ(start("sleep 0.05; exit 3")->end(std::chrono::seconds(60)), "exit status 3");
}

TEST(FramedChild, AProgramThatLeftItsGroupIsEndedToo) {
  const auto child = FramedChild::start(
      {"/usr/bin/perl", "-e", R"($| = 1; setpgrp(0, $ARGV[0]); print "\2\0\0\0ok"; sleep 1000)",
       concat(getpgrp())},
      {});
  ASSERT_TRUE(child);
  const auto answer = (*child)->receive(kLimitBytes, kPatient);
  ASSERT_TRUE(answer);
  ASSERT_EQ(as_text(*answer), "ok");
  EXPECT_EQ((*child)->end({}), "signal 9 (Killed)");
}

TEST(FramedChild, StoppingEndsWaiting) {
  const auto child = start("sleep 1000");
  std::stop_source stop;
  stop.request_stop();
  const auto answer = child->receive(kLimitBytes, {.stop = stop.get_token()});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kCancelled);
  EXPECT_EQ(answer.error().message, "waiting for a program was stopped");
}

TEST(FramedChild, ItsInputIsEmptyAndStaysOpen) {
  // A frame comes if cat reads an end.
  const auto child = start("cat; printf '\\002\\0\\0\\0ok'");
  const auto early = child->receive(kLimitBytes, {.silence_max = std::chrono::milliseconds(50)});
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, Code::kDeadlineExceeded);
}

TEST(FramedChild, WhatCannotBeStartedIsNamed) {
  const auto child = FramedChild::start({"/no/such/program"}, {});
  ASSERT_FALSE(child);
  EXPECT_THAT(child.error().message, testing::HasSubstr("/no/such/program"));
}

TEST(FramedChild, AProgramThatClosesItsSideHasNothingMoreToSay) {
  const auto child = start("exec >&-; exec sleep 1000");
  const FrameWait impatient{.silence_max = std::chrono::milliseconds(50)};
  const auto answer = child->receive(kLimitBytes, kPatient);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  const Status sent = child->send(as_bytes("x"), impatient);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::kUnavailable);
  EXPECT_EQ(child->end({}), "signal 9 (Killed)");
}

TEST(FramedChild, HasTheEnvironmentThatItIsGivenAndEndsWithItsOwner) {
  pid_t process = 0;
  {
    const auto child =
        FramedChild::start({"/usr/bin/perl", "-e",
                            R"($| = 1; $a = "$$ $ENV{WHAT}"; print pack("V", length $a), $a; sleep 1000)"},
                           {{"WHAT", "this"}});
    ASSERT_TRUE(child);
    const auto answer = (*child)->receive(kLimitBytes, kPatient);
    ASSERT_TRUE(answer);
    const std::vector<std::string> words = split(as_text(*answer), ' ');
    ASSERT_EQ(words.size(), 2U);
    EXPECT_EQ(words[1], "this");
    process = *parse_number<pid_t>(words[0]);
    EXPECT_EQ(kill(process, 0), 0);
  }
  EXPECT_EQ(kill(process, 0), -1) << "it was waited for, too";
}

}  // namespace
}  // namespace headrace
