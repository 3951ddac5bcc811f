// The guard's shell function, run by shells with stand-ins for the vendors' tools.
#include "lib/launch/Guard.h"
#include "lib/launch/Products.h"
#include "test/support/PlacementFixture.h"
#include "test/support/SourcePath.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace accord {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Answer {
  int status = -1;
  std::string said;
};

/// Folders of one test: stand-ins, and a root with what the kernel says.
class Guard : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> made;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("accord-guard-test", made));
    folder = made.str().str();
    std::filesystem::create_directories(folder + "/bin");
    std::filesystem::create_directories(folder + "/tmp");
    expected = {.deviceType = "a100_80g",
                .deviceName = "a100-80g",
                .products = {"A100-SXM4-80GB", "A100 80GB PCIe"},
                .memory = int64_t(80184) << 20,
                .devicesPerServer = 4,
                .servers = 2,
                .worldSize = 8};
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  static void write(const std::string &path, const std::string &text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  }

  /// A program of the node that prints a text and ends with a status.
  void tool(const std::string &name, const std::string &says, int status = 0) {
    write(folder + "/says-" + name, says);
    script(name, "while IFS= read -r line; do echo \"$line\"; done <" + folder + "/says-" + name + "\nexit " +
                     std::to_string(status));
  }
  void script(const std::string &name, const std::string &text) {
    const std::string path = folder + "/bin/" + name;
    write(path, "#!/bin/sh\n" + text + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  /// nvidia-smi with `count` equal devices.
  void gpus(int count, const std::string &name, const std::string &memory) {
    std::string lines;
    for (int i = 0; i < count; ++i)
      lines += name + ", " + memory + "\n";
    tool("nvidia-smi", lines);
  }

  Answer run(std::map<std::string, std::string> variables = {}, const std::string &shell = "/bin/dash",
             const std::string &options = "set -eu") {
    write(folder + "/guard.sh",
          options + "\n" + guardText(expected, folder + "/node") + "accord_guard\necho started\n");
    variables.emplace("PATH", folder + "/bin:/usr/bin:/bin");
    variables.emplace("TMPDIR", folder + "/tmp");
    variables.emplace("SLURMD_NODENAME", "k1");
    std::vector<std::string> texts;
    for (const auto &[key, value] : variables)
      texts.push_back(key + "=" + value);
    std::vector<llvm::StringRef> environment(texts.begin(), texts.end());
    const std::string out = folder + "/out", errors = folder + "/errors", program = folder + "/guard.sh";
    std::filesystem::remove(out), std::filesystem::remove(errors);
    std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(out), llvm::StringRef(errors)};
    Answer answer;
    answer.status =
        llvm::sys::ExecuteAndWait(shell, {shell, program}, llvm::ArrayRef<llvm::StringRef>(environment), redirects, 60);
    auto said = llvm::MemoryBuffer::getFile(errors), started = llvm::MemoryBuffer::getFile(out);
    answer.said = (*said)->getBuffer().str();
    EXPECT_EQ((*started)->getBuffer(), answer.status == 0 ? "started\n" : "");
    EXPECT_TRUE(std::filesystem::is_empty(folder + "/tmp")) << "a temporary file is left";
    return answer;
  }
  /// What the guard says where it refuses, which is one sentence.
  std::string refusal(const std::map<std::string, std::string> &variables = {}) {
    const Answer answer = run(variables);
    EXPECT_EQ(answer.status, kGuardRefused) << answer.said;
    EXPECT_EQ(std::ranges::count(answer.said, '\n'), 1) << answer.said;
    EXPECT_THAT(answer.said, StartsWith("accord guard: "));
    EXPECT_THAT(answer.said, HasSubstr("nothing was started"));
    return answer.said;
  }
  void passes(const std::map<std::string, std::string> &variables = {}) {
    const Answer answer = run(variables);
    EXPECT_EQ(answer.status, 0) << answer.said;
    EXPECT_EQ(answer.said, "");
  }

  std::string folder;
  GuardExpectation expected;
};

