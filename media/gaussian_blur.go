package media

import (
	"fmt"
	"math"

	"github.com/headrace/headrace/media/internal/blur"
	"github.com/headrace/headrace/tensor"
)

// GaussianBlur blurs an image with a Gauss curve, whose standard deviation in pixels is
// drawn between two bounds. The kernel is a square of KernelSize pixels each way; beyond
// its edges the image is mirrored. An alpha channel is blurred like the others.
type GaussianBlur struct {
	KernelSize int        `json:"kernel_size"` // odd, and at most 127
	Sigma      [2]float64 `json:"sigma"`
}

// Check refuses parameters beyond their bounds.
func (o GaussianBlur) Check() error {
	if err := checkKernel(o.KernelSize); err != nil {
		return err
	}
	for _, s := range o.Sigma {
		if err := checkSigma(s); err != nil {
			return err
		}
	}
	if o.Sigma[0] > o.Sigma[1] {
		return fmt.Errorf("%w: gaussian_blur with a sigma from %v to %v", ErrGeometry, o.Sigma[0], o.Sigma[1])
	}
	return nil
}

// Result tells the form after the operation.
func (o GaussianBlur) Result(in Form) (Form, error) { return in, in.checkByteColors("gaussian_blur") }

func (o GaussianBlur) name() string { return "gaussian_blur" }

// place uses draw 0.
func (o GaussianBlur) place(p *Plan, id uint64, r Rand) error {
	sigma := float32(o.Sigma[0])
	if o.Sigma[0] < o.Sigma[1] {
		// The conversion keeps the compiler from fusing operations, as in ColorJitter.
		sigma = float32(o.Sigma[0] + float64((o.Sigma[1]-o.Sigma[0])*r.Float64(id, 0)))
	}
	if p.tells() {
		p.tell(map[string]any{"sigma": float64(sigma)})
	}
	p.pass(Pass{Effect: &gaussianBlur, Args: Args{float32(o.KernelSize), sigma}})
	return nil
}

func checkKernel(size int) error {
	if size < 1 || size > blur.Most || size%2 == 0 {
		return fmt.Errorf("%w: gaussian_blur with a kernel of %d pixels: must be odd, and from 1 to %d",
			ErrGeometry, size, blur.Most)
	}
	return nil
}

func checkSigma(sigma float64) error {
	// Of less than the least float32 nothing would be left.
	if !(sigma >= math.SmallestNonzeroFloat32 && sigma <= math.MaxFloat32) {
		return fmt.Errorf("%w: gaussian_blur with a sigma of %v: must be above 0", ErrGeometry, sigma)
	}
	return nil
}

// gaussianBlur has the kernel's size and sigma as its numbers. Across comes before down,
// and rows are rounded in between: so an image that is turned first has other pixels.
var gaussianBlur = Effect{
	Name:  "gaussian_blur",
	Reach: blur.Most / 2,
	Fixed: true,
	Extra: 8, // at most as many rows as there are, of 16 bits
	Check: func(a *Args, f Form) error {
		if f.DType != tensor.Uint8 {
			return fmt.Errorf("%w: gaussian_blur of %v: must be uint8", ErrUnsupported, f.DType)
		}
		if a[0] != float32(int(a[0])) {
			return fmt.Errorf("%w: gaussian_blur with a kernel of %v pixels", ErrGeometry, a[0])
		}
		if err := checkKernel(int(a[0])); err != nil {
			return err
		}
		return checkSigma(float64(a[1]))
	},
	Apply: func(a *Args, p Pixels) Pixels {
		w, reach := blur.Of(int(a[0]), a[1])
		rows := blur.Rows{Data: p.Data, Stride: p.Stride, Width: p.Width, Height: p.Height, Channels: p.Color.Channels()}
		blur.Blur(rows, &w, reach)
		return p
	},
}
