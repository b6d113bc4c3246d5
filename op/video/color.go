package video

import "github.com/headrace/headrace/media/av"

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

// ColorInfo describes the coding of colours, by FFmpeg's names; "": the container does
// not say it.
type ColorInfo struct {
	Primaries string `json:"primaries"`
	Transfer  string `json:"transfer"`
	Matrix    string `json:"matrix"`
	Range     string `json:"range"`
}

func describeColor(c av.Color) ColorInfo {
	return ColorInfo{primaryNames[c.Primaries], transferNames[c.Transfer], matrixNames[c.Matrix], rangeNames[c.Range]}
}
