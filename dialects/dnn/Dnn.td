// Everything of the dnn dialect, for TableGen.
include "dialects/dnn/DnnStructure.td"
include "dialects/dnn/DnnContractions.td"
include "dialects/dnn/DnnElementwise.td"
include "dialects/dnn/DnnNormalization.td"
include "dialects/dnn/DnnMovement.td"
include "dialects/dnn/DnnSparse.td"
include "dialects/dnn/DnnComposite.td"
include "dialects/dnn/DnnLosses.td"
