// AscendC for CPUs: the subset that generated kernels and the device library use.
//
// The name and the contents of this header are those of the device's own one, so that a kernel
// cannot tell which of the two it was compiled with. A call outside the subset does not exist.
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