TEST_F(Guard, AcceptsWhatThePlanNeeds) {
  // Memory as drivers report it for one board.
  for (const char *memory : {"81920 MiB", "81251 MiB", "81559 MiB", "80994 MiB"}) {
    gpus(4, "NVIDIA A100-SXM4-80GB", memory);
    passes();
  }
  gpus(4, "A100-SXM4-80GB", "81251 MiB"); // driver 450 and before
  passes();
  gpus(8, "NVIDIA A100 80GB PCIe", "81920 MiB"); // the first four are used
  passes();
}

// Devices that are chosen by number are of one kind if all of the node are, though it is the wrong one.
TEST_F(Guard, SaysWhatTheChosenDevicesAre) {
  gpus(8, "Tesla K80", "11441 MiB");
  EXPECT_THAT(refusal({{"CUDA_VISIBLE_DEVICES", "4,5,6,7"}}), HasSubstr("has 4 'Tesla K80' (11441 MiB), and"));
  EXPECT_THAT(refusal({{"CUDA_VISIBLE_DEVICES", "GPU-1a,GPU-2b"}}), HasSubstr("has 2 'Tesla K80' (11441 MiB), and"));
  tool("nvidia-smi", "NVIDIA A100-SXM4-80GB, 81920 MiB\nTesla K80, 11441 MiB\n");
  EXPECT_THAT(refusal({{"CUDA_VISIBLE_DEVICES", "0"}}), HasSubstr("devices of several kinds"));
}

/// A refusal because of a node's devices is known by its mark, since other programs end with status 78, too.
TEST_F(Guard, LeavesAMarkWhereTheNodeIsNotAsPlanned) {
  const std::string mark = folder + "/refused";
  auto marks = [&] {
    auto text = llvm::MemoryBuffer::getFile(mark);
    return text ? (*text)->getBuffer().str() : "";
  };
  const std::map<std::string, std::string> known{{kGuardMarkVariable, mark}};
  gpus(4, "NVIDIA A100-SXM4-80GB", "81920 MiB");
  passes(known);
  for (auto one : std::map<std::string, std::string>{{"SLURM_NNODES", "3"}, {"WORLD_SIZE", "7"}, {"NODE_RANK", "2"}})
    refusal({*known.begin(), one}); // is no fault of the node
  refusal({*known.begin(), {"ACCORD_GUARD", "perhaps"}});
  EXPECT_EQ(marks(), "");
  gpus(8, "Tesla K80", "11441 MiB");
  EXPECT_EQ(run({*known.begin(), {"ACCORD_GUARD", "off"}}).status, 0);
  EXPECT_EQ(marks(), "");
  refusal(known);
  EXPECT_EQ(guardRefusals(marks()).at("k1"),
            "node k1 has 8 'Tesla K80' (11441 MiB), and the plan needs 4 a100_80g ('A100-SXM4-80GB' or 'A100 80GB "
            "PCIe' with at least 80184 MiB)");
  std::filesystem::remove(folder + "/bin/nvidia-smi");
  refusal({*known.begin(), {"SLURMD_NODENAME", ""}, {"ACCORD_NODE", "k2"}}); // each adds a line of its own
  ASSERT_EQ(guardRefusals(marks()).size(), 2u);
  EXPECT_THAT(guardRefusals(marks()).at("k2"), StartsWith("node k2 shows no device"));
  EXPECT_THAT(refusal({{kGuardMarkVariable, folder + "/none/refused"}}), HasSubstr("shows no device"));
}

TEST(GuardMarks, AreLinesOfTheirOwn) {
  const std::string mark = kGuardMark;
  EXPECT_TRUE(guardRefusals("").empty());
  EXPECT_TRUE(guardRefusals("accord guard: node k1 has 8 'Tesla K80'\n" + mark + "\n" + mark + "\tk1\n" + mark +
                            "\t\tnothing\n " + mark + "\tk1\tx")
                  .empty());
  const std::map<std::string, std::string> two{{"k1", "a b"}, {"k2", "c d"}};
  EXPECT_EQ(guardRefusals(mark + "\tk1\ta\tb\nother\n" + mark +
                          "\tk2\tc\x01"
                          "d\n" +
                          mark + "\tk1\tagain"),
            two);
}

