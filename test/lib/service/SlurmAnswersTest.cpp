// What Slurm prints: lines of 22.05 as a real one printed them, the forms that its documentation gives for others, and
// whatever is cut, mixed or random.
#include "lib/service/engines/slurm/SlurmAnswers.h"
#include "lib/service/engines/Subprocess.h"
#include "lib/service/engines/slurm/SlurmEngine.h"
#include "lib/support/SplitMix.h"
#include "test/lib/service/EngineContract.h"
#include <gtest/gtest.h>

namespace accord::service {
namespace {

using Names = std::vector<std::string>;

TEST(SlurmAnswers, ListJobs) {
  auto jobs = slurmJobs("6|CANCELLED|15|1795876673|1795876675|a1|None|t2.sh|\n"
                        "3|FAILED|768|1795876582|1795876583|a[1-2]|NonZeroExitCode|acc-1|\n"
                        "7|FAILED|1024|1795876675|1795876676|a1|NonZeroExitCode|x|y\nz aa|\n"
                        "5|PENDING|0|N/A|N/A||JobHeldUser|acc-3|\n");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 4u);
  EXPECT_EQ((*jobs)[1].id, "3");
  EXPECT_EQ((*jobs)[1].exitCode, 3);
  EXPECT_EQ((*jobs)[1].started, 1795876582);
  EXPECT_EQ((*jobs)[1].nodes, "a[1-2]");
  EXPECT_EQ((*jobs)[1].name, "acc-1");
  EXPECT_EQ((*jobs)[0].reason, "");
  EXPECT_FALSE((*jobs)[0].isHeld());
  EXPECT_TRUE((*jobs)[3].isHeld());
  EXPECT_EQ((*jobs)[3].started, 0);
  EXPECT_TRUE(slurmJobs("")->empty());
}

TEST(SlurmAnswers, AreErrorsWhereTheyAreCutOrMessages) {
  const std::string line = "6|RUNNING|0|1795876673|N/A|a1|None|lab-1|\n";
  for (size_t size = 1; size < line.size(); ++size)
    EXPECT_FALSE(slurmJobs(line + line.substr(0, size))) << size;
  EXPECT_FALSE(slurmJobs("slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"));
  EXPECT_FALSE(slurmJobs(line + "slurm_load_jobs error: Zero Bytes were transmitted or received\n"));
  const std::string node = "NodeName=a1 Gres=gpu:a100:4 State=IDLE Partitions=batch CfgTRES=cpu=8\n";
  EXPECT_TRUE(slurmNodes(node, "gpu"));
  EXPECT_FALSE(slurmNodes(node + node.substr(0, 40) + "\n", "gpu"));
  EXPECT_FALSE(slurmNodes("", "gpu"));
  EXPECT_FALSE(slurmNodes("slurm_load_node error: Unable to contact slurm controller\n", "gpu"));
  SplitMix random(1);
  for (int i = 0; i < 20000; ++i) { // nothing makes it fail otherwise
    std::string text = i % 2 ? line + node : "";
    for (uint64_t n = random.below(60); n > 0; --n)
      text.insert(random.below(text.size() + 1), 1, "|\n[]-,:0179aN=+( )\xff"[random.below(19)]);
    (void)slurmJobs(text);
    (void)slurmNodes(text, "gpu");
    (void)slurmHosts(text);
    (void)slurmJobId(text);
    (void)slurmExitCode(text);
  }
}

TEST(SlurmAnswers, CountSharesOfDevices) {
  auto sharesOf = [](const std::string &gres, const std::string &name = "gpu") {
    auto nodes = slurmNodes("NodeName=n Gres=" + gres + " State=IDLE Partitions=batch CfgTRES=cpu=8\n", name);
    return nodes && nodes->size() == 1 ? nodes->front().sharesPerDevice : -1;
  };
  EXPECT_EQ(sharesOf("gpu:a100:2,shard:a100:4"), 2); // as Slurm 22.05 prints it
  EXPECT_EQ(sharesOf("gpu:a100:2(S:0-1),shard:8(S:0,1)"), 4);
  EXPECT_EQ(sharesOf("gpu:4"), 1);
  EXPECT_EQ(sharesOf("gpu:a100:4,shard:a100:4"), 1);
  EXPECT_EQ(sharesOf("gpu:a100:4,shard:a100:6"), 1);      // two of them have two
  EXPECT_EQ(sharesOf("gpu:a100:2,gpu:k80:2,shard:8"), 1); // whose shard a task gets nobody knows
  EXPECT_EQ(sharesOf("npu:2,shard:4", "npu"), 1);         // shards are those of gpu
}

TEST(SlurmAnswers, ListNodes) {
  auto line = [](const std::string &name, const std::string &gres, const std::string &state,
                 const std::string &rest = "") {
    return "NodeName=" + name + " Arch=x86_64 Gres=" + gres + " NodeAddr=127.0.0.1 OS=Linux 6.1 #1 SMP State=" + state +
           " ThreadsPerCore=1 Partitions=batch CfgTRES=cpu=8,mem=1M AllocTRES=" + rest + "\n";
  };
  using State = EngineNode::State;
  struct Case {
    std::string gres, state;
    State expected;
    std::string type;
    int64_t devices;
  };
  for (const Case &one : std::vector<Case>{{"gpu:a100:4", "IDLE", State::Up, "a100", 4},
                                           {"gpu:a100:4(S:0-1)", "MIXED", State::Up, "a100", 4},
                                           {"gpu:8(S:0,1)", "ALLOCATED", State::Up, "", 8},
                                           {"gpu", "IDLE+PLANNED", State::Up, "", 1},
                                           {"gpu:a100", "IDLE+CLOUD+POWERED_DOWN", State::Up, "a100", 1},
                                           {"nvme:2,gpu:k80:2(S:0),gpu:a100:6", "IDLE~", State::Up, "a100", 6},
                                           {"gres/gpu:h100:8", "MIXED+COMPLETING", State::Up, "h100", 8},
                                           {"gpu:a100:4", "IDLE+DRAIN", State::Drained, "a100", 4},
                                           {"gpu:a100:4", "MIXED+DRAIN", State::Drained, "a100", 4},
                                           {"gpu:a100:4", "MIXED+NOT_RESPONDING", State::Drained, "a100", 4},
                                           {"gpu:a100:4", "IDLE*", State::Drained, "a100", 4},
                                           {"gpu:a100:4", "IDLE+MAINTENANCE+RESERVED", State::Drained, "a100", 4},
                                           {"gpu:a100:4", "IDLE+REBOOT_ISSUED", State::Drained, "a100", 4},
                                           {"gpu:a100:4", "IDLE+INVALID_REG", State::Drained, "a100", 4},
                                           {"gpu:a100:4", "UNKNOWN", State::Drained, "a100", 4},
                                           {"gpu:a100:4", "DOWN", State::Down, "a100", 4},
                                           {"gpu:a100:4", "DOWN*", State::Down, "a100", 4},
                                           {"gpu:a100:4", "DOWN+DRAIN+NOT_RESPONDING", State::Down, "a100", 4},
                                           {"gpu:a100:4", "FUTURE", State::Down, "a100", 4}}) {
    auto nodes = slurmNodes(line("n1", one.gres, one.state), "gpu");
    ASSERT_TRUE(nodes) << nodes.error().message;
    ASSERT_EQ(nodes->size(), 1u) << one.gres;
    EXPECT_EQ(nodes->front().state, one.expected) << one.state;
    EXPECT_EQ(nodes->front().deviceType, one.type) << one.gres;
    EXPECT_EQ(nodes->front().devices, one.devices) << one.gres;
    EXPECT_EQ(nodes->front().reason.empty(), one.expected == State::Up) << one.state;
  }
  auto nodes = slurmNodes(line("b", "gpu:1", "IDLE+DRAIN", " Reason=it's \"x\" State=DOWN [root@2026-11-28T14:35:22]") +
                              line("c", "(null)", "IDLE") + line("a", "gpu:1", "IDLE"),
                          "gpu");
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 2u); // c has no devices
  EXPECT_EQ((*nodes)[0].name, "a");
  EXPECT_EQ((*nodes)[1].reason, "it's \"x\" State=DOWN");
  EXPECT_EQ((*nodes)[1].state, State::Drained);
}

