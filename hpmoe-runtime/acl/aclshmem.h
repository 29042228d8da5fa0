/* The calls of CANN's SHMEM library (libshmem.so, 1.3 to 1.5) that hpmoe makes, declared for hpmoe alone: nothing else of that library is
 * here. Names, numbers and layouts are those of the library. */
#ifndef HPMOE_ACLSHMEM_H
#define HPMOE_ACLSHMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACLSHMEM_SUCCESS 0
/* What aclshmemx_init_status returns once memory can be had. */
#define ACLSHMEM_STATUS_IS_INITIALIZED 2
/* Processes find each other at the address in the attributes. */
#define ACLSHMEMX_INIT_WITH_DEFAULT 1
/* Kernels copy to memory of other processes by their DMA. */
#define ACLSHMEM_DATA_OP_MTE 1

/* Room for the address where process 0 listens, with a zero at its end. */
#define ACLSHMEM_MAX_IP_PORT_LEN 64

typedef struct aclshmem_init_optional_attr_t {
    int32_t version; /* 65536 and the size of this structure */
    uint32_t data_op_engine_type;
    uint32_t shm_init_timeout; /* seconds, as are the next two */
    uint32_t shm_create_timeout;
    uint32_t control_operation_timeout;
    int32_t sockFd; /* of process 0: a socket that listens, which the library takes; else -1 */
} aclshmem_init_optional_attr_t;

/* Versions before 1.5 end before the number of the instance. */
typedef struct aclshmemx_init_attr_t {
    int32_t my_pe;
    int32_t n_pes;
    char ip_port[ACLSHMEM_MAX_IP_PORT_LEN]; /* "tcp://1.2.3.4:5678" or "tcp6://[::1]:5678" */
    uint64_t local_mem_size;
    aclshmem_init_optional_attr_t option_attr;
    void *comm_args;
    uint64_t instance_id;
} aclshmemx_init_attr_t;

int aclshmemx_init_status(void);
int32_t aclshmemx_set_conf_store_tls(bool enable, const char *tls_info, uint32_t tls_info_len);
/* All processes call it, as they do what allocates memory. */
int aclshmemx_init_attr(uint32_t bootstrap_flags, aclshmemx_init_attr_t *attributes);
int aclshmem_my_pe(void);
int aclshmem_n_pes(void);
void *aclshmem_align(size_t alignment, size_t size);
void aclshmem_free(void *ptr);
/* Where the memory at this address lies in another process: as its kernels and those here call it. Null if `ptr` is not of the library. */
void *aclshmem_ptr(void *ptr, int pe);
int aclshmem_finalize(void);

#ifdef __cplusplus
}
#endif

#endif
