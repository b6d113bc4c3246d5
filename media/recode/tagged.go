package recode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/media"
)

// Tags name the colours of a file's images in the words of the encoder's options
// colorspace and color_range. Empty ones are BT.601 and from 16 to 235, as players take a
// file without tags.
type Tags struct{ Matrix, Range string }

const (
	bt601         = 6 // the number in ITU-T H.273
	limited, full = 1, 2
)

// matrices are those that libswscale converts RGB to.
var matrices = map[int]string{1: "bt709", 4: "fcc", 5: "bt470", bt601: "smpte170m", 7: "smpte240m", 9: "bt2020"}

// matrixNumbers and rangeNumbers have the names of FFmpeg's options.
var (
	matrixNumbers = map[string]int{
		"": bt601, "unknown": bt601, "unspecified": bt601, "2": bt601, "bt709": 1, "1": 1, "fcc": 4, "4": 4, "bt470bg": 5, "5": 5,
		"smpte170m": bt601, "6": bt601, "smpte240m": 7, "7": 7, "bt2020nc": 9, "bt2020_ncl": 9, "9": 9,
	}
	rangeNumbers = map[string]int{
		"": limited, "unknown": limited, "unspecified": limited, "0": limited, "tv": limited,
		"mpeg": limited, "limited": limited, "1": limited,
		"pc": full, "jpeg": full, "full": full, "2": full,
	}
)

// of returns the matrix and range of images in a pixel format.
func (t Tags) of(format string) (matrix, reach int, err error) {
	matrix, ok := matrixNumbers[t.Matrix]
	if !ok {
		return 0, 0, fmt.Errorf("%w: colorspace %q: images are converted to bt709, bt470bg, smpte170m, smpte240m, fcc or bt2020nc",
			media.ErrUnsupported, t.Matrix)
	}
	if reach, ok = rangeNumbers[t.Range]; !ok {
		return 0, 0, fmt.Errorf("%w: color_range %q: must be tv or pc", media.ErrUnsupported, t.Range)
	}
	if strings.HasPrefix(format, "yuvj") {
		reach = full
	}
	return matrix, reach, nil
}

// told are the codecs whose streams have both tags. FFmpeg's muxers of other containers
// than Matroska add none, or one of them.
var (
	told         = []string{"libx264", "libx265", "libvpx-vp9", "libaom-av1", "libsvtav1", "librav1e", "h264", "hevc", "vp9", "av1"}
	toldMatroska = []string{"ffv1", "mpeg4"}
)

// lost returns an error for tags that would not be in the file, so that images converted
// to them would be shown in wrong colours.
func (t Tags) lost(codec, container, format string, matrix, reach int) error {
	why := ""
	switch kept := slices.Contains(told, codec) || container == "matroska" && slices.Contains(toldMatroska, codec); {
	case kept:
	case matrix != bt601 && matrices[matrix] != "bt470" && codec != "mpeg2video": // bt470bg is BT.601 by another name
		why = "colorspace " + t.Matrix
	case reach == full && !strings.HasPrefix(format, "yuvj"):
		why = "color_range " + t.Range
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf("%w: a file of %s in %s does not say %s, so its colours would be wrong: leave it out, or use %s, or %s in Matroska",
		media.ErrUnsupported, codec, container, why, strings.Join(told[:4], ", "), strings.Join(toldMatroska, " or "))
}

// converted returns the graph, ended by a conversion to the matrix and range: the
// one that FFmpeg adds by itself is always to BT.601. The input's format comes before it,
// so that images are not converted twice.
func converted(graph, input string, matrix, reach int) string {
	return fmt.Sprintf("%s,format=%s,scale=out_color_matrix=%s:out_range=%s", graph, input, matrices[matrix],
		map[int]string{limited: "limited", full: "full"}[reach])
}
