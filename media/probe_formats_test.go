package media_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
)

// exifOf is the EXIF structure, with the prefix that Pillow wants.
func exifOf(orientation byte) oracle.Bytes {
	return oracle.Bytes(exif("MM", entry{tag: 0x0112, kind: 3, count: 1, value: []byte{0, orientation}})[1:])
}

func colours() []int {
	p := make([]int, 768)
	for i := range p {
		p[i] = i * 7 & 255
	}
	return p
}

type options = map[string]any

// probes are images by Pillow, and what Probe says of them.
var probes = []struct {
	name    string
	image   oracle.Image
	format  string
	options options
	want    media.Info
}{
	{"PNG grey", pixeltest.Noise("L", 61, 45, 1), "PNG", nil, media.Info{Format: media.PNG, Components: 1, Bits: 8}},
	{"PNG bits", pixeltest.Noise("1", 61, 45, 1), "PNG", nil, media.Info{Format: media.PNG, Components: 1, Bits: 1}},
	{"PNG 16", pixeltest.Noise("I;16", 61, 45, 1), "PNG", nil, media.Info{Format: media.PNG, Components: 1, Bits: 16}},
	{"PNG colour", pixeltest.Noise("RGB", 61, 45, 1), "PNG", nil, media.Info{Format: media.PNG, Components: 3, Bits: 8}},
	{"PNG colour, transparent", pixeltest.Noise("RGB", 61, 45, 1), "PNG", options{"transparency": []int{1, 2, 3}}, media.Info{Format: media.PNG, Components: 3, Bits: 8, Alpha: true}},
	{"PNG alpha", pixeltest.Noise("RGBA", 61, 45, 1), "PNG", nil, media.Info{Format: media.PNG, Components: 4, Bits: 8, Alpha: true}},
	{"PNG grey alpha", pixeltest.Noise("LA", 61, 45, 1), "PNG", nil, media.Info{Format: media.PNG, Components: 2, Bits: 8, Alpha: true}},
	{"PNG palette", pixeltest.Noise("P", 61, 45, 1), "PNG", options{"palette": colours()}, media.Info{Format: media.PNG, Components: 1, Bits: 8, Palette: true}},
	{"PNG palette of 4 bits", oracle.Image{Mode: "P", Width: 61, Height: 45, Pix: make([]byte, 61*45)}, "PNG", options{"palette": colours(), "bits": 4, "transparency": 3},
		media.Info{Format: media.PNG, Components: 1, Bits: 4, Palette: true, Alpha: true}},
	{"PNG turned", pixeltest.Noise("RGB", 61, 45, 1), "PNG", options{"exif": exifOf(6)}, media.Info{Format: media.PNG, Components: 3, Bits: 8, Orientation: 6}},
	{"PNG animated", pixeltest.Noise("RGB", 61, 45, 3), "PNG", nil, media.Info{Format: media.PNG, Components: 3, Bits: 8, Animated: true}},

	{"WebP", pixeltest.Noise("RGB", 61, 45, 1), "WEBP", nil, media.Info{Format: media.WebP, Components: 3, Bits: 8}},
	{"WebP alpha", pixeltest.Noise("RGBA", 61, 45, 1), "WEBP", nil, media.Info{Format: media.WebP, Components: 4, Bits: 8, Alpha: true}},
	{"WebP lossless", pixeltest.Noise("RGB", 61, 45, 1), "WEBP", options{"lossless": true}, media.Info{Format: media.WebP, Components: 3, Bits: 8}},
	{"WebP lossless alpha", pixeltest.Noise("RGBA", 61, 45, 1), "WEBP", options{"lossless": true}, media.Info{Format: media.WebP, Components: 4, Bits: 8, Alpha: true}},
	{"WebP turned", pixeltest.Noise("RGB", 61, 45, 1), "WEBP", options{"exif": exifOf(8)}, media.Info{Format: media.WebP, Components: 3, Bits: 8, Orientation: 8}},
	{"WebP turned by XMP", pixeltest.Noise("RGB", 61, 45, 1), "WEBP", options{"xmp": `<x tiff:Orientation="3"/>`}, media.Info{Format: media.WebP, Components: 3, Bits: 8, Orientation: 3}},
	{"WebP animated", pixeltest.Noise("RGBA", 61, 45, 3), "WEBP", options{"duration": 100}, media.Info{Format: media.WebP, Components: 4, Bits: 8, Alpha: true, Animated: true}},

	{"AVIF", pixeltest.Noise("RGB", 61, 45, 1), "AVIF", nil, media.Info{Format: media.AVIF, Components: 3, Bits: 8}},
	{"AVIF grey", pixeltest.Noise("L", 61, 45, 1), "AVIF", nil, media.Info{Format: media.AVIF, Components: 1, Bits: 8}},
	{"AVIF alpha", pixeltest.Noise("RGBA", 61, 45, 1), "AVIF", nil, media.Info{Format: media.AVIF, Components: 4, Bits: 8, Alpha: true}},
	{"AVIF 2", pixeltest.Noise("RGB", 61, 45, 1), "AVIF", options{"exif": exifOf(2)}, media.Info{Format: media.AVIF, Components: 3, Bits: 8, Orientation: 2}},
	{"AVIF 3", pixeltest.Noise("RGB", 61, 45, 1), "AVIF", options{"exif": exifOf(3)}, media.Info{Format: media.AVIF, Components: 3, Bits: 8, Orientation: 3}},
	{"AVIF 4", pixeltest.Noise("RGB", 61, 45, 1), "AVIF", options{"exif": exifOf(4)}, media.Info{Format: media.AVIF, Components: 3, Bits: 8, Orientation: 4}},
	{"AVIF 5", pixeltest.Noise("RGB", 61, 45, 1), "AVIF", options{"exif": exifOf(5)}, media.Info{Format: media.AVIF, Components: 3, Bits: 8, Orientation: 5}},
	{"AVIF 6", pixeltest.Noise("RGBA", 61, 45, 1), "AVIF", options{"exif": exifOf(6)}, media.Info{Format: media.AVIF, Components: 4, Bits: 8, Alpha: true, Orientation: 6}},
	{"AVIF 7", pixeltest.Noise("RGB", 61, 45, 1), "AVIF", options{"exif": exifOf(7)}, media.Info{Format: media.AVIF, Components: 3, Bits: 8, Orientation: 7}},
	{"AVIF 8", pixeltest.Noise("RGB", 61, 45, 1), "AVIF", options{"exif": exifOf(8)}, media.Info{Format: media.AVIF, Components: 3, Bits: 8, Orientation: 8}},
	{"AVIF sequence", pixeltest.Noise("RGBA", 61, 45, 3), "AVIF", nil, media.Info{Format: media.AVIF, Components: 4, Bits: 8, Alpha: true, Animated: true}},

	{"GIF", pixeltest.Noise("P", 61, 45, 1), "GIF", options{"palette": colours()}, media.Info{Format: media.GIF, Components: 1, Bits: 8, Palette: true, Progressive: true}},
	{"GIF straight", pixeltest.Noise("P", 61, 45, 1), "GIF", options{"palette": colours(), "interlace": 0}, media.Info{Format: media.GIF, Components: 1, Bits: 8, Palette: true}},
	{"GIF transparent", pixeltest.Noise("P", 61, 45, 1), "GIF", options{"palette": colours(), "transparency": 7, "interlace": 0},
		media.Info{Format: media.GIF, Components: 1, Bits: 8, Palette: true, Alpha: true}},
	{"GIF animated", pixeltest.Noise("L", 61, 45, 3), "GIF", options{"interlace": 0}, media.Info{Format: media.GIF, Components: 1, Bits: 8, Palette: true, Animated: true}},

	{"BMP", pixeltest.Noise("RGB", 61, 45, 1), "BMP", nil, media.Info{Format: media.BMP, Components: 3, Bits: 8}},
	{"BMP bits", pixeltest.Noise("1", 61, 45, 1), "BMP", nil, media.Info{Format: media.BMP, Components: 1, Bits: 1, Palette: true}},
	{"BMP palette", pixeltest.Noise("P", 61, 45, 1), "BMP", options{"palette": colours()}, media.Info{Format: media.BMP, Components: 1, Bits: 8, Palette: true}},

	{"TIFF", pixeltest.Noise("RGB", 61, 45, 1), "TIFF", nil, media.Info{Format: media.TIFF, Components: 3, Bits: 8}},
	{"TIFF alpha", pixeltest.Noise("RGBA", 61, 45, 1), "TIFF", nil, media.Info{Format: media.TIFF, Components: 4, Bits: 8, Alpha: true}},
	{"TIFF bits", pixeltest.Noise("1", 61, 45, 1), "TIFF", nil, media.Info{Format: media.TIFF, Components: 1, Bits: 1}},
	{"TIFF 16", pixeltest.Noise("I;16", 61, 45, 1), "TIFF", nil, media.Info{Format: media.TIFF, Components: 1, Bits: 16}},
	{"TIFF palette", pixeltest.Noise("P", 61, 45, 1), "TIFF", options{"palette": colours()}, media.Info{Format: media.TIFF, Components: 1, Bits: 8, Palette: true}},
	{"TIFF turned", pixeltest.Noise("RGB", 61, 45, 1), "TIFF", options{"tags": options{"274": 6}}, media.Info{Format: media.TIFF, Components: 3, Bits: 8, Orientation: 6}},
	{"BigTIFF", pixeltest.Noise("RGBA", 61, 45, 1), "TIFF", options{"big_tiff": true, "tags": options{"274": 6}}, media.Info{Format: media.TIFF, Components: 4, Bits: 8, Alpha: true, Orientation: 6}},
	{"BigTIFF pages", pixeltest.Noise("L", 61, 45, 2), "TIFF", options{"big_tiff": true}, media.Info{Format: media.TIFF, Components: 1, Bits: 8, Animated: true}},
	{"TIFF pages", pixeltest.Noise("RGB", 61, 45, 2), "TIFF", nil, media.Info{Format: media.TIFF, Components: 3, Bits: 8, Animated: true}},
}

