// accord._native: the commands of Accord in the process of Python. A command runs in a thread of its own without the
// lock of the interpreter, so that other threads of Python go on and a Ctrl-C is seen.
#include "lib/driver/Accord.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <thread>
#include <unistd.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

constexpr auto kLook = std::chrono::milliseconds(50); ///< between two looks at signals and `stop`

/// Commands that run; after a second Ctrl-C, without anybody who waits for them.
std::atomic<int> running = 0;

/// Where such a command still runs, the process ends before what it uses is destroyed.
void endAtOnce(int status, void *) {
  if (running == 0)
    return;
  std::fflush(nullptr);
  _exit(status);
}

/// A command in its thread.
class Running {
public:
  static std::shared_ptr<Running> start(std::vector<std::string> arguments, std::map<std::string, std::string> files) {
    auto made = std::make_shared<Running>();
    ++running;
    std::thread([made, arguments = std::move(arguments), files = std::move(files)]() mutable {
      accord::RunOptions options;
      options.files = std::move(files);
      options.stop = [&] { return made->stops_.load(); };
      accord::Answer answer = accord::run(arguments, std::move(options));
      made->finish(std::move(answer));
      made.reset();
      --running;
    }).detach();
    return made;
  }

  void stop() { stops_ = true; }
  /// Whether it is over after a moment.
  bool wait() {
    std::unique_lock lock(mutex_);
    return over_.wait_for(lock, kLook, [this] { return answer_.has_value(); });
  }
  accord::Answer take() { return std::move(*answer_); }

private:
  void finish(accord::Answer answer) {
    std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    over_.notify_all();
  }

  std::atomic<bool> stops_ = false;
  std::mutex mutex_;
  std::condition_variable over_;
  std::optional<accord::Answer> answer_;
};

accord::Answer run(std::vector<std::string> arguments, std::map<std::string, std::string> files, nb::object stop) {
  if (!stop.is_none() && !PyCallable_Check(stop.ptr()))
    throw nb::type_error("run(): 'stop' is neither None nor can it be called");
  auto command = Running::start(std::move(arguments), std::move(files));
  std::optional<nb::python_error> raised; // by a signal, or by `stop`
  bool asks = !stop.is_none();
  for (;;) {
    bool over = false;
    {
      nb::gil_scoped_release release;
      over = command->wait();
    }
    if (over)
      break;
    if (PyErr_CheckSignals() != 0) {
      if (raised)
        throw nb::python_error(); // the second: the command goes on alone
      raised.emplace();
      command->stop();
    }
    if (!asks)
      continue;
    try {
      if (nb::cast<bool>(nb::bool_(stop())))
        command->stop(), asks = false;
    } catch (nb::python_error &error) {
      if (!raised)
        raised.emplace(error);
      command->stop(), asks = false;
    }
  }
  accord::Answer answer = command->take();
  const bool isBest = answer.stopped && (answer.status == 0 || answer.status == 2);
  if (raised && !(raised->matches(PyExc_KeyboardInterrupt) && isBest)) {
    nb::setattr(raised->value(), "answer", nb::cast(std::move(answer)));
    throw nb::python_error(*raised);
  }
  return answer;
}

template <typename T> void addPlace(nb::class_<T> &type) {
  type.def_prop_ro("file", [](const T &one) { return one.place.file; })
      .def_prop_ro("line", [](const T &one) { return one.place.line; })
      .def_prop_ro("column", [](const T &one) { return one.place.column; })
      .def_prop_ro("endLine", [](const T &one) { return one.place.endLine; })
      .def_prop_ro("endColumn", [](const T &one) { return one.place.endColumn; });
}

} // namespace

NB_MODULE(_native, module) {
  module.doc() = "The commands of Accord in this process.";
  auto note = nb::class_<accord::ReportedNote>(module, "Note", "A place that belongs to a diagnostic.");
  note.def_ro("message", &accord::ReportedNote::message);
  addPlace(note);
  auto diagnostic = nb::class_<accord::ReportedDiagnostic>(
      module, "Diagnostic", "An error or a warning; without a place, file is empty and line is 0.");
  diagnostic
      .def_prop_ro("severity", [](const accord::ReportedDiagnostic &one) { return one.isError ? "error" : "warning"; })
      .def_ro("code", &accord::ReportedDiagnostic::code)
      .def_ro("message", &accord::ReportedDiagnostic::message)
      .def_ro("help", &accord::ReportedDiagnostic::help)
      .def_ro("notes", &accord::ReportedDiagnostic::notes);
  addPlace(diagnostic);
  nb::class_<accord::Answer>(module, "Answer", "What a command answers, as the program `accord` does.")
      .def_ro("status", &accord::Answer::status,
              "0 done, 1 wrong input, 2 infeasible, 3 internal error, 4 stopped before there was an answer")
      .def_ro("output", &accord::Answer::output, "standard output")
      .def_ro("messages", &accord::Answer::messages, "standard error")
      .def_ro("diagnostics", &accord::Answer::diagnostics)
      .def_ro("stopped", &accord::Answer::stopped, "whether its search was ended before it was done");
  module.def("run", &run, "arguments"_a, "files"_a = std::map<std::string, std::string>(), "stop"_a = nb::none(),
             "Runs a command, as in run(['compile', 'a.dnn'], {'a.dnn': text}). `files` are texts by path, which hide "
             "files on disk. `stop` is called twenty times a second; once it returns true, the search ends with its "
             "best answer so far. Ctrl-C does the same; where no answer is left, KeyboardInterrupt is raised, with "
             "what was printed as its `answer`. A second Ctrl-C raises it at once.");
  module.def("version", &accord::version);
  module.def("catalog", &accord::catalogFolder, "Folder of the machines, models and tables that are shipped.");
  nb::set_leak_warnings(false); // of answers that live as long as the interpreter
  on_exit(endAtOnce, nullptr);
}
