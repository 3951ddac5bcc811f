#include "lib/comparison/solve/Matcher.h"
#include "lib/comparison/solve/Alignment.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace accord::comparison {
namespace {

using llvm::StringRef;

constexpr size_t kNear = 64; ///< operations within which a framework may run gradients in another order

/// "model.block.11.mlp.fc1" -> "model.block.mlp.fc1".
std::string withoutNumbers(StringRef name) {
  llvm::SmallVector<StringRef> parts;
  name.split(parts, '.', -1, false);
  std::string made;
  for (StringRef part : parts)
    if (!llvm::all_of(part, llvm::isDigit))
      made += (made.empty() ? "" : ".") + part.str();
  return made;
}

bool hasClass(const PlannedOperation &op, WorkClass of) {
  return llvm::any_of(op.work, [&](const Signature &work) { return work.workClass == of; });
}

/// How surely a call is the operation, or one of its parts.
int likenessOf(const PlannedOperation &op, const Signature &call) {
  int max = 0;
  for (const Signature &work : op.work)
    max = std::max(max, likenessOf(work, call));
  return max;
}

MatchKind kindOf(int likeness) { return likeness >= 3 ? MatchKind::Shapes : MatchKind::Order; }

} // namespace

Matcher::Matcher(const PlannedStep &plan, const MeasuredStep &measured)
    : plan(plan), measured(measured), plannedLinks(plan.executions.size()), measuredLinks(measured.operations.size()) {
  for (size_t i = 0; i < plan.operations.size(); ++i) {
    if (plan.operations[i].part != Part::Forward || plan.operations[i].seconds <= 0)
      continue;
    // Every end of the name names it, as long as no other operation ends so.
    std::string whole = withoutNumbers(plan.operations[i].name);
    for (StringRef name = whole; !name.empty(); name = name.split('.').second) {
      auto [at, isNew] = byName.try_emplace(name.str(), i);
      if (!isNew && at->second != static_cast<int64_t>(i))
        at->second = -1;
    }
  }
}

void Matcher::link(uint32_t execution, uint32_t call, MatchKind kind) {
  made.push_back({execution, call, kind});
  ++plannedLinks[execution];
  ++measuredLinks[call];
}

void Matcher::run() {
  matchNames();
  makeSegments();
  auto inOrder = [&](auto isOf) {
    for (const Segment &segment : segments)
      if (!segment.calls.empty() && isOf(measured.operations[segment.calls.front()].part))
        align(segment), matchNear(segment), matchBetween(segment);
  };
  inOrder([](Part part) { return part == Part::Forward || part == Part::Recompute; });
  matchSequences();
  inOrder([](Part part) { return part == Part::Backward; });
  inOrder([](Part part) { return part == Part::Unknown; });
}

int64_t Matcher::namedOperation(const std::string &scope) const {
  std::string name = withoutNumbers(scope);
  if (auto found = byName.find(name); found != byName.end())
    return found->second;
  // The annotation may have more in front: "module.gpt.block.mlp.fc1". One word alone would be too little.
  for (StringRef rest = StringRef(name).split('.').second; rest.contains('.'); rest = rest.split('.').second)
    if (auto found = byName.find(rest.str()); found != byName.end())
      return found->second;
  return -1;
}

void Matcher::matchNames() {
  std::map<std::string, int64_t> known;
  std::map<int64_t, std::vector<uint32_t>> callsOf, executionsOf;
  for (uint32_t call = 0; call < measured.operations.size(); ++call) {
    const MeasuredOperation &one = measured.operations[call];
    if (one.part != Part::Forward)
      continue;
    for (const std::string &scope : llvm::reverse(one.scopes)) {
      auto [at, isNew] = known.try_emplace(scope, -1);
      if (isNew)
        at->second = namedOperation(scope);
      if (at->second < 0 || !hasClass(plan.operations[at->second], one.work.workClass))
        continue;
      callsOf[at->second].push_back(call);
      break;
    }
  }
  for (uint32_t execution = 0; execution < plan.executions.size(); ++execution)
    if (operationOf(execution).part == Part::Forward)
      executionsOf[plan.executions[execution].operation].push_back(execution);
  for (auto &[operation, calls] : callsOf) {
    const std::vector<uint32_t> &executions = executionsOf[operation];
    // Another number of calls than executions: the name says something else than it seems to.
    if (executions.empty() || calls.size() % executions.size() != 0) {
      notes.push_back(fmt::format("annotations '{}' are not matched by name: {} calls, {} executions in the plan",
                                  plan.operations[operation].name, calls.size(), executions.size()));
      continue;
    }
    for (size_t i = 0; i < calls.size(); ++i)
      link(executions[i * executions.size() / calls.size()], calls[i], MatchKind::Name);
  }
}

