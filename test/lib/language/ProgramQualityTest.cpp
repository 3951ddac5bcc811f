// Blocks beside a training, asked of a program: sparsity of a job, ensembles and the jobs of their
// members.
#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "lib/language/program/Elaborate.h"
#include "mlir/IR/DialectRegistry.h"
#include "test/support/SourcePath.h"
#include <gmock/gmock.h>

using namespace accord;
using testing::HasSubstr;

namespace {

const std::string kModel = R"(let base = 8
model m(size = base) {
  input x : float[size]
  loss mse(linear(x, out = size), x)
}
train t = m(size = 4) on a100_80g { batch = 32, precision = mixed(fp16), optimizer = momentum }
train other = m() { batch = 8 }
)";
const std::string kVoters = R"(ensemble voters of t {
  member small = m(size = base - 6) error = 0.1
  member plain = m
  size = 3
}
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
    sources.add("t.dnn", kModel + text);
    program = std::make_unique<Program>(diags, *context, "t.dnn", options);
    if (!diags.hasErrors())
      program->checkAll();
  }
};

ElaborateOptions with(const std::string &train, const std::string &member = "") {
  ElaborateOptions options;
  options.train = train;
  options.member = member;
  return options;
}

int64_t parameters(Loaded &loaded, const TrainingJob &job) {
  int64_t all = 0;
  dnn::ModelOp model = loaded.program->model(job);
  if (model)
    model.walk([&](dnn::ParameterOp op) { all += op.getElements(); });
  return all;
}

} // namespace

TEST(ProgramQuality, SparsityIsOfItsTraining) {
  const std::string block = "sparsity for t { weights of * = nm(2, 4) }\n";
  Loaded of(block, with("t")), none(block, with("other")), model(block, with("m"));
  auto job = of.program->job(), other = none.program->job(), plain = model.program->job();
  ASSERT_TRUE(job && other && plain);
  EXPECT_TRUE(of.program->sparsity(*job));
  EXPECT_FALSE(none.program->sparsity(*other));
  EXPECT_FALSE(model.program->sparsity(*plain));
  EXPECT_THAT(testing::PrintToString(job->assumptions), HasSubstr("sparsity for t"));
  EXPECT_THAT(testing::PrintToString(other->assumptions), testing::Not(HasSubstr("sparsity for t")));
  ElaborateOptions prunes = with("t");
  prunes.prunes = true;
  EXPECT_THAT(testing::PrintToString(Loaded(block, prunes).program->job()->assumptions),
              testing::Not(HasSubstr("sparsity for t")));
}

TEST(ProgramQuality, MembersAreTrainedAsTheTraining) {
  Loaded small(kVoters, with("", "small")), plain(kVoters, with("", "plain"));
  auto a = small.program->job(), b = plain.program->job();
  ASSERT_TRUE(a && b) << small.diags.text() << plain.diags.text();
  for (const auto &job : {*a, *b}) {
    EXPECT_EQ(job.batch, 32);
    EXPECT_EQ(job.target, "a100_80g");
    EXPECT_EQ(job.optimizer.getValue(), dnn::OptimizerKind::Momentum);
  }
  EXPECT_EQ(a->name, "small");
  EXPECT_EQ(parameters(small, *a), 2 * 2 + 2); // its own model: of size 2, 8 without arguments
  EXPECT_EQ(parameters(plain, *b), 8 * 8 + 8);
  ElaborateOptions elsewhere = with("", "small");
  elsewhere.target = "h100";
  elsewhere.batch = "16";
  auto moved = Loaded(kVoters, elsewhere).program->job();
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->target, "h100");
  EXPECT_EQ(moved->batch, 16);
}

TEST(ProgramQuality, WhichEnsemble) {
  Loaded one(kVoters);
  auto request = one.program->ensemble();
  ASSERT_TRUE(request) << one.diags.text();
  EXPECT_EQ(request->name, "voters");
  const std::string second = "ensemble more of t { member a = m() }\n";
  Loaded several(kVoters + second);
  EXPECT_FALSE(several.program->ensemble());
  EXPECT_THAT(several.diags.text(), HasSubstr("--ensemble more"));
  ElaborateOptions chosen;
  chosen.ensemble = "more";
  EXPECT_EQ(Loaded(kVoters + second, chosen).program->ensemble()->name, "more");
  chosen.ensemble = "mor";
  Loaded wrong(kVoters + second, chosen);
  EXPECT_FALSE(wrong.program->ensemble());
  EXPECT_THAT(wrong.diags.text(), HasSubstr("did you mean 'more'"));
  Loaded none("");
  EXPECT_FALSE(none.program->ensemble());
  EXPECT_TRUE(none.diags.hasErrors());
  Loaded noMember(kVoters, with("", "smal"));
  EXPECT_FALSE(noMember.program->job());
  EXPECT_THAT(noMember.diags.text(), HasSubstr("did you mean 'small'"));
}

TEST(ProgramQuality, DevicesAreMachines) {
  Loaded good("ensemble e of t { member a = m(), devices = {a100_80g: 2} }\n");
  EXPECT_TRUE(good.program->ensemble()) << good.diags.text();
  Loaded wrong("ensemble e of t {\n  member a = m()\n  devices = {a100_81g: 2}\n}\n");
  EXPECT_FALSE(wrong.program->ensemble());
  EXPECT_THAT(wrong.diags.text(), HasSubstr("t.dnn:10:14: error[A0104]"));
}
