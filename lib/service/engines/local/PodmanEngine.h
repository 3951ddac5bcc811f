// Tasks as containers of Podman on this machine, one for each node of a task: NAME, NAME.1, NAME.2 …
//
//   auto engine = podmanEngine({.local = {.nodes = …, .folder = "/var/lib/accord/podman", .prefix = "lab-"},
//                               .image = "localhost/train:3", .network = "host"});
//
// Containers outlive the scheduler, and Podman gives each name once: what was started before a crash is the same task
// after it. `output` of the task's folder is their standard output and error. The folder and the directory of a task
// are mounted at their own paths; devices are those of the Container Device Interface, so programs see only theirs, as
// 0, 1 …. The image has to be here: it is never pulled, so that a start ends in time.
//
// A stop after its notice, and the end of the others where one rank fails, happen when the engine is asked for
// something; after a crash of the scheduler, when it is there again. SIGUSR1 goes to the first process of a container,
// and to those of the others that handle it. A container that somebody removed is Lost.
#pragma once
#include "lib/service/engines/local/FolderEngine.h"

namespace accord::service {

struct PodmanOptions {
  LocalOptions local;               ///< its time limit counts for each command of Podman
  std::string image;                ///< of all tasks
  std::string runtime;              ///< "runc", "crun"; empty: that of Podman's own configuration
  std::string network = "host";     ///< of another one than this, ranks find the first by the name of its container
  std::string device;               ///< kind of the Container Device Interface: "nvidia.com/gpu"; empty: none is given
  std::vector<std::string> options; ///< more words for `podman run`
  std::string program = "podman";
};

Result<std::unique_ptr<Engine>> podmanEngine(PodmanOptions options);

} // namespace accord::service
