// The files by which engines of one machine remember a task. What is in them holds after a crash at any moment.
//
//   FOLDER/lock                 of whoever changes something here
//   FOLDER/drained              names of nodes and reasons
//   FOLDER/tasks/NAME/request   what was asked for; the folder appears under its name when this is in it
//   FOLDER/tasks/NAME/assigned  the devices that it has got, and what is started on each node
//   FOLDER/tasks/NAME/lock      held by its supervisor for as long as that lives
//   FOLDER/tasks/NAME/began     a supervisor has begun: none begins again
//   FOLDER/tasks/NAME/stop      until when it may save
//   FOLDER/tasks/NAME/end       how it ended; its devices are free
//
// A file is a record: strings, each ended by a zero byte. It appears whole under its name, or not at all. Files that
// have to be written when a disk is full are laid out at submission and renamed later.
#pragma once
#include "lib/service/engines/Engine.h"
#include <optional>

namespace accord::service {

/// A descriptor that is closed when it goes out of scope.
class FileDescriptor {
public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor &operator=(FileDescriptor &&other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor();
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

private:
  int number_ = -1;
};

using Record = std::vector<std::string>;

/// Of a file that could not be used: A1203 with its path and the word of `errno`.
Error fileError(const std::string &what, const std::string &path, int reason);

/// The record of a file; nothing if there is no file. A1203 if it cannot be read, or is not whole.
Result<std::optional<Record>> readRecord(const std::string &path);
/// Replaces a file; after a crash of the machine it is the one before or this. `spare`: a file in the same folder whose
/// blocks are used for what is at most `kSpareBytes` long, and which is gone then; empty, or not there: a new file.
Result<void> writeRecord(const std::string &path, const Record &record, const std::string &spare = {});
constexpr size_t kSpareBytes = 4096;
Result<void> writeSpare(const std::string &path);
/// The names of a folder are on the disk when this returns; file systems that cannot say so are believed.
void syncFolder(const std::string &path);
/// The text of a small file; nothing if it cannot be read.
std::optional<std::string> smallFile(const std::string &path, size_t max = size_t{1} << 16);

/// Takes the lock of a file, which is made if it is not there; it is free again when the descriptor is closed or its
/// process dies. No descriptor, and no error: somebody else still had it after `seconds`.
Result<FileDescriptor> takeLock(const std::string &path, double seconds);
/// Whether somebody has the lock of a file. False if there is no file.
bool isLocked(const std::string &path);

/// One process of a task for each node, in the order of ranks.
struct TaskRank {
  std::string node;
  std::vector<int64_t> devices; ///< numbers on the machine
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;
};

/// What `request` says.
struct TaskOrder {
  int64_t sequence = 0; ///< earlier tasks have smaller ones
  std::string name;
  std::vector<std::string> nodes;
  int64_t devicesPerNode = 1;
  int64_t shares = 0;             ///< of one device; 0: whole devices
  std::vector<std::string> words; ///< to be started as it is, or by torchrun
  bool isTorchrun = false;
  std::string guard; ///< a function of the shell that goes before (lib/launch/Guard.h); empty: none
  std::string directory, folder;
  double notice = 30;
  std::vector<std::pair<std::string, std::string>> environment;
};

/// What `assigned` says.
struct TaskAssignment {
  int64_t port = 0; ///< where the ranks meet
  std::string directory, folder;
  double notice = 30;
  std::vector<TaskRank> ranks;
  /// Of its device it has so many shares of so many; 0: its devices are its own.
  int64_t shares = 0, sharesPerDevice = 1;
};

/// What `end` says.
struct TaskEnd {
  EngineTask::State state = EngineTask::State::Lost;
  int exitCode = -1;
  double started = 0, ended = 0;
  std::string reason;
};

Record recordOf(const TaskOrder &order);
Record recordOf(const TaskAssignment &assignment);
Record recordOf(const TaskEnd &end);
/// Nothing if it is none.
std::optional<TaskOrder> orderOf(const Record &record);
std::optional<TaskAssignment> assignmentOf(const Record &record);
std::optional<TaskEnd> endOf(const Record &record);

/// What `stop` says: a moment of the clock that counts from the start of the machine. Whether there was any notice
/// decides if a task is asked to save.
struct TaskStop {
  double deadline = 0; ///< seconds
  bool hasNotice = false;
};
Result<std::optional<TaskStop>> readStop(const std::string &taskFolder);
/// Keeps an earlier end that is there.
Result<void> writeStop(const std::string &taskFolder, double notice);

/// Makes the file `exit` of the folder that the task shares with the scheduler, as far as it can be written, and then
/// `end`, which says how the task ended, also where the disk is full. Once: a second end changes nothing.
Result<void> writeEnd(const std::string &taskFolder, const std::string &sharedFolder, const TaskEnd &end);

double wallTime();    ///< seconds since 1970
double uptime();      ///< seconds since the start of the machine, with those in which it slept
std::string bootId(); ///< another one after each start of the machine

} // namespace accord::service
