// Every form of a latency model gives the same results, inside its domain and outside.
#include "LatencyFixture.h"
#include "lib/latency/forms/Jit.h"
#include "lib/latency/forms/Print.h"
#include "test/support/LatencyCatalogue.h"
#include "test/support/LatencyCluster.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

using namespace accord;

namespace {

struct TrainedNetwork {
  const char *file, *name, *target;
  int64_t batch, microbatch;
};
void PrintTo(const TrainedNetwork &n, std::ostream *out) { *out << n.name << " on " << n.target; }

std::string folderFor(const std::string &name) {
  std::string folder = testing::TempDir() + "accord-latency-forms-" + name;
  EXPECT_EQ(std::system(("mkdir -p '" + folder + "'").c_str()), 0);
  return folder;
}

/// One line per configuration: status, then three values.
struct Line {
  int status = -1;
  double values[3] = {};
};
std::vector<Line> linesOf(const std::string &command, size_t count) {
  std::vector<Line> lines(count);
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe)
    return {};
  for (Line &line : lines)
    EXPECT_EQ(std::fscanf(pipe, "%d %lf %lf %lf", &line.status, line.values, line.values + 1, line.values + 2), 4)
        << command;
  while (std::fgetc(pipe) != EOF) // so that its writer can end
    continue;
  EXPECT_EQ(pclose(pipe), 0) << command;
  return lines;
}

/// A program that reads configurations and writes what the header says of them.
void writeMain(const LatencyModel &model, const std::string &folder) {
  std::ofstream main(folder + "/main.c");
  main << "#include \"latency_model.h\"\n#include <stdio.h>\nint main(void) {\n  " << model.name << "_arguments a;\n  "
       << model.name << "_result r;\n  for (;;) {\n";
  std::string format, addresses;
  for (const LatencyArgument &a : model.arguments()) {
    format += a.integer ? "%lld " : "%lf ";
    addresses += (a.integer ? ", &i_" : ", &a.") + a.name;
  }
  for (const LatencyArgument &a : model.arguments())
    if (a.integer)
      main << "    long long i_" << a.name << ";\n";
  main << "    if (scanf(\"" << format << "\"" << addresses << ") != " << model.arguments().size() << ") break;\n";
  for (const LatencyArgument &a : model.arguments())
    if (a.integer)
      main << "    a." << a.name << " = i_" << a.name << ";\n";
  main << "    int status = " << model.name << "_evaluate(&a, &r);\n"
       << "    printf(\"%d %.17g %.17g %.17g\\n\", status, r.step_time_s, r.memory_bytes, r.flops);\n  }\n"
          "  return 0;\n}\n";
}

void writePython(const LatencyModel &model, const std::string &folder) {
  std::ofstream run(folder + "/run.py");
  run << "import sys\nimport latency_model as m\n"
         "for line in open(sys.argv[1]):\n"
         "    values = [int(w) if a.integer else float(w) for a, w in zip(m.ARGUMENTS, line.split())]\n"
         "    try:\n        r = m.evaluate(*values)\n        print(0, *map(repr, r))\n"
         "    except ValueError as e:\n"
         "        names = [a.name for a in m.ARGUMENTS]\n"
         "        word = str(e).split(' = ')[0]\n"
         "        print(names.index(word) + 1 if word in names else -1, 'nan nan nan')\n";
}

void writeConfigurations(const LatencyModel &model, const std::vector<std::vector<double>> &all,
                         const std::string &path) {
  std::ofstream file(path);
  for (const auto &values : all) {
    for (size_t i = 0; i < values.size(); ++i)
      file << (model.arguments()[i].integer ? fmt::format("{} ", static_cast<int64_t>(values[i]))
                                            : fmt::format("{:.17g} ", values[i]));
    file << "\n";
  }
}

