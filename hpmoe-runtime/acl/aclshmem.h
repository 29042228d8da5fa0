/* The calls of CANN's SHMEM library (libshmem.so, 1.3 to 1.5) that hpmoe makes. Nothing else of that library is
 * declared here. Names, numbers and layouts are those of the library. */
#ifndef HPMOE_ACLSHMEM_H
#define HPMOE_ACLSHMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACLSHMEM_SUCCESS 0
/* Status that aclshmemx_init_status returns once memory can be allocated. */
#define ACLSHMEM_STATUS_IS_INITIALIZED 2
/* Flag: processes connect by the address in the attributes. */
#define ACLSHMEMX_INIT_WITH_DEFAULT 1
/* Engine type: kernels copy to the memory of other processes by DMA. */
#define ACLSHMEM_DATA_OP_MTE 1

/* Maximum length of the address at which process 0 listens, including the zero at its end. */
#define ACLSHMEM_MAX_IP_PORT_LEN 64

typedef struct aclshmem_init_optional_attr_t {
    int32_t version; /* 65536 plus the size of this structure */
    uint32_t data_op_engine_type;
    uint32_t shm_init_timeout; /* in seconds, like the next two fields */
    uint32_t shm_create_timeout;
    uint32_t control_operation_timeout;
    int32_t sockFd; /* in process 0, a listening socket, which the library takes over; otherwise -1 */
} aclshmem_init_optional_attr_t;

/* In versions before 1.5, the structure has no `instance_id`. */
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
/* All processes must call this, and also the functions that allocate memory. */
int aclshmemx_init_attr(uint32_t bootstrap_flags, aclshmemx_init_attr_t *attributes);
int aclshmem_my_pe(void);
int aclshmem_n_pes(void);
void *aclshmem_align(size_t alignment, size_t size);
void aclshmem_free(void *ptr);
/* The address by which kernels of this process access the memory of process `pe` that corresponds to `ptr`. Null if `ptr` is not in the
 * library's memory. */
void *aclshmem_ptr(void *ptr, int pe);
int aclshmem_finalize(void);

#ifdef __cplusplus
}
#endif

#endif
