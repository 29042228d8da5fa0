// Calls that do nothing and succeed: settings, logs, profiles, and symbols that PyTorch's backend looks up when it is
// loaded.

#define NOTHING(name)                                                                                                  \
    extern "C" int name() { return 0; }

// Properties of tensors and operations that the stand-in does not use.
NOTHING(aclSetTensorDescName)
NOTHING(aclSetTensorFormat)
NOTHING(aclSetTensorPlaceMent)
NOTHING(aclSetTensorShape)
NOTHING(aclopSetAttrBool)
NOTHING(aclopSetAttrDataType)
NOTHING(aclopSetAttrFloat)
NOTHING(aclopSetAttrInt)
NOTHING(aclopSetAttrListBool)
NOTHING(aclopSetAttrListFloat)
NOTHING(aclopSetAttrListInt)
NOTHING(aclopSetAttrListListInt)
NOTHING(aclopSetAttrString)

// Settings.
NOTHING(aclSetCompileopt)
NOTHING(aclGetDeviceCapability)
NOTHING(aclrtCtxSetSysParamOpt)
NOTHING(aclrtGetSysParamOpt)
NOTHING(aclrtSetSysParamOpt)
NOTHING(aclrtSetDeviceSatMode)
NOTHING(aclrtSetOpExecuteTimeOut)
NOTHING(aclrtSetOpWaitTimeout)

// Logs, dumps and profiles.
NOTHING(aclAppLog)
NOTHING(aclmdlInitDump)
NOTHING(aclmdlSetDump)
NOTHING(aclmdlFinalizeDump)
NOTHING(MsprofGetHashId)
NOTHING(MsprofRegisterCallback)
NOTHING(MsprofReportAdditionalInfo)
NOTHING(MsprofReportApi)
NOTHING(MsprofReportCompactInfo)
NOTHING(MsprofSysCycleTime)

// Symbols that are needed when the backend is loaded, but that the tests do not call.
NOTHING(aclrtDeviceGetBareTgid)
NOTHING(aclrtGetFunctionAddr)
NOTHING(aclrtMemExportToShareableHandle)
NOTHING(aclrtMemImportFromShareableHandle)
NOTHING(aclrtMemSetPidToShareableHandle)
NOTHING(aclrtProcessReport)
NOTHING(rtDevBinaryRegister)
NOTHING(rtFunctionRegister)
NOTHING(rtGetC2cCtrlAddr)
NOTHING(rtKernelLaunch)