void writeJavaScript(const std::string &folder) {
  std::ofstream run(folder + "/run.js");
  run << "const m = require('./latency_model.js');\n"
         "for (const line of require('fs').readFileSync(process.argv[2], 'utf8').split('\\n').filter(Boolean)) {\n"
         "  const values = line.trim().split(' ').map(Number);\n"
         "  const r = m.evaluate(Object.fromEntries(m.ARGUMENTS.map((a, i) => [a.name, values[i]])));\n"
         "  console.log(r.status, r.step_time_s, r.memory_bytes, r.flops);\n}\n";
}

/// Integers are doubles there: above 2^53 they are rounded.
void expectNear(const LatencyEvaluation &expected, const Line &found, const std::string &what) {
  EXPECT_EQ(found.status, expected.status) << what;
  const double values[] = {expected.result.step, expected.result.memory, expected.result.flops};
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(std::fabs(found.values[i] - values[i]) <= 1e-12 * std::fabs(values[i]) ||
                (std::isnan(found.values[i]) && std::isnan(values[i])))
        << what << " output " << i << ": " << found.values[i] << " for " << values[i];
}

bool hasNode() { return std::system("command -v node > /dev/null") == 0; }

void expectSame(const LatencyEvaluation &expected, const Line &found, bool statusOfGuards, const std::string &what) {
  if (statusOfGuards || found.status >= 0)
    EXPECT_EQ(found.status, expected.status) << what;
  else
    EXPECT_NE(expected.status, 0) << what;
  const double values[] = {expected.result.step, expected.result.memory, expected.result.flops};
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(found.values[i] == values[i] || (std::isnan(found.values[i]) && std::isnan(values[i])))
        << what << " output " << i << ": " << found.values[i] << " for " << values[i];
}

class LatencyFormats : public testing::TestWithParam<TrainedNetwork> {};

void expectOneAnswer(const LatencyModel &model, const std::string &name) {
  std::string folder = folderFor(name);
  std::ofstream(folder + "/latency_model.h") << printC(model);
  std::ofstream(folder + "/latency_model.py") << printPython(model);
  std::ofstream(folder + "/latency_model.js") << printJavaScript(model);
  writeMain(model, folder);
  writePython(model, folder);
  writeJavaScript(folder);
  std::mt19937_64 random(7);
  std::vector<std::vector<double>> all = {model.initial()};
  while (all.size() < 500)
    all.push_back(test::randomArguments(model, random));
  writeConfigurations(model, all, folder + "/configurations");

  auto jit = LatencyJit::compile(model, {});
  ASSERT_TRUE(jit) << jit.error().message;
  std::vector<LatencyEvaluation> batch =
      (*jit)->evaluate(all.size(), [&](size_t i, size_t argument) { return all[i][argument]; });
  std::vector<std::pair<std::string, std::vector<Line>>> programs;
  for (const char *compiler : {"cc -O2", "clang-22 -O2 -march=native"}) {
    std::string first = compiler;
    first = first.substr(0, first.find(' '));
    if (std::system(("command -v " + first + " > /dev/null").c_str()) != 0)
      continue;
    std::string program = folder + "/run";
    ASSERT_EQ(std::system(fmt::format("{} -std=c99 -Wall -Wextra -Werror -pedantic -o '{}' '{}/main.c'", compiler,
                                      program, folder)
                              .c_str()),
              0);
    programs.push_back({compiler, linesOf("'" + program + "' < '" + folder + "/configurations'", all.size())});
  }
  programs.push_back(
      {"python3", linesOf(fmt::format("python3 -B '{0}/run.py' '{0}/configurations'", folder), all.size())});
  std::vector<Line> inNode;
  if (hasNode())
    inNode = linesOf(fmt::format("node '{0}/run.js' '{0}/configurations'", folder), all.size());
  size_t holds = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    LatencyEvaluation expected = evaluate(model, all[i]);
    holds += expected.status == 0;
    auto line = [](const LatencyEvaluation &e) {
      return Line{e.status, {e.result.step, e.result.memory, e.result.flops}};
    };
    std::string where = fmt::format("configuration {}", i);
    expectSame(expected, line((*jit)->evaluate(all[i])), true, where + ", JIT");
    expectSame(expected, line(batch[i]), true, where + ", batch JIT");
    for (const auto &[name, lines] : programs)
      expectSame(expected, lines[i], name != "python3", where + ", " + name);
    if (!inNode.empty())
      expectNear(expected, inNode[i], where + ", node");
  }
  // Where tiles were searched for, times are no formula of the sizes and the machine: all but the batch stay at the
  // plan's values, and few configurations hold.
  bool swept = std::ranges::any_of(model.arguments(), [](const LatencyArgument &argument) {
    return argument.name != "batch" && argument.min < argument.max;
  });
  EXPECT_GT(holds, swept ? all.size() / 8 : 0);
  EXPECT_LT(holds, all.size());
}

} // namespace

