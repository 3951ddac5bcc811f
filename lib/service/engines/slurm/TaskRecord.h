// What an adapter writes down of its tasks: a folder for each, with small files that are there whole or not at all.
#pragma once
#include "lib/support/Result.h"
#include <string>
#include <vector>

namespace accord::service {

/// Writes a file so that it is whole and on the disk, or as it was before. A1203 if that cannot be done.
Result<void> writeWhole(const std::string &path, const std::string &text);

/// The file without blanks at its end; empty if it is not there. At most 1 MiB.
std::string readWhole(const std::string &path);

/// Held until it goes out of scope; its process may die with it.
class TaskLock {
public:
  explicit TaskLock(int descriptor = -1) : descriptor_(descriptor) {}
  TaskLock(TaskLock &&other) noexcept;
  TaskLock &operator=(TaskLock &&other) noexcept;
  ~TaskLock();

private:
  int descriptor_;
};

class TaskRecord {
public:
  /// Nothing is made yet.
  TaskRecord(const std::string &folder, const std::string &name) : name_(name), folder_(folder + "/" + name) {}

  const std::string &name() const { return name_; }
  bool exists() const;
  std::string read(const char *file) const { return readWhole(folder_ + "/" + file); }
  std::vector<std::string> lines(const char *file) const;
  /// Makes the folder if it is not there.
  Result<void> write(const char *file, const std::string &text) const;
  /// Nobody else has it, in this process or another. Makes the folder. A1203 after so many seconds.
  Result<TaskLock> lock(double timeLimit) const;
  void remove() const;

  /// Of the file `exit` in the task's own folder, whose path is in `folder`. -1: it is not there, or is no number.
  int exitCode() const;
  /// When it was written, in seconds since 1970; 0: it is not there.
  double exitTime() const;
  bool isForgotten() const { return !read("forgotten").empty(); }

private:
  std::string name_, folder_;
};

/// Names of all tasks below a folder, in order. A1203 if it cannot be read.
Result<std::vector<std::string>> recordedTasks(const std::string &folder);

} // namespace accord::service
