/* A libamdhip64.so for tests: the symbols that pipedsl calls, on host memory. Launches go to a
 * callback that the test registers, or nowhere. HIP_SHIM_ARCHS lists the GPUs to show
 * ("gfx942:sramecc+:xnack-,gfx906"); HIP_SHIM_FAIL names a function that fails with status 2. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_GPUS 8

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, NOT_FOUND = 500 };

/* hipDeviceProp_tR0600 of HIP 6 and 7: only these two fields are read. */
enum { PROP_BYTES = 1472, PROP_NAME = 0, PROP_ARCH = 1160 };

typedef struct {
    void *image;
    char name[256];
} function_t;

typedef int (*launch_callback)(const void *image, const char *name, const uint32_t *grid,
                               const uint32_t *block, uint32_t lds_bytes, void *stream,
                               const void *kernarg, size_t kernarg_bytes);

static launch_callback on_launch;
static int current;
static int live_allocations;

EXPORT void pipedsl_test_set_launch_callback(launch_callback callback) { on_launch = callback; }
EXPORT int pipedsl_test_live_allocations(void) { return live_allocations; }

static int failing(const char *function) {
    const char *name = getenv("HIP_SHIM_FAIL");
    return name && strcmp(name, function) == 0;
}

static int list_gpus(char archs[MAX_GPUS][64]) {
    const char *text = getenv("HIP_SHIM_ARCHS");
    int count = 0;
    char copy[512];
    if (!text) text = "gfx942:sramecc+:xnack-";
    snprintf(copy, sizeof copy, "%s", text);
    for (char *save, *item = strtok_r(copy, ",", &save); item && count < MAX_GPUS;
         item = strtok_r(NULL, ",", &save))
        snprintf(archs[count++], 64, "%s", item);
    return count;
}

EXPORT int hipInit(unsigned flags) { return SUCCESS; }

EXPORT int hipGetDeviceCount(int *count) {
    char archs[MAX_GPUS][64];
    *count = list_gpus(archs);
    return *count ? SUCCESS : NO_DEVICE;
}

EXPORT int hipSetDevice(int ordinal) {
    current = ordinal;
    return SUCCESS;
}

EXPORT int hipGetDevicePropertiesR0600(void *properties, int ordinal) {
    char archs[MAX_GPUS][64];
    if (ordinal < 0 || ordinal >= list_gpus(archs)) return INVALID_VALUE;
    memset(properties, 0, PROP_BYTES);
    snprintf((char *)properties + PROP_NAME, 256, "Test GPU %d", ordinal);
    snprintf((char *)properties + PROP_ARCH, 256, "%s", archs[ordinal]);
    return SUCCESS;
}

EXPORT const char *hipGetErrorString(int status) {
    switch (status) {
    case OUT_OF_MEMORY: return "out of memory";
    case NO_DEVICE: return "no ROCm-capable device is detected";
    case NOT_FOUND: return "named symbol not found";
    default: return "unknown error";
    }
}

/* An allocation starts with its size, 64 bytes before what the caller sees. */
enum { HEADER = 64 };

EXPORT int hipMalloc(void **pointer, size_t bytes) {
    char *base;
    if (failing("hipMalloc") || !(base = malloc(bytes + HEADER))) return OUT_OF_MEMORY;
    *(size_t *)base = bytes;
    *pointer = base + HEADER;
    live_allocations++;
    return SUCCESS;
}

EXPORT size_t pipedsl_test_allocation_bytes(const char *pointer) {
    return *(const size_t *)(pointer - HEADER);
}

EXPORT int hipFree(void *pointer) {
    if (pointer) {
        live_allocations--;
        free((char *)pointer - HEADER);
    }
    return SUCCESS;
}

EXPORT int hipHostMalloc(void **pointer, size_t bytes, unsigned flags) {
    return hipMalloc(pointer, bytes);
}

EXPORT int hipHostFree(void *pointer) { return hipFree(pointer); }

EXPORT int hipMemcpyAsync(void *target, const void *source, size_t bytes, int kind, void *stream) {
    if (failing("hipMemcpyAsync")) return OUT_OF_MEMORY;
    memcpy(target, source, bytes);
    return SUCCESS;
}

EXPORT int hipStreamCreate(void **stream) {
    *stream = malloc(1);
    return SUCCESS;
}

EXPORT int hipStreamDestroy(void *stream) {
    free(stream);
    return SUCCESS;
}

static int synchronisations;
EXPORT int pipedsl_test_synchronisations(void) { return synchronisations; }

EXPORT int hipStreamSynchronize(void *stream) {
    synchronisations++;
    return failing("hipStreamSynchronize") ? OUT_OF_MEMORY : SUCCESS;
}

EXPORT int hipDeviceSynchronize(void) { return SUCCESS; }

/* Synthetic times: every record is 1.5 ms after the one before. */
static int records;

EXPORT int hipEventCreate(int **event) {
    *event = calloc(1, sizeof **event);
    return SUCCESS;
}

EXPORT int hipEventDestroy(int *event) {
    free(event);
    return SUCCESS;
}

EXPORT int hipEventRecord(int *event, void *stream) {
    *event = ++records;
    return SUCCESS;
}

EXPORT int hipEventSynchronize(void *event) { return SUCCESS; }

EXPORT int hipEventElapsedTime(float *milliseconds, const int *start, const int *stop) {
    *milliseconds = 1.5f * (*stop - *start);
    return SUCCESS;
}

EXPORT int hipModuleLoadData(void **module, const void *image) {
    *module = (void *)image; /* the caller keeps the bytes alive */
    return SUCCESS;
}

EXPORT int hipModuleGetFunction(void **function, void *module, const char *name) {
    function_t *made;
    if (failing("hipModuleGetFunction")) return NOT_FOUND;
    made = malloc(sizeof *made);
    made->image = module;
    snprintf(made->name, sizeof made->name, "%s", name);
    *function = made;
    return SUCCESS;
}

EXPORT int hipModuleLaunchKernel(function_t *function, uint32_t gx, uint32_t gy, uint32_t gz,
                                 uint32_t bx, uint32_t by, uint32_t bz, uint32_t lds_bytes,
                                 void *stream, void **parameters, void **extra) {
    uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    const void *kernarg = NULL;
    size_t kernarg_bytes = 0;
    if (failing("hipModuleLaunchKernel")) return OUT_OF_MEMORY;
    if (!extra || parameters) return INVALID_VALUE;
    for (; *extra != (void *)3; extra += 2) {
        if (*extra == (void *)1) kernarg = extra[1];
        else if (*extra == (void *)2) kernarg_bytes = *(size_t *)extra[1];
        else return INVALID_VALUE;
    }
    if (!on_launch) return SUCCESS;
    return on_launch(function->image, function->name, grid, block, lds_bytes, stream, kernarg,
                     kernarg_bytes);
}
