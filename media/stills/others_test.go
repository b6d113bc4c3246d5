package stills_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/tensor"
)

type options = pixeltest.Options

func TestGIF(t *testing.T) {
	d := decoder(media.GIF)
	for i, c := range []struct {
		img oracle.Image
		o   options
	}{
		{pixeltest.Noise("P", 61, 45, 1), options{"palette": pixeltest.Palette()}},
		{pixeltest.Noise("P", 61, 45, 1), options{"palette": pixeltest.Palette(), "interlace": 0}},
		{pixeltest.Noise("P", 1, 1, 1), options{"palette": pixeltest.Palette()}},
		{pixeltest.Noise("P", 5, 3, 1), options{"palette": pixeltest.Palette(), "interlace": 1}},
		{pixeltest.Noise("L", 61, 45, 1), nil},
		{pixeltest.Noise("1", 61, 45, 1), nil},
		{pixeltest.Noise("P", 61, 45, 1), options{"palette": pixeltest.Palette(), "transparency": 77}},
		{pixeltest.Noise("P", 61, 45, 3), options{"palette": pixeltest.Palette(), "duration": 50}},
		{pixeltest.Smooth("RGB", 61, 45, 1), nil},
	} {
		data := oracle.WriteImage(t, c.img, "GIF", c.o)
		name := fmt.Sprintf("%d, %s, %v", i, c.img.Mode, c.o["transparency"])
		pixeltest.EqualsPillow(t, name, d, data, 0)
	}
	pixeltest.Contract(t, d, oracle.WriteImage(t, pixeltest.Noise("L", 8, 8, 1), "GIF", nil))
}

// Frames that do not fill their canvas, and those that are larger, with and without
// colours of their own.
func TestGIFCanvas(t *testing.T) {
	d := decoder(media.GIF)
	still := oracle.WriteImage(t, pixeltest.Noise("P", 20, 10, 1), "GIF", options{"palette": pixeltest.Palette(), "interlace": 0})
	table := 13 + 3<<(still[10]&7+1)
	frame := table + bytes.IndexByte(still[table:], ',')
	for _, canvas := range [][2]int{{20, 10}, {61, 45}, {5, 4}} {
		for _, at := range [][2]int{{0, 0}, {7, 3}} {
			for _, transparent := range []int{-1, 0, 200} {
				for _, local := range []bool{false, true} {
					data := bytes.Clone(still[:table])
					binary.LittleEndian.PutUint16(data[6:], uint16(canvas[0]))
					binary.LittleEndian.PutUint16(data[8:], uint16(canvas[1]))
					if transparent >= 0 {
						data = append(data, '!', 0xF9, 4, 1, 0, 0, byte(transparent), 0)
					}
					place := bytes.Clone(still[frame : frame+10])
					binary.LittleEndian.PutUint16(place[1:], uint16(at[0]))
					binary.LittleEndian.PutUint16(place[3:], uint16(at[1]))
					if local {
						place[9] |= 0x80 | 2 // 8 colours
						for i := range byte(24) {
							place = append(place, 250-9*i)
						}
					}
					data = append(append(data, place...), still[frame+10:]...)
					pixeltest.EqualsPillow(t, fmt.Sprintf("canvas %v, frame at %v, transparent %d, local %v", canvas, at, transparent, local), d, data, 0)
				}
			}
		}
	}
}

func TestGIFErrors(t *testing.T) {
	d := decoder(media.GIF)
	good := oracle.WriteImage(t, pixeltest.Noise("L", 20, 10, 1), "GIF", options{"interlace": 0})
	table := 13 + 3<<(good[10]&7+1)
	pixels := table + bytes.IndexByte(good[table:], ',') + 10
	at := func(at int, with ...byte) []byte {
		bad := bytes.Clone(good)
		copy(bad[at:], with)
		return bad
	}
	for name, c := range map[string]struct {
		data []byte
		kind error
	}{
		"codes of 9 bits":   {at(pixels, 9), media.ErrCorrupt},
		"a code that waits": {at(pixels+2, 0xFF, 0xFF, 0xFF), media.ErrCorrupt},
		"few pixels":        {at(pixels-3, 40, 0), media.ErrTruncated},
		"cut":               {good[:len(good)-30], media.ErrTruncated},
	} {
		if _, err := pixeltest.Try(t, d, c.data, media.RGB, tensor.Uint8); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, want %v", name, err, c.kind)
		}
	}
}

