// The guard (lib/launch/Guard.h) before the program of a task.
#pragma once
#include "lib/service/engines/Engine.h"

namespace accord::service {

/// How a task looks at the devices of its nodes before it starts.
enum class GuardMode : uint8_t {
  Off,     ///< it does not
  On,      ///< a tool on the node has to show what was planned; the name of a type that the catalogue does not have is
           ///< taken for that of a product
  Virtual, ///< there are no devices: names of the engine alone are compared
  Auto     ///< On, for types of the catalogue and where there is a tool; else Virtual
};

/// "off", "on", "virtual", "auto"; nothing for another word.
std::optional<GuardMode> guardModeFrom(const std::string &word);

/// Makes the layout of a task one pool that says what its devices are called, so that launchers put the guard before it
/// (`LaunchLayout::Pool`). `engineType`: as the engine calls the type; empty: it has no names for types, so there is
/// nothing to compare and no guard.
void addGuard(TaskRequest &task, GuardMode mode, const std::string &engineType);

} // namespace accord::service
