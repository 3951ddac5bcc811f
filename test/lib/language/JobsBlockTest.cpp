// `jobs` blocks as plain data, and what is wrong with its place.
#include "JobsBlock.h"
#include "SyntaxExamples.h"
#include "dialects/Register.h"
#include "lib/language/program/Elaborate.h"
#include "lib/language/syntax/Format.h"
#include "lib/support/SplitMix.h"
#include "mlir/IR/DialectRegistry.h"
#include "test/support/SourcePath.h"
#include <set>

using namespace accord;
using jobs::Elasticity, jobs::JobMeasure, jobs::JobsRequest, jobs::Steps;

namespace {

std::string exampleOfTheSection() {
  for (const Example &example : languageExamples())
    if (example.text.find("jobs night on lab {") != std::string::npos)
      return example.text;
  return "";
}

/// What a block with one job says of it.
JobsRequest::Job oneJob(const std::string &settings) {
  JobsBlock read = jobsBlock("job a = t { " + settings + " }");
  EXPECT_TRUE(read.request) << settings << "\n" << read.diags.text();
  return read.request ? read.request->jobs.at(0) : JobsRequest::Job();
}

} // namespace

TEST(JobsBlocks, KeysOfTheBlock) {
  JobsBlock read(kBeforeJobs + R"(jobs night on lab {
  period = 15 min, horizon = 14 h, tail = 0.05
  tenant vision { weight = 2.5, quota = {h100: 8, a100_80g: 16} }
  tenant nlp { quota = 24 }
  tenant guest { }
  capacity h100 = {0 h: 16, 8 h: 8}
  capacity a100_80g = 4
  capacity power = {0 h: 30 kW, 6 h: 12 kW}
  carbon_intensity = {0 h: 360 g/kWh, 90 min: 3.6 kg/MWh}
  maintenance h100 { devices = 8, from = 2 h, until = 4 h }
  maintenance h100 { devices = 1, from = 0 s, until = 1 day }
  maintenance h100 { servers = {2, 3}, from = 1 h, until = 2 h }
})");
  ASSERT_TRUE(read.request) << read.diags.text();
  const JobsRequest &r = *read.request;
  EXPECT_EQ(r.name, "night");
  EXPECT_EQ(r.cluster, "lab");
  EXPECT_EQ(r.location.line, 4u);
  EXPECT_EQ(r.location.column, 6u);
  EXPECT_EQ(r.clusterAt.column, 15u);
  EXPECT_EQ(r.slot, 900);
  EXPECT_EQ(r.horizon, 14 * 3600);
  EXPECT_EQ(r.tailShare, 0.05);
  ASSERT_EQ(r.tenants.size(), 3u);
  EXPECT_EQ(r.tenants[0].name, "vision");
  EXPECT_EQ(r.tenants[0].weight, 2.5);
  EXPECT_EQ(r.tenants[0].quota, (std::map<std::string, int64_t>{{"h100", 8}, {"a100_80g", 16}}));
  EXPECT_EQ(r.tenants[0].location.line, 6u);
  EXPECT_EQ(r.tenants[1].weight, 1);
  EXPECT_EQ(r.tenants[1].quota, (std::map<std::string, int64_t>{{"", 24}}));
  EXPECT_TRUE(r.tenants[2].quota.empty());
  ASSERT_EQ(r.capacities.size(), 4u);
  EXPECT_EQ(r.capacities[0].resource, "h100");
  EXPECT_EQ(r.capacities[0].steps, (Steps{{0, 16}, {8 * 3600, 8}}));
  EXPECT_EQ(r.capacities[1].steps, (Steps{{0, 4}}));
  EXPECT_EQ(r.capacities[2].resource, "power");
  EXPECT_EQ(r.capacities[2].steps, (Steps{{0, 30000}, {6 * 3600, 12000}}));
  EXPECT_EQ(r.capacities[3].resource, "carbon");
  EXPECT_EQ(r.capacities[3].steps, (Steps{{0, 360 / 3.6e6}, {5400, 1e-6}})); // grams for each joule
  ASSERT_EQ(r.maintenances.size(), 3u);
  EXPECT_EQ(r.maintenances[0].deviceType, "h100");
  EXPECT_EQ(r.maintenances[0].devices, 8);
  EXPECT_EQ(r.maintenances[0].from, 7200);
  EXPECT_EQ(r.maintenances[0].until, 14400);
  EXPECT_EQ(r.maintenances[1].until, 86400);
  EXPECT_EQ(r.maintenances[2].servers, (std::vector<unsigned>{2, 3}));
  EXPECT_EQ(r.maintenances[2].devices, 0);
  EXPECT_TRUE(r.jobs.empty());
  EXPECT_TRUE(r.objectives.empty());
  EXPECT_TRUE(r.limits.empty());
}