TEST(SlurmAnswers, HaveAbbreviatedNames) {
  EXPECT_EQ(slurmHosts(""), Names());
  EXPECT_EQ(slurmHosts("(null)"), Names());
  EXPECT_EQ(slurmHosts("a1"), Names{"a1"});
  EXPECT_EQ(slurmHosts("a[1-2,05],b"), (Names{"a1", "a2", "a05", "b"}));
  EXPECT_EQ(slurmHosts("n[08-10]-x[1,3]"), (Names{"n08-x1", "n08-x3", "n09-x1", "n09-x3", "n10-x1", "n10-x3"}));
  EXPECT_EQ(slurmHosts("n[1-60000]")->size(), 60000u);
  for (const char *wrong : {"a[1", "a]1", "a[[1]]", "a[2-1]", "a[x]", "a[1-]", "a[]", "a[1-99999999999999999999999]",
                            "n[1-60000],m[1-60000]", "n[1-999][1-999]"})
    EXPECT_FALSE(slurmHosts(wrong)) << wrong;
}

TEST(SlurmAnswers, HaveNumbersAndCodes) {
  EXPECT_EQ(slurmJobId("17\n"), "17");
  EXPECT_EQ(slurmJobId("sbatch: lua: welcome\n17;cluster\n"), "17");
  EXPECT_EQ(slurmJobId("17"), ""); // digits may be missing
  EXPECT_EQ(slurmJobId("Submitted batch job 17\n"), "");
  EXPECT_EQ(slurmExitCode("0"), 0);
  EXPECT_EQ(slurmExitCode("768"), 3);
  EXPECT_EQ(slurmExitCode("9"), 137);
  EXPECT_EQ(slurmExitCode("3:0"), 3);
  EXPECT_EQ(slurmExitCode("0:15"), 143);
  for (const char *wrong : {"", "x", "3:", ":3", "-1", "99999999999"})
    EXPECT_EQ(slurmExitCode(wrong), -1) << wrong;
  EXPECT_EQ(slurmTaskState("CANCELLED by 1000"), EngineTask::State::Stopped);
  EXPECT_EQ(slurmTaskState("COMPLETING"), EngineTask::State::Ending);
  EXPECT_EQ(slurmTaskState("A_WORD_OF_2030"), EngineTask::State::Running);
}

