#include "lib/comparison/trace/TraceEvents.h"
#include "lib/comparison/trace/TraceText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::comparison {
namespace {

using llvm::StringRef;
namespace json = llvm::json;

constexpr double kLatest = 1e18; ///< microseconds
constexpr int64_t kMaxRank = int64_t(1) << 30;

/// Whether the value is a whole number that an identifier can be.
std::optional<int64_t> wholeOf(const json::Value &value) {
  if (auto number = value.getAsNumber(); number && std::fabs(*number) < 9e18 && std::floor(*number) == *number)
    return value.getAsInteger() ? *value.getAsInteger() : static_cast<int64_t>(*number);
  int64_t read = 0;
  if (auto text = value.getAsString(); text && !text->getAsInteger(10, read))
    return read;
  return std::nullopt;
}

class Reader {
public:
  explicit Reader(const std::string &path) {
    trace.path = path;
    trace.inputs.emplace_back();
    trace.collectives.emplace_back();
    text("");
  }

  Result<TraceEvents> run() {
    auto read = readTraceText(
        trace.path, [&](const json::Object &event) { return take(event); },
        [&](StringRef key, const json::Value &value) { return about(key, value); });
    if (!read)
      return read.takeError();
    if (trace.events.empty())
      return Error{
          Code::ImportUnsupported,
          fmt::format("the trace has no operation of PyTorch and no kernel ({} other events)", trace.passedOver),
          {trace.path, 1, 1},
          {},
          ""};
    // Long lists of ranks are cut in events, which name their group.
    for (CollectiveArguments &one : trace.collectives)
      if (auto group = trace.distributed.groups.find(one.group);
          one.ranks.empty() && group != trace.distributed.groups.end())
        one.ranks = group->second;
    return std::move(trace);
  }

private:
  uint32_t text(StringRef of) {
    auto [at, isNew] = textIndex.try_emplace(of, trace.texts.size());
    if (isNew)
      trace.texts.push_back(of.str());
    return at->second;
  }

  std::string about(StringRef key, const json::Value &value) {
    if (key == "distributedInfo")
      return distributed(value);
    if (key != "deviceProperties" || !value.getAsArray())
      return "";
    for (const json::Value &one : *value.getAsArray())
      if (const json::Object *device = one.getAsObject()) {
        auto id = device->get("id") ? wholeOf(*device->get("id")) : std::nullopt;
        if (id && *id >= 0 && *id < (int64_t(1) << 31))
          trace.devices[*id] = device->getString("name").value_or("").str();
      }
    return "";
  }

  std::string distributed(const json::Value &value) {
    const json::Object *info = value.getAsObject();
    if (!info)
      return "expected an object at 'distributedInfo'";
    for (auto [key, into] : {std::pair<StringRef, int64_t *>("rank", &trace.distributed.rank),
                             {"world_size", &trace.distributed.worldSize}})
      if (const json::Value *number = info->get(key)) {
        auto read = wholeOf(*number);
        if (!read || *read < -1 || *read > kMaxRank)
          return fmt::format("expected a whole number from 0 to {} at 'distributedInfo.{}'", kMaxRank, key.str());
        *into = *read;
      }
    trace.distributed.backend = info->getString("backend").value_or("").str();
    if (const json::Array *groups = info->getArray("pg_config"))
      for (const json::Value &one : *groups)
        if (const json::Object *group = one.getAsObject())
          if (const json::Value *ranks = group->get("ranks"))
            if (std::string wrong =
                    ranksOf(*ranks, trace.distributed.groups[group->getString("pg_name").value_or("").str()]);
                !wrong.empty())
              return wrong;
    const int64_t rank = trace.distributed.rank, worldSize = trace.distributed.worldSize;
    if (worldSize >= 0 && rank >= worldSize)
      return fmt::format("rank {} of a world of {}: ranks count from 0", rank, worldSize);
    return "";
  }

  static std::optional<EventKind> kindOf(StringRef category, StringRef name) {
    if (category == "python_function")
      return name.starts_with("nn.Module: ") ? std::optional(EventKind::Annotation) : std::nullopt;
    return llvm::StringSwitch<std::optional<EventKind>>(category.lower())
        .Cases({"cpu_op", "operator"}, EventKind::Call)
        .Case("user_annotation", EventKind::Annotation)
        .Cases({"cuda_runtime", "cuda_driver", "runtime", "hip_runtime", "privateuse1_runtime"}, EventKind::Launch)
        .Case("kernel", EventKind::Kernel)
        .Cases({"gpu_memcpy", "memcpy"}, EventKind::Copy)
        .Cases({"gpu_memset", "memset"}, EventKind::Fill)
        .Default(std::nullopt);
  }

  std::string number(const json::Object &event, StringRef key, double &into) {
    const json::Value *value = event.get(key);
    auto read = value ? value->getAsNumber() : std::nullopt;
    if (!read)
      return fmt::format("expected a number of microseconds at '{}', found {}", key.str(),
                         value ? "something else" : "none");
    if (!std::isfinite(*read) || *read < 0 || *read > kLatest)
      return fmt::format("expected microseconds from 0 to {:g} at '{}', found {:g}", kLatest, key.str(), *read);
    into = *read;
    return "";
  }

  static std::string identifier(const json::Object &arguments, StringRef key, int64_t &into) {
    const json::Value *value = arguments.get(key);
    auto read = value ? wholeOf(*value) : std::nullopt;
    if (value && (!read || *read < -1))
      return fmt::format("expected a whole number from 0 at '{}'", key.str());
    if (read)
      into = *read;
    return "";
  }

