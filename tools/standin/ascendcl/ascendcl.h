// Calls of CANN's older library that PyTorch's backend makes in addition to those of the runtime library. Names and numbers are the library's.
#pragma once

#include "acl.h"

extern "C" {

typedef enum aclDataType { ACL_FLOAT = 0, ACL_BF16 = 27 } aclDataType;

typedef struct aclDataBuffer aclDataBuffer;
typedef struct aclTensorDesc aclTensorDesc;
typedef struct aclopAttr aclopAttr;

aclDataBuffer *aclCreateDataBuffer(void *data, size_t size);
aclError aclDestroyDataBuffer(const aclDataBuffer *buffer);

aclTensorDesc *aclCreateTensorDesc(int type, int dimensions, const int64_t *sizes, int format);
void aclDestroyTensorDesc(const aclTensorDesc *desc);
int aclGetTensorDescType(const aclTensorDesc *desc);
int aclGetTensorDescFormat(const aclTensorDesc *desc);
size_t aclGetTensorDescNumDims(const aclTensorDesc *desc);
aclError aclGetTensorDescDimV2(const aclTensorDesc *desc, size_t index, int64_t *size);

aclopAttr *aclopCreateAttr(void);
void aclopDestroyAttr(const aclopAttr *attr);

aclError aclopCompileAndExecute(const char *operation, int inputs, const aclTensorDesc *const *input_descs,
                                const aclDataBuffer *const *input_buffers, int outputs,
                                const aclTensorDesc *const *output_descs, aclDataBuffer *const *output_buffers,
                                const aclopAttr *attr, int engine, int how, const char *path, aclrtStream stream);
}
