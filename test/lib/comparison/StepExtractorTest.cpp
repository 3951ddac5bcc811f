// Steps out of traces, against a counter of single microseconds.
#include "lib/comparison/trace/StepExtractor.h"
#include "lib/support/StableSort.h"
#include <climits>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace accord::comparison {
namespace {

/// Events of a trace, by hand.
class TraceBuilder {
public:
  TraceBuilder() {
    trace.path = "trace.json";
    trace.inputs.emplace_back(), trace.collectives.emplace_back();
    text("");
  }
  uint32_t text(const std::string &of) {
    for (uint32_t i = 0; i < trace.texts.size(); ++i)
      if (trace.texts[i] == of)
        return i;
    trace.texts.push_back(of);
    return trace.texts.size() - 1;
  }
  TraceEvent &add(EventKind kind, const std::string &name, double start, double duration,
                  const std::string &thread = "1/1/") {
    TraceEvent &one = trace.events.emplace_back();
    one.kind = kind, one.name = text(name), one.thread = text(thread);
    one.start = start, one.duration = duration;
    return one;
  }
  void mark(int number, double start, double end) {
    add(EventKind::Annotation, "ProfilerStep#" + std::to_string(number), start, end - start);
  }
  /// A call that launches one kernel at its beginning.
  void work(const std::string &call, double start, const std::string &kernel, double from, double duration,
            EventKind kind = EventKind::Kernel, const std::string &thread = "1/1/") {
    ++correlation;
    add(EventKind::Call, call, start, 0.5, thread);
    add(EventKind::Launch, "cudaLaunchKernel", start, 0.25, thread).correlation = correlation;
    add(kind, kernel, from, duration, "0/7/").correlation = correlation;
  }
  Result<MeasuredStep> step(std::optional<int64_t> number = {}, std::optional<int64_t> device = {}) {
    return extractStep(trace, {number, device});
  }
  TraceEvents trace;
  int64_t correlation = 0;
};

double sumOf(const MeasuredStep &step) {
  double sum = 0;
  for (const MeasuredOperation &op : step.operations)
    sum += op.exposed;
  for (const MeasuredGroup &group : step.groups)
    sum += group.seconds;
  return sum;
}
double groupOf(const MeasuredStep &step, const std::string &name) {
  for (const MeasuredGroup &group : step.groups)
    if (group.name == name)
      return group.seconds;
  return 0;
}
const MeasuredOperation *find(const MeasuredStep &step, const std::string &name) {
  for (const MeasuredOperation &op : step.operations)
    if (op.name == name)
      return &op;
  return nullptr;
}
/// Seconds of a collective beside no computation.
double aloneOf(const MeasuredCollective &one) {
  double sum = 0;
  for (auto [from, to] : one.alone)
    sum += to - from;
  return sum;
}
#define EXPECT_MICROS(seconds, microseconds) EXPECT_NEAR((seconds) * 1e6, microseconds, 1e-6)

TEST(StepExtractor, TakesTheStepOfMedianLength) {
  TraceBuilder b;
  const double lengths[] = {100, 30, 50};
  double at = 0;
  for (int i = 0; i < 3; ++i) {
    b.mark(i + 4, at, at + lengths[i]);
    b.work("aten::mm", at + 1, "gemm", at + 2, 10);
    at += lengths[i];
  }
  auto step = b.step();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->step, "ProfilerStep#6");
  auto first = b.step(4);
  ASSERT_TRUE(first);
  // From its first kernel to that of the next step.
  EXPECT_MICROS(first->seconds, 100);
  EXPECT_EQ(first->operations.size(), 1u);
  auto none = b.step(7);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::UnknownName);
  EXPECT_NE(none.error().message.find("no step 7, only 4, 5, 6"), std::string::npos);
  EXPECT_EQ(markedSteps(b.trace).size(), 3u);
}

TEST(StepExtractor, TakesAllWithoutMarks) {
  TraceBuilder b;
  b.work("aten::mm", 10, "gemm", 12, 10);
  b.add(EventKind::Annotation, "Optimizer.step#Adam.step", 30, 5);
  b.work("aten::_foreach_add_", 31, "multi_tensor_apply_kernel", 33, 4);
  auto step = b.step();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->step, "");
  EXPECT_MICROS(step->seconds, 27); // from the first call to the end of the last kernel
  EXPECT_MICROS(sumOf(*step), 27);
  EXPECT_EQ(find(*step, "aten::mm")->part, Part::Forward);
  EXPECT_EQ(find(*step, "aten::_foreach_add_")->part, Part::Update);
}