func TestProbeFormats(t *testing.T) {
	for _, c := range probes {
		data := oracle.WriteImage(t, c.image, c.format, c.options)
		want := c.want
		want.Width, want.Height, want.Orientation = 61, 45, max(want.Orientation, 1)
		got, err := media.Probe(data)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, want)
			continue
		}
		// Pillow's size when the image is upright is the judge of the orientation
		// that turns sideways.
		upright := oracle.ReadImage(t, data, "RGB", true)
		if w, h := got.Oriented(); w != upright.Width || h != upright.Height {
			t.Errorf("%s: %d×%d upright, Pillow says %d×%d", c.name, w, h, upright.Width, upright.Height)
		}
		if n := testing.AllocsPerRun(10, func() { media.Probe(data) }); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

// Any start of an image is reported, or is an error of the right kind; the whole header,
// wherever it ends, is enough.
func TestProbeFormatsCutAnywhere(t *testing.T) {
	for _, c := range probes {
		data := oracle.WriteImage(t, c.image, c.format, c.options)
		for n := range min(len(data), 3000) {
			info, err := media.Probe(data[:n])
			if err != nil && !errors.Is(err, media.ErrTruncated) {
				t.Errorf("%s: the first %d bytes: %+v, %v", c.name, n, info, err)
				break
			}
		}
	}
}

