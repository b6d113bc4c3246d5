//go:build cgo

package turbo

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// Runner carries out plans on pixels in memory with the kernels that the decoder uses.
// It implements media.Runner. Other forms than RGB of 8 bits are left to
// media.GoRunner.
type Runner struct{}

// Name returns "turbo".
func (Runner) Name() string { return "turbo" }

// Run implements media.Runner.
func (Runner) Run(dst []byte, stride int, src media.Pixels, plan *media.Plan) error {
	if !Usual(plan) || src.Color != media.RGB || src.DType != tensor.Uint8 {
		return media.GoRunner{}.Run(dst, stride, src, plan)
	}
	if err := media.CheckTarget(dst, stride, plan); err != nil {
		return err
	}
	if err := src.Check(); err != nil {
		return err
	}
	h, err := borrow()
	if err != nil {
		return err
	}
	defer h.giveBack()
	return h.run(dst, stride, picture{pixels: src, width: src.Width, height: src.Height, orientation: plan.Orientation}, plan)
}
