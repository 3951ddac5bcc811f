// What this plugin adds to Accord.
#pragma once

namespace custom {
void registerDropDropout();
void registerLaunchFloor();
} // namespace custom