  std::string take(const json::Object &event) {
    StringRef name = event.getString("name").value_or("");
    auto kind = kindOf(event.getString("cat").value_or(""), name);
    if (event.getString("ph").value_or("") != "X" || !kind) {
      ++trace.passedOver;
      return "";
    }
    TraceEvent one;
    one.kind = *kind;
    one.name = text(name);
    std::string wrong = number(event, "ts", one.start);
    if (wrong.empty())
      wrong = number(event, "dur", one.duration);
    std::string thread;
    for (StringRef key : {"pid", "tid"})
      if (const json::Value *value = event.get(key))
        thread += fmt::format("{}/", value->getAsString() ? value->getAsString()->str()
                                                          : fmt::format("{}", wholeOf(*value).value_or(-1)));
    one.thread = text(thread);
    if (const json::Object *arguments = event.getObject("args")) {
      int64_t device = 0;
      for (auto [key, into] : {std::pair<StringRef, int64_t *>("correlation", &one.correlation),
                               {"External id", &one.external},
                               {"external id", &one.external},
                               {"Sequence number", &one.sequence},
                               {"device", &device}})
        if (wrong.empty())
          wrong = identifier(*arguments, key, *into);
      one.device = std::clamp<int64_t>(device, 0, UINT32_MAX - 1);
      if (wrong.empty() && one.kind == EventKind::Call)
        wrong = inputs(*arguments, one.inputs);
      if (wrong.empty() && (one.kind == EventKind::Call || one.kind == EventKind::Kernel))
        wrong = collective(*arguments, one.collective);
    }
    if (wrong.empty())
      trace.events.push_back(one);
    return wrong.empty() ? wrong : fmt::format("event '{}': {}", name.take_front(100).str(), wrong);
  }

  /// Adds a shape, or those of a list of tensors.
  static bool shapes(const json::Array &list, std::vector<Shape> &all) {
    if (llvm::any_of(list, [](const json::Value &one) { return one.getAsArray() != nullptr; })) {
      for (const json::Value &one : list)
        if (!one.getAsArray() || !shapes(*one.getAsArray(), all))
          return false;
      return true;
    }
    Shape shape;
    for (const json::Value &extent : list) {
      auto whole = extent.getAsInteger();
      if (!whole || *whole < 0)
        return false;
      shape.push_back(*whole);
    }
    all.push_back(std::move(shape));
    return true;
  }

  std::string inputs(const json::Object &arguments, uint32_t &index) {
    const json::Array *dims = arguments.getArray("Input Dims");
    if (!dims)
      dims = arguments.getArray("Input dims");
    if (!dims)
      return "";
    CallInputs of;
    for (const json::Value &one : *dims)
      if (!one.getAsArray() || !shapes(*one.getAsArray(), of.shapes))
        return "expected lists of whole numbers from 0 at 'Input Dims'";
    if (const json::Array *values = arguments.getArray("Concrete Inputs"))
      for (const json::Value &one : *values)
        of.values.push_back(one.getAsString().value_or("").take_front(200).str());
    auto [at, isNew] = inputIndex.try_emplace(of, trace.inputs.size());
    if (isNew)
      trace.inputs.push_back(std::move(of));
    index = at->second;
    return "";
  }

  std::string collective(const json::Object &arguments, uint32_t &index) {
    const json::Value *name = arguments.get("Collective name");
    if (!name)
      return "";
    CollectiveArguments of;
    of.name = name->getAsString().value_or("").take_front(100).str();
    of.type = arguments.getString("dtype").value_or("").take_front(100).str();
    of.group = arguments.getString("Process Group Name").value_or("").take_front(200).str();
    std::string wrong;
    for (auto [key, into] : {std::pair<StringRef, int64_t *>("In msg nelems", &of.inputs),
                             {"Out msg nelems", &of.outputs},
                             {"Group size", &of.groupSize},
                             {"Src Rank", &of.from},
                             {"Dst Rank", &of.to}})
      if (wrong.empty())
        wrong = identifier(arguments, key, *into);
    if (const json::Value *ranks = arguments.get("Process Group Ranks"); ranks && wrong.empty())
      wrong = ranksOf(*ranks, of.ranks);
    if (!wrong.empty())
      return wrong;
    auto [at, isNew] = collectiveIndex.try_emplace(of, trace.collectives.size());
    if (isNew)
      trace.collectives.push_back(std::move(of));
    index = at->second;
    return "";
  }

  /// "[0, 1, 2]" or a list of numbers. Long lists are cut by the profiler ("[0, 1, ...]"): they say nothing.
  static std::string ranksOf(const json::Value &value, std::vector<int64_t> &into) {
    constexpr const char *kWrong = "expected a list of ranks of a process group";
    std::vector<int64_t> ranks;
    if (const json::Array *list = value.getAsArray()) {
      for (const json::Value &one : *list) {
        auto rank = wholeOf(one);
        if (!rank || *rank < 0 || *rank > kMaxRank)
          return kWrong;
        ranks.push_back(*rank);
      }
    } else if (auto text = value.getAsString()) {
      if (text->contains("..."))
        return "";
      llvm::SmallVector<StringRef> parts;
      text->trim("[]() ").split(parts, ',', -1, false);
      for (StringRef part : parts) {
        int64_t rank = -1;
        if (part.trim().getAsInteger(10, rank) || rank < 0 || rank > kMaxRank)
          return kWrong;
        ranks.push_back(rank);
      }
    } else
      return kWrong;
    llvm::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    into = std::move(ranks);
    return "";
  }

  TraceEvents trace;
  llvm::StringMap<uint32_t> textIndex;
  std::map<CallInputs, uint32_t> inputIndex;
  std::map<CollectiveArguments, uint32_t> collectiveIndex;
};

} // namespace

Result<TraceEvents> readTraceEvents(const std::string &path) { return Reader(path).run(); }

} // namespace accord::comparison
