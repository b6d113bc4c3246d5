package video

import (
	"context"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/video"
	"github.com/headrace/headrace/media/yuv"
)

// Names of ITU-T H.273's numbers, as FFmpeg has them. Those that nobody uses have none.
var (
	primaryNames = map[uint8]string{
		1: "bt709", 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "film", 9: "bt2020",
		10: "smpte428", 11: "smpte431", 12: "smpte432", 22: "ebu3213",
	}
	transferNames = map[uint8]string{
		1: "bt709", 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "linear",
		9: "log100", 10: "log316", 11: "iec61966-2-4", 12: "bt1361e",
		13: "iec61966-2-1", 14: "bt2020-10", 15: "bt2020-12", 16: "smpte2084", 17: "smpte428", 18: "arib-std-b67",
	}
	matrixNames = map[uint8]string{
		1: "bt709", 4: "fcc", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "ycgco", 9: "bt2020nc",
		10: "bt2020c", 12: "chroma-derived-nc", 13: "chroma-derived-c", 14: "ictcp",
	}
	rangeNames = map[av.Range]string{av.Limited: "tv", av.Full: "pc"}
)

// ColorInfo describes the coding of colours, by FFmpeg's names: what decoding uses. Of
// primaries and transfer, which it does not use, "" says that the file does not say them.
type ColorInfo struct {
	Primaries string   `json:"primaries"`
	Transfer  string   `json:"transfer"`
	Matrix    string   `json:"matrix"`
	Range     string   `json:"range"`
	Stated    []string `json:"stated"` // those that the file says; others are assumed
}

// describeColor describes the colours that a container says.
func describeColor(c av.Color) ColorInfo {
	told := ColorInfo{primaryNames[c.Primaries], transferNames[c.Transfer], matrixNames[c.Matrix], rangeNames[c.Range], []string{}}
	return told.stating(true, true)
}

// stating adds which of the names a file says.
func (c ColorInfo) stating(matrix, reach bool) ColorInfo {
	for _, one := range []struct {
		name, value string
		said        bool
	}{{"primaries", c.Primaries, true}, {"transfer", c.Transfer, true}, {"matrix", c.Matrix, matrix}, {"range", c.Range, reach}} {
		if one.said && one.value != "" {
			c.Stated = append(c.Stated, one.name)
		}
	}
	return c
}

// frameColor describes the colours of a frame, in a container that says others.
func frameColor(f *video.Frame, c av.Color) ColorInfo {
	told := ColorInfo{primaryNames[f.Primaries], transferNames[f.Transfer], matrixNames[uint8(f.Matrix)], "tv", []string{}}
	if f.Kind == yuv.RGB || f.Matrix == 0 {
		told.Matrix = "gbr"
	}
	if f.Full {
		told.Range = "pc"
	}
	ranged := f.Ranged || c.Range != av.UnknownRange && told.Range == rangeNames[c.Range]
	return told.stating(!f.Untagged, ranged)
}

// FirstFrame has the properties of a video that its first decoded frame tells.
type FirstFrame struct {
	Color     ColorInfo
	Format    string // the decoder's name of it
	Native    video.Native
	NativeErr error // why there is no such layout
}

// First decodes the clip's frames, and describes the last of them.
func (c *VideoClip) First(ctx context.Context) (told FirstFrame, err error) {
	err = c.clip.Decode(ctx, func(_ int, f *video.Frame) error {
		told.Color, told.Format = frameColor(f, c.video.Stream.Color), f.Format
		told.Native, told.NativeErr = video.NativeOf(f)
		return nil
	})
	return told, err
}
