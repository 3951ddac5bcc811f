// What a process owes its caller whatever its command does: whole output, or a sentence and an exit status that say why
// not.
#pragma once

namespace accord {

/// Opens what of the standard streams the caller closed, so that no file takes its number. Where memory is exhausted,
/// or a library gives up, the process ends with one sentence and `kInternal`. Called before anything else.
void prepareProcess();

/// Flushes standard output. Returns `status`, or `kWrongInput` after a sentence where it cannot be written.
int closeOutput(int status);

} // namespace accord
