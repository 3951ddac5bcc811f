#include "lib/comparison/trace/StepExtractor.h"
#include "lib/comparison/problem/Intervals.h"
#include "lib/comparison/trace/CallWork.h"
#include "lib/support/StableSort.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace accord::comparison {
namespace {

using llvm::StringRef;

constexpr double kResolution = 1e-6; ///< microseconds: below it is rounding

/// Where a call stands: what is around it.
struct Context {
  Part part = Part::Forward;
  int64_t sequence = -1; ///< of the function of the automatic differentiation around it
  int64_t item = -1;     ///< index into the operations
};

struct Mark {
  double start = 0, end = 0;
  int64_t number = -1;
  uint32_t name = 0;
};

bool isOptimizer(StringRef name) {
  return name.starts_with("Optimizer.step") || name.starts_with("Optimizer.zero_grad");
}
/// A collective of a processor, which a thread of its own runs.
bool isGloo(StringRef name) { return name.starts_with("gloo:"); }
bool isLoader(StringRef name) { return name.starts_with("enumerate(DataLoader)"); }
bool isEngine(StringRef name) {
  return name.starts_with("autograd::engine::evaluate_function") ||
         (!name.starts_with("aten::") && name.rtrim("0123456789").ends_with("Backward"));
}

class Extractor {
public:
  Extractor(const TraceEvents &trace, const StepChoice &choice) : trace(trace), choice(choice) {}

  Result<MeasuredStep> run() {
    if (auto error = chooseStep())
      return *error;
    if (auto error = chooseDevice())
      return *error;
    made.source = trace.path;
    made.hasShapes = llvm::any_of(trace.events, [](const TraceEvent &one) { return one.inputs != 0; });
    walkThreads();
    if (made.onProcessor)
      timeCalls();
    else
      timeKernels();
    llvm::erase_if(made.operations, [](const MeasuredOperation &one) { return one.seconds <= 0; });
    if (made.operations.empty())
      return Error{Code::ImportUnsupported,
                   fmt::format("{} has no work: no call of PyTorch with {}",
                               made.step.empty() ? "the trace" : made.step, made.onProcessor ? "a time" : "a kernel"),
                   {trace.path, 1, 1},
                   {},
                   ""};
    notes();
    return std::move(made);
  }

private:
  const std::string &text(uint32_t index) const { return trace.texts[index]; }

  std::optional<Error> chooseStep() {
    std::vector<Mark> marks;
    double first = INFINITY, last = 0;
    for (const TraceEvent &one : trace.events) {
      StringRef name = text(one.name);
      if (one.kind == EventKind::Annotation && name.consume_front("ProfilerStep#")) {
        Mark mark{one.start, one.end(), -1, one.name};
        if (!name.getAsInteger(10, mark.number))
          marks.push_back(mark);
      }
      // The data loader of the next step may be what this one waits for.
      if (one.kind == EventKind::Annotation && isLoader(name))
        loading.emplace_back(one.start, one.end());
      if (one.kind == EventKind::Call || one.kind == EventKind::Launch || one.kind == EventKind::Kernel) {
        first = std::min(first, one.start);
        last = std::max(last, one.end());
      }
    }
    accord::stableSort(marks, [](const Mark &a, const Mark &b) { return a.start < b.start; });
    auto is = [&](const Mark &mark) { return mark.number == *choice.step; };
    if (choice.step && llvm::none_of(marks, is)) {
      std::set<int64_t> numbers;
      for (const Mark &mark : marks)
        numbers.insert(mark.number);
      return Error{Code::UnknownName,
                   marks.empty()
                       ? "the trace has no marks of steps (ProfilerStep#…), all of it is one step"
                       : fmt::format("the trace has no step {}, only {}", *choice.step, fmt::join(numbers, ", ")),
                   {trace.path, 1, 1},
                   {},
                   ""};
    }
    if (marks.empty()) {
      window = {first, last, -1, 0};
      return std::nullopt;
    }
    if (choice.step) {
      window = *llvm::find_if(marks, is);
    } else { // median: neither the first, which warms up, nor one that the system disturbed
      std::vector<Mark> sorted = marks;
      accord::stableSort(sorted, [](const Mark &a, const Mark &b) { return a.end - a.start < b.end - b.start; });
      window = sorted[(sorted.size() - 1) / 2];
    }
    made.step = text(window.name);
    for (const Mark &mark : marks)
      if (mark.start >= window.end && mark.start < following)
        following = mark.start, followingEnd = mark.end;
    return std::nullopt;
  }

