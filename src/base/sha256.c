#include "base/sha256.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#define BLOCK 64

static const uint32_t constants[64] __attribute__((aligned(16))) = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* ---- any processor ---- */

static uint32_t rotate(uint32_t x, unsigned by)
{
	return x >> by | x << (32 - by);
}

static uint32_t word_at(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void schedule(const unsigned char *block, uint32_t w[64])
{
	for (int i = 0; i < 16; i++)
		w[i] = word_at(block + (size_t)i * 4);
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + w[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
}

/* One round; the caller renames the words instead of moving them. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                                                   \
	do {                                                                                                               \
		uint32_t first = (h) + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((g) ^ ((e) & ((f) ^ (g)))) +      \
			constants[i] + w[i];                                                                               \
		(d) += first;                                                                                              \
		(h) = first + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + (((a) & (b)) | ((c) & ((a) | (b))));        \
	} while (0)

static void blocks_plain(uint32_t state[8], const unsigned char *at, size_t count)
{
	uint32_t w[64], s[8];

	for (; count > 0; count--, at += BLOCK) {
		schedule(at, w);
		memcpy(s, state, sizeof(s));
		for (size_t i = 0; i < 64; i += 8) {
			ROUND(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], i);
			ROUND(s[7], s[0], s[1], s[2], s[3], s[4], s[5], s[6], i + 1);
			ROUND(s[6], s[7], s[0], s[1], s[2], s[3], s[4], s[5], i + 2);
			ROUND(s[5], s[6], s[7], s[0], s[1], s[2], s[3], s[4], i + 3);
			ROUND(s[4], s[5], s[6], s[7], s[0], s[1], s[2], s[3], i + 4);
			ROUND(s[3], s[4], s[5], s[6], s[7], s[0], s[1], s[2], i + 5);
			ROUND(s[2], s[3], s[4], s[5], s[6], s[7], s[0], s[1], i + 6);
			ROUND(s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[0], i + 7);
		}
		for (int i = 0; i < 8; i++)
			state[i] += s[i];
	}
}

/* ---- with instructions for it ---- */

#if defined(__x86_64__)
/* Asked for only when something is to be summed: a virtual machine traps the question. */
static bool has_instructions(void)
{
	static int known; /* 0: not asked yet */
	unsigned a, b, c, d;

	if (known == 0) {
		bool sse41 = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_1) && (c & bit_SSSE3);
		known = sse41 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) ? 1 : -1;
	}
	return known > 0;
}

/* Four rounds a step. The instructions keep the state as ABEF and CDGH, each with its first word on top. */
__attribute__((target("sha,sse4.1,ssse3"))) static void blocks_fast(uint32_t state[8], const unsigned char *at, size_t count)
{
	const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
	__m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
	__m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
	__m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);

	for (; count > 0; count--, at += BLOCK) {
		const __m128i abef_before = abef, cdgh_before = cdgh;
		__m128i w[4];
		for (size_t i = 0; i < 4; i++)
			w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(at + i * 16)), swap);
#pragma GCC unroll 16
		for (size_t i = 0; i < 16; i++) {
			const __m128i now = w[i % 4], last = w[(i + 3) % 4];
			const __m128i sum = _mm_add_epi32(now, _mm_load_si128((const __m128i *)(constants + i * 4)));
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
			abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
			if (i < 12) {
				const __m128i seven = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
				const __m128i half = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) % 4]), seven);
				w[i % 4] = _mm_sha256msg2_epu32(half, last);
			}
		}
		abef = _mm_add_epi32(abef, abef_before);
		cdgh = _mm_add_epi32(cdgh, cdgh_before);
	}
	low = _mm_shuffle_epi32(abef, 0x1b);
	high = _mm_shuffle_epi32(cdgh, 0xb1);
	_mm_storeu_si128((__m128i *)state, _mm_blend_epi16(low, high, 0xf0));
	_mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(high, low, 8));
}
#else
static bool has_instructions(void)
{
	return false;
}

static void blocks_fast(uint32_t state[8], const unsigned char *at, size_t count)
{
	blocks_plain(state, at, count);
}
#endif

static void blocks_add(struct sha256 *sum, const unsigned char *at, size_t count)
{
	(sum->plain ? blocks_plain : blocks_fast)(sum->state, at, count);
}

/* ---- the whole ---- */

void sha256_init_plain(struct sha256 *sum)
{
	*sum = (struct sha256){
		.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
		.plain = true,
	};
}

void sha256_init(struct sha256 *sum)
{
	sha256_init_plain(sum);
	sum->plain = !has_instructions();
}

void sha256_add(struct sha256 *sum, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	size_t kept = sum->total % BLOCK;

	if (len == 0)
		return;
	sum->total += len;
	if (kept > 0) {
		size_t part = len < BLOCK - kept ? len : BLOCK - kept;
		memcpy(sum->block + kept, at, part);
		if (kept + part < BLOCK)
			return;
		blocks_add(sum, sum->block, 1);
		at += part;
		len -= part;
	}
	blocks_add(sum, at, len / BLOCK);
	memcpy(sum->block, at + len / BLOCK * BLOCK, len % BLOCK);
}

void sha256_end(struct sha256 *sum, unsigned char ret[SHA256_SIZE])
{
	static const unsigned char padding[BLOCK] = {0x80};
	uint64_t bits = sum->total * 8;
	size_t kept = sum->total % BLOCK;
	unsigned char length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(sum, padding, (kept < BLOCK - 8 ? BLOCK - 8 : 2 * BLOCK - 8) - kept);
	sha256_add(sum, length, sizeof(length));
	for (int i = 0; i < SHA256_SIZE; i++)
		ret[i] = (unsigned char)(sum->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hex(const unsigned char sum[SHA256_SIZE], char ret[SHA256_HEX])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < SHA256_SIZE; i++) {
		ret[2 * i] = digits[sum[i] >> 4];
		ret[2 * i + 1] = digits[sum[i] & 15];
	}
	ret[SHA256_HEX - 1] = '\0';
}

static int digit_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool sha256_parse(const char *text, unsigned char ret[SHA256_SIZE])
{
	if (strlen(text) != SHA256_HEX - 1)
		return false;
	for (size_t i = 0; i < SHA256_SIZE; i++) {
		int high = digit_value(text[2 * i]), low = digit_value(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		ret[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

char *sha256_pin_cut(char *text)
{
	char *pin = strstr(text, SHA256_PIN);

	if (!pin)
		return NULL;
	*pin = '\0';
	return pin + strlen(SHA256_PIN);
}
