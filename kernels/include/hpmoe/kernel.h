// The device library. Generated kernels include this file and nothing else.
#pragma once

#include "hpmoe/bytes.h"
#include "hpmoe/columns.h"
#include "hpmoe/compare.h"
#include "hpmoe/ids.h"
#include "hpmoe/matmul.h"
#include "hpmoe/operators.h"
#include "hpmoe/put.h"
#include "hpmoe/reduce.h"
#include "hpmoe/rows.h"
#include "hpmoe/vector.h"
#include "hpmoe/worker.h"
