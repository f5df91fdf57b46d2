// SPDX-License-Identifier: BSD-3-Clause
// export.h - marks the symbols that the shared library exports; all others are hidden.
#ifndef WEFT_EXPORT_H
#define WEFT_EXPORT_H

#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif

#endif
