//go:build !race

// The race detector keeps memory of its own for each byte, which would count as the
// image's.

package hostile

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/media/internal/testjpeg"
	"github.com/headrace/headrace/media/internal/testwebp"
	"github.com/headrace/headrace/tensor"
)

// What a plan says that decoding takes is not less than what it takes, for every
// format: budgets rely on it. What the resident memory of the process grows by is the
// image's.
func TestEstimatesAreUpperBounds(t *testing.T) {
	tier.StartsProcesses(t)
	// With a threshold that stays as it is, the C library gives back what was freed,
	// and the next image's memory is seen again.
	const threshold = "MALLOC_MMAP_THRESHOLD_=65536"
	if name, value, _ := strings.Cut(threshold, "="); os.Getenv(name) != value {
		own := exec.Command(os.Args[0], "-test.run=^TestEstimatesAreUpperBounds$", "-test.v")
		own.Env = append(os.Environ(), threshold)
		text, err := own.CombinedOutput()
		if t.Logf("%s", text); err != nil || !bytes.Contains(text, []byte("WebP, lossless, whole")) {
			t.Error(err)
		}
		return
	}
	const width, height = 3200, 2000 // of JPEG: libjpeg-turbo keeps the coefficients of smaller ones
	large := pixeltest.Smooth("RGB", width, height, 1)
	drawn := make(map[string]oracle.Image)
	write := func(mode, format string, o pixeltest.Options) []byte {
		if format == "JPEG" {
			return oracle.WriteImage(t, large, format, o)
		}
		if _, known := drawn[mode]; !known {
			drawn[mode] = pixeltest.Smooth(mode, 1800, 1100, 1)
		}
		return oracle.WriteImage(t, drawn[mode], format, o)
	}
	side := 800
	if d, err := media.DecoderFor(media.WebP); err == nil && !strings.HasPrefix(d.Name(), "libwebp") {
		side = 200 // more codes are refused
	}
	type options = pixeltest.Options
	// Whether a WebP is lossless makes all the difference to what it takes.
	tight := map[string]bool{"WebP": true, "WebP, exact alpha": true, "WebP, lossless": true, "WebP, lossless, alpha": true}
	for name, data := range map[string][]byte{
		"JPEG":                  write("RGB", "JPEG", options{"quality": 90}),
		"JPEG, progressive":     write("RGB", "JPEG", options{"quality": 90, "progressive": true}),
		"JPEG, many scans":      testjpeg.ManyScans(width, height, 30),
		"PNG":                   write("RGB", "PNG", options{"compress_level": 1}),
		"PNG with alpha":        write("RGBA", "PNG", options{"compress_level": 1}),
		"PNG of 16 bits":        write("I;16", "PNG", options{"compress_level": 1}),
		"WebP":                  write("RGB", "WEBP", options{"method": 0}),
		"WebP with alpha":       write("RGBA", "WEBP", options{"method": 0, "alpha_quality": 50}),
		"WebP, exact alpha":     write("RGBA", "WEBP", options{"method": 4, "alpha_quality": 100}),
		"WebP, lossless":        write("RGB", "WEBP", options{"method": 0, "lossless": true, "quality": 0}),
		"WebP, lossless, alpha": write("RGBA", "WEBP", options{"method": 0, "lossless": true, "quality": 0}),
		"WebP, many codes":      testwebp.ManyGroups(side),
		"AVIF":                  avif(t, 1200, 800),
		"GIF":                   write("L", "GIF", nil),
		"BMP":                   write("RGB", "BMP", nil),
		"TIFF":                  write("RGB", "TIFF", options{"strip_size": 1 << 30}),
		"TIFF, LZW":             write("RGB", "TIFF", options{"strip_size": 1 << 30, "compression": "tiff_lzw"}),
		"TIFF, LZMA":            write("RGB", "TIFF", options{"strip_size": 1 << 30, "compression": "lzma"}),
		"TIFF, JPEG":            write("RGB", "TIFF", options{"strip_size": 1 << 30, "compression": "jpeg"}),
		"TIFF, CMYK":            write("CMYK", "TIFF", options{"strip_size": 1 << 30}),
		"TIFF, deflate":         write("RGB", "TIFF", options{"compression": "tiff_adobe_deflate"}),
	} {
		info, err := media.Probe(data)
		if err != nil {
			if data == nil {
				continue
			}
			t.Fatal(name, err)
		}
		d, err := media.DecoderFor(info.Format)
		if err != nil {
			continue
		}
		small := []media.Step{{Op: media.ResizeExact{Height: 224, Width: 224}}}
		for _, u := range []use{
			{"whole", media.Options{}, nil},
			{"resized", media.Options{}, small},
			{"gray of 16 bits, resized", media.Options{Color: media.Gray, DType: tensor.Uint16}, small},
		} {
			var plan media.Plan
			if err := media.MakePlan(info, u.options, u.steps, draws{}, &plan); err != nil {
				t.Fatal(name, err)
			}
			stride := plan.Form().RowBytes()
			dst := make([]byte, stride*plan.Height)
			for i := range dst {
				dst[i] = 1 // resident before
			}
			took := MemoryOf(t, func() {
				if err = d.DecodeInto(dst, stride, data, &info, &plan); err != nil {
					t.Error(name, err)
				}
			})
			const beside = 3 << 20 // what runtime and C library keep by the way
			said := plan.WorkingBytes(&info, data)
			if took > said+beside && !instrumented {
				t.Errorf("%s, %s: needs %d KiB, %d KiB were said", name, u.name, took>>10, said>>10)
			} else {
				t.Logf("%s, %s: needs %d KiB, %d KiB were said", name, u.name, took>>10, said>>10)
			}
			if tight[name] && strings.HasPrefix(d.Name(), "libwebp") && said > 2*(took+beside) {
				t.Errorf("%s, %s: needs %d KiB, and as many as %d KiB were said", name, u.name, took>>10, said>>10)
			}
		}
	}
}

// avif is nil where there is no decoder.
func avif(t *testing.T, width, height int) []byte {
	t.Helper()
	d, err := media.DecoderFor(media.AVIF)
	if err != nil {
		return nil
	}
	seed := Seeds(t, media.AVIF)[0].Data
	if _, err := attempt(d, seed, nil, uses[0]); unsupported(err) {
		return nil
	}
	return oracle.WriteImage(t, pixeltest.Smooth("RGB", width, height, 1), "AVIF", pixeltest.Options{"speed": 10, "quality": 50})
}
