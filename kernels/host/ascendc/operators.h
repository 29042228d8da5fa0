// Hooks of the device library for implementations that check calls: the start and the end of a hand-written operator inside
// a kernel, and conditions that the library relies on.
#pragma once

#include "ascendc/bridge.h"

#define HPMOE_OPERATOR_BEGINS(...) AscendC::host::operatorBegins({__VA_ARGS__})
#define HPMOE_OPERATOR_ENDS() AscendC::host::operatorEnds()
#define HPMOE_GIVES_UP() AscendC::host::givesUp()
#define HPMOE_EXPECTS(...) AscendC::host::expects(__VA_ARGS__, #__VA_ARGS__)
