// A disk on which the n-th write, flush or change of length fails: a layer between SQLite and the files.
#pragma once
#include <cstring>
#include <sqlite3.h>

namespace accord::service::testing {

class FailingDisk {
public:
  FailingDisk() {
    real() = sqlite3_vfs_find(nullptr);
    layer = *real();
    layer.zName = "failing";
    layer.szOsFile = int(sizeof(File)) + real()->szOsFile;
    layer.xOpen = open;
    sqlite3_vfs_register(&layer, 1);
  }
  ~FailingDisk() {
    sqlite3_vfs_unregister(&layer);
    sqlite3_vfs_register(real(), 1);
  }
  FailingDisk(const FailingDisk &) = delete;

  /// Of the operations from now on, number `at` fails with `code`, and with `forever` all behind it; 0: none.
  void fail(int at, bool forever, int code) { state() = {at, forever, code, 0}; }
  int operations() const { return state().count; }

private:
  struct File {
    sqlite3_file base;
    sqlite3_file *inner() { return reinterpret_cast<sqlite3_file *>(this + 1); }
  };
  struct State {
    int at = 0;
    bool forever = false;
    int code = SQLITE_IOERR, count = 0;
  };
  static sqlite3_vfs *&real() {
    static sqlite3_vfs *one = nullptr;
    return one;
  }
  static State &state() {
    static State one;
    return one;
  }
  static sqlite3_file *inner(sqlite3_file *file) { return reinterpret_cast<File *>(file)->inner(); }
  static bool fails() {
    State &one = state();
    ++one.count;
    return one.at > 0 && (one.count == one.at || (one.forever && one.count > one.at));
  }

  static int write(sqlite3_file *file, const void *data, int size, sqlite3_int64 at) {
    sqlite3_file *to = inner(file);
    if (!fails())
      return to->pMethods->xWrite(to, data, size, at);
    to->pMethods->xWrite(to, data, size / 2, at); // torn
    return state().code == SQLITE_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  }
  static int sync(sqlite3_file *file, int flags) {
    return fails() ? SQLITE_IOERR_FSYNC : inner(file)->pMethods->xSync(inner(file), flags);
  }
  static int truncate(sqlite3_file *file, sqlite3_int64 size) {
    return fails() ? SQLITE_IOERR_TRUNCATE : inner(file)->pMethods->xTruncate(inner(file), size);
  }
  static int open(sqlite3_vfs *, const char *name, sqlite3_file *file, int flags, int *outFlags) {
    static const sqlite3_io_methods kMethods = methods();
    int code = real()->xOpen(real(), name, inner(file), flags, outFlags);
    file->pMethods = inner(file)->pMethods ? &kMethods : nullptr;
    return code;
  }
  static sqlite3_io_methods methods() {
    using F = sqlite3_file;
    sqlite3_io_methods all = {};
    all.iVersion = 2;
    all.xClose = [](F *f) { return inner(f)->pMethods->xClose(inner(f)); };
    all.xRead = [](F *f, void *data, int size, sqlite3_int64 at) {
      return inner(f)->pMethods->xRead(inner(f), data, size, at);
    };
    all.xWrite = write;
    all.xTruncate = truncate;
    all.xSync = sync;
    all.xFileSize = [](F *f, sqlite3_int64 *size) { return inner(f)->pMethods->xFileSize(inner(f), size); };
    all.xLock = [](F *f, int kind) { return inner(f)->pMethods->xLock(inner(f), kind); };
    all.xUnlock = [](F *f, int kind) { return inner(f)->pMethods->xUnlock(inner(f), kind); };
    all.xCheckReservedLock = [](F *f, int *out) { return inner(f)->pMethods->xCheckReservedLock(inner(f), out); };
    all.xFileControl = [](F *f, int op, void *arg) { return inner(f)->pMethods->xFileControl(inner(f), op, arg); };
    all.xSectorSize = [](F *f) { return inner(f)->pMethods->xSectorSize(inner(f)); };
    all.xDeviceCharacteristics = [](F *f) { return inner(f)->pMethods->xDeviceCharacteristics(inner(f)); };
    all.xShmMap = [](F *f, int page, int size, int extend, void volatile **out) {
      return inner(f)->pMethods->xShmMap(inner(f), page, size, extend, out);
    };
    all.xShmLock = [](F *f, int offset, int n, int flags) {
      return inner(f)->pMethods->xShmLock(inner(f), offset, n, flags);
    };
    all.xShmBarrier = [](F *f) { inner(f)->pMethods->xShmBarrier(inner(f)); };
    all.xShmUnmap = [](F *f, int remove) { return inner(f)->pMethods->xShmUnmap(inner(f), remove); };
    return all;
  }

  sqlite3_vfs layer;
};

} // namespace accord::service::testing