// bmp builds a file that Pillow does not write.
func bmp(width, height, bits int, compression uint32, behind, pixels []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte("BM"), uint32(54+len(behind)+len(pixels)))
	b = binary.LittleEndian.AppendUint32(append(b, 0, 0, 0, 0), uint32(54+len(behind)))
	b = binary.LittleEndian.AppendUint32(b, 40)
	b = binary.LittleEndian.AppendUint32(b, uint32(width))
	b = binary.LittleEndian.AppendUint32(b, uint32(int32(height)))
	b = binary.LittleEndian.AppendUint16(append(b, 1, 0), uint16(bits))
	b = binary.LittleEndian.AppendUint32(b, compression)
	return append(append(append(b, make([]byte, 20)...), behind...), pixels...)
}

func masks(of ...uint32) (b []byte) {
	for _, m := range of {
		b = binary.LittleEndian.AppendUint32(b, m)
	}
	return b
}

func TestBMP(t *testing.T) {
	d := decoder(media.BMP)
	for _, c := range []struct {
		img oracle.Image
		o   options
	}{
		{pixeltest.Noise("1", 61, 45, 1), nil}, {pixeltest.Noise("L", 61, 45, 1), nil}, {pixeltest.Noise("RGB", 61, 45, 1), nil},
		{pixeltest.Noise("RGBA", 61, 45, 1), nil}, {pixeltest.Noise("P", 61, 45, 1), options{"palette": pixeltest.Palette()}}, {pixeltest.Noise("RGB", 1, 1, 1), nil},
	} {
		data := oracle.WriteImage(t, c.img, "BMP", c.o)
		pixeltest.EqualsPillow(t, c.img.Mode, d, data, 0)
	}
	pixeltest.Contract(t, d, oracle.WriteImage(t, pixeltest.Noise("L", 8, 8, 1), "BMP", nil))
}

func TestBMPKinds(t *testing.T) {
	d := decoder(media.BMP)
	const width, height = 13, 9
	noise := func(bits int) []byte { return pixeltest.Noise("L", (width*bits+31)/32*4, height, 1).Pix }
	colours := func(bits int) []byte { return pixeltest.Noise("L", 4<<bits, 1, 1).Pix }
	core := []byte("BM\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0C\x00\x00\x00")
	core = append(core, width, 0, height, 0, 1, 0, 4, 0)
	core[10] = byte(len(core) + 48)
	core = append(append(core, pixeltest.Noise("L", 48, 1, 1).Pix...), noise(4)...)
	v4 := bmp(width, height, 32, 3, make([]byte, 108-40), noise(32))
	v4[14] = 108
	copy(v4[14+40:], masks(0xFF, 0xFF00, 0xFF0000, 0xFF000000))
	cut := bmp(width, height, 8, 0, colours(8), noise(8))
	cut[46] = 16 // colours: the rest are greys
	binary.LittleEndian.PutUint32(cut[10:], uint32(54+64))
	for name, data := range map[string][]byte{
		"1 bit":                bmp(width, height, 1, 0, colours(1), noise(1)),
		"4 bits":               bmp(width, height, 4, 0, colours(4), noise(4)),
		"8 bits":               bmp(width, height, 8, 0, colours(8), noise(8)),
		"16 bits":              bmp(width, height, 16, 0, nil, noise(16)),
		"16 bits, 5 6 5":       bmp(width, height, 16, 3, masks(0xF800, 0x7E0, 0x1F), noise(16)),
		"24 bits":              bmp(width, height, 24, 0, nil, noise(24)),
		"32 bits":              bmp(width, height, 32, 0, nil, noise(32)),
		"32 bits, masks":       bmp(width, height, 32, 3, masks(0xFF000000, 0xFF0000, 0xFF00), noise(32)),
		"32 bits, alpha":       v4,
		"from top to bottom":   bmp(width, -height, 24, 0, nil, noise(24)),
		"top to bottom, 4":     bmp(width, -height, 4, 0, colours(4), noise(4)),
		"OS/2":                 core,
		"fewer colours":        cut,
		"runs of 8 bits":       bmp(4, 3, 8, 1, colours(8), []byte{4, 7, 0, 0, 0, 4, 1, 2, 3, 4, 0, 0, 2, 9, 2, 200, 0, 1}),
		"runs of 4 bits":       bmp(5, 2, 4, 2, colours(4), []byte{5, 0x7A, 0, 0, 0, 5, 0x12, 0x34, 0x50, 0, 0, 0, 0, 1}),
		"runs, a jump":         bmp(4, 3, 8, 1, colours(8), []byte{1, 7, 0, 2, 1, 1, 2, 9, 0, 0, 4, 3, 0, 1}),
		"runs without an end":  bmp(4, 2, 8, 1, colours(8), []byte{4, 7, 0, 0, 4, 8}),
		"odd number as it is":  bmp(3, 1, 8, 1, colours(8), []byte{0, 3, 1, 2, 3, 0, 0, 1}),
		"runs, rows not ended": bmp(4, 2, 8, 1, colours(8), []byte{2, 7, 0, 0, 4, 8, 0, 1}),
	} {
		pixeltest.EqualsPillow(t, name, d, data, 0)
	}
	for name, c := range map[string]struct {
		data []byte
		kind error
	}{
		"cut":                  {bmp(width, height, 24, 0, nil, noise(24)[:100]), media.ErrTruncated},
		"cut in colours":       {bmp(width, height, 8, 0, colours(8), nil)[:200], media.ErrTruncated},
		"cut in masks":         {bmp(width, height, 16, 3, masks(0xF800), nil), media.ErrTruncated},
		"masks with holes":     {bmp(width, height, 16, 3, masks(0xF800, 0x5E0, 0x1F), noise(16)), media.ErrUnsupported},
		"no mask":              {bmp(width, height, 32, 3, masks(0, 0xFF, 0xFF00), noise(32)), media.ErrUnsupported},
		"runs of 24 bits":      {bmp(width, height, 24, 1, nil, noise(24)), media.ErrCorrupt},
		"runs that end":        {bmp(4, 3, 8, 1, colours(8), []byte{4, 7, 0, 0, 0, 4, 1}), media.ErrTruncated},
		"runs that end, jump":  {bmp(4, 3, 8, 1, colours(8), []byte{4, 7, 0, 2, 1}), media.ErrTruncated},
		"runs that end, plain": {bmp(4, 3, 8, 1, colours(8), []byte{4, 7}), media.ErrTruncated},
	} {
		if _, err := pixeltest.Try(t, d, c.data, media.RGB, tensor.Uint8); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, want %v", name, err, c.kind)
		}
	}
}