TEST_P(LatencyFormats, AllSayTheSame) {
  const TrainedNetwork &network = GetParam();
  std::string error;
  auto made =
      test::catalogueLatencyModel(network.file, network.name, network.target, network.batch, network.microbatch, error);
  ASSERT_TRUE(made) << error;
  expectOneAnswer(*made, network.name);
}

TEST(LatencyClusterFormats, AllSayTheSame) {
  test::ClusterCase gpt("gpt2.dnn", "gpt2", 24);
  auto made = gpt.model({1, 2, 4}, {1, 2, 3, 6, 12}, 2);
  ASSERT_TRUE(made) << made.error().message;
  const auto &model = *made;
  expectOneAnswer(model, "cluster");
  std::string folder = folderFor("cluster");
  std::ofstream(folder + "/latency_model.py") << printPython(model);
  EXPECT_EQ(std::system(fmt::format("python3 -B '{}/latency_model.py' > /dev/null", folder).c_str()), 0);
}

TEST_P(LatencyFormats, CheckThemselves) {
  const TrainedNetwork &network = GetParam();
  std::string error;
  auto made =
      test::catalogueLatencyModel(network.file, network.name, network.target, network.batch, network.microbatch, error);
  ASSERT_TRUE(made) << error;
  std::string folder = folderFor(network.name);
  auto passes = [&](const std::string &header, const std::string &module) {
    std::ofstream(folder + "/latency_model.h") << header;
    std::ofstream(folder + "/latency_model.py") << module;
    EXPECT_EQ(std::system(fmt::format("cc -std=c99 -Wall -Wextra -Werror -pedantic -DMODEL_SELF_TEST -x c "
                                      "'{0}/latency_model.h' -o '{0}/self'",
                                      folder)
                              .c_str()),
              0);
    return std::pair(std::system(fmt::format("'{}/self' > /dev/null", folder).c_str()),
                     std::system(fmt::format("python3 -B '{}/latency_model.py' > /dev/null", folder).c_str()));
  };
  EXPECT_EQ(passes(printC(*made), printPython(*made)), std::pair(0, 0));
  EXPECT_GE(made->samples.size(), 8u);
  // A form that computes something else finds that out.
  for (LatencyModel::Sample &sample : made->samples)
    sample.result.step *= 1 + 1e-9;
  auto [c, python] = passes(printC(*made), printPython(*made));
  EXPECT_NE(c, 0);
  EXPECT_NE(python, 0);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, LatencyFormats,
                         testing::Values(TrainedNetwork{"gpt2.dnn", "gpt2_xl", "a100_80g", 32, 4},
                                         TrainedNetwork{"resnet.dnn", "resnet50", "v100_32g", 64, 16},
                                         TrainedNetwork{"bert.dnn", "bert_large", "tpu_like", 64, 8},
                                         TrainedNetwork{"tc_resnet.dnn", "tc_resnet8", "eyeriss_chip", 64, 8},
                                         TrainedNetwork{"alexnet.dnn", "alexnet", "gemmini_chip", 64, 2},
                                         TrainedNetwork{"gnmt.dnn", "gnmt", "h100", 64, 32}),
                         [](const auto &info) { return std::string(info.param.name); });