TEST(JobsBlocks, KeysOfAJob) {
  JobsRequest::Job plain = oneJob("");
  EXPECT_EQ(plain.name, "a");
  EXPECT_EQ(plain.train, "t");
  EXPECT_EQ(plain.trainAt.column, 9u);
  EXPECT_EQ(plain.location.line, 5u);
  EXPECT_EQ(plain.samples, 0);
  EXPECT_EQ(plain.tokens, 0);
  EXPECT_EQ(plain.arrival, 0);
  EXPECT_EQ(plain.deadline, -1);
  EXPECT_EQ(plain.due, -1);
  EXPECT_EQ(plain.restart, -1);
  EXPECT_EQ(plain.minQuality, -1);
  EXPECT_EQ(plain.priority, 1);
  EXPECT_EQ(plain.minDevices, 1);
  EXPECT_EQ(plain.maxDevices, 0);
  EXPECT_EQ(plain.elasticity, Elasticity::Malleable);
  EXPECT_FALSE(plain.rigid || plain.optional || plain.continues);
  EXPECT_TRUE(plain.deviceTypes.empty() && plain.after.empty() && plain.phases.empty() && plain.profiled.empty());

  JobsRequest::Job all = oneJob("samples = 2e6, arrives = 1 h, deadline = 8 h, due = 6 h, late_price = 36 USD/h, "
                                "priority = 2.5, devices = 2..16, elastic = moldable, restart = 2 min, "
                                "on = {h100, a100_80g}, optional = true, quality = 0.75, phases = {0: 1, 0.5: 1.4}");
  EXPECT_EQ(all.samples, 2e6);
  EXPECT_EQ(all.arrival, 3600);
  EXPECT_EQ(all.deadline, 8 * 3600);
  EXPECT_EQ(all.deadlineAt.column, 54u);
  EXPECT_EQ(all.due, 6 * 3600);
  EXPECT_EQ(all.latePrice, 0.01);
  EXPECT_EQ(all.priority, 2.5);
  EXPECT_EQ(all.minDevices, 2);
  EXPECT_EQ(all.maxDevices, 16);
  EXPECT_EQ(all.elasticity, Elasticity::Moldable);
  EXPECT_FALSE(all.rigid);
  EXPECT_EQ(all.restart, 120);
  EXPECT_EQ(all.deviceTypes, (std::vector<std::string>{"h100", "a100_80g"}));
  EXPECT_TRUE(all.optional);
  EXPECT_EQ(all.minQuality, 0.75);
  EXPECT_EQ(all.phases, (Steps{{0, 1}, {0.5, 1.4}}));

  EXPECT_TRUE(oneJob("continues = true").continues);
  EXPECT_EQ(oneJob("max_restarts = 3").maxRestarts, 3);
  EXPECT_EQ(oneJob("tokens = 300 G").tokens, 300e9);
  EXPECT_EQ(oneJob("epochs = 3, samples = 1e6").samples, 3e6);
  EXPECT_EQ(oneJob("tokens = 1 G, epochs = 2.5").tokens, 2.5e9);
  JobsRequest::Job rigid = oneJob("devices = 8, elastic = rigid, on = h100");
  EXPECT_TRUE(rigid.rigid);
  EXPECT_EQ(rigid.elasticity, Elasticity::Moldable);
  EXPECT_EQ(rigid.minDevices, 8);
  EXPECT_EQ(rigid.maxDevices, 8);
  EXPECT_EQ(rigid.deviceTypes, (std::vector<std::string>{"h100"}));
  EXPECT_EQ(oneJob("deadline = 1 h, arrives = 60 min").deadline, 3600); // at once: no contradiction
}