// Writers that forget the colours or masks when they say where the pixels begin.
func TestBMPOffsetWithoutItsTables(t *testing.T) {
	d := decoder(media.BMP)
	const width, height = 13, 9
	noise := func(bits int) []byte { return pixeltest.Noise("L", (width*bits+31)/32*4, height, 1).Pix }
	colours := func(bits int) []byte { return pixeltest.Noise("L", 4<<bits, 1, 1).Pix }
	stated := func(data []byte, at, colors uint32) []byte {
		data = bytes.Clone(data)
		binary.LittleEndian.PutUint32(data[10:], at)
		binary.LittleEndian.PutUint32(data[46:], colors)
		return data
	}

	for _, bits := range []int{1, 4, 8} {
		right := bmp(width, height, bits, 0, colours(bits), noise(bits))
		for _, at := range []uint32{0, 54} {
			for _, colors := range []uint32{0, 1 << bits} {
				data := stated(right, at, colors)
				name := fmt.Sprintf("%d bits, %d colours, at %d", bits, colors, at)
				pixeltest.EqualsPillow(t, name, d, data, 0)
				sameImage(t, name, d, data, right)
			}
		}
		few := bmp(width, height, bits, 0, colours(bits)[:4*2], noise(bits))
		pixeltest.EqualsPillow(t, fmt.Sprintf("%d bits, 2 colours", bits), d, stated(few, 54, 2), 0)
		pixeltest.EqualsPillow(t, "an offset into the colours", d, stated(few, 54+8, 0), 0)
	}
	many := bmp(width, height, 8, 0, append(colours(8), make([]byte, 4*44)...), noise(8))
	sameImage(t, "300 colours", d, stated(many, 54, 300), stated(many, 54+4*300, 256))

	runs := bmp(4, 3, 8, 1, colours(8), []byte{4, 7, 0, 0, 0, 4, 1, 2, 3, 4, 0, 0, 2, 9, 2, 200, 0, 1})
	pixeltest.EqualsPillow(t, "runs", d, stated(runs, 54, 0), 0)

	// Pillow 13 has no such exception for masks, and shows them as the first pixels.
	masked := bmp(width, height, 16, 3, masks(0xF800, 0x7E0, 0x1F), noise(16))
	sameImage(t, "masks", d, stated(masked, 54, 0), masked)

	for _, bits := range []int{1, 4, 8} {
		core := []byte("BM\x00\x00\x00\x00\x00\x00\x00\x00\x1A\x00\x00\x00\x0C\x00\x00\x00")
		core = append(core, width, 0, height, 0, 1, 0, byte(bits), 0)
		core = append(append(core, pixeltest.Noise("L", 3<<bits, 1, 1).Pix...), noise(bits)...)
		pixeltest.EqualsPillow(t, fmt.Sprintf("OS/2, %d bits", bits), d, core, 0)
	}

	inside := stated(bmp(width, height, 8, 0, colours(8), noise(8)), 20, 0)
	if _, err := pixeltest.Try(t, d, inside, media.RGB, tensor.Uint8); !errors.Is(err, media.ErrCorrupt) {
		t.Errorf("an offset into the header: %v, want %v", err, media.ErrCorrupt)
	}
}

