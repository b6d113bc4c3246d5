package preview

import (
	"strings"

	"github.com/headrace/headrace/tensor"
)

// mostFrames is how many frames of a clip are shown.
const mostFrames = 4

// strip returns some frames of a clip, spread evenly from the first to the last, side by
// side as one image [height, width, channels]. Axes has a letter for each axis of the
// clip; of several clips the first is shown. The clip must be contiguous.
func strip(clip tensor.Tensor, axes string) tensor.Tensor {
	if axes[0] == 'N' {
		clip, axes = clip.Row(0), axes[1:]
	}
	size := clip.DType.Size()
	extent, step := map[byte]int{}, map[byte]int{}
	for i, bytes := len(axes)-1, size; i >= 0; i-- {
		extent[axes[i]], step[axes[i]] = clip.Shape[i], bytes
		bytes *= clip.Shape[i]
	}

	frames, height, width, channels := min(extent['T'], mostFrames), extent['H'], extent['W'], extent['C']
	out := tensor.Tensor{DType: clip.DType, Shape: tensor.Shape{height, frames * width, channels}}
	out.Data = make([]byte, 0, height*frames*width*channels*size)
	for y := range height {
		for f := range frames {
			t := f * (extent['T'] - 1) / max(1, frames-1)
			for x := range width {
				for c := range channels {
					at := t*step['T'] + y*step['H'] + x*step['W'] + c*step['C']
					out.Data = append(out.Data, clip.Data[at:][:size]...)
				}
			}
		}
	}
	return out
}

// moves tells whether axes are those of clips.
func moves(axes string) bool { return strings.Contains(axes, "T") }