  std::optional<Error> chooseDevice() {
    std::map<uint32_t, double> busy;
    for (const TraceEvent &one : trace.events)
      if (one.kind == EventKind::Kernel)
        busy[one.device] += one.duration;
    made.onProcessor = busy.empty();
    if (choice.device && !busy.count(*choice.device)) {
      std::vector<uint32_t> numbers;
      for (auto [number, time] : busy)
        numbers.push_back(number);
      return Error{Code::UnknownName,
                   numbers.empty() ? "the trace has no kernels of a device: leave out --device"
                                   : fmt::format("the trace has no kernels of device {}, only of {}", *choice.device,
                                                 fmt::join(numbers, ", ")),
                   {trace.path, 1, 1},
                   {},
                   ""};
    }
    for (auto [number, time] : busy)
      if (choice.device ? number == *choice.device : time > (busy.count(device) ? busy[device] : -1))
        device = number;
    if (busy.size() > 1)
      made.notes.push_back(fmt::format("of {} devices in the trace, device {} is compared", busy.size(), device));
    if (auto named = trace.devices.find(device); named != trace.devices.end() && !made.onProcessor)
      made.device = named->second;
    return std::nullopt;
  }

  bool isInStep(const TraceEvent &one) const { return one.start >= window.start && one.start < window.end; }

  /// Finds what each call of the step is, thread by thread.
  void walkThreads() {
    std::map<uint32_t, std::vector<uint32_t>> threads;
    for (uint32_t i = 0; i < trace.events.size(); ++i) {
      const TraceEvent &one = trace.events[i];
      if (one.kind <= EventKind::Launch && isInStep(one) && one.name != window.name)
        threads[one.thread].push_back(i);
    }
    for (auto &[thread, list] : threads) {
      accord::stableSort(list, [&](uint32_t a, uint32_t b) {
        const TraceEvent &x = trace.events[a], &y = trace.events[b];
        return std::pair(x.start, -x.duration) < std::pair(y.start, -y.duration);
      });
      walk(list);
    }
  }

  struct Frame {
    uint32_t event;
    double end;
    Context context;
  };

  void walk(const std::vector<uint32_t> &list) {
    std::vector<Frame> stack;
    auto leave = [&] {
      const Frame &frame = stack.back();
      if (trace.events[frame.event].kind == EventKind::Call && frame.context.item < 0)
        ++dispatched;
      stack.pop_back();
    };
    for (uint32_t index : list) {
      const TraceEvent &one = trace.events[index];
      while (!stack.empty() && stack.back().end <= one.start)
        leave();
      Context context = stack.empty() ? Context() : stack.back().context;
      const bool isCall = one.kind == EventKind::Call;
      const bool isOutermost =
          isCall && llvm::none_of(stack, [&](const Frame &f) { return trace.events[f.event].kind == EventKind::Call; });
      if (one.kind == EventKind::Launch) {
        if (one.correlation >= 0)
          launches[one.correlation] = {context, index, callOf(stack)};
        continue;
      }
      enter(one, index, context, stack);
      if (isOutermost)
        outermost.emplace_back(one.start, one.end());
      stack.push_back({index, one.end(), context});
      if (isCall && one.external >= 0)
        externals[one.external] = {context, index, index};
    }
    while (!stack.empty())
      leave();
  }

  /// The innermost call of the framework, or -1.
  int64_t callOf(const std::vector<Frame> &stack) const {
    for (const Frame &frame : llvm::reverse(stack))
      if (trace.events[frame.event].kind == EventKind::Call)
        return frame.event;
    return -1;
  }

