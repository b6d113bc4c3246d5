package extern

import "github.com/headrace/headrace/sample"

// Samples in hand for each worker: as many as one takes at a time, and as many again that
// wait for it meanwhile.
const (
	mostHands  = 128
	usualHands = 16      // where it is not known how large samples are
	handsBytes = 1 << 20 // that those of one worker come to
)

// InHand returns the number of samples in hand for each worker that takes and gives
// values of these types.
func InHand(in, out sample.Schema) int {
	bytes := int64(0)
	for _, f := range append(in[:len(in):len(in)], out...) {
		switch {
		case f.Type.Kind == sample.Text, f.Type.Kind == sample.Object:
			bytes += 100
		case f.Type.Axes != "" && !f.Type.Fixed():
			return 4
		case !f.Type.Fixed():
			return usualHands
		default:
			n, _ := f.Type.Shape.Bytes(f.Type.DType)
			bytes += n
		}
	}
	return int(min(max(handsBytes/max(1, bytes), 4), mostHands))
}