TEST(StepExtractor, CountsNestedCallsOnce) {
  TraceBuilder b;
  b.mark(1, 0, 100);
  b.add(EventKind::Annotation, "block.0", 1, 60);
  b.add(EventKind::Annotation, "block.0.mlp", 2, 50);
  b.add(EventKind::Call, "aten::linear", 3, 20).sequence = 5;
  b.add(EventKind::Call, "aten::addmm", 4, 10);
  b.add(EventKind::Launch, "cudaLaunchKernel", 5, 1).correlation = 1;
  b.add(EventKind::Kernel, "gemm", 10, 30, "0/7/").correlation = 1;
  auto step = b.step();
  ASSERT_TRUE(step);
  ASSERT_EQ(step->operations.size(), 1u);
  EXPECT_EQ(step->operations[0].name, "aten::linear");
  EXPECT_EQ(step->operations[0].scopes, (std::vector<std::string>{"block.0", "block.0.mlp"}));
  EXPECT_EQ(step->operations[0].sequences, std::vector<int64_t>{5});
  EXPECT_MICROS(step->operations[0].seconds, 30);
}

TEST(StepExtractor, KeepsProcessesAndThreadsApart) {
  TraceBuilder b;
  b.mark(1, 0, 100);
  // A call of another process, and of another thread, around it in time is not around it.
  b.add(EventKind::Call, "aten::linear", 1, 80, "2/1/");
  b.add(EventKind::Call, "autograd::engine::evaluate_function: AddmmBackward0", 1, 80, "1/2/");
  b.work("aten::gelu", 10, "elementwise_kernel", 15, 5);
  b.add(EventKind::Call, "aten::mm", 20, 4, "1/2/");
  b.add(EventKind::Launch, "cudaLaunchKernel", 21, 1, "1/2/").correlation = 9;
  b.add(EventKind::Kernel, "gemm", 30, 7, "0/7/").correlation = 9;
  auto step = b.step();
  ASSERT_TRUE(step);
  ASSERT_TRUE(find(*step, "aten::gelu") && find(*step, "aten::mm"));
  EXPECT_EQ(find(*step, "aten::gelu")->part, Part::Forward);
  EXPECT_EQ(find(*step, "aten::mm")->part, Part::Backward);
}

TEST(StepExtractor, GivesOverlapToWhatStartedFirst) {
  TraceBuilder b;
  b.mark(1, 0, 50);
  b.work("aten::mm", 1, "gemm", 10, 10);
  b.work("aten::gelu", 3, "elementwise_kernel", 15, 10);
  b.work("aten::add", 5, "elementwise_kernel", 16, 2); // within both
  auto step = b.step();
  ASSERT_TRUE(step);
  EXPECT_MICROS(find(*step, "aten::mm")->exposed, 10);
  EXPECT_MICROS(find(*step, "aten::gelu")->exposed, 5);
  EXPECT_MICROS(find(*step, "aten::add")->exposed, 0);
  EXPECT_MICROS(find(*step, "aten::add")->seconds, 2);
  EXPECT_MICROS(sumOf(*step), step->seconds * 1e6);
}

TEST(StepExtractor, LetsCollectivesYield) {
  TraceBuilder b;
  b.mark(1, 0, 100);
  b.work("c10d::allreduce_", 1, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 10, 30);
  b.work("aten::mm", 3, "gemm", 20, 5);
  b.work("aten::add", 5, "elementwise_kernel", 45, 5);
  auto step = b.step();
  ASSERT_TRUE(step);
  ASSERT_EQ(step->collectives.size(), 1u);
  const MeasuredCollective &one = step->collectives[0];
  EXPECT_EQ(one.kind, CommunicationKind::AllReduce);
  EXPECT_MICROS(one.seconds, 30);
  EXPECT_MICROS(aloneOf(one), 25);
  ASSERT_EQ(one.alone.size(), 2u);
  EXPECT_MICROS(one.alone[0].second, 10); // from the first kernel
  EXPECT_MICROS(find(*step, "c10d::allreduce_")->exposed, 25);
  EXPECT_MICROS(find(*step, "aten::mm")->exposed, 5);
}