// sameImage compares two files of one image.
func sameImage(t *testing.T, name string, d media.PixelDecoder, a, b []byte) {
	t.Helper()
	if !bytes.Equal(pixeltest.Packed(pixeltest.Decode(t, d, a, media.RGB, tensor.Uint8)), pixeltest.Packed(pixeltest.Decode(t, d, b, media.RGB, tensor.Uint8))) {
		t.Errorf("%s: not the image that it should be", name)
	}
}

func TestTIFF(t *testing.T) {
	d := decoder(media.TIFF)
	for _, compression := range []string{"raw", "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits"} {
		for _, mode := range []string{"1", "L", "P", "RGB", "RGBA"} {
			for _, strip := range []int{65536, 300} {
				o := options{"compression": compression, "strip_size": strip}
				if mode == "P" {
					o["palette"] = pixeltest.Palette()
				}
				if compression != "raw" && compression != "packbits" && mode != "1" && strip == 300 {
					o["tags"] = options{"317": 2}
				}
				name := fmt.Sprintf("%s, %s, %d", mode, compression, strip)
				data := oracle.WriteImage(t, pixeltest.Noise(mode, 61, 45, 1), "TIFF", o)
				pixeltest.EqualsPillow(t, name, d, data, 0)
			}
		}
	}
	for _, compression := range []string{"group3", "group4"} {
		for _, photometric := range []int{0, 1} {
			o := options{"compression": compression, "tags": options{"262": photometric}}
			data := oracle.WriteImage(t, pixeltest.Noise("1", 61, 45, 1), "TIFF", o)
			pixeltest.EqualsPillow(t, fmt.Sprint(compression, photometric), d, data, 0)
		}
	}
	pixeltest.EqualsPillow(t, "pages", d, oracle.WriteImage(t, pixeltest.Noise("RGB", 61, 45, 2), "TIFF", nil), 0)
	pixeltest.Contract(t, d, oracle.WriteImage(t, pixeltest.Noise("L", 8, 8, 1), "TIFF", nil))
}

// 16 bits stay 16, or lose the lower 8.
func TestTIFFOf16Bits(t *testing.T) {
	d := decoder(media.TIFF)
	for _, compression := range []string{"raw", "tiff_lzw"} {
		img := pixeltest.Noise("I;16", 61, 45, 1)
		data := oracle.WriteImage(t, img, "TIFF", options{"compression": compression})
		wide := pixeltest.Packed(pixeltest.Decode(t, d, data, media.Gray, tensor.Uint16))
		narrow := pixeltest.Packed(pixeltest.Decode(t, d, data, media.Gray, tensor.Uint8))
		for i := range narrow {
			v := binary.LittleEndian.Uint16(img.Pix[2*i:])
			if w := binary.NativeEndian.Uint16(wide[2*i:]); w != v || narrow[i] != byte(v>>8) {
				t.Fatalf("%s: pixel %d is %#x and %#x, want %#x", compression, i, w, narrow[i], v)
			}
		}
	}
}

