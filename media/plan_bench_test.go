package media_test

import (
	"testing"

	"github.com/headrace/headrace/media"
)

func BenchmarkMakePlan(b *testing.B) {
	for name, ops := range map[string][]media.Op{
		"val":   {media.Resize{Size: 256}, media.CenterCrop{Height: 224, Width: 224}},
		"train": {media.RandomResizedCrop{Height: 224, Width: 224}, media.RandomFlip{P: 0.5}},
	} {
		b.Run(name, func(b *testing.B) {
			steps := steps(ops...)
			var r media.Rand = constant(0.4)
			var plan media.Plan
			b.ReportAllocs()
			for b.Loop() {
				if err := media.MakePlan(media.Info{Width: 500, Height: 375}, media.Options{Orient: true}, steps, r, &plan); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// constant is a media.Rand that gives the same number always.
type constant float64

func (c constant) Float64(uint64, uint32) float64 { return float64(c) }