TEST_F(Guard, RefusesOtherDevices) {
  gpus(8, "Tesla K80", "11441 MiB");
  EXPECT_EQ(refusal(), "accord guard: node k1 has 8 'Tesla K80' (11441 MiB), and the plan needs 4 a100_80g "
                       "('A100-SXM4-80GB' or 'A100 80GB PCIe' with at least 80184 MiB): nothing was started\n");
  gpus(4, "NVIDIA A100-SXM4-40GB", "40960 MiB");
  EXPECT_THAT(refusal(), HasSubstr("4 'NVIDIA A100-SXM4-40GB' (40960 MiB)"));
  gpus(4, "NVIDIA A100-SXM4-80GB", "40960 MiB"); // says one thing and has another
  EXPECT_THAT(refusal(), HasSubstr("(40960 MiB)"));
  for (const char *other : {"NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA RTX A1000", "NVIDIA A100X",
                            "NVIDIA GH200 480GB", "NVIDIA A100-SXM4-80GBX"}) {
    gpus(8, other, "143771 MiB");
    EXPECT_THAT(refusal(), HasSubstr(std::string("8 '") + other + "'"));
  }
}

// A name is a run of whole words: H200 is not in GH200, and B200 not in GB200.
TEST_F(Guard, NamesAreWholeWords) {
  expected.memory = 0;
  for (auto [product, name, fits] : {std::tuple{"H200", "NVIDIA H200", true},
                                     {"H200", "NVIDIA GH200 480GB", false},
                                     {"B200", "NVIDIA GB200", false},
                                     {"a100", "NVIDIA A100-PCIE-40GB", true},
                                     {"a100", "NVIDIA RTX A1000", false},
                                     {"V100", "Tesla V100S-PCIE-32GB", false},
                                     {"rtx 3090", "NVIDIA GeForce RTX 3090", true},
                                     {"rtx 3090", "NVIDIA GeForce RTX 3090 Ti", true}}) {
    expected.products = {product};
    gpus(4, name, "81920 MiB");
    EXPECT_EQ(run().status == 0, fits) << product << " in " << name;
  }
}

// Each product of the table is what its device type asks for, and of no other one.
TEST_F(Guard, ProductsOfTheCatalogueAreToldApart) {
  std::set<std::string> devices;
  for (const Product &product : allProducts())
    if (product.tool == "nvidia-smi")
      devices.insert(product.device);
  for (const Product &product : allProducts()) {
    if (product.tool != "nvidia-smi")
      continue;
    gpus(1, "NVIDIA " + product.name, std::to_string(product.memory >> 20) + " MiB");
    for (const std::string &device : devices) {
      LaunchLayout shape;
      shape.pools.push_back({device, 1, 1, 0, "", {}});
      describeDevices(shape.pools[0], "");
      expected = guardOf(shape);
      EXPECT_EQ(run().status, device == product.device ? 0 : kGuardRefused) << product.name << " for " << device;
    }
  }
}

