package recode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/media"
)

// Tags name the colours of a file's images in the words of the encoder's options
// colorspace, color_range, color_primaries and color_trc. Empty ones are BT.601 and from
// 16 to 235, as players take a file without tags.
type Tags struct{ Matrix, Range, Primaries, Transfer string }

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

// of returns the matrix and range of images in a pixel format that an encoder gets. Of
// RGB, which has neither, and of gray without tags, both are 0.
func (t Tags) of(codec, format string) (matrix, reach int, err error) {
	switch {
	case isRGB(format):
		return 0, 0, t.ofRGB(format)
	case isGray(format):
		return t.ofGray(codec, format)
	case !strings.HasPrefix(format, "yuv") && !strings.HasPrefix(format, "nv"):
		return 0, 0, nil
	}
	if matrix, reach, err = t.numbers(); err != nil {
		return 0, 0, err
	}
	if strings.HasPrefix(format, "yuvj") {
		if t.Range != "" && reach != full {
			return 0, 0, fmt.Errorf("%w: %s takes %s, which has full range: leave the limited range out, or give pixel_format %q",
				media.ErrUnsupported, codec, format, "yuv"+format[4:])
		}
		reach = full
	}
	return matrix, reach, nil
}

func (t Tags) numbers() (matrix, reach int, err error) {
	matrix, ok := matrixNumbers[t.Matrix]
	if !ok {
		return 0, 0, fmt.Errorf("%w: colorspace %q: images are converted to bt709, bt470bg, smpte170m, smpte240m, fcc or bt2020nc",
			media.ErrUnsupported, t.Matrix)
	}
	if reach, ok = rangeNumbers[t.Range]; !ok {
		return 0, 0, fmt.Errorf("%w: color_range %q: must be tv or pc", media.ErrUnsupported, t.Range)
	}
	return matrix, reach, nil
}

// isRGB reports whether a format has no matrix.
func isRGB(format string) bool {
	return slices.ContainsFunc([]string{"rgb", "bgr", "gbr", "argb", "abgr", "0rgb", "0bgr", "pal8"}, func(s string) bool {
		return strings.HasPrefix(format, s)
	})
}

// isGray reports whether a format has luma alone.
func isGray(format string) bool {
	return strings.HasPrefix(format, "gray") || strings.HasPrefix(format, "ya")
}

func (t Tags) ofRGB(format string) error {
	matrix := t.Matrix != "" && !slices.Contains([]string{"rgb", "gbr", "0"}, t.Matrix)
	if !matrix && (t.Range == "" || rangeNumbers[t.Range] == full) {
		return nil
	}
	return fmt.Errorf("%w: the encoder takes %s, which has no matrix and full range: leave them out, or give pixel_format \"yuv444p\"",
		media.ErrUnsupported, format)
}

// ofGray returns matrix and range of a file of gray images; the matrix is that of their
// luma. Decoders make YUV of H.264's, of either range. Others' stay gray, which
// libswscale always takes for full range.
func (t Tags) ofGray(codec, format string) (matrix, reach int, err error) {
	if matrix, reach, err = t.numbers(); err != nil || isH264(codec) {
		return matrix, reach, err
	}
	if t.Range != "" && reach != full {
		return 0, 0, fmt.Errorf("%w: players take %s of %s for full range: leave the limited range out, or give another pixel_format",
			media.ErrUnsupported, format, codec)
	}
	if t == (Tags{}) && !slices.Contains(told, codec) {
		return 0, 0, nil
	}
	return matrix, full, nil
}

func isH264(codec string) bool { return codec == "libx264" || codec == "h264" }

// Codecs whose streams have both tags, in any container; those to which Matroska's apply;
// those to which MP4's do, which it has if primaries and transfer are named, too; and
// those whose streams name the matrix, but have limited range.
var (
	told         = []string{"libx264", "libx265", "libvpx-vp9", "libaom-av1", "libsvtav1", "librav1e", "h264", "hevc", "vp9", "av1"}
	toldMatroska = []string{
		"ffv1", "mpeg4", "libxvid", "theora", "libtheora", "rawvideo", "huffyuv", "ffvhuff", "v210",
	}
	toldMP4     = []string{"mpeg4", "libxvid"}
	toldLimited = []string{"mpeg2video"}
)

// lost returns an error for tags that would not be in the file, so that images converted
// to them would be shown in wrong colours.
func (t Tags) lost(codec, container, format string, matrix, reach int) error {
	named := t.Matrix != "" && t.Primaries != "" && t.Transfer != ""
	inMP4 := named && container == "mp4" && slices.Contains(toldMP4, codec)
	other := matrix != 0 && matrix != bt601 && matrices[matrix] != "bt470" // bt470bg is BT.601 by another name
	inMatroska := (container == "matroska" || container == "webm") && slices.Contains(toldMatroska, codec)
	why := ""
	switch {
	case isGray(format) || slices.Contains(told, codec) || inMatroska || inMP4:
	case other && !slices.Contains(toldLimited, codec):
		why = "the matrix " + t.Matrix
	case reach == full && !strings.HasPrefix(format, "yuvj"):
		why = "full range"
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf("%w: a file of %s in %s cannot say %s, so its colours would be wrong: leave it out, or use %s, or %s in Matroska",
		media.ErrUnsupported, codec, container, why, strings.Join(told[:4], ", "), strings.Join(toldMatroska[:2], " or "))
}

// converted returns the graph, ended by a conversion to the matrix and range: the
// one that FFmpeg adds by itself is always to BT.601. The input's format comes before it,
// so that images are not converted twice.
func converted(graph, input, output string, matrix, reach int) string {
	graph = fmt.Sprintf("%s,format=%s,scale=out_color_matrix=%s", graph, input, matrices[matrix])
	switch {
	case !isGray(output):
		return graph + ":out_range=" + map[int]string{limited: "limited", full: "full"}[reach]
	case reach == limited: // libswscale knows no gray of it
		depth := 8
		fmt.Sscanf(output, "gray%d", &depth)
		return fmt.Sprintf("%s,format=%s,lut=c0='round(%d+%d*val/%d)'", graph, output, 16<<(depth-8), 219<<(depth-8), 1<<depth-1)
	}
	return graph
}
