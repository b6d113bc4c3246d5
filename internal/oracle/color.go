package oracle

import "testing"

// Change is one of torchvision's changes of colour: brightness, contrast, saturation,
// hue by a factor; grayscale with three channels, or "to gray" with one.
type Change struct {
	Name   string  `json:"name"`
	Factor float64 `json:"factor"`
}

// Adjust applies torchvision's changes of colour to a Pillow image, one after the
// other. Four channels are RGBA.
func Adjust(t testing.TB, p Picture, changes ...Change) Picture {
	t.Helper()
	return ask(t, "adjust", map[string]any{"picture": size(p), "changes": append([]Change{}, changes...)}, p.Pix).picture(t)
}

// Functional calls a function of torchvision.transforms.v2.functional with a tensor of
// uint8 and arguments.
func Functional(t testing.TB, p Picture, name string, args ...any) Picture {
	t.Helper()
	return ask(t, "functional", map[string]any{"picture": size(p), "name": name, "args": append([]any{}, args...)}, p.Pix).picture(t)
}

// OfPillow is Functional with a Pillow image of one or three channels.
func OfPillow(t testing.TB, p Picture, name string, args ...any) Picture {
	t.Helper()
	asked := map[string]any{"picture": size(p), "name": name, "args": append([]any{}, args...)}
	return ask(t, "functional_of_pillow", asked, p.Pix).picture(t)
}

// Normalize is torchvision's to_tensor and normalize: bytes of float32 in the order
// channel, row, column, and of the same as torch rounds them to dtype.
func Normalize(t testing.TB, p Picture, mean, std []float64, dtype string) (float32s, rounded []byte) {
	t.Helper()
	r := ask(t, "normalize", map[string]any{"picture": size(p), "mean": mean, "std": std, "dtype": dtype}, p.Pix)
	return r.Blobs[0], r.Blobs[1]
}

// RoundFloats rounds bytes of float32 to float16 with NumPy and to bfloat16 with torch.
func RoundFloats(t testing.TB, float32s []byte) (float16s, bfloat16s []byte) {
	t.Helper()
	r := ask(t, "round_floats", nil, float32s)
	return r.Blobs[0], r.Blobs[1]
}

// JitterBounds are the bounds that torchvision's ColorJitter makes of one number each
// for brightness, contrast, saturation and hue; nil where it leaves the change out.
func JitterBounds(t testing.TB, numbers [4]float64) (bounds [4]*[2]float64) {
	t.Helper()
	ask(t, "jitter_bounds", map[string]any{"numbers": numbers}).into(t, &bounds)
	return bounds
}

// Erased draws so many of torchvision's RandomErasing, and returns how often there is a
// rectangle, and its place and sides on average, of which those without have 0.
func Erased(t testing.TB, width, height int, p float64, scale, ratio [2]float64, draws int) (mean [5]float64) {
	t.Helper()
	ask(t, "erased", map[string]any{"size": []int{width, height}, "p": p, "scale": scale, "ratio": ratio, "draws": draws}).into(t, &mean)
	return mean
}
