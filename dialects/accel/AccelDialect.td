// The machine dialect: what the `.accel` language says, one operation per block.
#ifndef ACCORD_ACCEL_DIALECT
#define ACCORD_ACCEL_DIALECT

include "dialects/interfaces/Builder.td"

def Accel_Dialect : Dialect {
  let name = "accel";
  let cppNamespace = "::accord::accel";
  let summary = "machines: accelerators, clusters and design spaces";
  let description = [{
    One operation per block of the `.accel` language. A block's keys stand in one dictionary, `entries`, checked against
    the table in `Schema.h`, which the front end uses too. Physical values are `#accel.quantity`, values left open for
    mining are `#accel.choice`. Where each key was written is kept in the operation's location (`KeyLocations.h`).
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

#endif
