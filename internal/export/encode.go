package export

import (
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// encoder makes a file of a field of a sample.
type encoder struct {
	suffix  string
	note    string
	picture bool // it is a file of an image
	encode  func(dst []byte, c column, row int) ([]byte, error)
}

// imageFormats are the values of Options.Images besides "npy", by suffix.
var imageFormats = map[string]string{"png": media.PNG, "jpg": media.JPEG, "webp": media.WebP}

// newEncoder chooses the form of a field: what programs that read WebDataset decode
// without being told.
func newEncoder(f headrace.Field, o Options) (encoder, error) {
	switch {
	case f.Kind == sample.Text:
		suffix := ".txt"
		if isLists(f) {
			suffix = ".json"
		}
		return encoder{suffix: f.Name + suffix, encode: func(dst []byte, c column, row int) ([]byte, error) {
			return append(dst, c.text.At(row)...), nil
		}}, nil
	case isInteger(f):
		suffix := f.Name + ".id"
		if f.Name == "label" {
			suffix = "cls"
		}
		return encoder{suffix: suffix, encode: func(dst []byte, c column, row int) ([]byte, error) {
			text, _ := integer(f.DType, c.row(row))
			return append(dst, text...), nil
		}}, nil
	case o.Images != "npy" && (f.Name == "image" || isPicture(f)):
		return pictureEncoder(f, o)
	default:
		return encoder{suffix: suffixOf(f, "npy"), note: bfloat16Note(f), encode: func(dst []byte, c column, row int) ([]byte, error) {
			return append(append(dst, npy.Write(f.DType, c.shape)...), c.row(row)...), nil
		}}, nil
	}
}

// suffixOf is the extension of a field: the format alone for the image, which every
// reader knows by that.
func suffixOf(f headrace.Field, format string) string {
	if f.Name == "image" {
		return format
	}
	return f.Name + "." + format
}

func pictureEncoder(f headrace.Field, o Options) (encoder, error) {
	options := media.EncodeOptions{Format: imageFormats[o.Images], Quality: o.Quality}
	switch {
	case o.Quality != 0:
	case o.Images == "jpg":
		options.Quality = 95 // others learn from these images, and from what compression makes of them
	case o.Images == "webp":
		options.Lossless = true
	}

	if !isPicture(f) {
		return encoder{}, fmt.Errorf("%w: --images %s: %s is %v %v: must be uint8 (PNG: "+
			"uint16 too) of [height, width, 1, 3 or 4]; --images npy accepts everything",
			ErrOptions, o.Images, f.Name, f.DType, f.Shape)
	}

	colors := map[int]media.Color{1: media.Gray, 3: media.RGB, 4: media.RGBA}
	pixels := func(shape tensor.Shape) media.Pixels {
		p := media.Pixels{Height: shape[0], Width: shape[1], Color: colors[shape[2]], DType: f.DType}
		p.Stride = p.Width * p.PixelBytes()
		return p
	}

	// A blank image tells before the run whether the format can have this field.
	blank := pixels(tensor.Shape{max(f.Shape[0], 1), max(f.Shape[1], 1), f.Shape[2]}) // its size may differ
	blank.Data = make([]byte, blank.Height*blank.Stride)
	if _, err := media.Encode(nil, blank, options); err != nil { // what does not fit the format, none of the images does
		return encoder{}, fmt.Errorf("%w: --images %s: %w", ErrOptions, o.Images, err)
	}

	return encoder{suffix: suffixOf(f, o.Images), picture: true, encode: func(dst []byte, c column, row int) ([]byte, error) {
		p := pixels(c.shape)
		p.Data = c.row(row)
		return media.Encode(dst, p, options)
	}}, nil
}

// isPicture reports whether a field has the form of an image that files hold.
func isPicture(f headrace.Field) bool {
	if f.Kind != sample.Tensor || len(f.Shape) != 3 {
		return false
	}
	whole := f.DType == tensor.Uint8 || f.DType == tensor.Uint16
	channels := f.Shape[2]
	return whole && (channels == 1 || channels == 3 || channels == 4)
}

func bfloat16Note(f headrace.Field) string {
	if f.DType == tensor.BFloat16 {
		return "the bits of bfloat16 as uint16, which NumPy's format can say: array.view(ml_dtypes.bfloat16), " +
			"torch.from_numpy(array).view(torch.bfloat16)"
	}
	return ""
}
