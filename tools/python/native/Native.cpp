// accord._native: the commands of Accord in the process of Python. A command runs in a thread of its own without the
// lock of the interpreter, so that other threads of Python go on and a Ctrl-C is seen. It needs the stable interface of
// CPython alone, so that one file serves every Python from 3.9.
// Of CPython 3.9.
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000
#endif
#define PY_SSIZE_T_CLEAN
#include "lib/driver/Accord.h"
#include "lib/driver/simulation/JobsEnvironment.h"
#include <Python.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace {

constexpr auto kLook = std::chrono::milliseconds(50); ///< between two looks at signals and `stop`

// ------------------------------------------------------------------- objects

struct Unref {
  void operator()(PyObject *object) const { Py_DECREF(object); }
};
/// A reference that is one's own; null where an exception of Python is set.
using Object = std::unique_ptr<PyObject, Unref>;

/// A new reference to what somebody else has.
Object again(PyObject *object) {
  Py_XINCREF(object);
  return Object(object);
}

/// Text as the program prints it; bytes that are no UTF-8 become the mark of such.
Object text(const std::string &value) {
  return Object(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace"));
}
Object number(int64_t value) { return Object(PyLong_FromLongLong(value)); }

template <typename T, typename Make> Object listOf(const std::vector<T> &values, Make make) {
  Object list(PyList_New(0));
  for (const T &value : values)
    if (Object one = list ? make(value) : nullptr; !one || PyList_Append(list.get(), one.get()) < 0)
      return nullptr;
  return list;
}

/// The types of what is answered: tuples whose elements have names.
PyTypeObject *answerType = nullptr, *diagnosticType = nullptr, *noteType = nullptr;

#define PLACE_FIELDS                                                                                                   \
  {"file", "the file as the command was told it; empty without a place"}, {"line", "from 1; 0 without a place"},       \
      {"column", "from 1; 0 without a place"}, {"endLine", "of the last character"},                                   \
      {"endColumn", "behind the last character"}

PyStructSequence_Field noteFields[] = {{"message", "what it says"}, PLACE_FIELDS, {nullptr, nullptr}};
PyStructSequence_Field diagnosticFields[] = {
    {"severity", "error or warning"}, {"code", "A0101"},         {"message", "what it says"}, PLACE_FIELDS,
    {"help", "what to do about it"},  {"notes", "other places"}, {nullptr, nullptr}};
PyStructSequence_Field answerFields[] = {
    {"status", "0 done, 1 wrong input, 2 infeasible, 3 internal error, 4 stopped before there was an answer"},
    {"output", "standard output"},
    {"messages", "standard error"},
    {"diagnostics", "the errors and warnings among the messages"},
    {"stopped", "whether its search was ended before it was done"},
    {nullptr, nullptr}};
PyStructSequence_Desc noteOf = {"accord._native.Note", "A place that belongs to a diagnostic.", noteFields, 6};
PyStructSequence_Desc diagnosticOf = {"accord._native.Diagnostic", "An error or a warning.", diagnosticFields, 10};
PyStructSequence_Desc answerOf = {"accord._native.Answer", "What a command answers, as the program `accord` does.",
                                  answerFields, 5};

Object tupleOf(PyTypeObject *type, std::vector<Object> values) {
  Object tuple(PyStructSequence_New(type));
  for (size_t i = 0; tuple && i < values.size(); ++i) {
    if (!values[i])
      return nullptr;
    PyStructSequence_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), values[i].release());
  }
  return tuple;
}

template <typename... More> std::vector<Object> valuesOf(More... more) {
  std::vector<Object> values;
  (values.push_back(std::move(more)), ...);
  return values;
}

void addPlace(std::vector<Object> &values, const accord::ReportedPlace &place) {
  values.push_back(text(place.file));
  for (int64_t one : {place.line, place.column, place.endLine, place.endColumn})
    values.push_back(number(one));
}

Object objectOf(const accord::ReportedNote &note) {
  std::vector<Object> values = valuesOf(text(note.message));
  addPlace(values, note.place);
  return tupleOf(noteType, std::move(values));
}

