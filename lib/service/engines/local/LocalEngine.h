// Tasks as processes of this machine, below supervisors (`TaskSupervisor.h`) that outlive the scheduler.
//
//   auto engine = localEngine({.nodes = {{"a1", "a100", 4}}, .folder = "/var/lib/accord/local", .prefix = "lab-"});
//
// After a restart of the scheduler tasks go on and are found again. One whose supervisor was killed, or whose machine
// was started again, is Lost; what is left of its processes is killed before its devices are given to others. A task
// whose processes end with 0 after they were asked to save is Stopped. Where one rank fails, the others are ended.
//
// A process escapes only if it begins a session of its own with an environment of its own and its supervisor is killed.
// Who stops the scheduler by a service manager tells that to leave its children alone (systemd: KillMode=process).
#pragma once
#include "lib/service/engines/local/FolderEngine.h"

namespace accord::service {

Result<std::unique_ptr<Engine>> localEngine(LocalOptions options);

} // namespace accord::service
