#include "lib/service/engines/local/TaskFolder.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace accord::service {
namespace {

/// The last string of each record: a file that was cut does not have it.
constexpr const char *kWhole = "whole";
constexpr size_t kMaxRecord = size_t{64} << 20;

bool writeAll(int file, llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      errno = count == 0 ? ENOSPC : errno;
      return false;
    }
    text = text.drop_front(size_t(count));
  }
  return true;
}

/// The place of a record to be read on.
class Reader {
public:
  explicit Reader(const Record &record) : record_(record) {}
  std::string text() {
    if (at_ >= record_.size()) {
      isRight_ = false;
      return {};
    }
    return record_[at_++];
  }
  template <class T> T number() {
    std::string shown = text();
    T value{};
    auto [end, failure] = std::from_chars(shown.data(), shown.data() + shown.size(), value);
    isRight_ &= failure == std::errc() && end == shown.data() + shown.size();
    return value;
  }
  /// How many elements follow, each of at least one string.
  size_t count() {
    auto value = number<int64_t>();
    isRight_ &= value >= 0 && uint64_t(value) <= record_.size() - std::min(at_, record_.size());
    return isRight_ ? size_t(value) : 0;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> all(count());
    for (std::string &one : all)
      one = text();
    return all;
  }
  std::vector<std::pair<std::string, std::string>> pairs() {
    std::vector<std::pair<std::string, std::string>> all(count());
    for (auto &[name, value] : all)
      name = text(), value = text();
    return all;
  }
  void expect(llvm::StringRef word) { isRight_ &= text() == word; }
  bool isAtEnd() const { return isRight_ && at_ == record_.size(); }

private:
  const Record &record_;
  size_t at_ = 0;
  bool isRight_ = true;
};

void add(Record &record, const std::vector<std::string> &texts) {
  record.push_back(std::to_string(texts.size()));
  record.insert(record.end(), texts.begin(), texts.end());
}

void add(Record &record, const std::vector<std::pair<std::string, std::string>> &pairs) {
  record.push_back(std::to_string(pairs.size()));
  for (const auto &[name, value] : pairs)
    record.insert(record.end(), {name, value});
}

double secondsOf(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

} // namespace

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0)
    ::close(number_);
}

Error fileError(const std::string &what, const std::string &path, int reason) {
  return Error{Code::EngineFailed,
               fmt::format("'{}' cannot be {}: {}", path, what, llvm::StringRef(std::strerror(reason)).lower())};
}

void syncFolder(const std::string &path) {
  FileDescriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder)
    fsync(folder.number());
}

std::optional<std::string> smallFile(const std::string &path, size_t max) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string text;
  char piece[4096];
  while (file && text.size() <= max) {
    ssize_t count = ::read(file.number(), piece, sizeof piece);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return {};
    if (count == 0)
      return text;
    text.append(piece, size_t(count));
  }
  errno = file ? EFBIG : errno;
  return {};
}

Result<std::optional<Record>> readRecord(const std::string &path) {
  std::optional<std::string> text = smallFile(path, kMaxRecord);
  if (!text && errno == ENOENT)
    return std::optional<Record>();
  if (!text)
    return fileError("read", path, errno);
  Record record;
  for (size_t at = 0; at < text->size();) {
    size_t end = text->find('\0', at);
    if (end == std::string::npos)
      break;
    record.push_back(text->substr(at, end - at));
    at = end + 1;
  }
  // A spare file ends with zero bytes, which are empty strings here.
  while (!record.empty() && record.back().empty())
    record.pop_back();
  if (record.empty() || record.back() != kWhole)
    return Error{Code::EngineFailed, fmt::format("'{}' cannot be read: it is not whole", path)};
  record.pop_back();
  return std::optional<Record>(std::move(record));
}

Result<void> writeSpare(const std::string &path) {
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file)
    return fileError("written", path, errno);
  int failure = posix_fallocate(file.number(), 0, kSpareBytes);
  return failure == 0 ? Result<void>() : fileError("written", path, failure);
}

Result<void> writeRecord(const std::string &path, const Record &record, const std::string &spare) {
  std::string text;
  for (const std::string &one : record)
    text.append(one).push_back('\0');
  text.append(kWhole).push_back('\0');
  std::string made = spare;
  FileDescriptor file;
  if (!spare.empty() && text.size() <= kSpareBytes) {
    file = FileDescriptor(open(spare.c_str(), O_WRONLY | O_CLOEXEC));
    text.resize(kSpareBytes, '\0');
  }
  if (!file) {
    made = path + ".new";
    file = FileDescriptor(open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  }
  if (!file || !writeAll(file.number(), text) || fsync(file.number()) != 0 || rename(made.c_str(), path.c_str()) != 0) {
    int reason = errno;
    if (made != spare)
      unlink(made.c_str());
    return fileError("written", path, reason);
  }
  return {};
}

Result<FileDescriptor> takeLock(const std::string &path, double seconds) {
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file)
    return fileError("opened", path, errno);
  for (double end = uptime() + seconds;;) {
    if (flock(file.number(), LOCK_EX | LOCK_NB) == 0)
      return file;
    if (errno != EWOULDBLOCK && errno != EINTR)
      return fileError("locked", path, errno);
    if (uptime() >= end)
      return FileDescriptor();
    timespec pause{0, 2'000'000};
    nanosleep(&pause, nullptr);
  }
}

