// accord serve: the scheduler process of a cluster, after its command line is read.
#pragma once
#include "lib/driver/Options.h"

namespace accord {

struct ServeOptions {
  std::string engine = "local";
  std::vector<std::string> engineOptions; ///< key=value, see `makeEngine`
  std::string state = "accord-state";     ///< a folder, for the database of SQLite and the folders of tasks
  std::string database;                   ///< of PostgreSQL: a URL; empty: SQLite in `state`
  std::string listen = "127.0.0.1:8421";  ///< ADDRESS:PORT; port 0 is any that is free
  std::string url;                        ///< at which tasks and people reach it; empty: as it listens
  std::string certificate, key;           ///< of TLS, in PEM
  std::string name;                       ///< of the cluster; empty: as described
  bool isOpen = false;                    ///< without tokens
  bool hasOpenMetrics = false;
  double interval = 1, planLimit = 5; ///< seconds
  int64_t period = 0;                 ///< seconds of a period of plans; 0: by the length of what is planned
  std::string backup;                 ///< writes a copy of the database to this file, and ends
  bool checks = false;                ///< checks the database, and ends
};

/// Runs until SIGTERM or SIGINT. `options.file` describes the cluster; empty: nothing does. The exit status.
int serve(const Options &options, const ServeOptions &how);

} // namespace accord
