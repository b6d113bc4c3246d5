//go:build cgo

package turbo

// #cgo noescape hr_open
// #cgo nocallback hr_open
// #cgo noescape hr_front_shape
// #cgo nocallback hr_front_shape
// #cgo noescape hr_front_planes
// #cgo nocallback hr_front_planes
// #cgo noescape hr_decode_planes
// #cgo nocallback hr_decode_planes
// #include "decode.h"
// #include "planes.h"
import "C"

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/orient"
	"github.com/headrace/headrace/media/internal/resample"
)

// fast carries out a stage that resizes a JPEG as [media.Fast] allows: the inverse
// transform reduces it to what is still as large as the result or larger; planes are
// resized as they are stored, by tables that know where their samples are; colours are
// converted last, and the result is turned. It reports false where nothing is reduced,
// as that is faster, and exact, by rows of pixels, and where the image has no planes of
// the usual kind.
func (h *handle) fast(to target, in *picture, stage *media.Stage) (done bool, err error) {
	s := untwisted(stage, in)
	if eighths(&s) == 8 {
		return false, nil
	}
	h.job.width, h.job.height = C.int32_t(in.width), C.int32_t(in.height)
	if in.front.Functions != nil {
		done, err := h.fastBy((*C.hr_front)(in.front.Functions), to, in, &s)
		if done || err != nil {
			return done, err
		}
	}
	var shape C.hr_shape
	if err := h.failure(C.hr_open(h.c, &h.job, pointer(in.jpeg), C.size_t(len(in.jpeg)), eighths(&s), &shape)); err != nil {
		return false, err
	}
	if shape.planes == 0 {
		return false, nil
	}
	return h.fastPlanes(to, in, &s, &shape, h.decodePlanes)
}

// fastBy is fast by a front. It reports false where libjpeg has to decode.
func (h *handle) fastBy(front *C.hr_front, to target, in *picture, s *media.Stage) (done bool, err error) {
	var shape C.hr_shape
	if C.hr_front_shape(front, in.front.Header, eighths(s), &shape) == 0 {
		return false, nil
	}
	return h.fastPlanes(to, in, s, &shape, func(to target, jpeg []byte) (bool, error) {
		cx, cy := h.chroma()
		status := C.hr_front_planes(h.c, level(), front, in.front.Header, &h.job, eighths(s),
			C.int(shape.kind), pointer(jpeg), C.size_t(len(jpeg)),
			pointer(to.rows), C.ptrdiff_t(to.stride), to.out,
			spans(&h.x), weights(&h.x), spans(&h.y), weights(&h.y), spans(cx), weights(cx), spans(cy), weights(cy))
		if status == C.HR_OTHERWISE {
			return false, nil
		}
		return true, h.failure(status)
	})
}

// fastPlanes resizes planes of this shape, which decode brings to their place.
func (h *handle) fastPlanes(to target, in *picture, s *media.Stage, shape *C.hr_shape,
	decode func(to target, jpeg []byte) (bool, error)) (done bool, err error) {
	h.planeTables(s, shape)
	at := s.Target()
	_, flipY, swap := orient.Parts(s.Turn)
	if !swap {
		return decode(to.part(at, flipY), in.jpeg)
	}
	upright := h.memory(2, at.Width*at.Height*3)
	if upright == nil {
		return false, media.ErrMemory
	}
	done, err = decode(target{upright, at.Height * 3, nil}.part(media.Rect{Width: at.Height, Height: at.Width}, flipY), in.jpeg)
	if done {
		C.hr_transpose(pointer(to.part(at, false).rows), C.ptrdiff_t(to.stride), pointer(upright),
			C.ptrdiff_t(at.Height*3), C.int(at.Height), C.int(at.Width))
	}
	return done, err
}

// untwisted is the stage that does the same to the stored image.
func untwisted(stage *media.Stage, in *picture) media.Stage {
	s, o := *stage, in.orientation
	if o == 1 {
		return s
	}
	stored := func(width, height int, r media.Rect) media.Rect {
		x, y, w, h := orient.Stored(o, width, height, r.X, r.Y, r.Width, r.Height)
		return media.Rect{X: x, Y: y, Width: w, Height: h}
	}
	s.Crop = stored(in.width, in.height, s.Crop)
	s.Width, s.Height = orient.Size(o, s.Width, s.Height)
	s.Window = stored(s.Width, s.Height, s.Window)
	s.Turn = orient.Then(o, s.Turn)
	return s
}

// eighths is the smallest of the sizes 1, 2, 4 and 8 eighths at which the crop is as
// large as what it is resized to: for those libjpeg-turbo has fast code. It is 8 where
// the crop is smaller.
func eighths(s *media.Stage) C.int {
	n := 1
	part := s.Part.Of(s.Crop)
	for n < 8 && (part.Width*float64(n) < float64(8*s.Width) || part.Height*float64(n) < float64(8*s.Height)) {
		n *= 2
	}
	return C.int(n)
}

// planeTables computes the weights of a stage for planes of this shape.
func (h *handle) planeTables(s *media.Stage, shape *C.hr_shape) {
	v, part, filter := s.Visible(), s.Part.Of(s.Crop), resample.Filter(s.Filter)
	flipX, _, _ := orient.Parts(s.Turn)
	for i, t := range [...][2]*resample.Table{{&h.x, &h.y}, {&h.chromaX, &h.chromaY}} {
		if i > 0 && shape.planes == 1 {
			break
		}
		across := float64(shape.across[i]) / float64(shape.pixels_across)
		down := float64(shape.down[i]) / float64(shape.pixels_down)
		t[0].Set(resample.Axis{In: int(shape.width[i]), Out: s.Width, First: v.X, N: v.Width, Filter: filter, Flip: flipX,
			From: part.X * across, Size: part.Width * across})
		t[1].Set(resample.Axis{In: int(shape.height[i]), Out: s.Height, First: v.Y, N: v.Height, Filter: filter,
			From: part.Y * down, Size: part.Height * down})
	}
	h.job.x, h.job.y = axis(&h.x), axis(&h.y)
	if shape.planes > 1 {
		h.job.chroma_x, h.job.chroma_y = axis(&h.chromaX), axis(&h.chromaY)
	} else {
		h.job.chroma_x, h.job.chroma_y = h.job.x, h.job.y
	}
}

// decodePlanes goes on with the image that was opened last. It reports false where
// planes cannot come from this libjpeg.
func (h *handle) decodePlanes(to target, jpeg []byte) (done bool, err error) {
	cx, cy := h.chroma()
	status := C.hr_decode_planes(h.c, level(), &h.job, pointer(jpeg), C.size_t(len(jpeg)), pointer(to.rows), C.ptrdiff_t(to.stride), to.out,
		spans(&h.x), weights(&h.x), spans(&h.y), weights(&h.y), spans(cx), weights(cx), spans(cy), weights(cy))
	if status == C.HR_OTHERWISE {
		return false, nil
	}
	return true, h.failure(status)
}

// chroma is the pair of tables of the second and third planes.
func (h *handle) chroma() (x, y *resample.Table) {
	if len(h.chromaX.Spans) == 0 || len(h.chromaY.Spans) == 0 {
		return &h.x, &h.y // there is one plane, and never were three
	}
	return &h.chromaX, &h.chromaY
}

// convert is the conversion of colours alone: planes have room after their pixels for
// the kernels.
func convert(planes [3][]byte, rgb []byte) {
	C.hr_convert(level(), pointer(planes[0]), pointer(planes[1]), pointer(planes[2]), pointer(rgb), C.int(len(rgb)/3))
}