TEST(StepExtractor, ReadsWhatACollectiveIsOfItsCallOrItsKernel) {
  TraceBuilder b;
  CollectiveArguments said;
  said.name = "_allgather_base", said.type = "BFloat16", said.group = "3", said.ranks = {0, 4};
  said.inputs = 100, said.outputs = 200, said.groupSize = 2;
  b.trace.collectives.push_back(said);
  b.mark(1, 0, 100);
  b.work("c10d::_allgather_base_", 1, "ncclDevKernel_AllGather_RING_LL", 10, 5);
  b.add(EventKind::Call, "record_param_comms", 1.2, 0.2).collective = 1;
  b.add(EventKind::Call, "aten::mm", 20, 1);
  b.add(EventKind::Launch, "cudaLaunchKernel", 20.5, 0.1).correlation = 50;
  TraceEvent &kernel = b.add(EventKind::Kernel, "ncclDevKernel_SendRecv(ncclDevComm*)", 30, 5, "0/7/");
  kernel.correlation = 50, kernel.collective = 1;
  auto step = b.step();
  ASSERT_TRUE(step);
  ASSERT_EQ(step->collectives.size(), 2u);
  for (const MeasuredCollective &one : step->collectives) {
    EXPECT_EQ(one.kind, CommunicationKind::AllGather);
    EXPECT_EQ(one.bytes, 400);
    EXPECT_EQ(one.ranks, (std::vector<int64_t>{0, 4}));
    EXPECT_EQ(one.group, "3");
  }
}

TEST(StepExtractor, TakesOutOfOrderEventsAsInOrder) {
  TraceBuilder b;
  b.mark(1, 0, 200);
  for (int i = 0; i < 20; ++i)
    b.work(i % 3 ? "aten::mm" : "aten::gelu", 1 + i * 5, i % 3 ? "gemm" : "elementwise_kernel", 10 + i * 7, 6);
  auto ordered = b.step();
  std::mt19937 random(3);
  std::shuffle(b.trace.events.begin(), b.trace.events.end(), random);
  auto shuffled = b.step();
  ASSERT_TRUE(ordered && shuffled);
  ASSERT_EQ(ordered->operations.size(), shuffled->operations.size());
  for (size_t i = 0; i < ordered->operations.size(); ++i) {
    EXPECT_EQ(ordered->operations[i].name, shuffled->operations[i].name);
    EXPECT_MICROS(ordered->operations[i].exposed, shuffled->operations[i].exposed * 1e6);
  }
}

TEST(StepExtractor, KnowsTheEndOfATruncatedTrace) {
  TraceBuilder b;
  b.mark(1, 0, 100);
  b.work("aten::mm", 1, "gemm", 10, 20);
  // Calls whose kernels were not recorded any more, and a kernel whose launch was not.
  b.add(EventKind::Call, "aten::mm", 40, 3);
  b.add(EventKind::Launch, "cudaLaunchKernel", 41, 1).correlation = 77;
  b.add(EventKind::Kernel, "some_kernel", 60, 5, "0/7/").correlation = 78;
  auto step = b.step();
  ASSERT_TRUE(step);
  EXPECT_MICROS(sumOf(*step), step->seconds * 1e6);
  EXPECT_EQ(find(*step, "some_kernel")->part, Part::Unknown);
  EXPECT_EQ(find(*step, "some_kernel")->work.workClass, WorkClass::Other);
  EXPECT_EQ(step->operations.size(), 2u);
}

TEST(StepExtractor, LeavesOutWhatTakesNoTime) {
  TraceBuilder b;
  b.mark(1, 0, 100);
  b.work("aten::mm", 1, "gemm", 10, 0);
  auto none = b.step();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::ImportUnsupported);
  b.work("aten::gelu", 3, "elementwise_kernel", 20, 5);
  auto step = b.step();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->operations.size(), 1u);
  EXPECT_MICROS(sumOf(*step), step->seconds * 1e6);
}

TEST(StepExtractor, ChoosesTheBusiestDevice) {
  TraceBuilder b;
  b.mark(1, 0, 100);
  b.work("aten::mm", 1, "gemm", 10, 5);
  b.trace.events.back().device = 2;
  b.work("aten::mm", 3, "gemm", 20, 50);
  b.trace.events.back().device = 5;
  b.trace.devices[5] = "H100";
  auto step = b.step();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->device, "H100");
  EXPECT_MICROS(step->operations[0].seconds, 50);
  auto other = b.step({}, 2);
  ASSERT_TRUE(other);
  EXPECT_MICROS(other->operations[0].seconds, 5);
  EXPECT_FALSE(b.step({}, 3));
}

