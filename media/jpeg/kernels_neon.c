#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>
#include "kernels.h"

#define TARGET
#define LANES 1
typedef int16x8_t V;
#define V16(x) ((uint16x8_t)(x))
#define V32(x) ((int32x4_t)(x))
#define V8(x) ((uint8x16_t)(x))
#define ZERO() vdupq_n_s16(0)
#define SET1(x) ((V)vdupq_n_s32((int32_t)(x)))
#define SET16(x) vdupq_n_s16(x)
#define LOAD(p) ((V)vld1q_u8((const uint8_t *)(p)))
#define STORE(p, v) vst1q_u8((uint8_t *)(p), V8(v))
#define ADD(a, b) ((V)vaddq_s32(V32(a), V32(b)))
#define SUB(a, b) ((V)vsubq_s32(V32(a), V32(b)))
#define ADD16 vaddq_s16
#define SUB16 vsubq_s16
#define MULTIPLY vmulq_s16
#define PRODUCTS_LOW(a, b, times_a, times_b) ((V)vmlal_n_s16(vmull_n_s16(vget_low_s16(a), times_a), vget_low_s16(b), times_b))
#define PRODUCTS_HIGH(a, b, times_a, times_b) ((V)vmlal_high_n_s16(vmull_high_n_s16(a, times_a), b, times_b))
#define SQUARES(a) ((V)vmlal_high_s16(vmull_s16(vget_low_s16(a), vget_low_s16(a)), a, a))
#define TWICE_HIGH(a, factor) vqdmulhq_n_s16(a, factor)
#define ABSOLUTE vabsq_s16
#define SUBTRACT_TO_ZERO(a, b) ((V)vqsubq_u16(V16(a), V16(b)))
#define GREATER(a, b) ((V)vcgtq_s32(V32(a), V32(b)))
#define OR vorrq_s16
#define XOR veorq_s16
#define IS_ZERO(v) (vmaxvq_u16(V16(v)) == 0)
#define SWAP_HALVES(v) vextq_s16(v, v, 4)
#define SWAP_QUARTERS(v) ((V)vrev64q_s32(V32(v)))
#define SHIFT_RIGHT(v, n) ((V)(V32(v) >> (n)))
#define SHIFT_RIGHT16(v, n) ((v) >> (n))
#define SHIFT16(v, n) ((V)(V16(v) >> (n)))
#define SHIFT_LEFT16(v, n) ((V)(V16(v) << (n)))
#define PACK16(a, b) vqmovn_high_s32(vqmovn_s32(V32(a)), V32(b))
#define PACK8(a, b) ((V)vqmovun_high_s16(vqmovun_s16(a), b))
#define PACK8S(a, b) ((V)vqmovn_high_s16(vqmovn_s16(a), b))
#define IN_ORDER(v) (v)
#define UNPACK_LOW8(a, b) ((V)vzip1q_u8(V8(a), V8(b)))
#define UNPACK_HIGH8(a, b) ((V)vzip2q_u8(V8(a), V8(b)))
#define UNPACK_LOW16 vzip1q_s16
#define UNPACK_HIGH16 vzip2q_s16
#define UNPACK_LOW32(a, b) ((V)vzip1q_s32(V32(a), V32(b)))
#define UNPACK_HIGH32(a, b) ((V)vzip2q_s32(V32(a), V32(b)))
#define LOAD_WORDS(p) ((V)vmovl_u8(vld1_u8(p)))
#define LOAD_ROW(p) vld1q_s16(p)
#define LOAD_BLOCKS(p) vld1q_s16(p)
#define STORE_BLOCKS(p, v) vst1q_s16(p, v)
#define STORE_SAMPLES(v, to, stride)                                                                                          \
	for (int i = 0; i < 4; i++) {                                                                                          \
		vst1_u8((to) + 2 * i * (stride), vget_low_u8(V8(v[i])));                                                       \
		vst1_u8((to) + (2 * i + 1) * (stride), vget_high_u8(V8(v[i])));                                                \
	}
#define STORE_PIXELS(p, reds, greens, blues) vst3q_u8(p, ((uint8x16x3_t){{V8(reds), V8(greens), V8(blues)}}))

#include "kernels_simd.h"

const hj_kernels hj_neon = {"neon", hj_keep_plain, hj_skip_plain, hj_dc_plain, hj_dc_bit_plain, hj_ac_plain, hj_ac_bit_plain, transform, {transform4, transform2, hj_transform1}, across, both, down, ycc};
#else
typedef int nothing;
#endif