  void enter(const TraceEvent &one, uint32_t index, Context &context, const std::vector<Frame> &stack) {
    StringRef name = text(one.name);
    if (one.kind == EventKind::Annotation) {
      if (isOptimizer(name))
        context.part = Part::Update;
      return;
    }
    if (context.item >= 0) {
      if (one.collective != 0)
        collectiveOfItem.try_emplace(context.item, one.collective);
      if (one.sequence >= 0 && context.part != Part::Backward)
        made.operations[context.item].sequences.push_back(one.sequence);
      return;
    }
    if (context.part != Part::Update && isEngine(name)) {
      context.part = name.contains("AccumulateGrad") ? Part::Accumulation : Part::Backward;
      if (one.sequence >= 0)
        context.sequence = one.sequence;
      return;
    }
    if (context.part == Part::Backward && name.contains("AccumulateGrad"))
      context.part = Part::Accumulation;
    CallWork work = workOf(name, trace.inputs[one.inputs]);
    if (work.role != CallRole::Work)
      return;
    Context inside = context;
    // The automatic differentiation runs with gradients off; what records one there is the forward pass again.
    if (context.part == Part::Backward && one.sequence >= 0)
      inside.part = Part::Recompute;
    inside.item = add(name.str(), work.work, inside, one.start, stack);
    if (one.collective != 0)
      collectiveOfItem.try_emplace(inside.item, one.collective);
    if (inside.part == Part::Forward && one.sequence >= 0)
      made.operations[inside.item].sequences.push_back(one.sequence);
    if (made.onProcessor) {
      made.operations[inside.item].seconds = one.duration * 1e-6;
      calls.push_back({one.start, one.end(), inside.item, index});
    }
    context = inside;
  }

  int64_t add(std::string name, Signature work, const Context &context, double start, const std::vector<Frame> &stack) {
    MeasuredOperation &op = made.operations.emplace_back();
    op.name = std::move(name);
    op.work = std::move(work);
    op.part = context.part;
    op.start = (start - window.start) * 1e-6;
    if (context.part == Part::Backward && context.sequence >= 0)
      op.sequences.push_back(context.sequence);
    for (const Frame &frame : stack)
      if (const TraceEvent &around = trace.events[frame.event]; around.kind == EventKind::Annotation) {
        StringRef scope = text(around.name);
        scope.consume_front("nn.Module: ");
        op.scopes.push_back(scope.str());
      }
    return static_cast<int64_t>(made.operations.size()) - 1;
  }

  void group(const char *name, const char *about, double microseconds, int64_t events) {
    if (microseconds > 0)
      made.groups.push_back({name, about, microseconds * 1e-6, events});
  }

  struct Called {
    double start, end;
    int64_t item;
    uint32_t event;
  };

  /// Calls of several threads may run at a time: each moment belongs to the one that began first.
  void timeCalls() {
    accord::stableSort(calls, [](const Called &a, const Called &b) { return a.start < b.start; });
    const std::vector<Called> exchanges = exchangesOfThreads();
    double at = window.start;
    std::vector<Interval> worked;
    for (const Called &call : calls) {
      const double begin = std::max(call.start, at), end = std::min(call.end, window.end);
      MeasuredOperation &op = made.operations[call.item];
      if (!exchanges.empty() && op.work.workClass == WorkClass::Communication) {
        op.seconds = 0; // it only starts one of them
        continue;
      }
      worked.emplace_back(call.start, end);
      if (end > begin)
        op.exposed = (end - begin) * 1e-6;
      if (op.work.workClass == WorkClass::Communication)
        addCall(call, std::min(begin, end), end);
      at = std::max(at, end);
    }
    made.seconds = (window.end - window.start) * 1e-6;
    Intervals busy(std::move(outermost)), work(std::move(worked)), loader(std::move(loading));
    group("dispatch", "calls of the framework around operations: views, allocations, automatic differentiation",
          busy.overlap(window.start, window.end) - work.overlap(window.start, window.end), dispatched);
    double loads = 0, idle = 0;
    int64_t gaps = 0;
    std::vector<Interval> occupied = busy.list();
    at = window.start;
    for (const Called &exchange : exchanges) {
      const double end = std::min(exchange.end, window.end);
      occupied.emplace_back(exchange.start, end);
      addExchange(exchange, busy, std::max(exchange.start, at), end);
      at = std::max(at, end);
    }
    for (auto [from, to] : Intervals(std::move(occupied)).gaps(window.start, window.end)) {
      double loaded = loader.overlap(from, to);
      loads += loaded, idle += to - from - loaded, ++gaps;
    }
    group("loading", "the data loader, while no operation runs", loads, static_cast<int64_t>(loader.list().size()));
    group("between calls", "Python and all else between calls of the framework", idle, gaps);
  }