Object objectOf(const accord::ReportedDiagnostic &one) {
  std::vector<Object> values = valuesOf(text(one.isError ? "error" : "warning"), text(one.code), text(one.message));
  addPlace(values, one.place);
  values.push_back(text(one.help));
  values.push_back(listOf(one.notes, [](const accord::ReportedNote &note) { return objectOf(note); }));
  return tupleOf(diagnosticType, std::move(values));
}

Object objectOf(const accord::Answer &answer) {
  return tupleOf(answerType, valuesOf(number(answer.status), text(answer.output), text(answer.messages),
                                      listOf(answer.diagnostics,
                                             [](const accord::ReportedDiagnostic &one) { return objectOf(one); }),
                                      Object(PyBool_FromLong(answer.stopped))));
}

// ----------------------------------------------------------------- arguments

/// Text of Python, with the bytes of a path that are no UTF-8. False where it is none, with the exception set.
bool take(PyObject *object, const char *what, std::string &value) {
  if (!PyUnicode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "run(): %s is no text: %R", what, object);
    return false;
  }
  Object bytes(PyUnicode_AsEncodedString(object, "utf-8", "surrogateescape"));
  if (!bytes)
    return false;
  value.assign(PyBytes_AsString(bytes.get()), static_cast<size_t>(PyBytes_Size(bytes.get())));
  return true;
}

bool takeArguments(PyObject *object, std::vector<std::string> &arguments) {
  if (PyUnicode_Check(object)) {
    PyErr_SetString(PyExc_TypeError, "run(): 'arguments' is one text: write it as a list of words");
    return false;
  }
  Object list(PySequence_List(object));
  for (Py_ssize_t i = 0; list && i < PyList_Size(list.get()); ++i)
    if (!take(PyList_GetItem(list.get(), i), "an argument", arguments.emplace_back()))
      return false;
  return list != nullptr;
}

bool takeFiles(PyObject *object, std::map<std::string, std::string> &files) {
  if (object == Py_None)
    return true;
  Object items(PyMapping_Items(object));
  for (Py_ssize_t i = 0; items && i < PyList_Size(items.get()); ++i) {
    PyObject *pair = PyList_GetItem(items.get(), i);
    std::string path, content;
    if (!take(PyTuple_GetItem(pair, 0), "the path of a file", path) ||
        !take(PyTuple_GetItem(pair, 1), "the content of a file", content))
      return false;
    files[path] = content;
  }
  return items != nullptr;
}

// ------------------------------------------------------------------ commands

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
    try {
      std::thread([made, arguments = std::move(arguments), files = std::move(files)]() mutable {
        made->work(arguments, std::move(files));
        made.reset();
        --running;
      }).detach();
    } catch (...) {
      --running;
      throw;
    }
    return made;
  }

  void stop() { stops_ = true; }
  /// Whether it is over after a moment.
  bool wait() {
    std::unique_lock lock(mutex_);
    return over_.wait_for(lock, kLook, [this] { return isOver_; });
  }
  /// Throws what the command threw.
  accord::Answer take() {
    if (thrown_)
      std::rethrow_exception(thrown_);
    return std::move(answer_);
  }

private:
  void work(const std::vector<std::string> &arguments, std::map<std::string, std::string> files) {
    accord::Answer answer;
    std::exception_ptr thrown;
    try {
      accord::RunOptions options;
      options.files = std::move(files);
      options.stop = [this] { return stops_.load(); };
      answer = accord::run(arguments, std::move(options));
    } catch (...) {
      thrown = std::current_exception();
    }
    std::lock_guard lock(mutex_);
    answer_ = std::move(answer), thrown_ = thrown, isOver_ = true;
    over_.notify_all();
  }

  std::atomic<bool> stops_ = false;
  std::mutex mutex_;
  std::condition_variable over_;
  bool isOver_ = false;
  accord::Answer answer_;
  std::exception_ptr thrown_;
};

