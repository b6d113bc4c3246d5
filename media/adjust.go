package media

// Adjust is one change of colours. What each computes is what Pillow's ImageEnhance and torchvision's functions for Pillow images compute, with
// 8 bits after every one.
type Adjust struct {
	Kind   AdjustKind
	Factor float32
}

// AdjustKind is what a change of colours does.
type AdjustKind uint8

// The changes of colours.
const (
	Brightness AdjustKind = iota // times Factor
	Contrast                     // away from the picture's mean lightness by Factor
	Saturation                   // away from the pixel's own lightness by Factor
	Hue                          // round the circle of hues by Factor, of which 1 is the whole
	Grayscale                    // all channels become the lightness; there are as many as before
	ToGray                       // the lightness is the only channel left
)