TEST_F(Guard, RefusesTooFewAndMixedDevices) {
  gpus(3, "NVIDIA A100-SXM4-80GB", "81920 MiB");
  EXPECT_THAT(refusal(), HasSubstr("node k1 has 3 'NVIDIA A100-SXM4-80GB' (81920 MiB), and the plan needs 4"));
  const std::string good = "NVIDIA A100-SXM4-80GB, 81920 MiB\n", bad = "Tesla K80, 11441 MiB\n";
  tool("nvidia-smi", good + good + good + good + bad);
  EXPECT_THAT(refusal(), HasSubstr("4 'NVIDIA A100-SXM4-80GB' (81920 MiB) and 1 'Tesla K80' (11441 MiB)"));
  // Of the mixed node the right ones may be chosen, where their numbers mean the same to CUDA and to nvidia-smi.
  passes({{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}});
  EXPECT_THAT(refusal({{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}}), HasSubstr("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  EXPECT_THAT(refusal({{"CUDA_VISIBLE_DEVICES", "1,2,3,4"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}),
              HasSubstr("1 'Tesla K80'"));
}

TEST_F(Guard, CountsWhatIsVisible) {
  gpus(8, "NVIDIA A100-SXM4-80GB", "81920 MiB");
  passes({{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}});
  passes({{"CUDA_VISIBLE_DEVICES", "4, 5, 6, 7"}});
  passes({{"CUDA_VISIBLE_DEVICES", "GPU-1a,GPU-2b,GPU-3c,GPU-4d"}});
  EXPECT_THAT(refusal({{"CUDA_VISIBLE_DEVICES", "GPU-1a,GPU-2b,GPU-3c"}}), HasSubstr("has 3 'NVIDIA"));
  EXPECT_THAT(refusal({{"CUDA_VISIBLE_DEVICES", "0,1,2"}}), HasSubstr("has 3 'NVIDIA"));
  EXPECT_THAT(refusal({{"CUDA_VISIBLE_DEVICES", "0,1,-1,2,3"}}), HasSubstr("has 2 'NVIDIA"));
  EXPECT_THAT(refusal({{"CUDA_VISIBLE_DEVICES", "0,1,2,9"}}), HasSubstr("has 3 'NVIDIA"));
  EXPECT_THAT(refusal({{"CUDA_VISIBLE_DEVICES", ""}}), HasSubstr("leaves no device visible"));
  EXPECT_THAT(refusal({{"CUDA_VISIBLE_DEVICES", "NoDevFiles"}}), HasSubstr("leaves no device visible"));
  EXPECT_THAT(refusal({{"CUDA_VISIBLE_DEVICES", "MIG-7c,MIG-8d,MIG-9e,MIG-af"}}), HasSubstr("part of a device (MIG)"));
}

// Devices by their names on a mixed node: the tool is asked for those alone.
TEST_F(Guard, NamedDevicesOfAMixedNode) {
  script("nvidia-smi",
         "case \"$1\" in\n--id=GPU-a,GPU-b,GPU-c,GPU-d) n=4 ;;\n--id=*) exit 6 ;;\n*) n=4; echo 'Tesla K80, "
         "11441 MiB' ;;\nesac\nwhile [ $n -gt 0 ]; do echo 'NVIDIA A100-SXM4-80GB, 81920 MiB'; n=$((n - "
         "1)); done");
  passes({{"CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b,GPU-c,GPU-d"}});
  EXPECT_THAT(refusal({{"CUDA_VISIBLE_DEVICES", "GPU-x"}}), HasSubstr("nothing was started"));
}

TEST_F(Guard, PartsOfDevicesAreNone) {
  tool("nvidia-smi", "NVIDIA A100-SXM4-80GB, 81920 MiB, Enabled\nNVIDIA A100-SXM4-80GB, 81920 MiB, Enabled\n"
                     "NVIDIA A100-SXM4-80GB, 81920 MiB, Enabled\nNVIDIA A100-SXM4-80GB, 81920 MiB, Enabled\n");
  EXPECT_THAT(refusal(), HasSubstr("'parts (MIG) of NVIDIA A100-SXM4-80GB'"));
  tool("nvidia-smi", "NVIDIA A100-SXM4-80GB, 81920 MiB, Disabled\nNVIDIA A100-SXM4-80GB, 81920 MiB, [N/A]\n"
                     "NVIDIA A100-SXM4-80GB, 81920 MiB, Disabled\nNVIDIA A100-SXM4-80GB, 81920 MiB, Disabled\n");
  passes();
}

TEST_F(Guard, ToolsThatSayNothing) {
  EXPECT_THAT(refusal(), HasSubstr("shows no device (there is no nvidia-smi"));
  tool("nvidia-smi", "");
  EXPECT_THAT(refusal(), HasSubstr("shows no device"));
  tool("nvidia-smi", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", 9);
  EXPECT_THAT(refusal(), HasSubstr("nvidia-smi ends with status 9"));
  tool("nvidia-smi", "No devices were found\n");
  EXPECT_THAT(refusal(), HasSubstr("shows no device"));
  for (const std::string &garbage :
       {std::string(",,,,\n,\n"), std::string(10000, 'x') + "\n", std::string("a,b\\c%s$(touch /tmp/x)`id`,\"\n"),
        std::string("\x01\xff, \xfe MiB\n")}) {
    tool("nvidia-smi", garbage);
    EXPECT_THAT(refusal(), HasSubstr("and the plan needs 4 a100_80g"));
  }
}

TEST_F(Guard, ToolsThatHang) {
  script("nvidia-smi", "exec sleep 10");
  const std::string said = refusal({{"ACCORD_GUARD_SECONDS", "0"}});
  EXPECT_THAT(said, HasSubstr("nvidia-smi on node k1 said nothing within 0 s"));
  script("nvidia-smi", "trap '' TERM\nwhile :; do sleep 1; done");
  EXPECT_THAT(refusal({{"ACCORD_GUARD_SECONDS", "1"}}), HasSubstr("within 1 s"));
  const Answer bash = run({{"ACCORD_GUARD_SECONDS", "0"}}, "/bin/bash"); // says nothing of what it killed
  EXPECT_EQ(bash.status, kGuardRefused);
  EXPECT_EQ(std::ranges::count(bash.said, '\n'), 1) << bash.said;
}

// An older nvidia-smi does not know the field of MIG.
TEST_F(Guard, AsksOnceMoreWithoutMig) {
  script("nvidia-smi",
         "case \"$*\" in *mig.mode*) echo 'Field \"mig.mode.current\" is not a valid field to query.'; exit "
         "2 ;; esac\nfor i in 1 2 3 4; do echo 'NVIDIA A100-SXM4-80GB, 81251 MiB'; done");
  passes();
}

TEST_F(Guard, TheDriversFilesWithoutTheTool) {
  for (int i = 0; i < 4; ++i)
    write(folder + "/node/proc/driver/nvidia/gpus/0000:0" + std::to_string(i) + ":00.0/information",
          "Model: \t\t NVIDIA A100-SXM4-80GB\nIRQ:   \t\t 57\nGPU UUID: \t GPU-7\n");
  const Answer answer = run();
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.said, HasSubstr("whose memory no tool says: its name alone was compared"));
  write(folder + "/node/proc/driver/nvidia/gpus/0000:09:00.0/information", "Model: \t\t Tesla K80\n");
  EXPECT_THAT(refusal(), HasSubstr("1 'Tesla K80'"));
}

TEST_F(Guard, OtherVendors) {
  expected = {.deviceType = "mi300x",
              .deviceName = "",
              .products = {"MI300X"},
              .memory = int64_t(194325) << 20,
              .devicesPerServer = 2};
  expected.worldSize = 2;
  auto rocm = [](const std::string &name, const std::string &bytes) {
    std::string text = "====== ROCm System Management Interface ======\n";
    for (int i = 0; i < 2; ++i)
      text += "GPU[" + std::to_string(i) + "]\t\t: Card Series: \t\t" + name + "\nGPU[" + std::to_string(i) +
              "]\t\t: Card Model: \t\t0x74b5\n";
    for (int i = 0; i < 2; ++i)
      text += "GPU[" + std::to_string(i) + "]\t\t: VRAM Total Memory (B): " + bytes + "\nGPU[" + std::to_string(i) +
              "]\t\t: VRAM Total Used Memory (B): 297611264\n";
    return text;
  };
  tool("rocm-smi", rocm("AMD Instinct MI300X VF", "205822885888"));
  passes();
  EXPECT_THAT(refusal({{"HIP_VISIBLE_DEVICES", "1"}}), HasSubstr("has 1 'AMD Instinct MI300X VF' (196288 MiB)"));
  tool("rocm-smi", rocm("AMD Instinct MI250X", "68702699520"));
  EXPECT_THAT(refusal(), HasSubstr("2 'AMD Instinct MI250X' (65520 MiB)"));
  std::filesystem::remove(folder + "/bin/rocm-smi");
  tool("amd-smi",
       "GPU: 0\n    ASIC:\n        MARKET_NAME: AMD Instinct MI300X OAM: 750W\n    VRAM:\n        SIZE: 196592 "
       "MB\nGPU: 1\n    ASIC:\n        MARKET_NAME: AMD Instinct MI300X\n    VRAM:\n        SIZE: 196592 MB\n");
  passes();
  std::filesystem::remove(folder + "/bin/amd-smi");
  tool("hl-smi", "HL-225, 98304 MiB\nHL-225, 98304 MiB\n");
  EXPECT_THAT(refusal(), HasSubstr("2 'HL-225' (98304 MiB)"));
  expected.products = {"HL-225"}, expected.memory = int64_t(97320) << 20;
  passes();
}

TEST_F(Guard, NeuronDevicesAndTheirCores) {
  const std::string device = "{\"neuron_device\": 0, \"bdf\": \"00:04.0\", \"connected_to\": [1, 2], \"nc_count\": 2, "
                             "\"memory_size\": 34359738368, \"neuron_processes\": []}";
  tool("neuron-ls", "[" + device + ", " + device + "]\n");
  write(folder + "/node/sys/devices/virtual/dmi/id/product_name", "trn1.32xlarge\n");
  expected = {.deviceType = "trainium1",
              .deviceName = "",
              .products = {"trn1"},
              .memory = int64_t(32440) << 20,
              .devicesPerServer = 2};
  expected.worldSize = 2;
  passes();
  expected.devicesPerServer = expected.worldSize = 4, expected.devicesPerUnit = 2; // two cores a device
  EXPECT_THAT(refusal(), HasSubstr("4 'AWS Neuron trn1.32xlarge' (16384 MiB)"));
  expected.memory = int64_t(16220) << 20;
  passes();
  std::filesystem::remove(folder + "/node/sys/devices/virtual/dmi/id/product_name");
  EXPECT_THAT(refusal(), HasSubstr("4 'AWS Neuron device' (16384 MiB)"));
  write(folder + "/node/sys/devices/virtual/dmi/id/product_name", "inf2.48xlarge\n");
  EXPECT_THAT(refusal(), HasSubstr("'AWS Neuron inf2.48xlarge'"));
}

TEST_F(Guard, SlicesOfTpus) {
  expected = {.deviceType = "tpu_v4",
              .deviceName = "",
              .products = {"TPU v4"},
              .memory = 0,
              .devicesPerServer = 16,
              .worldSize = 16};
  expected.devicesPerUnit = .5;
  passes({{"TPU_ACCELERATOR_TYPE", "v4-32"}});
  EXPECT_THAT(refusal({{"TPU_ACCELERATOR_TYPE", "v4-16"}}), HasSubstr("'v4-16' has 8 tpu_v4, and the plan has 16"));
  passes({{"TPU_ACCELERATOR_TYPE", "v4-16"}, {"MEGASCALE_NUM_SLICES", "2"}});
  EXPECT_THAT(refusal({{"TPU_ACCELERATOR_TYPE", "v5p-32"}}), HasSubstr("'TPU v5p'"));
  EXPECT_THAT(refusal({{"TPU_ACCELERATOR_TYPE", "v4-junk"}}), HasSubstr("shows no device"));
}

TEST_F(Guard, ServersAndRanks) {
  gpus(4, "NVIDIA A100-SXM4-80GB", "81920 MiB");
  passes({{"SLURM_JOB_NUM_NODES", "2"}, {"SLURM_NODEID", "1"}, {"WORLD_SIZE", "8"}, {"SLURM_GPUS_ON_NODE", "4"}});
  passes({{"PET_NNODES", "2"}, {"JOB_COMPLETION_INDEX", "0"}, {"WORLD_SIZE", "2"}});
  passes({{"SLURM_NNODES", "4"}, {"SLURM_STEP_NUM_NODES", "2"}});
  passes({{"PET_NNODES", "1:4"}}); // elastic: not a number
  EXPECT_THAT(refusal({{"SLURM_JOB_NUM_NODES", "3"}}),
              HasSubstr("the number of servers of the job is 3, and the plan needs 2"));
  EXPECT_THAT(refusal({{"PET_NNODES", "1"}}), HasSubstr("of the job is 1"));
  EXPECT_THAT(refusal({{"NODE_RANK", "2"}}), HasSubstr("node k1 is server 2, and the plan has 2, from 0"));
  EXPECT_THAT(refusal({{"JOB_COMPLETION_INDEX", "7"}}), HasSubstr("is server 7"));
  EXPECT_THAT(refusal({{"WORLD_SIZE", "16"}}), HasSubstr("WORLD_SIZE is 16, and the plan has 8 devices on 2 servers"));
  EXPECT_THAT(refusal({{"SLURM_GPUS_ON_NODE", "2"}}), HasSubstr("Slurm gives node k1 2 devices"));
  passes(
      {{"WORLD_SIZE", "999999999999999999999999"}, {"NODE_RANK", "0; exit 0"}}); // no numbers: as if they were not set
}

TEST_F(Guard, Switches) {
  gpus(8, "Tesla K80", "11441 MiB");
  Answer answer = run({{"ACCORD_GUARD", "off"}});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.said, "accord guard: off: node k1 starts without a look at its devices\n");
  EXPECT_THAT(refusal({{"ACCORD_GUARD", "false"}}), HasSubstr("ACCORD_GUARD is 'false', which is none of"));
  EXPECT_THAT(refusal({{"ACCORD_GUARD_PRODUCT", "K80"}}), HasSubstr("('K80' with at least"));
  expected.memory = 0;
  passes({{"ACCORD_GUARD_PRODUCT", "Tesla K80"}});
}

