package npy

import (
	"slices"

	"github.com/headrace/headrace/tensor"
)

// Swap turns the bytes of each element around.
func Swap(data []byte, item int) {
	for at := 0; at+item <= len(data); at += item {
		slices.Reverse(data[at : at+item])
	}
}

// Turn copies an array in which the first axis comes first to one in which the last does.
func Turn(dst, src []byte, shape tensor.Shape, item int) {
	if len(dst) == 0 {
		return
	}
	strides := make([]int, len(shape)) // in src
	step := item
	for axis, n := range shape {
		strides[axis], step = step, step*n
	}
	last := len(shape) - 1
	index := make([]int, last)
	for at := 0; at < len(dst); {
		from := 0
		for axis, i := range index {
			from += i * strides[axis]
		}
		at += run(dst[at:], src[from:], shape[last], strides[last], item)
		for axis := last - 1; axis >= 0; axis-- {
			if index[axis]++; index[axis] < shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
}

// run copies n elements that are a stride apart, and returns how many bytes they have.
func run(dst, src []byte, n, stride, item int) int {
	switch item {
	case 1:
		for i := range n {
			dst[i] = src[i*stride]
		}
	default:
		for i := range n {
			copy(dst[i*item:(i+1)*item], src[i*stride:])
		}
	}
	return n * item
}