/// An exception of Python that waits until the command has ended.
class Raised {
public:
  explicit operator bool() const { return type_ != nullptr; }
  /// Takes over the exception that is set, unless another came before it.
  void fetch() {
    if (*this)
      return PyErr_Clear();
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    type_.reset(type), value_.reset(value), trace_.reset(trace);
  }
  bool isInterrupt() const { return PyErr_GivenExceptionMatches(type_.get(), PyExc_KeyboardInterrupt); }
  /// Sets it again, with the answer of the command.
  void raise(const accord::Answer &answer) {
    Object object = objectOf(answer);
    if (!object || PyObject_SetAttrString(value_.get(), "answer", object.get()) < 0)
      PyErr_Clear(); // an exception whose class takes no attributes
    PyErr_Restore(type_.release(), value_.release(), trace_.release());
  }

private:
  Object type_, value_, trace_;
};

/// Whether `stop` says so. False with an exception set where it raised one.
bool asksToStop(PyObject *stop) {
  Object said(PyObject_CallObject(stop, nullptr));
  return said && PyObject_IsTrue(said.get()) == 1;
}

/// Waits for a command, and asks meanwhile who may stop it. False with an exception set at a second Ctrl-C: the command
/// then goes on alone.
bool waitFor(Running &command, PyObject *stop, Raised &raised) {
  for (bool asks = stop != Py_None, interrupted = false;;) {
    bool over = false;
    PyThreadState *state = PyEval_SaveThread();
    over = command.wait();
    PyEval_RestoreThread(state);
    if (over)
      return true;
    if (PyErr_CheckSignals() != 0) {
      command.stop();
      if (interrupted)
        return false;
      interrupted = true;
      raised.fetch();
    }
    if (asks && asksToStop(stop))
      command.stop(), asks = false;
    else if (PyErr_Occurred())
      raised.fetch(), command.stop(), asks = false;
  }
}

PyObject *runWith(PyObject *argumentList, PyObject *fileMap, PyObject *stop) {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> files;
  if (stop != Py_None && !PyCallable_Check(stop))
    return PyErr_SetString(PyExc_TypeError, "run(): 'stop' is neither None nor can it be called"), nullptr;
  if (!takeArguments(argumentList, arguments) || !takeFiles(fileMap, files))
    return nullptr;
  Raised raised;
  auto command = Running::start(std::move(arguments), std::move(files));
  if (!waitFor(*command, stop, raised))
    return nullptr;
  accord::Answer answer = command->take();
  const bool isBest = answer.stopped && (answer.status == 0 || answer.status == 2);
  if (raised && !(raised.isInterrupt() && isBest))
    return raised.raise(answer), nullptr;
  return objectOf(answer).release();
}

PyObject *run(PyObject *, PyObject *positional, PyObject *named) {
  static const char *names[] = {"arguments", "files", "stop", nullptr};
  PyObject *arguments = nullptr, *files = Py_None, *stop = Py_None;
  if (!PyArg_ParseTupleAndKeywords(positional, named, "O|OO:run", const_cast<char **>(names), &arguments, &files,
                                   &stop))
    return nullptr;
  Object held[] = {again(arguments), again(files), again(stop)};
  try {
    return runWith(arguments, files, stop);
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  } catch (const std::exception &error) {
    return PyErr_SetString(PyExc_RuntimeError, error.what()), nullptr;
  }
}

// --------------------------------------------------------------- environment

constexpr const char *kEnvironment = "accord._native.environment";

Object bytesOf(const std::vector<float> &values) {
  return Object(PyBytes_FromStringAndSize(reinterpret_cast<const char *>(values.data()),
                                          static_cast<Py_ssize_t>(values.size() * sizeof(float))));
}

/// (features of jobs, features of the cluster, jobs, now, reward, is over, was shielded), or null with an exception.
PyObject *stateOf(const accord::EnvironmentState &state) {
  const Object jobs = bytesOf(state.jobs), cluster = bytesOf(state.cluster);
  return jobs && cluster ? Py_BuildValue("(OOnddii)", jobs.get(), cluster.get(), static_cast<Py_ssize_t>(state.count),
                                         state.now, state.reward, int(state.isOver), int(state.wasShielded))
                         : nullptr;
}