TEST(SlurmScripts, QuoteWhatTheyAreGivenAndNameTheFirstServer) {
  TaskRequest task;
  task.name = "lab-1-1";
  task.nodes = {"b", "a"};
  task.devicesPerNode = 4;
  task.folder = "/tmp/it's";
  task.command = {"echo", "$HOME `id`", "it's", "a\nb", ""};
  task.environment = {{"ONE", "'; exit 1; '"}};
  task.layout.title = "a\nexit 1";
  const std::string launch = slurmTaskLaunch(task), script = slurmTaskScript(task, launch);
  EXPECT_NE(launch.find("export MASTER_ADDR=\"b\""), std::string::npos) << launch;
  EXPECT_NE(launch.find("#SBATCH --nodes=2"), std::string::npos);
  task.start = Start::Torchrun; // ranks of servers are those of processes, which follow the plan; SLURM_NODEID does not
  EXPECT_NE(slurmTaskLaunch(task).find("--node-rank=\"$SLURM_PROCID\""), std::string::npos);
  EXPECT_EQ(launch.find("\nexit 1"), std::string::npos);
  for (const std::string &text : {launch, script})
    EXPECT_TRUE(outputOf({.words = {"bash", "-n"}, .input = text})) << text;
  EXPECT_EQ(script.find("gpus-per-node"), std::string::npos); // it is asked for by type
  // The words reach the program as they are.
  std::string run = "bash() { shift; printf '%s|' \"$@\" \"$ONE\"; }\n" + script;
  auto said = runCommand({.words = {"bash"}, .input = run});
  ASSERT_TRUE(said);
  EXPECT_EQ(said->output, "echo|$HOME `id`|it's|a\nb||'; exit 1; '|");
}

/// Tasks have what an operator sets up, which sees their variables, and nothing of how the scheduler asks Slurm.
TEST(SlurmScripts, ReadTheSetupOfTheOperator) {
  TaskRequest task;
  task.name = "lab-1-1", task.nodes = {"a"}, task.folder = "/tmp/none", task.command = {"true"};
  task.environment = {{"ACCORD_DEVICE_TYPE", "a100"}};
  const std::string run = "bash() { printf '%s|' \"$MODULES\" \"${LC_ALL-unset}\" \"${SLURM_TIME_FORMAT-unset}\"; }\n";
  for (const std::string setup : {"", "/dev/stdin"}) {
    const std::string script = slurmTaskScript(task, "", setup);
    auto said = runCommand({.words = {"bash", "-c", run + script},
                            .environment = {{"LC_ALL", "C"}, {"SLURM_TIME_FORMAT", "%s"}, {"MODULES", "none"}},
                            .input = "MODULES=\"cuda for $ACCORD_DEVICE_TYPE\"\n"});
    ASSERT_TRUE(said);
    EXPECT_EQ(said->output, setup.empty() ? "none|unset|unset|" : "cuda for a100|unset|unset|");
  }
  EXPECT_FALSE(slurmEngine({.prefix = "lab-", .folder = "/tmp/accord-none", .setup = "relative"}));
}

} // namespace
} // namespace accord::service