TEST(StepExtractor, NamesGaps) {
  TraceBuilder b;
  b.mark(1, 0, 100);
  b.work("aten::mm", 1, "gemm", 10, 10);     // ends at 20
  b.work("aten::gelu", 30, "gemm_2", 40, 5); // launched at 30: late host for 10, then 10 between launch and start
  b.add(EventKind::Annotation, "enumerate(DataLoader)#_next", 50, 20);
  b.work("aten::mm", 75, "gemm", 75, 5);
  auto step = b.step();
  ASSERT_TRUE(step);
  EXPECT_MICROS(groupOf(*step, "loading"), 20);
  EXPECT_MICROS(groupOf(*step, "between kernels"), 10);
  EXPECT_MICROS(groupOf(*step, "launch gaps"), 10 + 5 + 5 + 20); // and until the end of the mark
  EXPECT_MICROS(sumOf(*step), step->seconds * 1e6);
}

TEST(StepExtractor, CountsProcessorTimeOnce) {
  TraceBuilder b;
  b.mark(1, 0, 100);
  b.add(EventKind::Call, "aten::mm", 10, 30);
  b.add(EventKind::Call, "aten::gelu", 20, 40, "1/2/"); // beside it, on another thread
  b.add(EventKind::Call, "aten::view", 70, 5);
  b.add(EventKind::Call, "c10d::allreduce_", 80, 10);
  b.add(EventKind::Call, "aten::add", 95, 20); // beyond the mark
  auto step = b.step();
  ASSERT_TRUE(step);
  EXPECT_TRUE(step->onProcessor);
  EXPECT_MICROS(find(*step, "aten::mm")->exposed, 30);
  EXPECT_MICROS(find(*step, "aten::gelu")->exposed, 20);
  EXPECT_MICROS(find(*step, "aten::gelu")->seconds, 40);
  EXPECT_MICROS(find(*step, "aten::add")->exposed, 5);
  EXPECT_MICROS(groupOf(*step, "dispatch"), 5);
  ASSERT_EQ(step->collectives.size(), 1u);
  EXPECT_MICROS(aloneOf(step->collectives[0]), 10);
  EXPECT_MICROS(sumOf(*step), 100);
}

TEST(StepExtractor, TimesCollectivesOfThreadsBesideCalls) {
  TraceBuilder b;
  b.mark(1, 0, 100);
  b.add(EventKind::Call, "aten::mm", 10, 20);
  b.add(EventKind::Call, "c10d::allreduce_", 30, 5); // starts what another thread does
  b.add(EventKind::Annotation, "gloo:all_reduce", 32, 40, "1/9/");
  b.add(EventKind::Call, "aten::gelu", 50, 10);
  b.add(EventKind::Annotation, "gloo:all_reduce", 60, 20, "1/8/");
  auto step = b.step();
  ASSERT_TRUE(step);
  ASSERT_EQ(step->collectives.size(), 2u);
  EXPECT_EQ(step->collectives[0].kind, CommunicationKind::AllReduce);
  EXPECT_MICROS(step->collectives[0].seconds, 40);
  EXPECT_MICROS(aloneOf(step->collectives[0]), 15 + 12);
  EXPECT_MICROS(aloneOf(step->collectives[1]), 20);
  EXPECT_EQ(find(*step, "c10d::allreduce_"), nullptr);
  EXPECT_MICROS(groupOf(*step, "dispatch"), 5);
  EXPECT_MICROS(groupOf(*step, "between calls"), 10 + 20);
  EXPECT_MICROS(sumOf(*step), 100);
}