/// What `work` returns; its exceptions become Python's.
template <typename Work> PyObject *guarded(Work work) {
  try {
    return work();
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  } catch (const std::invalid_argument &error) {
    return PyErr_SetString(PyExc_ValueError, error.what()), nullptr;
  } catch (const std::exception &error) {
    return PyErr_SetString(PyExc_RuntimeError, error.what()), nullptr;
  }
}

accord::JobsEnvironment *environmentOf(PyObject *capsule) {
  return static_cast<accord::JobsEnvironment *>(PyCapsule_GetPointer(capsule, kEnvironment));
}

PyObject *environment(PyObject *, PyObject *arguments) {
  const char *trace = "", *profiles = "", *servers = "", *speeds = "";
  accord::EnvironmentOptions options;
  double round = 0, restart = 0; // below 0: as the trace has it
  if (!PyArg_ParseTuple(arguments, "ssssIdddId:environment", &trace, &profiles, &servers, &speeds, &options.draw,
                        &options.load, &round, &restart, &options.jobs, &options.shield))
    return nullptr;
  options.trace = trace, options.profiles = profiles, options.servers = servers, options.speeds = speeds;
  if (round >= 0)
    options.round = round;
  if (restart >= 0)
    options.restart = restart;
  return guarded([&]() -> PyObject * {
    auto made = std::make_unique<accord::JobsEnvironment>(options);
    PyObject *capsule = PyCapsule_New(made.get(), kEnvironment, [](PyObject *object) { delete environmentOf(object); });
    if (capsule)
      (void)made.release(); // the capsule has it
    return capsule;
  });
}

PyObject *resetEnvironment(PyObject *, PyObject *arguments) {
  PyObject *capsule = nullptr;
  unsigned long long seed = 0;
  if (!PyArg_ParseTuple(arguments, "OK:reset", &capsule, &seed))
    return nullptr;
  accord::JobsEnvironment *made = environmentOf(capsule);
  return made ? guarded([&] { return stateOf(made->reset(seed)); }) : nullptr;
}

/// Numbers of bytes, as many as there are whole ones.
template <typename T> std::vector<T> numbersOf(const char *bytes, Py_ssize_t size) {
  std::vector<T> numbers(static_cast<size_t>(size) / sizeof(T));
  if (!numbers.empty())
    std::memcpy(numbers.data(), bytes, numbers.size() * sizeof(T));
  return numbers;
}

PyObject *stepEnvironment(PyObject *, PyObject *arguments) {
  PyObject *capsule = nullptr;
  const char *action = nullptr;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(arguments, "Oy#:step", &capsule, &action, &size))
    return nullptr;
  accord::JobsEnvironment *made = environmentOf(capsule);
  return made ? guarded([&] { return stateOf(made->step(numbersOf<double>(action, size))); }) : nullptr;
}

constexpr const char *kActor = "accord._native.actor";

accord::JobsActor *actorOf(PyObject *capsule) {
  return static_cast<accord::JobsActor *>(PyCapsule_GetPointer(capsule, kActor));
}

PyObject *actor(PyObject *, PyObject *arguments) {
  const char *path = nullptr;
  if (!PyArg_ParseTuple(arguments, "s:actor", &path))
    return nullptr;
  return guarded([&]() -> PyObject * {
    auto made = std::make_unique<accord::JobsActor>(path);
    PyObject *capsule = PyCapsule_New(made.get(), kActor, [](PyObject *object) { delete actorOf(object); });
    if (capsule)
      (void)made.release(); // the capsule has it
    return capsule;
  });
}