TEST_F(Guard, VirtualDevicesAreTypesOfSlurm) {
  expected.isVirtual = true;
  passes(); // neither devices nor Slurm
  const std::map<std::string, std::string> slurm{{"SLURM_JOB_ID", "7"}, {"SLURM_GPUS_ON_NODE", "4"}};
  for (const char *gres : {"gpu:a100-80g:4", "gpu:A100-80G:4(S:0-1)", "gpu:k80:8,gpu:a100-80g:4"}) {
    tool("scontrol", std::string("NodeName=k1 Arch=x86_64\n   Gres=") + gres + "\n   NodeAddr=127.0.0.1\n");
    passes(slurm);
  }
  for (const char *gres : {"gpu:k80:8", "(null)", "gpu:4", "gpu:a100:4", "gpu:a100-80gx:4"}) {
    tool("scontrol", std::string("NodeName=k1 Arch=x86_64\n   Gres=") + gres + "\n");
    EXPECT_THAT(refusal(slurm), HasSubstr(std::string("node k1 has '") + gres + "', and the plan needs 4 a100_80g"));
  }
  expected.isVirtual = false;
  tool("scontrol", "   Gres=gpu:a100-80g:4\n");
  passes({{"ACCORD_GUARD", "virtual"}, {"SLURM_JOB_ID", "7"}});
}

