/* Whether this is built with AddressSanitizer: 1 or 0, for #if and for C alike. */
#ifndef HOTCELL_BASE_SANITIZED_H
#define HOTCELL_BASE_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