// Damage never leads out of the data, nor to images without size.
func TestProbeHostileFormats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range probes {
		good := oracle.WriteImage(t, c.image, c.format, c.options)
		for range 2000 {
			bad := bytes.Clone(good)
			for range 1 + r.IntN(4) {
				bad[r.IntN(min(len(bad), 700))] = []byte{0, 1, 0x7F, 0x80, 0xFF, byte(r.Uint32())}[r.IntN(6)]
			}
			bad = bad[:len(bad)-r.IntN(len(bad))]
			info, err := media.Probe(bad)
			if err == nil && (info.Width < 1 || info.Height < 1 || info.Width > media.MaxPixels/info.Height || info.Orientation < 1 || info.Orientation > 8) {
				t.Fatalf("%s: %+v", c.name, info)
			}
		}
	}
}

func TestProbeRefusesFormats(t *testing.T) {
	make := func(mode, format string, o options) []byte {
		return oracle.WriteImage(t, pixeltest.Noise(mode, 61, 45, 1), format, o)
	}
	png, webp, avif := make("RGB", "PNG", nil), make("RGB", "WEBP", options{"exif": exifOf(1)}), make("RGB", "AVIF", nil)
	gif, bmp, tiff := make("P", "GIF", nil), make("RGB", "BMP", nil), make("RGB", "TIFF", nil)
	at := func(data []byte, at int, with ...byte) []byte {
		data = bytes.Clone(data)
		copy(data[at:], with)
		return data
	}
	ispe := bytes.Index(avif, []byte("ispe")) + 8
	table := 13 + 3<<(gif[10]&7+1)
	frame := table + bytes.IndexByte(gif[table:], ',')
	ifd := int(binary.LittleEndian.Uint32(tiff[4:]))
	samples := bytes.Clone(tiff)
	for e := samples[ifd+2:]; len(e) >= 12; e = e[12:] {
		if binary.LittleEndian.Uint16(e) == 277 {
			copy(e[2:], []byte{4, 0, 1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0x7F})
			break
		}
	}
	for name, c := range map[string]struct {
		data []byte
		kind error
		says string
	}{
		"PNG of zero width":        {at(png, 16, 0, 0, 0, 0), media.ErrCorrupt, "0×45"},
		"PNG bomb":                 {at(png, 16, 0, 1, 0, 0, 0, 1, 0, 0), media.ErrTooLarge, "65536×65536"},
		"PNG of 3 bits":            {at(png, 24, 3), media.ErrCorrupt, "3 bits"},
		"PNG of another method":    {at(png, 26, 1), media.ErrCorrupt, "compression"},
		"PNG for iOS":              {at(png, 12, []byte("CgBI")...), media.ErrUnsupported, "iOS"},
		"PNG without header":       {at(png, 12, []byte("sBIT")...), media.ErrCorrupt, "header"},
		"PNG without pixels":       {append(bytes.Clone(png[:33]), png[len(png)-12:]...), media.ErrCorrupt, "without pixels"},
		"PNG cut before pixels":    {png[:37], media.ErrTruncated, "before its pixels"},
		"WebP of zero size":        {at(make("RGB", "WEBP", nil), 26, 0, 0, 0, 0), media.ErrCorrupt, "0×0"},
		"WebP bomb":                {at(webp, 24, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF), media.ErrTooLarge, "pixels"},
		"WebP of something else":   {at(webp, 12, []byte("ICCP")...), media.ErrCorrupt, "ICCP"},
		"AVIF of zero width":       {at(avif, ispe, 0, 0, 0, 0), media.ErrCorrupt, "0×45"},
		"AVIF bomb":                {at(avif, ispe, 0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF), media.ErrTooLarge, "pixels"},
		"AVIF without size":        {at(avif, ispe-8, []byte("what")...), media.ErrCorrupt, "size"},
		"GIF of zero size":         {at(at(gif, 6, 0, 0, 0, 0), frame+5, 0, 0, 0, 0), media.ErrCorrupt, "0×0"},
		"GIF without picture":      {at(gif, table, ';'), media.ErrCorrupt, "without an image"},
		"BMP of zero width":        {at(bmp, 18, 0, 0, 0, 0), media.ErrCorrupt, "0×45"},
		"BMP of negative width":    {at(bmp, 18, 0xFF, 0xFF, 0xFF, 0xFF), media.ErrCorrupt, "-1×45"},
		"BMP bomb":                 {at(bmp, 18, 0, 0, 1, 0, 0, 0, 1, 0), media.ErrTooLarge, "pixels"},
		"BMP of 2 bits":            {at(bmp, 28, 2), media.ErrUnsupported, "2 bits"},
		"BMP with a JPEG":          {at(bmp, 30, 4), media.ErrUnsupported, "JPEG inside"},
		"TIFF of zero width":       {at(tiff, ifd+2+8, 0, 0), media.ErrCorrupt, "0×45"},
		"TIFF of many samples":     {samples, media.ErrCorrupt, "samples"},
		"TIFF without directory":   {at(tiff, 4, 0xFF, 0xFF, 0xFF, 0xFF), media.ErrTruncated, "directory"},
		"BigTIFF cut":              {at(tiff, 2, '+')[:12], media.ErrTruncated, "BigTIFF ends within its header"},
		"BigTIFF without end":      {at(tiff, 2, '+', 0, 8, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255), media.ErrTruncated, "before its directory"},
		"HEIC":                     {[]byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic"), media.ErrFormat, "HEIC"},
		"JPEG XL":                  {[]byte("\xFF\x0A\x00\x10\xB0\x13\x88"), media.ErrFormat, "JPEG XL"},
		"JPEG XL in boxes":         {[]byte("\x00\x00\x00\x0CJXL \r\n\x87\n\x00\x00"), media.ErrFormat, "JPEG XL"},
		"JPEG 2000":                {[]byte("\x00\x00\x00\x0CjP  \r\n\x87\n\x00\x00"), media.ErrFormat, "JPEG 2000"},
		"SVG":                      {[]byte("<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>"), media.ErrFormat, "SVG"},
		"PDF":                      {[]byte("%PDF-1.7\n"), media.ErrFormat, "PDF"},
		"MP4":                      {[]byte("\x00\x00\x00\x18ftypisom\x00\x00\x00\x00isommp42"), media.ErrFormat, "video"},
		"WebM":                     {[]byte("\x1A\x45\xDF\xA3\x01\x00\x00\x00"), media.ErrFormat, "video"},
		"a page":                   {[]byte("<!DOCTYPE html><html><body>404"), media.ErrFormat, "HTML"},
		"text":                     {[]byte("a picture of a horse"), media.ErrFormat, `"a picture of a h"`},
		"text, what is known":      {[]byte("a picture of a horse"), media.ErrFormat, "JPEG, PNG, WebP, AVIF, GIF, BMP and TIFF are known"},
		"two letters":              {[]byte("BMX bikes for sale here"), media.ErrFormat, "42 4d 58"},
		"the start of PNG's magic": {[]byte(png[:5]), media.ErrTruncated, "start of an image"},
	} {
		info, err := media.Probe(c.data)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v; want %v that says %q", name, info, err, c.kind, c.says)
		}
	}
}

