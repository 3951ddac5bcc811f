#include "lib/service/progress/StepTrace.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace accord::service {
namespace {

constexpr size_t kMaxEvent = size_t(1) << 16, kMaxKernels = 4'000'000;
constexpr int64_t kMaxBytes = int64_t(1) << 30;
constexpr llvm::StringLiteral kStep = "ProfilerStep#";

/// Kernels of NCCL and RCCL ("ncclDevKernel_…"), of NVSHMEM, and of DeepEP, which sends to experts.
bool isCommunication(llvm::StringRef kernel) {
  return kernel.starts_with("nccl") || kernel.contains("nvshmem") || kernel.contains("ep::internode::") ||
         kernel.contains("ep::intranode::") || kernel.contains("ep::internode_ll::");
}

Error wrong(std::string why) { return {Code::WrongProgress, std::move(why)}; }

} // namespace

bool StepTraceReader::take(std::string_view piece) {
  for (const char c : piece) {
    if (isInside && !isLong)
      object += c;
    isLong |= object.size() > kMaxEvent;
    if (isText) {
      if (isEscaped)
        isEscaped = false;
      else if (c == '\\')
        isEscaped = true;
      else if (c == '"')
        isText = false;
      continue;
    }
    if (c == '"') {
      isText = true;
    } else if (c == '{' || c == '[') {
      outer = outer ? outer : c;
      // Events are in an array, and that in an object, or it is all that there is.
      if (c == '{' && !isInside && depth == (outer == '[' ? 1u : 2u))
        isInside = true, isLong = false, object = "{";
      ++depth;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
      if (isInside && depth == (outer == '[' ? 1u : 2u)) {
        if (!isLong)
          takeEvent();
        isInside = false;
        object.clear();
      }
    }
  }
  return computes.size() + communicates.size() < kMaxKernels;
}

void StepTraceReader::takeEvent() {
  const llvm::StringRef text(object);
  const bool isStep = text.contains(kStep);
  if (!isStep && !text.contains_insensitive("\"kernel\""))
    return;
  auto value = llvm::json::parse(text);
  if (!value)
    return llvm::consumeError(value.takeError());
  const llvm::json::Object *event = value->getAsObject();
  const auto ts = event->getNumber("ts"), dur = event->getNumber("dur");
  const llvm::StringRef name = event->getString("name").value_or(""), kind = event->getString("cat").value_or("");
  if (!ts || !dur || *dur < 0 || event->getString("ph").value_or("") != "X")
    return;
  const Span span{*ts, *ts + *dur};
  if (kind.equals_insensitive("kernel")) { // older ones: "Kernel"
    const llvm::json::Object *arguments = event->getObject("args");
    const double on = arguments ? arguments->getNumber("device").value_or(0) : 0;
    device = device < 0 ? on : device;
    if (on == device)
      (isCommunication(name) ? communicates : computes).push_back(span);
  } else if (int64_t number = 0; kind != "gpu_user_annotation" && name.starts_with(kStep) &&
                                 !name.drop_front(kStep.size()).getAsInteger(10, number)) {
    steps.emplace_back(number, span);
  }
}

/// Microseconds of a time in which at least one of the spans is.
double StepTraceReader::covered(std::vector<Span> spans, const Span &within) {
  std::ranges::sort(spans, {}, &Span::begin);
  double sum = 0, until = within.begin;
  for (const Span &one : spans) {
    const double begin = std::max(one.begin, until), end = std::min(one.end, within.end);
    if (end > begin)
      sum += end - begin, until = end;
  }
  return sum;
}

Result<StepTrace> StepTraceReader::end() {
  if (steps.empty())
    return wrong(depth > 0 ? "the trace is not whole, and has no step" : "the trace has no step: call profiler.step()");
  std::ranges::sort(steps, {}, [](const auto &one) { return std::pair(one.first, one.second.begin); });
  steps.erase(std::unique(steps.begin(), steps.end(), [](auto &a, auto &b) { return a.first == b.first; }),
              steps.end());
  if (steps.size() > 2)
    steps.erase(steps.begin());
  Span all = steps.front().second;
  for (const auto &[number, span] : steps)
    all = {std::min(all.begin, span.begin), std::max(all.end, span.end)};
  StepTrace made;
  made.steps = static_cast<int64_t>(steps.size());
  made.seconds = (all.end - all.begin) / static_cast<double>(made.steps) * 1e-6;
  if (!(made.seconds > 0))
    return wrong("the steps of the trace take no time");
  if (!communicates.empty()) { // else it is one device, or communicates by kernels that are not known here
    std::vector<Span> both = computes;
    both.insert(both.end(), communicates.begin(), communicates.end());
    made.communication = (covered(std::move(both), all) - covered(computes, all)) / (all.end - all.begin);
  }
  return made;
}

Result<StepTrace> readStepTrace(const std::string &path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat status{};
  if (file < 0 || ::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    if (file >= 0)
      ::close(file);
    return wrong(fmt::format("cannot read the trace '{}'", path));
  }
  StepTraceReader reader;
  std::string piece(size_t(1) << 20, '\0');
  for (int64_t at = 0; at < kMaxBytes;) {
    const ssize_t got = ::pread(file, piece.data(), piece.size(), at);
    if (got <= 0 || !reader.take(std::string_view(piece).substr(0, static_cast<size_t>(got))))
      break;
    at += got;
  }
  ::close(file);
  return reader.end();
}

} // namespace accord::service