// tiffOf builds a file of one strip, or of tiles, that Pillow does not write.
func tiffOf(order binary.AppendByteOrder, width, height int, pixels []byte, tags ...[3]int) []byte {
	b := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		b = []byte("MM\x00*")
	}
	all := append([][3]int{{256, 4, width}, {257, 4, height}}, tags...)
	b = order.AppendUint32(b, uint32(8+len(pixels)))
	b = append(b, pixels...)
	b = order.AppendUint16(b, uint16(len(all)))
	for _, e := range all {
		b = order.AppendUint32(order.AppendUint16(order.AppendUint16(b, uint16(e[0])), uint16(e[1])), 1)
		if e[1] == 3 {
			b = order.AppendUint16(order.AppendUint16(b, uint16(e[2])), 0)
		} else {
			b = order.AppendUint32(b, uint32(e[2]))
		}
	}
	return order.AppendUint32(b, 0)
}

func TestTIFFKinds(t *testing.T) {
	d := decoder(media.TIFF)
	pixels := pixeltest.Noise("L", 16, 16, 1).Pix
	grey := [][3]int{{258, 3, 8}, {259, 3, 1}, {262, 3, 1}, {273, 4, 8}, {277, 3, 1}, {278, 4, 16}, {279, 4, 256}}
	white := [][3]int{{258, 3, 8}, {259, 3, 1}, {262, 3, 0}, {273, 4, 8}, {277, 3, 1}, {278, 4, 16}, {279, 4, 256}}
	tile := [][3]int{{258, 3, 8}, {259, 3, 1}, {262, 3, 1}, {277, 3, 1}, {322, 4, 16}, {323, 4, 16}, {324, 4, 8}, {325, 4, 256}}
	for name, data := range map[string][]byte{
		"big-endian":    tiffOf(binary.BigEndian, 16, 16, pixels, grey...),
		"little-endian": tiffOf(binary.LittleEndian, 16, 16, pixels, grey...),
		"white is zero": tiffOf(binary.LittleEndian, 16, 16, pixels, white...),
		"a tile":        tiffOf(binary.LittleEndian, 16, 16, pixels, tile...),
		"part of one":   tiffOf(binary.LittleEndian, 13, 11, pixels, tile...),
	} {
		pixeltest.EqualsPillow(t, name, d, data, 0)
	}
	with := func(tag, value int) []byte {
		tags := append([][3]int{}, grey...)
		for i := range tags {
			if tags[i][0] == tag {
				tags[i][2] = value
				return tiffOf(binary.LittleEndian, 16, 16, pixels, tags...)
			}
		}
		return tiffOf(binary.LittleEndian, 16, 16, pixels, append(tags, [3]int{tag, 3, value})...)
	}
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"JPEG":      {with(259, 7), "JPEG compression"},
		"Zstandard": {with(259, 50000), "Zstandard compression"},
		"unknown":   {with(259, 4711), "unknown (4711) compression"},
		"CMYK":      {with(262, 5), "CMYK"},
		"YCbCr":     {with(262, 6), "YCbCr"},
		"floats":    {with(339, 3), "integers"},
		"predictor": {with(317, 3), "predictor 3"},
		"4 bits":    {with(258, 4), "BitsPerSample of 4"},
		"reversed":  {with(266, 2), "reversed bits"},
		"planes":    {tiffOf(binary.LittleEndian, 4, 4, pixels, append([][3]int{{277, 3, 3}, {284, 3, 2}}, grey[:3]...)...), "a plane for each channel"},
	} {
		if _, err := pixeltest.Try(t, d, c.data, media.RGB, tensor.Uint8); !errors.Is(err, media.ErrUnsupported) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Pillow turns TIFFs by itself; here that is a matter of the plan, as for every other
// format.
func TestTIFFTurned(t *testing.T) {
	d := media.Whole(decoder(media.TIFF))
	for o := 1; o <= 8; o++ {
		data := oracle.WriteImage(t, pixeltest.Noise("RGB", 6, 4, 1), "TIFF", options{"tags": options{"274": o}})
		want := oracle.ReadImage(t, data, "RGB", true)
		info, err := media.Probe(data)
		if err != nil || info.Orientation != o {
			t.Fatalf("%+v, %v", info, err)
		}
		var plan media.Plan
		if err := media.MakePlan(info, media.Options{Orient: true}, nil, nil, &plan); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, plan.Width*plan.Height*3)
		if err := d.DecodeInto(got, plan.Width*3, data, &info, &plan); err != nil || !bytes.Equal(got, want.Pix) || plan.Width != want.Width {
			t.Errorf("orientation %d: %d×%d, %v", o, plan.Width, plan.Height, err)
		}
	}
}
