package hostile

import (
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/media/internal/testjpeg"
	"github.com/headrace/headrace/tensor"
)

// A File is data with a name for people.
type File struct {
	Name string
	Data []byte
}

// The size of seeds: small, because they are cut at every byte, and odd.
const seedWidth, seedHeight = 23, 17

// Seeds are intact images of a format, one of each kind that it has.
func Seeds(t testing.TB, format string) []File {
	t.Helper()
	return seeds[format](t)
}

var seeds = map[string]func(testing.TB) []File{
	media.JPEG: jpegSeeds, media.PNG: pngSeeds, media.WebP: webpSeeds, media.AVIF: avifSeeds,
	media.GIF: gifSeeds, media.BMP: bmpSeeds, media.TIFF: tiffSeeds,
}

type kind struct {
	name, mode string
	frames     int
	options    map[string]any
}

func made(t testing.TB, format string, kinds []kind) []File {
	t.Helper()
	var files []File
	for _, k := range kinds {
		img := pixeltest.Smooth(k.mode, seedWidth, seedHeight, max(k.frames, 1))
		files = append(files, File{k.name, oracle.WriteImage(t, img, format, k.options)})
	}
	return files
}

// content is slopes with some noise.
func content(n int, shift byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*2) + byte(i*i*31)&15 + shift
	}
	return b
}

const xmp = `<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>`

func jpegSeeds(t testing.TB) []File {
	var files []File
	for _, l := range []struct {
		name string
		testjpeg.Layout
	}{
		{"grey", testjpeg.Layout{}},
		{"4:4:4", testjpeg.Layout{Sampling: testjpeg.S444}},
		{"4:2:0, restart", testjpeg.Layout{Sampling: testjpeg.S420, Restart: 1}},
		{"4:2:2, a scan each", testjpeg.Layout{Sampling: testjpeg.S422, Separate: true}},
		{"4:4:0, progressive", testjpeg.Layout{Sampling: testjpeg.S440, Progressive: true}},
		{"4:1:0", testjpeg.Layout{Sampling: testjpeg.S410}},
	} {
		l.Quality = 50
		files = append(files, File{l.name, testjpeg.Noise(seedWidth, seedHeight, 5, l.Layout)})
	}
	return append(files, made(t, "JPEG", []kind{
		{"Pillow, EXIF", "RGB", 1, map[string]any{"exif": pixeltest.EXIF(6)}},
		{"Pillow, progressive, XMP", "RGB", 1, map[string]any{"progressive": true, "xmp": oracle.Bytes(xmp)}},
		{"CMYK", "CMYK", 1, nil},
	})...)
}

func pngSeeds(t testing.TB) []File {
	files := made(t, "PNG", []kind{
		{"1 bit", "1", 1, nil},
		{"grey", "L", 1, nil},
		{"grey, alpha", "LA", 1, nil},
		{"grey, 16 bits", "I;16", 1, nil},
		{"palette", "P", 1, map[string]any{"palette": pixeltest.Palette()}},
		{"palette, transparent", "P", 1, map[string]any{"palette": pixeltest.Palette(), "transparency": 3}},
		{"palette of 2 bits", "P", 1, map[string]any{"palette": pixeltest.Palette()[:12], "bits": 2}},
		{"RGB", "RGB", 1, nil},
		{"RGBA, EXIF", "RGBA", 1, map[string]any{"exif": pixeltest.EXIF(8)}},
	})
	for _, color := range []media.Color{media.RGB, media.RGBA} {
		p := media.Pixels{Width: seedWidth, Height: seedHeight, Color: color, DType: tensor.Uint16}
		p.Stride = p.Width * p.PixelBytes()
		p.Data = content(p.Stride*p.Height, 0)
		data, err := media.Encode(nil, p, media.EncodeOptions{Format: media.PNG})
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, File{color.String() + ", 16 bits", data})
	}
	return append(files, File{"interlaced", interlaced()})
}

func webpSeeds(t testing.TB) []File {
	return made(t, "WEBP", []kind{
		{"lossy", "RGB", 1, nil},
		{"lossy, alpha, EXIF", "RGBA", 1, map[string]any{"exif": pixeltest.EXIF(3)}},
		{"lossless", "RGB", 1, map[string]any{"lossless": true}},
		{"lossless, alpha", "RGBA", 1, map[string]any{"lossless": true, "exact": true}},
		{"animated", "RGBA", 3, map[string]any{"lossless": true}},
	})
}

func avifSeeds(t testing.TB) []File {
	return made(t, "AVIF", []kind{
		{"RGB", "RGB", 1, map[string]any{"speed": 10}},
		{"RGBA", "RGBA", 1, map[string]any{"speed": 10, "subsampling": "4:4:4"}},
		{"grey", "L", 1, map[string]any{"speed": 10, "subsampling": "4:0:0"}},
		{"animated", "RGB", 2, map[string]any{"speed": 10}},
	})
}

func gifSeeds(t testing.TB) []File {
	return made(t, "GIF", []kind{
		{"plain", "P", 1, map[string]any{"palette": pixeltest.Palette(), "interlace": 0}},
		{"interlaced", "P", 1, map[string]any{"palette": pixeltest.Palette(), "interlace": 1}},
		{"transparent", "P", 1, map[string]any{"palette": pixeltest.Palette(), "transparency": 7}},
		{"animated", "P", 3, map[string]any{"palette": pixeltest.Palette()}},
	})
}

func bmpSeeds(t testing.TB) []File {
	return append(made(t, "BMP", []kind{
		{"1 bit", "1", 1, nil},
		{"grey", "L", 1, nil},
		{"palette", "P", 1, map[string]any{"palette": pixeltest.Palette()}},
		{"RGB", "RGB", 1, nil},
		{"RGBA", "RGBA", 1, nil},
	}), File{"run lengths", runLengths()})
}

func tiffSeeds(t testing.TB) []File {
	return made(t, "TIFF", []kind{
		{"RGB", "RGB", 1, nil},
		{"grey, LZW", "L", 1, map[string]any{"compression": "tiff_lzw"}},
		{"RGB, LZW, differences", "RGB", 1, map[string]any{"compression": "tiff_lzw", "tags": map[string]any{"317": 2}}},
		{"RGBA, Deflate", "RGBA", 1, map[string]any{"compression": "tiff_adobe_deflate"}},
		{"RGB, PackBits", "RGB", 1, map[string]any{"compression": "packbits"}},
		{"RGB, JPEG", "RGB", 1, map[string]any{"compression": "jpeg"}},
		{"1 bit, fax", "1", 1, map[string]any{"compression": "group4"}},
		{"palette", "P", 1, map[string]any{"palette": pixeltest.Palette()}},
		{"grey, 16 bits", "I;16", 1, nil},
		{"CMYK", "CMYK", 1, nil},
		{"two pages", "L", 2, nil},
		{"turned", "RGB", 1, map[string]any{"tags": map[string]any{"274": 6}}},
	})
}
