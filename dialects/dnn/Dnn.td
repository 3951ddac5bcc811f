// Everything of the dnn dialect, for TableGen.
include "dialects/dnn/DnnStructure.td"