  /// Collectives that threads of their own run, in the order of their start; each is an operation.
  std::vector<Called> exchangesOfThreads() {
    std::vector<Called> all;
    for (uint32_t i = 0; i < trace.events.size(); ++i)
      if (const TraceEvent &one = trace.events[i];
          one.kind == EventKind::Annotation && isInStep(one) && isGloo(text(one.name)))
        all.push_back({one.start, one.end(), -1, i});
    accord::stableSort(all, [](const Called &a, const Called &b) { return a.start < b.start; });
    for (Called &one : all) {
      one.item = add(text(trace.events[one.event].name), {WorkClass::Communication, "", 0, 0}, {Part::Unknown, -1, -1},
                     one.start, {});
      made.operations[one.item].seconds = (one.end - one.start) * 1e-6;
    }
    return all;
  }

  /// Of a collective beside calls, what of [from, to) no call has.
  void addExchange(const Called &exchange, const Intervals &busy, double from, double to) {
    addCall(exchange, from, from);
    MeasuredCollective &one = made.collectives.back();
    for (auto [gap, until] : busy.gaps(exchange.start, std::min(exchange.end, window.end)))
      one.alone.emplace_back((gap - window.start) * 1e-6, (until - window.start) * 1e-6);
    if (to > from)
      made.operations[exchange.item].exposed = (to - from - busy.overlap(from, to)) * 1e-6;
  }

  /// A collective that is a call on a processor.
  void addCall(const Called &call, double begin, double end) {
    const MeasuredOperation &op = made.operations[call.item];
    Run run{call.start, call.end, call.item, -1, true, trace.events[call.event].name};
    addCollective(run, trace.collectives[collectiveOfItem.lookup(call.item)], op.seconds * 1e6, op.part);
    MeasuredCollective &one = made.collectives.back();
    one.start = (call.start - window.start) * 1e-6;
    if (end > begin)
      one.alone.emplace_back((begin - window.start) * 1e-6, (end - window.start) * 1e-6);
  }

  struct Run {
    double start, end;
    int64_t item;  ///< -1: of a group
    double launch; ///< of its call of the driver, or -1
    bool isCollective;
    uint32_t name;
    int64_t collective = -1; ///< index into MeasuredStep::collectives
  };

  void timeKernels() {
    std::vector<Run> runs;
    llvm::DenseSet<int64_t> known;
    double firstOfNext = INFINITY;
    for (const TraceEvent &one : trace.events)
      if (one.kind == EventKind::Launch && one.correlation >= 0) {
        known.insert(one.correlation);
        if (one.start >= following && one.start < followingEnd)
          ofNext.insert(one.correlation);
      }
    for (const TraceEvent &one : trace.events) {
      if (one.kind < EventKind::Kernel || one.device != device)
        continue;
      auto launch = launches.find(one.correlation);
      if (launch != launches.end()) {
        runs.push_back(runOf(one, launch->second));
        continue;
      }
      if (ofNext.contains(one.correlation))
        firstOfNext = std::min(firstOfNext, one.start);
      if (one.correlation >= 0 && known.contains(one.correlation))
        continue; // of another step
      if (auto external = externals.find(one.external); external != externals.end()) {
        Launch by = external->second;
        by.event = -1;
        runs.push_back(runOf(one, by));
      } else if (isInStep(one))
        runs.push_back(runOf(one, {partOfKernel(text(one.name)), -1, -1})), ++orphans;
    }
    accord::stableSort(runs, [](const Run &a, const Run &b) { return a.start < b.start; });
    double from = runs.empty() ? window.start : runs.front().start, to = window.end;
    if (made.step.empty())
      from = std::min(from, window.start);
    for (const Run &run : runs)
      to = std::max(to, run.end);
    if (firstOfNext > from && firstOfNext < INFINITY)
      to = firstOfNext;
    made.seconds = (to - from) * 1e-6;
    expose(runs, from, to);
    nameGaps(runs, from, to);
    group("copies from and to the host", "transfers between the memory of the host and that of the device", hostCopies,
          hostCopied);
  }