TEST(JobsBlocks, BatchesAndChoices) {
  JobsRequest::Job plain = oneJob("");
  EXPECT_FALSE(plain.batches.areStated());
  EXPECT_TRUE(plain.batches.noise.empty() && plain.choices.empty());
  JobsRequest::Job range = oneJob("noise = 2400, batches = 128..4096");
  EXPECT_TRUE(range.batches.areStated());
  EXPECT_EQ(range.batches.noise, (Steps{{0, 2400}}));
  EXPECT_EQ(range.batches.min, 128);
  EXPECT_EQ(range.batches.max, 4096);
  EXPECT_EQ(range.batches.learningRate, "");
  EXPECT_EQ(range.batches.location.column, 37u);
  JobsRequest::Job set = oneJob("noise = {0: 800, 0.3: 2400}, batches = {512, 128, 256}, learning_rate = sqrt");
  EXPECT_EQ(set.batches.noise, (Steps{{0, 800}, {0.3, 2400}}));
  EXPECT_EQ(set.batches.of, (std::vector<int64_t>{128, 256, 512}));
  EXPECT_EQ(set.batches.max, 0);
  EXPECT_EQ(set.batches.learningRate, "sqrt");
  EXPECT_EQ(set.batches.at.column, 85u);
  EXPECT_EQ(oneJob("noise = 8, batches = 512").batches.of, std::vector<int64_t>{512});
  JobsRequest::Job choices =
      oneJob("quality = 0.75, choice t { quality = 0.76 }, choice train_one { quality = 0.752, samples = 2e6 }");
  ASSERT_EQ(choices.choices.size(), 2u);
  EXPECT_EQ(choices.choices[0].train, "t");
  EXPECT_EQ(choices.choices[0].quality, 0.76);
  EXPECT_EQ(choices.choices[0].samples, 0);
  EXPECT_EQ(choices.choices[1].train, "train_one");
  EXPECT_EQ(choices.choices[1].samples, 2e6);
  EXPECT_EQ(choices.choices[1].location.column, 65u);
}

TEST(JobsBlocks, ProfiledConfigurations) {
  JobsBlock read = jobsBlock(R"(job a { samples = 1e6, elastic = rigid
  configuration h100[4] { rate = 120, power = 2 kW, price = 36 USD/h, quality = 0.8 }
  configuration a100_80g[4] { rate = 110 samples/s } }
job b { samples = 1, configuration h100 { rate = 90 samples/min } })");
  ASSERT_TRUE(read.request) << read.diags.text();
  const JobsRequest::Job &a = read.job("a");
  EXPECT_EQ(a.train, "");
  EXPECT_EQ(a.minDevices, 4); // as its configurations have
  EXPECT_EQ(a.maxDevices, 4);
  ASSERT_EQ(a.profiled.size(), 2u);
  EXPECT_EQ(a.profiled[0].deviceType, "h100");
  EXPECT_EQ(a.profiled[0].devices, 4);
  EXPECT_EQ(a.profiled[0].rate, 120);
  EXPECT_EQ(a.profiled[0].power, 2000);
  EXPECT_EQ(a.profiled[0].price, 0.01);
  EXPECT_EQ(a.profiled[0].quality, 0.8);
  EXPECT_EQ(a.profiled[0].location.line, 6u);
  EXPECT_EQ(a.profiled[1].rate, 110);
  EXPECT_EQ(a.profiled[1].power, 0);
  EXPECT_EQ(a.profiled[1].price, 0);
  EXPECT_EQ(a.profiled[1].quality, -1);
  EXPECT_EQ(read.job("b").profiled[0].devices, 1);
  EXPECT_EQ(read.job("b").profiled[0].rate, 1.5);
}