PyObject *weigh(PyObject *, PyObject *arguments) {
  PyObject *capsule = nullptr;
  const char *jobs = nullptr, *cluster = nullptr;
  Py_ssize_t jobsSize = 0, clusterSize = 0, count = 0;
  if (!PyArg_ParseTuple(arguments, "Oy#y#n:weigh", &capsule, &jobs, &jobsSize, &cluster, &clusterSize, &count))
    return nullptr;
  const accord::JobsActor *made = actorOf(capsule);
  return made ? guarded([&] {
    const std::vector<double> weights = made->logWeights(
        numbersOf<float>(jobs, jobsSize), numbersOf<float>(cluster, clusterSize), static_cast<size_t>(count));
    return listOf(weights, [](double weight) { return Object(PyFloat_FromDouble(weight)); }).release();
  })
              : nullptr;
}

PyObject *environmentFeatures(PyObject *, PyObject *) {
  const auto ofText = [](const std::string &value) { return text(value); };
  const Object jobs = listOf(accord::JobsEnvironment::jobFeatures(), ofText),
               cluster = listOf(accord::JobsEnvironment::clusterFeatures(), ofText);
  return jobs && cluster ? PyTuple_Pack(2, jobs.get(), cluster.get()) : nullptr;
}

PyObject *version(PyObject *, PyObject *) { return text(accord::version()).release(); }
PyObject *catalog(PyObject *, PyObject *) { return text(accord::catalogFolder()).release(); }

PyCFunction withNames(PyCFunctionWithKeywords function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef functions[] = {
    {"run", withNames(run), METH_VARARGS | METH_KEYWORDS,
     "run(arguments, files={}, stop=None)\n--\n\n"
     "Runs a command, as in run(['compile', 'a.dnn'], {'a.dnn': text}). `files` are texts by path, which hide files on "
     "disk. `stop` is called twenty times a second; once it returns true, the search ends with its best answer so far. "
     "Ctrl-C does the same; where no answer is left, KeyboardInterrupt is raised, with what was printed as its "
     "`answer`. A second Ctrl-C raises it at once."},
    {"version", version, METH_NOARGS, "version()\n--\n\nVersion of Accord."},
    {"catalog", catalog, METH_NOARGS, "catalog()\n--\n\nFolder of the machines, models and tables that are shipped."},
    {"environment", environment, METH_VARARGS,
     "environment(trace, profiles, servers, speeds, draw, load, round, restart, jobs, shield)\n--\n\n"
     "Simulations of jobs whose decisions the caller takes; accord.JobsEnvironment says what is what. ValueError says "
     "what is wrong."},
    {"reset", resetEnvironment, METH_VARARGS, "reset(environment, seed)\n--\n\nBegins a simulation; its first state."},
    {"step", stepEnvironment, METH_VARARGS,
     "step(environment, action)\n--\n\nRuns a round; `action` has the bytes of a double for each job."},
    {"actor", actor, METH_VARARGS, "actor(path)\n--\n\nA trained actor; ValueError says what is wrong of its file."},
    {"weigh", weigh, METH_VARARGS,
     "weigh(actor, jobs, cluster, count)\n--\n\nIts log weights of `count` jobs; features are the bytes of floats."},
    {"environment_features", environmentFeatures, METH_NOARGS,
     "environment_features()\n--\n\nNames of the features of jobs, and of the cluster."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_native",
                          "The commands of Accord in this process.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

} // namespace

PyMODINIT_FUNC PyInit__native() {
  Object module(PyModule_Create(&definition));
  if (!module)
    return nullptr;
  const struct {
    const char *name;
    PyStructSequence_Desc *fields;
    PyTypeObject **type;
  } types[] = {
      {"Note", &noteOf, &noteType}, {"Diagnostic", &diagnosticOf, &diagnosticType}, {"Answer", &answerOf, &answerType}};
  for (const auto &one : types) {
    if (!*one.type)
      *one.type = PyStructSequence_NewType(one.fields);
    PyObject *type = reinterpret_cast<PyObject *>(*one.type);
    if (!type)
      return nullptr;
    Py_INCREF(type); // which the module takes
    if (PyModule_AddObject(module.get(), one.name, type) < 0)
      return Py_DECREF(type), nullptr;
  }
  on_exit(endAtOnce, nullptr);
  return module.release();
}
