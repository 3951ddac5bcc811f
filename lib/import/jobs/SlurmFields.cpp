#include "lib/import/jobs/SlurmFields.h"
#include "lib/import/jobs/TraceTime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>

namespace accord::jobs {
namespace {

using llvm::StringRef;
constexpr int64_t kMaxDevices = 1'000'000;
constexpr size_t kMaxTasks = 1'000'000;

/// States and their short forms.
const std::pair<TraceState, std::vector<StringRef>> kStates[] = {
    {TraceState::Completed, {"COMPLETED", "CD"}},
    {TraceState::Running,
     {"RUNNING", "R", "COMPLETING", "CG", "SUSPENDED", "S", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"}},
    {TraceState::Waiting,
     {"PENDING", "PD", "CONFIGURING", "CF", "REQUEUED", "RQ", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD",
      "SPECIAL_EXIT"}},
    {TraceState::Cancelled, {"CANCELLED", "CANCELLED+", "CA", "PREEMPTED", "PR", "REVOKED", "RV"}},
    {TraceState::Failed,
     {"FAILED", "F", "NODE_FAIL", "NF", "BOOT_FAIL", "BF", "OUT_OF_MEMORY", "OOM", "LAUNCH_FAILED"}},
    {TraceState::TimedOut, {"TIMEOUT", "TO", "DEADLINE", "DL"}},
};

/// "4", "4-7" or "4-20:4" behind what is there already.
bool addRange(StringRef text, std::vector<int64_t> &tasks) {
  int64_t first = 0, last = 0, step = 1;
  if (text.consumeInteger(10, first))
    return false;
  last = first;
  if (text.consume_front("-") && text.consumeInteger(10, last))
    return false;
  if (text.consume_front(":") && text.consumeInteger(10, step))
    return false;
  if (!text.empty() || first < 0 || last < first || step < 1 ||
      static_cast<uint64_t>((last - first) / step) >= kMaxTasks - tasks.size())
    return false;
  for (int64_t task = first;; task += step) {
    tasks.push_back(task);
    if (last - task < step)
      return true;
  }
}

} // namespace

void addSlurmDevice(SlurmDevices &devices, int64_t &typed, std::string_view name, int64_t count) {
  StringRef rest(name);
  if (!rest.consume_front("gres/"))
    return;
  if (rest == "gpu") {
    devices.count = std::max(devices.count, count);
  } else if (rest.consume_front("gpu:") && count > 0) {
    typed = std::min(typed + count, kMaxDevices);
    devices.count = std::max(devices.count, typed);
    if (std::ranges::count(devices.types, rest.str()) == 0)
      devices.types.push_back(rest.str());
  }
}

std::optional<SlurmDevices> readSlurmDevices(std::string_view resources) {
  SlurmDevices devices;
  int64_t typed = 0;
  llvm::SmallVector<StringRef> parts;
  StringRef(resources).split(parts, ',', -1, false);
  for (StringRef part : parts) {
    const auto [name, text] = part.rsplit('=');
    if (!name.starts_with("gres/gpu"))
      continue;
    int64_t count = 0;
    if (text.getAsInteger(10, count) || count < 0 || count > kMaxDevices)
      return std::nullopt;
    addSlurmDevice(devices, typed, name, count);
  }
  return devices;
}

TraceState slurmState(std::string_view text) {
  const StringRef word = StringRef(text).trim().split(' ').first;
  for (const auto &[state, words] : kStates)
    if (llvm::is_contained(words, word))
      return state;
  return TraceState::Unknown;
}

bool isUnknownTime(std::string_view text) {
  const StringRef word(text);
  return word.empty() || word.equals_insensitive("unknown") || word.equals_insensitive("none") || word == "N/A";
}

std::optional<double> slurmTimeLimit(std::string_view text) {
  const StringRef word(text);
  if (isUnknownTime(text) || word.equals_insensitive("unlimited") || word.equals_insensitive("partition_limit") ||
      word.equals_insensitive("invalid"))
    return 0.0;
  return readSlurmDuration(text);
}

std::optional<std::vector<int64_t>> slurmTasks(std::string_view text) {
  StringRef rest(text);
  if (rest.consume_front("[") && !rest.consume_back("]"))
    return std::nullopt;
  rest = rest.split('%').first;
  std::vector<int64_t> tasks;
  llvm::SmallVector<StringRef> parts;
  rest.split(parts, ',');
  for (StringRef part : parts) {
    if (part == "...")
      break;
    if (!addRange(part, tasks))
      return std::nullopt;
  }
  if (tasks.empty())
    return std::nullopt;
  return tasks;
}

} // namespace accord::jobs