// The places where PNGs hide an orientation: after the pixels, and in texts, as
// ImageMagick writes it.
func TestProbePNGTexts(t *testing.T) {
	png := oracle.WriteImage(t, pixeltest.Noise("RGB", 61, 45, 1), "PNG", nil)
	end := len(png) - 12
	tiff := exif("II", entry{tag: 0x0112, kind: 3, count: 1, value: []byte{6, 0}})[7:]
	const hexDigits = "0123456789abcdef"
	profile := []byte("Raw profile type exif\x00\nexif\n      40\n")
	for i, b := range append([]byte("Exif\x00\x00"), tiff...) {
		if profile = append(profile, hexDigits[b>>4], hexDigits[b&15]); i%36 == 35 {
			profile = append(profile, '\n')
		}
	}
	xmp := []byte("XML:com.adobe.xmp\x00\x00\x00\x00\x00<x tiff:Orientation=\"6\"/>")
	for name, chunk := range map[string][]byte{
		"eXIf": chunk("eXIf", tiff), "eXIf with a prefix": chunk("eXIf", append([]byte("Exif\x00\x00"), tiff...)),
		"text": chunk("tEXt", profile), "XMP": chunk("iTXt", xmp),
	} {
		for _, at := range []int{33, end} {
			if name == "XMP" && at == end {
				continue // that needs the pixels to be decoded first, in Pillow
			}
			data := append(append(bytes.Clone(png[:at]), chunk...), png[at:]...)
			if info, err := media.Probe(data); err != nil || info.Orientation != 6 {
				t.Errorf("%s at %d: %+v, %v", name, at, info, err)
			}
			if p := oracle.ReadImage(t, data, "RGB", true); p.Width != 45 {
				t.Errorf("%s at %d: Pillow does not turn it", name, at)
			}
		}
	}
}

func chunk(kind string, body []byte) []byte {
	c := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	c = append(append(c, kind...), body...)
	return binary.BigEndian.AppendUint32(c, crc32.ChecksumIEEE(c[4:]))
}
