// AscendC for CPUs: the subset that generated kernels and the device library use.
//
// The header has the device's name and declarations, so that a kernel can't tell which one it was compiled with. Calls
// outside the subset don't exist.
#pragma once

#include "ascendc/base.h"
#include "ascendc/copy.h"
#include "ascendc/cube.h"
#include "ascendc/enums.h"
#include "ascendc/numbers.h"
#include "ascendc/operators.h"
#include "ascendc/params.h"
#include "ascendc/scalar.h"
#include "ascendc/sync.h"
#include "ascendc/tensor.h"
#include "ascendc/vector.h"
#include "ascendc/vector_more.h"