/// Kernels at random, in whole microseconds.
struct RandomKernel {
  int start = 0, duration = 0, kind = 0; ///< 0, 1: computation, 2: a collective, 3: a copy from the host, 4: a fill
  bool runsAt(int microsecond) const { return start <= microsecond && microsecond < start + duration; }
};
constexpr const char *kCalls[] = {"aten::mm", "aten::gelu", "c10d::allreduce_", "aten::copy_", "aten::zero_"};
constexpr const char *kKernels[] = {"gemm", "elementwise_kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                                    "Memcpy HtoD (Pageable -> Device)", "Memset (Device)"};
constexpr EventKind kKinds[] = {EventKind::Kernel, EventKind::Kernel, EventKind::Kernel, EventKind::Copy,
                                EventKind::Fill};

/// Who has each microsecond: what started first, a collective only where nothing else runs.
struct Counted {
  double kinds[5] = {}, gaps = 0, alone = 0;
  Counted(std::vector<RandomKernel> kernels, int from, int to) {
    accord::stableSort(kernels, [](const RandomKernel &a, const RandomKernel &b) { return a.start < b.start; });
    auto firstOf = [&](int at, bool collective) {
      auto found = std::find_if(kernels.begin(), kernels.end(), [&](const RandomKernel &one) {
        return (one.kind == 2) == collective && one.runsAt(at);
      });
      return found == kernels.end() ? nullptr : &*found;
    };
    for (int at = from; at < to; ++at) {
      const RandomKernel *first = firstOf(at, false), *collective = firstOf(at, true);
      if (first || collective)
        ++kinds[first ? first->kind : collective->kind];
      else
        ++gaps;
      alone += !first && collective;
    }
  }
};

void expectCounted(const MeasuredStep &step, const Counted &counted) {
  for (int kind = 0; kind < 5; ++kind) {
    double measured = kind == 3 ? groupOf(step, "copies from and to the host") * 1e6 : 0;
    for (const MeasuredOperation &op : step.operations)
      measured += op.name == kCalls[kind] ? op.exposed * 1e6 : 0;
    EXPECT_NEAR(measured, counted.kinds[kind], 1e-6) << kCalls[kind];
  }
  double alone = 0;
  for (const MeasuredCollective &one : step.collectives)
    alone += aloneOf(one) * 1e6;
  EXPECT_GE(alone + 1e-6, counted.alone); // two collectives may run at a time
  EXPECT_NEAR((groupOf(step, "launch gaps") + groupOf(step, "between kernels")) * 1e6, counted.gaps, 1e-6);
}

TEST(StepExtractor, CountsEveryMicrosecondOnce) {
  std::mt19937 random(20260101);
  auto draw = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  int extracted = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    TraceBuilder b;
    const int length = draw(20, 300), next = length + draw(0, 20);
    b.mark(1, 0, length);
    std::vector<RandomKernel> kernels;
    for (int i = 0, count = draw(1, 25); i < count; ++i) {
      kernels.push_back({draw(0, length), draw(0, 3) == 0 ? 0 : draw(0, 40), draw(0, 4)});
      const RandomKernel &one = kernels.back();
      b.work(kCalls[one.kind], 0.7 * i, kKernels[one.kind], one.start, one.duration, kKinds[one.kind]);
    }
    const bool hasNext = draw(0, 1) == 1;
    if (hasNext) {
      b.mark(2, length, length + 50);
      b.work("aten::mm", length, "gemm", next, 5);
    }
    auto step = b.step(1);
    if (!step) {
      EXPECT_EQ(step.error().code, Code::ImportUnsupported);
      continue;
    }
    if (step->onProcessor)
      continue;
    ++extracted;
    int from = INT_MAX, to = length;
    for (const RandomKernel &one : kernels)
      from = std::min(from, one.start), to = std::max(to, one.start + one.duration);
    if (hasNext && next > from)
      to = next;
    EXPECT_MICROS(step->seconds, to - from);
    EXPECT_MICROS(sumOf(*step), to - from);
    expectCounted(*step, Counted(kernels, from, to));
  }
  EXPECT_GT(extracted, 250);
}

TEST(StepExtractor, CountsEveryMicrosecondOfProcessorsOnce) {
  std::mt19937 random(7);
  auto draw = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const char *names[] = {"aten::mm", "aten::view", "aten::gelu", "aten::matmul", "c10d::allreduce_"};
  for (int round = 0; round < 300; ++round) {
    TraceBuilder b;
    const int length = draw(20, 200);
    b.mark(1, 0, length);
    for (int thread = 0; thread < 3; ++thread)
      for (int at = draw(0, 10); at < length;) { // calls of a thread are nested or apart
        const int duration = draw(0, 30), inner = draw(0, duration);
        b.add(EventKind::Call, names[draw(0, 4)], at, duration, std::to_string(thread) + "/1/");
        if (inner > 0)
          b.add(EventKind::Call, names[draw(0, 4)], at + duration - inner, inner, std::to_string(thread) + "/1/");
        at += duration + draw(0, 9);
      }
    auto step = b.step();
    if (!step)
      continue;
    EXPECT_MICROS(step->seconds, length);
    EXPECT_MICROS(sumOf(*step), length) << round;
  }
}

} // namespace
} // namespace accord::comparison