TEST_F(Guard, AutoIsVirtualWithoutATool) {
  passes({{"ACCORD_GUARD", "auto"}});
  gpus(4, "Tesla K80", "11441 MiB");
  EXPECT_THAT(refusal({{"ACCORD_GUARD", "auto"}}), HasSubstr("Tesla K80"));
  gpus(4, "NVIDIA A100-SXM4-80GB", "81920 MiB");
  passes({{"ACCORD_GUARD", "auto"}});
}

TEST_F(Guard, EachShell) {
  for (const char *shell : {"/bin/sh", "/bin/dash", "/bin/bash"})
    for (const char *options : {"set -eu", "", "set -e; IFS=,; set -f"}) {
      if (!llvm::sys::fs::can_execute(shell))
        continue;
      gpus(4, "NVIDIA A100-SXM4-80GB", "81920 MiB");
      EXPECT_EQ(run({}, shell, options).status, 0) << shell << options;
      gpus(4, "Tesla K80", "11441 MiB");
      if (std::string(options).find("-e") != std::string::npos) {
        EXPECT_EQ(run({}, shell, options).status, kGuardRefused) << shell << options;
      }
    }
}

TEST(GuardText, MayBeQuoted) {
  GuardExpectation odd;
  odd.deviceType = "a'b\"c$(id)`id`\\|*\n", odd.deviceName = odd.deviceType, odd.products = {odd.deviceType, "", "'"};
  odd.devicesPerServer = 1;
  for (const std::string &text : {guardText({}), guardText(odd)}) {
    EXPECT_THAT(text, Not(HasSubstr("'")));
    EXPECT_THAT(text, Not(HasSubstr("$$")));
    EXPECT_THAT(text, Not(HasSubstr("`")));
    EXPECT_THAT(text, Not(HasSubstr("$(id)")));
  }
}

