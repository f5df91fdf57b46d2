// SPDX-License-Identifier: BSD-3-Clause
// export.h - marks what the shared library shows; everything else in it is hidden.
#ifndef WEFT_EXPORT_H
#define WEFT_EXPORT_H

#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif

#endif