/// Micro-batches of a trace are told by a forward call behind backward calls.
void Matcher::makeSegments() {
  Segment unknown; // kernels alone: anything of the plan may be any of them
  auto kindOfPart = [](Part part) { return part == Part::Forward ? 0 : part == Part::Backward ? 1 : 2; };
  std::vector<std::array<std::vector<uint32_t>, 3>> runs(1);
  bool sawBackward = false;
  for (uint32_t call = 0; call < measured.operations.size(); ++call) {
    Part part = measured.operations[call].part;
    if (part == Part::Unknown)
      unknown.calls.push_back(call);
    if (part == Part::Update || part == Part::Accumulation || part == Part::Unknown)
      continue;
    if (part == Part::Forward && sawBackward && measured.operations[call].work.workClass != WorkClass::Fill)
      runs.emplace_back(), sawBackward = false;
    sawBackward |= part == Part::Backward;
    runs.back()[kindOfPart(part)].push_back(call);
  }
  // What is behind the last backward call alone, such as the reading of the loss, is no micro-batch.
  if (runs.size() > 1 && runs.back()[1].empty()) {
    for (int kind : {0, 1, 2})
      llvm::append_range(runs[runs.size() - 2][kind], runs.back()[kind]);
    runs.pop_back();
  }
  const auto microbatches = static_cast<size_t>(plan.microbatches);
  const bool bySize = runs.size() == microbatches;
  if (!bySize && unknown.calls.empty())
    notes.push_back(fmt::format("the plan has {} micro-batch{} a step, and the trace {} forward and backward pass{}",
                                microbatches, microbatches == 1 ? "" : "es", runs.size(),
                                runs.size() == 1 ? "" : "es"));
  const size_t count = bySize ? microbatches : 1;
  segments.assign(count * 3, {});
  for (size_t run = 0; run < runs.size(); ++run)
    for (int kind : {0, 1, 2})
      llvm::append_range(segments[(bySize ? run : 0) * 3 + kind].calls, runs[run][kind]);
  for (uint32_t execution = 0; execution < plan.executions.size(); ++execution)
    segments[(bySize ? plan.executions[execution].microbatch : 0) * 3 + kindOfPart(operationOf(execution).part)]
        .executions.push_back(execution);
  if (unknown.calls.empty())
    return;
  for (uint32_t execution = 0; execution < plan.executions.size(); ++execution)
    unknown.executions.push_back(execution);
  segments.push_back(std::move(unknown));
}

void Matcher::align(const Segment &segment) {
  // A fused operation is the sequence of its parts; each may be a call of its own.
  std::vector<const Signature *> planned, calls;
  std::vector<uint32_t> executionOf, callOf;
  for (uint32_t execution : segment.executions)
    if (!isPlanned(execution))
      for (const Signature &work : operationOf(execution).work) {
        planned.push_back(&work);
        executionOf.push_back(execution);
      }
  for (uint32_t call : segment.calls)
    if (!isMeasured(call)) {
      calls.push_back(&measured.operations[call].work);
      callOf.push_back(call);
    }
  for (auto [p, c] : alignedPairs(planned, calls))
    link(executionOf[p], callOf[c], kindOf(accord::comparison::likenessOf(*planned[p], *calls[c])));
}

/// The same work that the order of the other sequence keeps apart.
void Matcher::matchNear(const Segment &segment) {
  // Where a call stands among the executions: behind the last one that is linked to a call before it.
  std::map<uint32_t, size_t> placeOf;
  for (size_t i = 0; i < segment.executions.size(); ++i)
    placeOf[segment.executions[i]] = i;
  std::map<uint32_t, size_t> linked;
  for (const Link &one : made)
    if (auto place = placeOf.find(one.execution); place != placeOf.end())
      linked[one.call] = place->second;
  size_t place = 0;
  for (uint32_t call : segment.calls) {
    if (auto at = linked.find(call); at != linked.end()) {
      place = at->second;
      continue;
    }
    if (isMeasured(call))
      continue;
    const size_t from = place > kNear ? place - kNear : 0, to = std::min(segment.executions.size(), place + kNear);
    int max = 2;
    size_t best = to, distance = 0;
    for (size_t i = from; i < to; ++i) {
      if (isPlanned(segment.executions[i]))
        continue;
      const int like = likenessOf(operationOf(segment.executions[i]), measured.operations[call].work);
      const size_t far = i > place ? i - place : place - i;
      if (like > max || (like == max && best < to && far < distance))
        max = like, best = i, distance = far;
    }
    if (best < to)
      link(segment.executions[best], call, MatchKind::Shapes);
  }
}