/// Accelerators of the clusters of a file of the catalogue.
std::set<std::string> devicesOf(const std::string &path) {
  std::set<std::string> devices;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    llvm::StringRef text(line);
    if (text.trim().consume_front("device ") && text.contains("] : "))
      devices.insert(text.split("] : ").second.trim().split(' ').first.str());
  }
  return devices;
}

TEST(Products, EachDeviceTypeOfAClusterHasOne) {
  std::set<std::string> devices;
  for (const auto &entry : std::filesystem::directory_iterator(accord::sourcePath("lib/catalog")))
    if (entry.path().extension() == ".accel")
      devices.merge(devicesOf(entry.path().string()));
  EXPECT_GT(devices.size(), 15u);
  for (const std::string &device : devices)
    EXPECT_FALSE(productsOf(device).empty()) << device;
  for (const Product &product : allProducts()) {
    EXPECT_TRUE(devices.count(product.device)) << product.device;
    EXPECT_FALSE(wordsOf(product.name).empty());
    EXPECT_GT(product.devicesPerUnit, 0);
  }
}

TEST(Products, GuessesOfOwnMachines) {
  EXPECT_THAT(guessedProducts("t4"), testing::ElementsAre("t4"));
  EXPECT_THAT(guessedProducts("a40_48g"), testing::ElementsAre("a40"));
  EXPECT_THAT(guessedProducts("h100_pcie_80gb"), testing::Contains("h100_pcie"));
  EXPECT_THAT(guessedProducts("rtx3090"), testing::ElementsAre("rtx3090", "rtx 3090"));
  EXPECT_THAT(guessedProducts("80g"), testing::Contains("80g"));
  EXPECT_THAT(guessedProducts("_8g"), testing::Not(testing::Contains("")));
}