  static Context partOfKernel(StringRef name) {
    const bool isUpdate = name.contains_insensitive("multi_tensor_apply") || name.contains_insensitive("adam");
    return {isUpdate ? Part::Update : Part::Unknown, -1, -1};
  }

  struct Launch {
    Context context;
    int64_t event = -1; ///< of the driver
    int64_t call = -1;  ///< of the framework
  };

  Run runOf(const TraceEvent &one, const Launch &launch) {
    StringRef name = text(one.name);
    Run run{one.start,
            one.end(),
            launch.context.item,
            launch.event < 0 ? -1 : trace.events[launch.event].start,
            isCollectiveKernel(name),
            one.name};
    if (one.kind == EventKind::Copy && (name.contains("HtoD") || name.contains("DtoH"))) {
      run.item = -1;
      return run;
    }
    if (run.item < 0) {
      Signature work = one.kind == EventKind::Kernel ? workOfKernel(name)
                       : one.kind == EventKind::Copy ? Signature{WorkClass::Copy, "", 0, 0}
                                                     : Signature{WorkClass::Fill, "", 0, 0};
      const int64_t call = launch.call;
      run.item = add(call >= 0 ? text(trace.events[call].name) : name.take_front(200).str(), work, launch.context,
                     run.launch >= 0 ? run.launch : one.start, {});
    }
    MeasuredOperation &op = made.operations[run.item];
    if (run.isCollective) {
      op.work.workClass = WorkClass::Communication;
      uint32_t said = one.collective;
      if (said == 0 && launch.call >= 0)
        said = trace.events[launch.call].collective;
      if (said == 0)
        said = collectiveOfItem.lookup(run.item);
      addCollective(run, trace.collectives[said], one.duration, op.part);
    }
    if (op.kernels++ == 0 || one.duration > longest[run.item]) {
      longest[run.item] = one.duration;
      op.kernel = name.take_front(200).str();
    }
    op.seconds += one.duration * 1e-6;
    return run;
  }

  void addCollective(Run &run, const CollectiveArguments &said, double duration, Part part) {
    run.collective = static_cast<int64_t>(made.collectives.size());
    MeasuredCollective &one = made.collectives.emplace_back();
    one.kernel = StringRef(text(run.name)).take_front(200).str();
    one.call = said.name;
    one.kind = communicationOf(said.name, one.kernel);
    one.group = said.group, one.ranks = said.ranks;
    one.groupSize = said.groupSize > 0 ? said.groupSize : static_cast<int64_t>(said.ranks.size());
    one.bytes = bytesOf(said);
    if (one.kind == CommunicationKind::Message)
      one.from = said.from, one.to = said.to;
    one.part = part;
    one.start = run.start, one.seconds = duration * 1e-6; // `expose` makes the start relative
  }