TEST(JobsBlocks, ObjectivesAndLimits) {
  std::string all;
  std::vector<JobMeasure> expected;
  for (unsigned i = jobs::kJobMeasures; i-- > 0;) { // in the order of the file, not of the table
    expected.push_back(static_cast<JobMeasure>(i));
    all += fmt::format("{} {}\n",
                       expected.back() == JobMeasure::Nash || expected.back() == JobMeasure::Unfinished ? "maximize"
                                                                                                        : "minimize",
                       nameOf(expected.back()));
  }
  JobsBlock read = jobsBlock(all + R"(require makespan <= 12 h
  require budget: cost <= 500 USD
  require 2 h >= mean_completion
  require tail_completion <= 3 h, require tenant_fairness <= 90 min
  require lateness <= 0 USD, require energy <= 1 kWh, require carbon <= 2 kg
  require rejected <= 3, require finish_time_fairness <= 1.5, require nash_welfare <= -2
  require 0.75 <= goodput, require restarts <= 5)");
  ASSERT_TRUE(read.request) << read.diags.text();
  std::vector<JobMeasure> found;
  for (const JobsRequest::Objective &objective : read.request->objectives)
    found.push_back(objective.measure);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(read.request->objectives[1].location.line, 6u);
  std::map<JobMeasure, double> limits;
  for (const JobsRequest::Limit &limit : read.request->limits)
    limits[limit.measure] = limit.max;
  EXPECT_EQ(limits, (std::map<JobMeasure, double>{{JobMeasure::Makespan, 43200},
                                                  {JobMeasure::Price, 500},
                                                  {JobMeasure::Completion, 7200},
                                                  {JobMeasure::Tail, 10800},
                                                  {JobMeasure::Group, 5400},
                                                  {JobMeasure::Lateness, 0},
                                                  {JobMeasure::Energy, 3.6e6},
                                                  {JobMeasure::Carbon, 2000},
                                                  {JobMeasure::Rejected, 3},
                                                  {JobMeasure::Slowdown, 1.5},
                                                  {JobMeasure::Nash, -2},
                                                  {JobMeasure::Unfinished, 0.25}, // may be left
                                                  {JobMeasure::Restarts, 5}}));
  EXPECT_EQ(read.request->limits[0].text, "makespan <= 12 h");
  EXPECT_EQ(read.request->limits[1].text, "budget");
  EXPECT_EQ(read.request->limits[1].location.line, 19u);
  EXPECT_EQ(jobsBlock("minimize nash_welfare").request->objectives.at(0).measure, JobMeasure::Nash);
}

TEST(JobsBlocks, ArraysAndDependences) {
  JobsBlock read = jobsBlock(R"(job last = t { after = {sweep, first} }
job sweep[3] = t { after = first, priority = 2 }
job some = t { after = {sweep[2], sweep[0], first} }
job first = t)");
  ASSERT_TRUE(read.request) << read.diags.text();
  std::vector<std::string> names;
  for (const JobsRequest::Job &job : read.request->jobs)
    names.push_back(job.name);
  EXPECT_EQ(names, (std::vector<std::string>{"last", "sweep[0]", "sweep[1]", "sweep[2]", "some", "first"}));
  EXPECT_EQ(read.job("last").after, (std::vector<std::string>{"sweep[0]", "sweep[1]", "sweep[2]", "first"}));
  EXPECT_EQ(read.job("sweep[1]").after, (std::vector<std::string>{"first"}));
  EXPECT_EQ(read.job("sweep[1]").priority, 2);
  EXPECT_EQ(read.job("some").after, (std::vector<std::string>{"sweep[2]", "sweep[0]", "first"}));
  // A member that is in the array, too, is meant once.
  JobsBlock twice = jobsBlock("job a[2] = t\njob b = t { after = {a, a[1]} }");
  ASSERT_TRUE(twice.request);
  EXPECT_EQ(twice.job("b").after, (std::vector<std::string>{"a[0]", "a[1]"}));
  EXPECT_EQ(jobsBlock("job a[10000] = t").request->jobs.size(), 10000u);
}