bool isLocked(const std::string &path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file && flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

Record recordOf(const TaskOrder &order) {
  Record record{"task", std::to_string(order.sequence), order.name, std::to_string(order.devicesPerNode)};
  add(record, order.nodes);
  add(record, order.words);
  record.insert(record.end(), {order.isTorchrun ? "torchrun" : "plain", order.directory, order.folder,
                               fmt::format("{}", order.notice)});
  add(record, order.environment);
  record.push_back(order.guard);
  if (order.shares > 0)
    record.push_back(std::to_string(order.shares));
  return record;
}

std::optional<TaskOrder> orderOf(const Record &record) {
  Reader reader(record);
  TaskOrder order;
  reader.expect("task");
  order.sequence = reader.number<int64_t>();
  order.name = reader.text();
  order.devicesPerNode = reader.number<int64_t>();
  order.nodes = reader.texts();
  order.words = reader.texts();
  order.isTorchrun = reader.text() == "torchrun";
  order.directory = reader.text();
  order.folder = reader.text();
  order.notice = reader.number<double>();
  order.environment = reader.pairs();
  if (!reader.isAtEnd()) // an older program wrote no guard
    order.guard = reader.text();
  if (!reader.isAtEnd())
    order.shares = reader.number<int64_t>();
  return reader.isAtEnd() ? std::optional(order) : std::nullopt;
}

Record recordOf(const TaskAssignment &assignment) {
  Record record{"assigned",        std::to_string(assignment.port),      assignment.directory,
                assignment.folder, fmt::format("{}", assignment.notice), std::to_string(assignment.ranks.size())};
  for (const TaskRank &rank : assignment.ranks) {
    record.push_back(rank.node);
    std::vector<std::string> devices;
    for (int64_t device : rank.devices)
      devices.push_back(std::to_string(device));
    add(record, devices);
    add(record, rank.words);
    add(record, rank.environment);
  }
  if (assignment.shares > 0)
    record.insert(record.end(), {std::to_string(assignment.shares), std::to_string(assignment.sharesPerDevice)});
  return record;
}

std::optional<TaskAssignment> assignmentOf(const Record &record) {
  Reader reader(record);
  TaskAssignment assignment;
  reader.expect("assigned");
  assignment.port = reader.number<int64_t>();
  assignment.directory = reader.text();
  assignment.folder = reader.text();
  assignment.notice = reader.number<double>();
  assignment.ranks.resize(reader.count());
  for (TaskRank &rank : assignment.ranks) {
    rank.node = reader.text();
    rank.devices.resize(reader.count());
    for (int64_t &device : rank.devices)
      device = reader.number<int64_t>();
    rank.words = reader.texts();
    rank.environment = reader.pairs();
  }
  if (!reader.isAtEnd()) {
    assignment.shares = reader.number<int64_t>();
    assignment.sharesPerDevice = reader.number<int64_t>();
  }
  return reader.isAtEnd() ? std::optional(assignment) : std::nullopt;
}

Record recordOf(const TaskEnd &end) {
  return {"end",
          std::to_string(int(end.state)),
          std::to_string(end.exitCode),
          fmt::format("{}", end.started),
          fmt::format("{}", end.ended),
          end.reason.substr(0, kSpareBytes / 4)};
}

std::optional<TaskEnd> endOf(const Record &record) {
  Reader reader(record);
  TaskEnd end;
  reader.expect("end");
  int state = reader.number<int>();
  end.exitCode = reader.number<int>();
  end.started = reader.number<double>();
  end.ended = reader.number<double>();
  end.reason = reader.text();
  if (!reader.isAtEnd() || state < int(EngineTask::State::Succeeded) || state > int(EngineTask::State::Lost))
    return {};
  end.state = EngineTask::State(state);
  return end;
}

Result<std::optional<TaskStop>> readStop(const std::string &taskFolder) {
  ACCORD_TRY(record, readRecord(taskFolder + "/stop"));
  if (!record)
    return std::optional<TaskStop>();
  Reader reader(*record);
  TaskStop stop;
  reader.expect("stop");
  stop.deadline = reader.number<double>();
  stop.hasNotice = reader.text() == "notice";
  if (!reader.isAtEnd()) // whatever it says, somebody wanted it to end
    return std::optional<TaskStop>(TaskStop{});
  return std::optional<TaskStop>(stop);
}

Result<void> writeStop(const std::string &taskFolder, double notice) {
  notice = notice > 0 ? std::min(notice, 1e9) : 0; // not a number: at once
  TaskStop stop{uptime() + notice, notice > 0};
  ACCORD_TRY(before, readStop(taskFolder));
  if (before && before->deadline <= stop.deadline)
    return {};
  return writeRecord(taskFolder + "/stop",
                     {"stop", fmt::format("{}", stop.deadline), stop.hasNotice ? "notice" : "at once"},
                     taskFolder + (before ? "/.stop2" : "/.stop1"));
}

Result<void> writeEnd(const std::string &taskFolder, const std::string &sharedFolder, const TaskEnd &end) {
  ACCORD_TRY(before, readRecord(taskFolder + "/end"));
  if (before)
    return {};
  const std::string made = sharedFolder + "/.exit", path = sharedFolder + "/exit";
  FileDescriptor file(open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file && writeAll(file.number(), std::to_string(end.exitCode) + "\n") && fsync(file.number()) == 0)
    rename(made.c_str(), path.c_str());
  else
    unlink(made.c_str());
  if (Result<void> done = writeRecord(taskFolder + "/end", recordOf(end), taskFolder + "/.end"); !done)
    return done;
  syncFolder(taskFolder);
  return {};
}

double wallTime() { return secondsOf(CLOCK_REALTIME); }
double uptime() { return secondsOf(CLOCK_BOOTTIME); }

std::string bootId() {
  std::optional<std::string> text = smallFile("/proc/sys/kernel/random/boot_id");
  return text ? llvm::StringRef(*text).trim().str() : std::string("unknown");
}

} // namespace accord::service
