// Where a hand-written operator begins and ends inside of a kernel, which is told to those who check calls.
#pragma once

#include "ascendc/bridge.h"

#define HPMOE_OPERATOR_BEGINS(...) AscendC::host::operatorBegins({__VA_ARGS__})
#define HPMOE_OPERATOR_ENDS() AscendC::host::operatorEnds()