/// The place of the softmax that is linked to the call beside a mask, or -1.
int64_t Matcher::softmaxNear(const std::vector<uint32_t> &calls, size_t i,
                             const std::map<uint32_t, std::pair<size_t, size_t>> &linked) const {
  for (size_t beside : {i + 1, i - 1})
    if (beside < calls.size() && measured.operations[calls[beside]].work.workClass == WorkClass::Softmax)
      if (auto at = linked.find(calls[beside]); at != linked.end())
        return static_cast<int64_t>(at->second.first);
  return -1;
}

/// Calls between two that are linked, and the executions between those.
void Matcher::matchBetween(const Segment &segment) {
  std::map<uint32_t, size_t> placeOf;
  for (size_t i = 0; i < segment.executions.size(); ++i)
    placeOf[segment.executions[i]] = i;
  std::map<uint32_t, std::pair<size_t, size_t>> linked; // of a call: first and last place
  for (const Link &one : made)
    if (auto place = placeOf.find(one.execution); place != placeOf.end()) {
      auto [at, isNew] = linked.try_emplace(one.call, place->second, place->second);
      at->second = {std::min(at->second.first, place->second), std::max(at->second.second, place->second)};
    }
  const std::vector<uint32_t> &calls = segment.calls;
  // The next linked call behind each.
  std::vector<size_t> next(calls.size() + 1, segment.executions.size());
  for (size_t i = calls.size(); i-- > 0;) {
    auto at = linked.find(calls[i]);
    next[i] = at == linked.end() ? next[i + 1] : at->second.first;
  }
  int64_t before = -1;   // place of the last linked call
  int64_t previous = -1; // that call, or the one that was attached to it
  for (size_t i = 0; i < calls.size(); ++i) {
    if (auto at = linked.find(calls[i]); at != linked.end()) {
      before = static_cast<int64_t>(at->second.second);
      previous = calls[i];
      continue;
    }
    if (isMeasured(calls[i]))
      continue;
    if (takeGap(segment, calls[i], before + 1, next[i + 1]))
      continue;
    const WorkClass of = measured.operations[calls[i]].work.workClass;
    // A mask belongs to the softmax behind it, or before it in the backward pass.
    if (measured.operations[calls[i]].work.word == "masked_fill")
      if (int64_t softmax = softmaxNear(calls, i, linked); softmax >= 0) {
        link(segment.executions[softmax], calls[i], MatchKind::Order);
        continue;
      }
    const bool isPiece = of == WorkClass::Loss || of == WorkClass::Softmax || of == WorkClass::Normalization ||
                         of == WorkClass::Pool || of == WorkClass::Embedding || of == WorkClass::Attention;
    if (isPiece && previous >= 0 && measured.operations[previous].work.workClass == of)
      link(segment.executions[before], calls[i], MatchKind::Order);
  }
}