/// Names of jobs, tenants, device types and measures are themselves, whatever a `let` of that name says; everywhere
/// else its value stands.
TEST(JobsBlocks, Constants) {
  std::map<std::string, Quantity> constants{{"start", *parseQuantity("90 min")}, {"first", Quantity::number(3)},
                                            {"cost", Quantity::number(3)},       {"h100", Quantity::number(3)},
                                            {"nlp", Quantity::number(3)},        {"budget", *parseQuantity("7 USD")}};
  JobsBlock read(kBeforeJobs + R"(jobs j {
  tenant nlp { }
  capacity h100 = {0 h: first, start: 2 * first}
  job first = t
  job a[first] = t { arrives = start, after = first, on = h100, tenant = nlp }
  job b = t { after = a[first - 1] }
  minimize cost
  require cost <= 2 * budget
})",
                 constants);
  ASSERT_TRUE(read.request) << read.diags.text();
  EXPECT_EQ(read.request->capacities[0].steps, (Steps{{0, 3}, {5400, 6}}));
  EXPECT_EQ(read.request->jobs.size(), 5u);
  EXPECT_EQ(read.job("a[2]").arrival, 5400);
  EXPECT_EQ(read.job("a[2]").tenant, "nlp");
  EXPECT_EQ(read.job("a[2]").deviceTypes, (std::vector<std::string>{"h100"}));
  EXPECT_EQ(read.job("b").after, (std::vector<std::string>{"a[2]"}));
  EXPECT_EQ(read.request->limits.at(0).max, 14);
  EXPECT_EQ(JobsBlock("jobs j { capacity h100 = {0 h: 3, night: 4} }", {{"night", Quantity::number(8)}}).error(),
            "1:35: error[A0202]: a time of 'capacity h100' needs a unit, and this is the number 8");
}

/// All cycles that share no job, each once.
TEST(JobsBlocks, SeveralCycles) {
  JobsBlock read = jobsBlock(R"(job a = t { after = b }
job b = t { after = {a, c} }
job c[9] = t { after = c }
job d = t { after = {a, c, e} }
job e = t { after = d })");
  std::vector<std::string> messages;
  for (const Diagnostic &d : read.diags.sorted())
    messages.push_back(d.message);
  EXPECT_EQ(messages, (std::vector<std::string>{"jobs wait for each other in a cycle: 'a' after 'b' after 'a'",
                                                "job 'c' is after itself",
                                                "jobs wait for each other in a cycle: 'd' after 'e' after 'd'"}));
}

/// A cycle is found wherever jobs cannot be ordered: against taking away jobs that wait for nobody.
TEST(JobsBlocks, CyclesAgainstAnOrder) {
  SplitMix random(7);
  unsigned cycles = 0;
  for (int round = 0; round < 300; ++round) {
    size_t count = 2 + random.below(6);
    std::vector<std::set<size_t>> after(count);
    std::string body;
    for (size_t i = 0; i < count; ++i) {
      for (uint64_t k = random.below(3); k > 0; --k)
        after[i].insert(random.below(count));
      std::vector<std::string> names;
      for (size_t other : after[i])
        names.push_back(fmt::format("j{}{}", other, random.below(2) ? "[1]" : ""));
      body += fmt::format("job j{}[2] = t", i);
      if (!names.empty())
        body += fmt::format(" {{ after = {{{}}} }}", fmt::join(names, ", "));
      body += "\n";
    }
    std::set<size_t> left;
    for (size_t i = 0; i < count; ++i)
      left.insert(i);
    for (size_t before = count + 1; left.size() < before;) {
      before = left.size();
      std::erase_if(left, [&](size_t i) {
        return std::none_of(after[i].begin(), after[i].end(), [&](size_t other) { return left.count(other) > 0; });
      });
    }
    EXPECT_EQ(jobsBlock(body).request.has_value(), left.empty()) << body;
    cycles += !left.empty();
  }
  EXPECT_GT(cycles, 50u);
  EXPECT_LT(cycles, 250u);
}

