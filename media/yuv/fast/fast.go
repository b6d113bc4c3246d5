//go:build cgo

package fast

// #cgo CFLAGS: -O3 -std=gnu11 -Wall
// #cgo noescape hr_yuv_convert
// #cgo nocallback hr_yuv_convert
// #include "convert.h"
import "C"

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/headrace/headrace/media/yuv"
)

func init() { yuv.Use(convert) }

// wide tells whether the CPU has AVX2. Tests set it.
var wide = cpu.X86.HasAVX2

// convert is yuv.Plain in C.
func convert(to yuv.Target, p *yuv.Picture, f yuv.Factors) error {
	job := C.hr_yuv_job{
		kind: C.int32_t(p.Kind), width: C.int32_t(p.Width), height: C.int32_t(p.Height), bits: C.int32_t(p.Bits),
		chroma_x: C.int32_t(p.ChromaX), chroma_y: C.int32_t(p.ChromaY), siting: C.int32_t(p.Siting),
		wide: number(to.Wide), avx2: number(wide), stride: C.int64_t(to.Stride),
		depth: C.int32_t(f.Depth), point: C.int32_t(f.Bits), parts: C.int32_t(f.Parts),
		luma: C.int64_t(f.Luma), red_v: C.int64_t(f.RedV), green_u: C.int64_t(f.GreenU), green_v: C.int64_t(f.GreenV),
		blue_u: C.int64_t(f.BlueU),
		red:    C.int64_t(f.Red), green: C.int64_t(f.Green), blue: C.int64_t(f.Blue),
	}
	var first [3]*C.uint8_t
	for i := range p.Parts {
		part := &p.Parts[i]
		if part.Data == nil { // of gray
			continue
		}
		width, height := p.PartSize(i)
		job.part[i] = C.hr_yuv_part{
			stride: C.int64_t(part.Stride), step: C.int32_t(part.Step), bytes: C.int32_t(p.SampleBytes(i)), shift: C.int32_t(part.Shift),
			width: C.int32_t(width), height: C.int32_t(height),
		}
		first[i] = (*C.uint8_t)(&part.Data[part.First])
	}
	if C.hr_yuv_convert(&job, first[0], first[1], first[2], (*C.uint8_t)(unsafe.SliceData(to.Data))) == 0 {
		return fmt.Errorf("media/yuv: %w", syscall.ENOMEM)
	}
	return nil
}

func number(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}
