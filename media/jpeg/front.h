#ifndef HEADRACE_JPEG_FRONT_H
#define HEADRACE_JPEG_FRONT_H

// The functions of struct hr_front in media/turbo; their header is a struct hj_header.
const void *hj_front(void);

#endif
