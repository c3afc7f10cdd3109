#include "headrace/os/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/os/spawn.h"

namespace headrace {
namespace {

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

TEST(RunChild, ReturnsOutputErrorsAndStatus) {
  const auto child = run_child(shell("echo out; echo $WHAT >&2; exit 3"), {{"WHAT", "err"}}, {});
  ASSERT_TRUE(child);
  EXPECT_EQ(child->output, "out\n");
  EXPECT_EQ(child->error_tail, "err\n");
  EXPECT_EQ(child->exit_status, 3);
}

TEST(RunChild, PassesNothingThatItWasNotGiven) {
  const auto child = run_child({"/usr/bin/env"}, {{"ONLY", "this"}}, {});
  ASSERT_TRUE(child);
  EXPECT_EQ(child->output, "ONLY=this\n");
}

TEST(RunChild, ASignalIsReportedAsAShellWould) {
  const auto child = run_child(shell("kill -TERM $$"), {}, {});
  ASSERT_TRUE(child);
  EXPECT_EQ(child->exit_status, 128 + 15);
}

TEST(RunChild, KeepsTheEndOfLongErrors) {
  const auto child = run_child(shell("head -c 200000 /dev/zero | tr '\\0' x >&2; echo last >&2"),
                               {{"PATH", "/usr/bin:/bin"}}, {.error_tail_bytes = 100});
  ASSERT_TRUE(child);
  EXPECT_EQ(child->error_tail, concat(std::string(95, 'x'), "last\n"));
}

TEST(RunChild, StopsAProgramAndItsChildrenAtTheDeadline) {
  const auto child = run_child(shell("sleep 1000 & sleep 1000"), {{"PATH", "/usr/bin:/bin"}},
                               {.deadline = std::chrono::milliseconds(50)});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(child.error().message, "/bin/sh did not end within 50 ms and was killed");
}

TEST(RunChild, StopsWhenAsked) {
  std::stop_source source;
  source.request_stop();
  const auto child =
      run_child(shell("exec sleep 1000"), {{"PATH", "/usr/bin:/bin"}}, {.stop = source.get_token()});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Code::kCancelled);
  EXPECT_EQ(child.error().message, "waiting for /bin/sh");
}

TEST(RunChild, BoundsTheOutput) {
  const auto child =
      run_child(shell("exec cat /dev/zero"), {{"PATH", "/usr/bin:/bin"}}, {.output_bytes_max = 10'000});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Code::kResourceExhausted);
  EXPECT_EQ(child.error().message, "/bin/sh wrote more than 10000 bytes and was killed");
  const auto fits = run_child(shell("printf 12345"), {}, {.output_bytes_max = 5});
  ASSERT_TRUE(fits) << fits.error().message;
  EXPECT_EQ(fits->output, "12345");
  EXPECT_FALSE(run_child(shell("printf 123456"), {}, {.output_bytes_max = 5}));
}

TEST(RunChild, AProgramThatIsNotThereIsNotFound) {
  const auto child = run_child({"/no/such/program"}, {}, {});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Code::kNotFound);
  EXPECT_EQ(child.error().message, "starting /no/such/program: No such file or directory");
}

TEST(RunChild, WaitsForAProgramThatHasClosedItsStreams) {
  const auto child = run_child(shell("exec >&- 2>&-; sleep 0.05; exit 3"), {{"PATH", "/usr/bin:/bin"}}, {});
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_EQ(child->exit_status, 3);
  const auto late = run_child(shell("exec >&- 2>&-; exec sleep 1000"), {{"PATH", "/usr/bin:/bin"}},
                              {.deadline = std::chrono::milliseconds(50)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
}

TEST(RunChild, ReadsOneStreamAfterTheEndOfTheOther) {
  const auto errors =
      run_child(shell("exec >&-; sleep 0.05; echo late >&2; sleep 0.05"), {{"PATH", "/usr/bin:/bin"}}, {});
  ASSERT_TRUE(errors);
  EXPECT_EQ(errors->error_tail, "late\n");
  const auto output =
      run_child(shell("exec 2>&-; sleep 0.05; echo late; sleep 0.05"), {{"PATH", "/usr/bin:/bin"}}, {});
  ASSERT_TRUE(output);
  EXPECT_EQ(output->output, "late\n");
}

TEST(RunChild, TheProgramHasNoInputAndAGroupOfItsOwn) {
  const auto child = run_child(
      {"/usr/bin/perl", "-e", R"(print readlink("/proc/self/fd/0"), getpgrp() == $$ ? " own" : " other")"},
      {}, {});
  ASSERT_TRUE(child);
  EXPECT_EQ(child->output, "/dev/null own");
}

TEST(Spawn, TheInputMayBeAnyDescriptorEvenTheFirst) {
  const FileDescriptor before(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  const auto input = open_pipe(), output = open_pipe();
  ASSERT_TRUE(input && output);
  ASSERT_EQ(write(input->theirs.get(), "text", 4), 4);
  ASSERT_EQ(dup2(input->ours.get(), STDIN_FILENO), STDIN_FILENO);
  const auto child =
      spawn({"/usr/bin/head", "-c", "4"}, {}, {.input = STDIN_FILENO, .output = output->theirs.get()});
  if (before.is_open()) {
    dup2(before.get(), STDIN_FILENO);
  } else {
    close(STDIN_FILENO);
  }
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_EQ(reap(*child), 0);
  std::array<char, 8> text{};
  EXPECT_EQ(fcntl(output->ours.get(), F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(read(output->ours.get(), text.data(), text.size()), 4);
  EXPECT_STREQ(text.data(), "text");
}

TEST(Spawn, AProcessThatIsNoChildIsNotWaitedFor) {
  EXPECT_TRUE(is_to_be_reaped(getppid()));
  EXPECT_TRUE(is_to_be_reaped(getpid()));
}

TEST(RunChild, TheProgramGetsNoSignalsBlockedOrIgnored) {
  sigset_t terminate, before;
  sigemptyset(&terminate);
  sigaddset(&terminate, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &terminate, &before), 0);
  const auto handler = signal(SIGHUP, SIG_IGN);
  for (const int number : {SIGTERM, SIGHUP}) {
    const auto child = run_child(shell(concat("kill -", number, " $$")), {}, {});
    ASSERT_TRUE(child);
    EXPECT_EQ(child->exit_status, 128 + number);
  }
  signal(SIGHUP, handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(RunChild, TooManyOpenFilesAreAnError) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto child = run_child(shell("exit 0"), {}, {});
  const auto socket = open_socket();
  setrlimit(RLIMIT_NOFILE, &before);
  for (const Error& error : {child.error(), socket.error()}) {
    EXPECT_EQ(error.code, Code::kResourceExhausted);
    EXPECT_EQ(error.message, "opening a pipe: Too many open files");
  }
}

TEST(RunChild, DoesNotWaitForOneThatItsProgramLeft) {
  const auto child = run_child(shell("sleep 1000 & echo $!"), {{"PATH", "/usr/bin:/bin"}}, {});
  ASSERT_TRUE(child);
  EXPECT_EQ(child->exit_status, 0);
  const auto left = parse_number<pid_t>(trim(child->output));
  ASSERT_TRUE(left);
  EXPECT_EQ(kill(*left, SIGKILL), 0);
}

// Scripts that say which process group they are, and leave one of it running.
const std::string kLeaveOneThatIsSilent = "echo $$; sleep 1000 & ";
const std::string kLeaveOneThatPrints =
    "echo $$; (while true; do echo left; echo left >&2; sleep 0.01; done) & ";

// Ends what a script left running, if it did not end for want of a reader.
void end_left(std::string_view first_line) {
  const auto group = parse_number<pid_t>(first_line);
  ASSERT_TRUE(group);
  kill(-*group, SIGKILL);
}

TEST(RunChild, DoesNotListenToOneThatItsProgramLeft) {
  const auto child = run_child(shell(kLeaveOneThatPrints + "echo last; exit 3"), {{"PATH", "/usr/bin:/bin"}},
                               {.deadline = std::chrono::milliseconds(20'000)});
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_EQ(child->exit_status, 3);
  EXPECT_THAT(child->output, testing::HasSubstr("last\n"));
  end_left(child->output.substr(0, child->output.find('\n')));
}

// Records the program's lines, and answers them.
struct Listener {
  std::vector<std::string> said;
  std::vector<std::string> printed;

  ChildConversation with(std::function<Result<std::string>(std::string_view)> answer) {
    return {.on_line = [this, answer](std::string_view line) -> Result<std::string> {
              said.emplace_back(line);
              return answer(line);
            },
            .on_error_line = [this](std::string_view line) { printed.emplace_back(line); }};
  }
};

const std::map<std::string, std::string, std::less<>> kPath = {{"PATH", "/usr/bin:/bin"}};

Result<std::string> nothing(std::string_view) { return std::string(); }

TEST(ConverseWithChild, AnswersGoToTheProgramThatAsked) {
  Listener listener;
  const auto conversation = listener.with([](std::string_view line) -> Result<std::string> {
    return line.starts_with("ask") ? concat("answer to ", line, "\n") : "";
  });
  const auto child = converse_with_child(
      shell("echo say; for i in 1 2; do echo ask $i; read a; echo got $a; done; echo p >&2; exit 3"), kPath,
      {}, conversation);
  ASSERT_TRUE(child);
  EXPECT_THAT(listener.said,
              testing::ElementsAre("say", "ask 1", "got answer to ask 1", "ask 2", "got answer to ask 2"));
  EXPECT_THAT(listener.printed, testing::ElementsAre("p"));
  EXPECT_EQ(child->exit_status, 3);
  EXPECT_EQ(child->error_tail, "p\n");
}

TEST(ConverseWithChild, AProgramThatReadsOnlySomeOfItsAnswerIsAnError) {
  Listener listener;
  const auto conversation = listener.with([](std::string_view) -> Result<std::string> {
    std::string longer_than_any_buffer(64 << 20, 'x');
    errno = EPIPE;  // of an earlier call
    return longer_than_any_buffer;
  });
  const auto child = converse_with_child(shell("echo one; sleep 5"), kPath, {}, conversation);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Code::kInternal);
  EXPECT_EQ(child.error().message, "a program does not read its input: there is no room for more");
}

TEST(ConverseWithChild, AProgramThatReadsNoneOfItsAnswersIsAnError) {
  Listener listener;
  const auto conversation =
      listener.with([](std::string_view) -> Result<std::string> { return std::string("\n"); });
  const auto child = converse_with_child(shell("while true; do echo ask; done"), kPath, {}, conversation);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().message, "a program does not read its input: Resource temporarily unavailable");
}

TEST(ConverseWithChild, AnAnswerThatNobodyReadsAnyMoreIsNoError) {
  // The program closes its input before an answer comes, and with an unread answer in it.
  for (const std::string wait : {"", "vec($in, 0, 1) = 1; select($in, undef, undef, undef); "}) {
    Listener listener;
    const auto conversation = listener.with([&](std::string_view line) -> Result<std::string> {
      return std::string(wait.empty() && line == "one" ? "" : "answer\n");
    });
    const auto child = converse_with_child({"/usr/bin/perl", "-e",
                                            concat("$| = 1; print \"one\\n\"; ", wait, "close(STDIN); ",
                                                   "print \"two\\n\"; print \"three\\n\"; exit 3")},
                                           kPath, {}, conversation);
    ASSERT_TRUE(child) << child.error().message;
    EXPECT_EQ(child->exit_status, 3);
    EXPECT_THAT(listener.said, testing::ElementsAre("one", "two", "three"));
  }
}

TEST(ConverseWithChild, NobodyIsLeftAfterAnError) {
  Listener listener;
  const auto conversation = listener.with([](std::string_view line) -> Result<std::string> {
    return Error{Code::kAborted, std::string(line)};
  });
  const auto child = converse_with_child(shell("sleep 1000 & echo $$ $!; wait"), kPath, {}, conversation);
  ASSERT_FALSE(child);
  const std::vector<std::string> processes = split(child.error().message, ' ');
  ASSERT_EQ(processes.size(), 2U);
  EXPECT_EQ(kill(*parse_number<pid_t>(processes[0]), 0), -1);
  EXPECT_EQ(errno, ESRCH);
  std::string number, name, state;
  do {  // until its new parent has noticed
    state = "gone";
    std::ifstream(concat("/proc/", processes[1], "/stat")) >> number >> name >> state;
    std::this_thread::yield();
  } while (state != "gone" && state != "Z");
}

TEST(ConverseWithChild, AnErrorAboutALineEndsTheProgram) {
  Listener listener;
  const auto conversation = listener.with([](std::string_view) -> Result<std::string> {
    return Error{Code::kAborted, "enough"};
  });
  const auto child = converse_with_child(shell("echo one; sleep 1000"), kPath, {}, conversation);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().message, "enough");
}

TEST(ConverseWithChild, AProgramThatIsStoppedMayEndByItself) {
  for (const bool is_stubborn : {false, true}) {
    Listener listener;
    std::stop_source source;
    const auto conversation = listener.with([&](std::string_view) {
      source.request_stop();
      return nothing("");
    });
    const std::string left = concat(testing::TempDir(), "/headrace-child-", getpid());
    const std::string trap = is_stubborn ? "trap '' TERM" : concat("trap 'touch ", left, "; exit' TERM");
    const auto child = converse_with_child(
        shell(concat(trap, "; echo ready; while true; do sleep 0.01; done")), kPath,
        {.stop = source.get_token(), .grace = std::chrono::milliseconds(is_stubborn ? 50 : 10'000)},
        conversation);
    ASSERT_FALSE(child);
    EXPECT_EQ(child.error().code, Code::kCancelled);
    EXPECT_EQ(std::filesystem::remove(left), !is_stubborn);
  }
}

TEST(ConverseWithChild, BoundsALineAndSilence) {
  Listener listener;
  auto conversation = listener.with(nothing);
  conversation.line_bytes_max = 1000;
  const auto endless = converse_with_child(shell("exec cat /dev/zero"), kPath, {}, conversation);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, Code::kResourceExhausted);
  EXPECT_EQ(endless.error().message, "/bin/sh wrote a line of more than 1000 bytes and was stopped");
  for (const std::size_t size : {1000, 1001}) {
    const auto one =
        converse_with_child(shell(concat("printf ", std::string(size, 'x'))), kPath, {}, conversation);
    EXPECT_EQ(one.has_value(), size == 1000);
  }
  conversation.silence_max = std::chrono::milliseconds(50);
  const auto silent = converse_with_child(shell("exec sleep 1000"), kPath, {}, conversation);
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(silent.error().message, "/bin/sh wrote nothing for 50 ms and was stopped");
}

TEST(ConverseWithChild, AProgramThatGoesOnTalkingMayTakeLongerThanTheSilenceAllowed) {
  const auto talk = [](std::string_view stream) {
    Listener listener;
    auto conversation = listener.with(nothing);
    conversation.silence_max = std::chrono::milliseconds(600);
    const auto child = converse_with_child(
        shell(concat("i=0; while [ $i -lt 65 ]; do i=$((i + 1)); echo $i >&", stream, "; sleep 0.01; done")),
        kPath, {}, conversation);
    EXPECT_TRUE(child) << child.error().message;
    EXPECT_EQ(listener.said.size() + listener.printed.size(), 65U);
  };
  const std::jthread on_output(talk, "1"), on_errors(talk, "2");
}

// Waits until a process has ended, and nobody has asked for its status.
void wait_for_end(std::string_view process) {
  std::string number, name, state;
  while (state != "Z") {
    std::ifstream(concat("/proc/", process, "/stat")) >> number >> name >> state;
    std::this_thread::yield();
  }
}

TEST(ConverseWithChild, HearsWhatAProgramSaysBeforeItsEnd) {
  Listener listener;
  const auto conversation = listener.with([&](std::string_view line) {
    if (listener.said.size() == 1) wait_for_end(line);
    return nothing("");
  });
  const std::string script =
      "sleep 0.05; head -c 50000 /dev/zero | tr '\\0' x; echo; echo last; echo end >&2";
  const auto child = converse_with_child(shell(kLeaveOneThatIsSilent + script), kPath, {}, conversation);
  ASSERT_TRUE(child) << child.error().message;
  ASSERT_EQ(listener.said.size(), 3U);
  EXPECT_EQ(listener.said[1].size(), 50'000U);
  EXPECT_EQ(listener.said[2], "last");
  EXPECT_THAT(listener.printed, testing::ElementsAre("end"));
  end_left(listener.said[0]);
}

TEST(ConverseWithChild, DoesNotListenToOneThatItsProgramLeft) {
  Listener listener;
  const auto conversation = listener.with([&](std::string_view) -> Result<std::string> {
    if (listener.said.size() > 1000) return Error{Code::kAborted, "it listens on"};
    return nothing("");
  });
  const auto child =
      converse_with_child(shell(kLeaveOneThatPrints + "echo last; exit 3"), kPath, {}, conversation);
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_EQ(child->exit_status, 3);
  EXPECT_THAT(listener.said, testing::Contains("last"));
  end_left(listener.said[0]);
}

TEST(ConverseWithChild, EndsAProgramThatLeftItsGroup) {
  Listener listener;
  const auto conversation = listener.with([](std::string_view line) -> Result<std::string> {
    return Error{Code::kAborted, std::string(line)};
  });
  const auto child = converse_with_child(
      {"/usr/bin/perl", "-e",
       R"($| = 1; $SIG{TERM} = "IGNORE"; setpgrp(0, $ARGV[0]); print "it has left\n"; sleep 1000)",
       concat(getpgrp())},
      kPath, {.grace = {}}, conversation);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().message, "it has left");
}

TEST(ConverseWithChild, GivesLongLinesOfErrorsInPieces) {
  Listener listener;
  const auto child =
      converse_with_child(shell("head -c 20000 /dev/zero | tr '\\0' x >&2; echo >&2; echo end >&2"), kPath,
                          {}, listener.with(nothing));
  ASSERT_TRUE(child);
  EXPECT_EQ(join(listener.printed, "").size(), 20'003U);
  EXPECT_EQ(listener.printed.back(), "end");
}

TEST(ConverseWithChild, ALineOfErrorsIsCutBehindFourKibibytes) {
  for (const std::size_t size : {4096, 4097}) {
    Listener listener;
    const auto child = converse_with_child(
        shell(concat("head -c ", size, " /dev/zero | tr '\\0' x >&2; echo ask; read a; printf '\\nend' >&2")),
        kPath, {},
        listener.with([](std::string_view) -> Result<std::string> { return std::string("go on\n"); }));
    ASSERT_TRUE(child);
    std::vector<std::string> expected = {std::string(size, 'x'), "end"};
    if (size == 4097) expected.insert(expected.begin() + 1, "");  // what is left of that line
    EXPECT_EQ(listener.printed, expected) << size;
    EXPECT_EQ(child->error_tail.size(), 4096U);
  }
}

}  // namespace
}  // namespace headrace