/// What would not fit into memory is refused before it is written out.
TEST(JobsBlocks, TooMuch) {
  std::string jobs;
  for (int i = 0; i < 10; ++i)
    jobs += fmt::format("job a{}[10000] = t\n", i);
  EXPECT_EQ(jobsBlock(jobs).request->jobs.size(), 100'000u);
  EXPECT_EQ(jobsBlock(jobs + "job b = t").error(),
            "4:6: error[A1107]: 'j' has 100001 jobs, and at most 100000 are possible");
  EXPECT_EQ(jobsBlock("job a[10000] = t\njob b[101] = t { after = a }").error(),
            "4:6: error[A1107]: the jobs of 'j' have 1010000 dependences, configurations, device types and phases "
            "together, and at most 1000000 are possible");
  std::string chain = "job j0[10000] = t { after = j9999 }\n";
  for (int i = 1; i < 10000; ++i)
    chain += fmt::format("job j{} = t {{ after = j{} }}\n", i, i - 1);
  JobsBlock cycle = jobsBlock(chain);
  EXPECT_NE(cycle.error().find("after … (10000 jobs)"), std::string::npos) << cycle.error();
  EXPECT_EQ(cycle.diags.errors(), 1u);
  // As many unknown names as jobs: the nearest is looked for while errors are shown.
  std::string unknown;
  for (int i = 0; i < 5000; ++i)
    unknown += fmt::format("job some_job_{} = t {{ after = another_job_{} }}\n", i, i);
  EXPECT_EQ(jobsBlock(unknown).diags.errors(), 5000u);
}

TEST(JobsBlocks, ExampleIsReadAndStaysAsItIsFormatted) {
  std::string text = exampleOfTheSection();
  ASSERT_FALSE(text.empty());
  JobsBlock read(text);
  ASSERT_TRUE(read.request) << read.diags.text();
  EXPECT_EQ(read.request->jobs.size(), 7u);
  EXPECT_EQ(read.job("measured").after, (std::vector<std::string>{"bert", "sweep[0]"}));
  EXPECT_EQ(format(read.sources, *read.file), text);
  // Written on few lines it means the same.
  std::string dense;
  for (char c : text)
    dense += c == '\n' ? ' ' : c;
  JobsBlock other(dense);
  ASSERT_TRUE(other.file->complete) << other.diags.text();
  std::string once = format(other.sources, *other.file);
  JobsBlock again(once);
  ASSERT_TRUE(again.request) << again.diags.text();
  EXPECT_EQ(format(again.sources, *again.file), once);
}

/// Tokens taken away, doubled or exchanged: an answer or errors in any case, and errors wherever there is no answer.
TEST(JobsBlocks, MutationsOfTheExample) {
  std::string text = exampleOfTheSection();
  JobsBlock whole(text);
  std::vector<SourceRange> tokens;
  for (const ast::Layout::Token &token : whole.file->layout.tokens)
    tokens.push_back(token.range);
  ASSERT_GT(tokens.size(), 200u);
  SplitMix random(11);
  unsigned answers = 0;
  for (int round = 0; round < 900; ++round) {
    std::string changed = text;
    for (uint64_t changes = 1 + random.below(round % 3 == 0 ? 1 : 3); changes > 0; --changes) {
      const SourceRange &one = tokens[random.below(tokens.size())], &other = tokens[random.below(tokens.size())];
      if (one.end > changed.size() || other.end > changed.size())
        continue;
      std::string with = round % 3 == 0   ? ""
                         : round % 3 == 1 ? text.substr(other.begin, other.end - other.begin)
                                          : text.substr(one.begin, one.end - one.begin) + " " +
                                                text.substr(other.begin, other.end - other.begin);
      changed.replace(one.begin, one.end - one.begin, with);
    }
    JobsBlock read(changed, {}, /*always=*/true);
    bool block = false;
    for (const ast::Declaration &declaration : read.file->declarations)
      block |= declaration.kind == ast::DeclarationKind::Jobs;
    EXPECT_TRUE(read.request || read.diags.hasErrors() || !block) << changed;
    answers += read.request.has_value();
  }
  EXPECT_GT(answers, 50u);
  EXPECT_LT(answers, 850u);
}

namespace {
const std::string kProgram = R"(let late = 8 h
model m(size = 8) {
  input x : float[size]
  loss mse(linear(x, out = size), x)
}
train t = m() on a100_80g { batch = 32 }
)";

struct Loaded {
  mlir::DialectRegistry registry;
  std::unique_ptr<mlir::MLIRContext> context;
  SourceManager sources;
  Diagnostics diags{sources};
  std::unique_ptr<Program> program;

  explicit Loaded(const std::string &text, ElaborateOptions options = {}) {
    registerAllDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    options.catalog = accord::sourcePath("lib/catalog");
    sources.add("t.dnn", kProgram + text);
    program = std::make_unique<Program>(diags, *context, "t.dnn", options);
  }
  std::string errors() const {
    std::string all;
    for (const Diagnostic &d : diags.sorted())
      all += fmt::format("{} {}\n", entryOf(d.code).number.str(), d.message);
    return all;
  }
};

ElaborateOptions choosing(const std::string &jobs, const std::string &target = "") {
  ElaborateOptions options;
  options.jobs = jobs;
  options.target = target;
  return options;
}
} // namespace