  /// What of each run nothing before it covers; collectives come last.
  void expose(const std::vector<Run> &runs, double from, double to) {
    double at = from;
    std::vector<Interval> covered;
    auto give = [&](const Run &run, double microseconds) {
      if (microseconds <= kResolution)
        return;
      if (run.item >= 0)
        made.operations[run.item].exposed += microseconds * 1e-6;
      else
        hostCopies += microseconds, ++hostCopied;
    };
    for (const Run &run : runs)
      if (!run.isCollective) {
        double begin = std::max(run.start, at), end = std::min(run.end, to);
        give(run, end - begin);
        at = std::max(at, end);
        covered.emplace_back(run.start, run.end);
      }
    Intervals others(std::move(covered));
    at = from;
    for (const Run &run : runs)
      if (run.isCollective) {
        double begin = std::max(run.start, at), end = std::min(run.end, to);
        if (end > begin)
          give(run, end - begin - others.overlap(begin, end));
        if (run.collective >= 0) {
          MeasuredCollective &one = made.collectives[run.collective];
          one.start = (run.start - from) * 1e-6;
          for (auto [gap, until] : others.gaps(std::max(run.start, from), std::min(run.end, to)))
            if (until - gap > kResolution)
              one.alone.emplace_back((gap - from) * 1e-6, (until - from) * 1e-6);
        }
        at = std::max(at, end);
      }
    accord::stableSort(made.collectives,
                       [](const MeasuredCollective &a, const MeasuredCollective &b) { return a.start < b.start; });
  }

  void nameGaps(const std::vector<Run> &runs, double from, double to) {
    std::vector<Interval> all;
    for (const Run &run : runs)
      all.emplace_back(run.start, run.end);
    Intervals busy(std::move(all)), loader(loading);
    double loads = 0, host = 0, device = 0;
    int64_t hostGaps = 0, deviceGaps = 0;
    for (auto [begin, end] : busy.gaps(from, to)) {
      auto after = std::partition_point(runs.begin(), runs.end(), [&](const Run &run) { return run.start < end; });
      // Until the next kernel was launched the host is late; the rest is between launch and start.
      double late = after == runs.end() ? end : after->launch >= 0 ? std::clamp(after->launch, begin, end) : begin;
      double loaded = loader.overlap(begin, late);
      loads += loaded;
      if (late - begin - loaded > 0)
        host += late - begin - loaded, ++hostGaps;
      if (end > late)
        device += end - late, ++deviceGaps;
    }
    group("loading", "the data loader, while the device waits", loads, static_cast<int64_t>(loader.list().size()));
    group("launch gaps", "the device waits for the host to launch the next kernel", host, hostGaps);
    group("between kernels", "from the launch of a kernel, or the end of the one before, to its start", device,
          deviceGaps);
  }

  void notes() {
    if (made.step.empty())
      made.notes.push_back("the trace has no marks of steps (profiler.step()): all of it is taken for one step");
    if (orphans > 0)
      made.notes.push_back(fmt::format("{} kernels are of no call that the trace has", orphans));
    // By the start of their calls: threads were walked one after the other.
    accord::stableSort(made.operations,
                       [](const MeasuredOperation &a, const MeasuredOperation &b) { return a.start < b.start; });
  }

  const TraceEvents &trace;
  const StepChoice &choice;
  MeasuredStep made;
  Mark window;
  double following = INFINITY, followingEnd = INFINITY; ///< of the mark behind the step
  uint32_t device = 0;
  std::map<int64_t, Launch> launches, externals; ///< of the step, by correlation and external id
  llvm::DenseSet<int64_t> ofNext;
  llvm::DenseMap<int64_t, double> longest;            ///< kernel of an operation
  llvm::DenseMap<int64_t, uint32_t> collectiveOfItem; ///< of an operation: index into TraceEvents::collectives
  std::vector<Interval> outermost, loading;
  std::vector<Called> calls; ///< of a processor: those that are operations
  double hostCopies = 0;
  int64_t dispatched = 0, hostCopied = 0, orphans = 0;
};

} // namespace

std::map<int64_t, double> markedSteps(const TraceEvents &trace) {
  std::map<int64_t, double> steps;
  for (const TraceEvent &one : trace.events) {
    StringRef name = trace.texts[one.name];
    int64_t number = 0;
    if (one.kind == EventKind::Annotation && name.consume_front("ProfilerStep#") && !name.getAsInteger(10, number))
      steps.try_emplace(number, one.duration * 1e-6);
  }
  return steps;
}

Result<MeasuredStep> extractStep(const TraceEvents &trace, const StepChoice &choice) {
  return Extractor(trace, choice).run();
}

} // namespace accord::comparison
