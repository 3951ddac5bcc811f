#include "lib/machine/calibration/CalibrationFile.h"
#include "lib/machine/operations/File.h"
#include "test/fuzz/readers/Reader.h"

/// What is accepted is written and read again without a change.
template <typename Read, typename Write> static void readText(std::string_view input, Read read, Write write) {
  using namespace accord::fuzz;
  auto file = read(input, "fuzz");
  if (!file)
    return expectPlaces(file.error());
  std::string text = write(*file);
  auto again = read(text, "fuzz");
  if (!again)
    broken("what was written cannot be read: " + again.error().front().message + "\n" + text);
  if (write(*again) != text)
    broken("a file changes when it is written and read again");
}

void accord::fuzz::readCalibration(std::string_view input) {
  readText(input, calibrate::readCalibration, calibrate::write);
  if (operations::isFile(input))
    readText(input, operations::readFile, operations::write);
}
