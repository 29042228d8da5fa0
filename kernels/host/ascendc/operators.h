// What those who check calls are told: where a hand-written operator begins and ends inside of a kernel, and what the device library
// takes for granted.
#pragma once

#include "ascendc/bridge.h"

#define HPMOE_OPERATOR_BEGINS(...) AscendC::host::operatorBegins({__VA_ARGS__})
#define HPMOE_OPERATOR_ENDS() AscendC::host::operatorEnds()
#define HPMOE_GIVES_UP() AscendC::host::givesUp()
#define HPMOE_EXPECTS(...) AscendC::host::expects(__VA_ARGS__, #__VA_ARGS__)