// A machine of a user's own: what ECC and the driver leave of its memory is enough, and its name is in the product's.
TEST_F(Guard, OwnMachinesByTheirNames) {
  for (auto [device, gibibytes, name, memory, fits] :
       {std::tuple{"t4", 16, "Tesla T4", "15360 MiB", true}, std::tuple{"t4", 16, "NVIDIA T4G", "15360 MiB", false},
        std::tuple{"a40_48g", 48, "NVIDIA A40", "46068 MiB", true},
        std::tuple{"l40s", 48, "NVIDIA L40S", "46068 MiB", true}, std::tuple{"k80", 12, "Tesla K80", "11441 MiB", true},
        std::tuple{"rtx3090", 24, "NVIDIA GeForce RTX 3090", "24576 MiB", true},
        std::tuple{"h100_pcie_80gb", 80, "NVIDIA H100 PCIe", "81559 MiB", true},
        std::tuple{"h100_pcie_80gb", 80, "NVIDIA H100 80GB HBM3", "81559 MiB", false},
        std::tuple{"a40", 80, "NVIDIA A40", "46068 MiB", false}}) {
    LaunchLayout shape;
    shape.pools.push_back({device, 1, 1, int64_t(gibibytes) << 30, "", {}});
    describeDevices(shape.pools[0], "");
    expected = guardOf(shape);
    gpus(1, name, memory);
    EXPECT_EQ(run().status, fits ? 0 : kGuardRefused) << device << " is " << name;
  }
}

TEST(GuardDocument, IsReadAgain) {
  auto plan = test::gptPlacement();
  auto expected = guardOf(plan);
  ASSERT_TRUE(static_cast<bool>(expected));
  EXPECT_EQ(expected->deviceType, "a100_80g");
  EXPECT_EQ(expected->deviceName, "a100-80g");
  EXPECT_EQ(expected->servers * expected->devicesPerServer, expected->worldSize);
  std::string text;
  llvm::raw_string_ostream(text) << toDocument(*expected);
  EXPECT_TRUE(isGuard(text));
  auto again = guardFrom(text, "guard.json");
  ASSERT_TRUE(static_cast<bool>(again)) << again.error().message;
  EXPECT_EQ(*again, *expected);
  const char *none =
      R"({"guard": 1, "device_type": "a", "products": [], "devices_per_server": 0, "servers": 1, "world_size": 1})";
  for (const char *wrong : {"", "[]", "{\"guard\": 2}", "{\"guard\": 1}", none}) {
    auto read = guardFrom(wrong, "guard.json");
    ASSERT_FALSE(static_cast<bool>(read)) << wrong;
    EXPECT_EQ(numberOf(read.error().code), "A0901");
  }
}

} // namespace
} // namespace accord