/// Whether one call does the work of executions in [from, to) that nothing else does; links them.
bool Matcher::takeGap(const Segment &segment, uint32_t call, size_t from, size_t to) {
  const MeasuredOperation &one = measured.operations[call];
  std::vector<uint32_t> open;
  for (size_t i = from; i < to; ++i)
    if (!isPlanned(segment.executions[i]))
      open.push_back(segment.executions[i]);
  auto isOf = [&](WorkClass of) { return [this, of](uint32_t e) { return hasClass(operationOf(e), of); }; };
  if (one.work.workClass == WorkClass::Product && one.work.size > 0) {
    // Products of one operand side by side, as queries, keys and values are; what is between them may be linked.
    std::vector<size_t> places;
    for (size_t i = from > kNear ? from - kNear : 0; i < std::min(segment.executions.size(), from + kNear); ++i)
      if (!isPlanned(segment.executions[i]) && isOf(WorkClass::Product)(segment.executions[i]))
        places.push_back(i);
    std::vector<uint32_t> nearest;
    size_t distance = SIZE_MAX;
    for (size_t first = 0; first < places.size(); ++first) {
      int64_t sum = 0;
      std::vector<uint32_t> parts;
      for (size_t i = first; i < places.size() && sum < one.work.size; ++i)
        for (const Signature &work : operationOf(segment.executions[places[i]]).work)
          if (work.workClass == WorkClass::Product && work.depth == one.work.depth)
            sum += work.size, parts.push_back(segment.executions[places[i]]);
      const size_t far = places[first] > from ? places[first] - from : from - places[first];
      if (sum == one.work.size && parts.size() > 1 && far < distance)
        nearest = std::move(parts), distance = far;
    }
    for (uint32_t execution : nearest)
      link(execution, call, MatchKind::Shapes);
    return !nearest.empty();
  }
  const bool isFused = StringRef(one.name).starts_with("triton_") || StringRef(one.kernel).starts_with("triton_");
  if (one.work.workClass == WorkClass::Attention && llvm::any_of(open, isOf(WorkClass::Softmax)) &&
      llvm::any_of(open, isOf(WorkClass::Product))) {
    // From the first product or change of layout to the last product.
    auto last = std::find_if(open.rbegin(), open.rend(), isOf(WorkClass::Product)).base();
    for (auto at = open.begin(); at != last; ++at)
      link(*at, call, MatchKind::Order);
    return true;
  }
  if (isFused) {
    bool took = false;
    for (uint32_t execution : open) {
      if (hasClass(operationOf(execution), WorkClass::Product) ||
          hasClass(operationOf(execution), WorkClass::Convolution))
        break;
      link(execution, call, MatchKind::Order);
      took = true;
    }
    return took;
  }
  return false;
}

void Matcher::matchSequences() {
  // The call that made the node of a number is the last one that has it: earlier ones only looked at the counter.
  std::map<int64_t, uint32_t> callOf;
  for (uint32_t call = 0; call < measured.operations.size(); ++call)
    if (measured.operations[call].part == Part::Forward)
      for (int64_t sequence : measured.operations[call].sequences)
        callOf[sequence] = call;
  std::map<uint32_t, std::vector<uint32_t>> executionsOf; // by forward call
  for (const Link &one : made)
    executionsOf[one.call].push_back(one.execution);
  using Key = std::tuple<int64_t, int64_t, int64_t>; // forward operation, micro-batch, layer
  std::map<Key, std::vector<uint32_t>> gradientsOf;
  for (uint32_t execution = 0; execution < plan.executions.size(); ++execution)
    if (const PlannedOperation &op = operationOf(execution); op.part == Part::Backward && op.forward >= 0)
      gradientsOf[{op.forward, plan.executions[execution].microbatch, plan.executions[execution].layer}].push_back(
          execution);
  for (uint32_t call = 0; call < measured.operations.size(); ++call) {
    const MeasuredOperation &one = measured.operations[call];
    if (one.part != Part::Backward || one.sequences.empty() || isMeasured(call))
      continue;
    auto forward = callOf.find(one.sequences.front());
    if (forward == callOf.end())
      continue;
    std::vector<uint32_t> candidates;
    for (uint32_t execution : executionsOf[forward->second]) {
      const PlannedExecution &of = plan.executions[execution];
      for (uint32_t gradient : gradientsOf[{of.operation, of.microbatch, of.layer}])
        if (!isPlanned(gradient) && !llvm::is_contained(candidates, gradient))
          candidates.push_back(gradient);
    }
    // One call for all gradients of a convolution, of an attention, or of operations that one forward call did.
    const WorkClass of = one.work.workClass;
    if (of == WorkClass::Convolution || of == WorkClass::Attention) {
      for (uint32_t gradient : candidates)
        if (of == WorkClass::Attention || hasClass(operationOf(gradient), of))
          link(gradient, call, MatchKind::Sequence);
      continue;
    }
    int max = 0;
    int64_t best = -1;
    for (uint32_t gradient : candidates)
      if (int like = likenessOf(operationOf(gradient), one.work); like > max)
        max = like, best = gradient;
    if (best < 0) { // the same class, of another size: a sum over another shape, say
      for (uint32_t gradient : candidates)
        if (best < 0 && of != WorkClass::Product && hasClass(operationOf(gradient), of))
          best = gradient;
    }
    if (best >= 0)
      link(best, call, MatchKind::Sequence);
  }
}

} // namespace accord::comparison