TEST(JobsBlocks, OfAProgram) {
  Loaded one("jobs night on selene { job a = t { deadline = late } }");
  auto request = one.program->jobs();
  ASSERT_TRUE(request) << one.diags.text();
  EXPECT_EQ(request->jobs.at(0).deadline, 8 * 3600);
  EXPECT_EQ(request->cluster, "selene");
  EXPECT_EQ(request->clusterAt.line, 7u);

  Loaded chosen("jobs a { }\njobs b on selene { job x = t }", choosing("b", "dgx_h100"));
  request = chosen.program->jobs();
  ASSERT_TRUE(request) << chosen.diags.text();
  EXPECT_EQ(request->name, "b");
  EXPECT_EQ(request->cluster, "dgx_h100"); // that of the command line
  EXPECT_EQ(request->clusterAt.line, 0u);
}

TEST(JobsBlocks, OfAProgramThatIsWrong) {
  auto errors = [](const std::string &text, const ElaborateOptions &options = {}) {
    Loaded loaded(text, options);
    EXPECT_FALSE(loaded.program->jobs()) << text;
    return loaded.errors();
  };
  EXPECT_EQ(errors("jobs a { }\njobs b { }"), "A0602 the file has several jobs blocks\n");
  EXPECT_EQ(errors("jobs alpha { }", choosing("alhpa")), "A0104 --jobs: no jobs block 'alhpa' in this file\n");
  EXPECT_EQ(errors(""), "A0601 the file has no jobs block\n");
  EXPECT_EQ(errors("jobs a on m { }"), "A0108 'm' is a model, not a cluster\n");
  EXPECT_EQ(errors("jobs a on selen { }"), "A0104 unknown machine 'selen'\n");
  EXPECT_EQ(errors("jobs a { job x = u }"), "A0104 no training 'u' in this file\n");
  // Whatever else is asked of the file, its blocks are checked, and each error is there once.
  Loaded loaded("jobs a { job x = u }\njobs b { minimize speed }");
  loaded.program->checkAll();
  loaded.program->checkAll();
  EXPECT_EQ(loaded.errors(), "A0104 no training 'u' in this file\nA0305 'speed' is no measure of a schedule\n");
}

TEST(JobsBlocks, IsNoTraining) {
  ElaborateOptions options;
  options.train = "night";
  Loaded loaded("jobs night { job a = t }", options);
  EXPECT_FALSE(loaded.program->job());
  EXPECT_EQ(loaded.errors(), "A0108 'night' is a jobs block, nothing to train\n");
}

/// `{0 h: 16}` has quantities as keys; what looks like it elsewhere means what it did.
TEST(JobsBlocks, KeysOfMaps) {
  auto errors = [](const std::string &text) { return JobsBlock(text).error(); };
  EXPECT_EQ(errors("jobs a { capacity h = {0 h: 16, 8h: 4, 1.5e1 h: 2} }"), "");
  EXPECT_EQ(errors("jobs a { capacity h = {0 h: 1 2 h: 3} }"), "1:31: error[A0001]: expected '}' or ',', found '2'");
  EXPECT_EQ(errors("jobs a { capacity h = {(0 h): 1} }"), "1:24: error[A0001]: expected a name or a number before ':'");
  EXPECT_EQ(errors("jobs a { capacity h = {-1 h: 1} }"), "1:24: error[A0001]: expected a name or a number before ':'");
  EXPECT_EQ(errors("jobs a { period = 60 s horizon = 1 h }"), "");
}
