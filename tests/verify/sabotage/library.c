/* A small stand-in for libamdhip64 or librccl: the functions and literals by which the real ones tell their version. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LITERAL __attribute__((used)) static const char

#ifdef HIP
int hipRuntimeGetVersion(int *version) { *version = HIP; return 0; }
const char *amd_dbgapi_get_git_hash(void) { return HASH; }
int hipGetDeviceCount(int *count) { *count = 0; return 100; }
#endif

#ifdef RCCL
LITERAL rccl_number[] = VERSION;
LITERAL rccl_reference[] = REFERENCE;
int ncclGetVersion(int *version) { *version = RCCL; return 0; }
#endif

#ifdef ARCHS
LITERAL code_objects[] = ARCHS;
#endif

#ifdef HANG
__attribute__((constructor)) static void hang(void) { for (;;) sleep(1000); }
#endif

#ifdef CRASH
__attribute__((constructor)) static void crash(void) { abort(); }
#endif

#ifdef NOISE
__attribute__((constructor)) static void noise(void) {
    for (int i = 0; i < 2000000; i++) puts("a line that nobody asked for, on standard output");
}
#endif

#ifdef UNDEFINED
extern int rsmi_init(int);
int needs(void) { return rsmi_init(0); }
#endif
