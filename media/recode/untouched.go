package recode

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/media"
)

// undefined is the number of ITU-T H.273 for a matrix that nobody names.
const undefined = 2

// untouched returns the format in which the encoder gets frames that keep their numbers,
// and the matrix and range that the file names. Nothing is converted to them.
func (s *saving) untouched(takes string) (format string, matrix, reach int, err error) {
	if matrix, reach, err = s.Tags.ofPlanes(s.From.Format); err != nil {
		return "", 0, 0, err
	}
	if format, err = s.takenAs(takes, reach); err != nil {
		return "", 0, 0, err
	}
	if err := s.Tags.lost(s.Codec, s.container, format, matrix, reach); err != nil {
		return "", 0, 0, err
	}
	if isGray(format) && !isH264(s.Codec) && reach == limited {
		return "", 0, 0, fmt.Errorf("%w: players take %s of %s for full range: save such frames with libx264, or as planes of yuv420",
			media.ErrUnsupported, format, s.Codec)
	}
	s.bits = bitsOf(s.From.Format)
	s.From.Matrix, s.From.Range = matrix, reach
	if matrix == 0 && !isRGB(format) {
		s.From.Matrix = undefined
	}
	if format != s.From.Format { // else a conversion of chroma or bits would convert the range, too
		s.From.Range = 0
	}
	return format, matrix, reach, nil
}

// ofPlanes returns the matrix and range that tags name; 0: they do not.
func (t Tags) ofPlanes(format string) (matrix, reach int, err error) {
	if isRGB(format) {
		return 0, 0, t.ofRGB(format)
	}
	if matrix, reach, err = t.numbers(); err != nil {
		return 0, 0, err
	}
	if t.Matrix == "" {
		matrix = 0
	}
	if t.Range == "" {
		reach = 0
	}
	return matrix, reach, nil
}

// takenAs is the format that the encoder takes frames in: theirs, or one that is asked
// for and has the same kind of numbers.
func (s *saving) takenAs(takes string, reach int) (string, error) {
	format, all := s.From.Format, strings.Split(takes, "|")
	if s.Format != "" {
		format = s.Format
		if isRGB(format) != isRGB(s.From.Format) || isGray(format) && !isGray(s.From.Format) {
			return "", fmt.Errorf("%w: frames of %s keep their colours, and pixel_format %s has others: "+
				"leave it out, or make RGB of them first", media.ErrUnsupported, s.From.Format, format)
		}
	}
	if s.Codec == "mjpeg" { // its formats of full range have another name
		if reach != full && strings.HasPrefix(format, "yuv") {
			return "", fmt.Errorf("%w: players take mjpeg for full range, and the range of these frames is not named so: "+
				"give range \"full\" if that is theirs, or another codec", media.ErrUnsupported)
		}
		if named := strings.Replace(format, "yuv4", "yuvj4", 1); slices.Contains(all, named) {
			if s.From.Format == format {
				s.From.Format = named
			}
			return named, nil
		}
	}
	if takes == "" || slices.Contains(all, format) {
		return format, nil
	}
	if other := rearranged(format, all); other != "" {
		return other, nil
	}
	remedy := "choose a codec that takes it, as ffv1"
	if s.Format == "" {
		remedy += ", or have it converted with pixel_format"
	}
	return "", fmt.Errorf("%w: the frames are %s, and %s takes %s: %s", media.ErrUnsupported, format, s.Codec,
		strings.ReplaceAll(takes, "|", ", "), remedy)
}

// rearranged returns a format with the same numbers in other places, of RGB of 8 bits;
// "": the encoder takes none.
func rearranged(format string, all []string) string {
	if !isRGB(format) || bitsOf(format) != 8 {
		return ""
	}
	for _, one := range []string{"gbrp", "bgr24", "bgr0", "bgra", "rgba", "gbrap", "rgb24"} {
		alpha := strings.Contains(one, "a")
		if slices.Contains(all, one) && (alpha || !strings.Contains(format, "a")) {
			return one
		}
	}
	return ""
}

// bitsOf returns the bits of a format's samples, by FFmpeg's name of it.
func bitsOf(format string) int {
	name, wide := strings.CutSuffix(format, "le")
	if !wide {
		return 8
	}
	n, err := strconv.Atoi(name[len(strings.TrimRight(name, "0123456789")):])
	if err != nil || n > 16 {
		return 16 // rgb48 has three samples of 16 bits
	}
	return n
}

// fits reports an error of samples of two bytes that have more bits than their format.
func (s *saving) fits(data []byte) error {
	if s.bits <= 8 || s.bits >= 16 {
		return nil
	}
	high := byte(0)
	for i := 1; i < len(data); i += 2 {
		high |= data[i]
	}
	if high>>(s.bits-8) == 0 {
		return nil
	}
	return fmt.Errorf("recode: frame %d has numbers above %d, the most of %s", s.pts, 1<<s.bits-1, s.From.Format)
}
