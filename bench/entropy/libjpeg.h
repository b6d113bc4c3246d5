#include <stddef.h>

// Decodes the entropy-coded data of an image, and nothing else. Returns 0 where that fails.
int libjpeg_coefficients(const unsigned char *src, size_t n);
// CPU seconds of this thread.
double thread_seconds(void);
