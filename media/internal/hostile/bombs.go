package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/media/internal/testjpeg"
)

// bombs are files that are small and ask for much: memory, time, or trust.
func bombs(t testing.TB, format string) []File {
	t.Helper()
	seeds := Seeds(t, format)
	files := bombsOf[format](seeds)
	for _, other := range []string{
		"<!doctype html><html>", "PK\x03\x04", "\x00\x00\x00\x1CftypM4V ", pngMagic,
		"GIF89a", "BM", "II*\x00\x08\x00\x00\x00", "\xFF\xD8\xFF\xE0",
	} {
		files = append(files, File{fmt.Sprintf("begins with %q", other), append([]byte(other), seeds[0].Data...)},
			File{fmt.Sprintf("%q in place of its beginning", other),
				append([]byte(other), seeds[0].Data[min(len(other), len(seeds[0].Data)):]...)})
	}
	return append(files, File{"nothing", nil}, File{"zeros", make([]byte, 4096)}, File{"ones", bytes.Repeat([]byte{0xFF}, 4096)})
}

var bombsOf = map[string]func(seeds []File) []File{
	media.JPEG: jpegBombs, media.PNG: pngBombs, media.WebP: webpBombs, media.AVIF: avifBombs,
	media.GIF: gifBombs, media.BMP: bmpBombs, media.TIFF: tiffBombs,
}

func jpegBombs([]File) []File {
	progressive := testjpeg.Noise(64, 64, 1, testjpeg.Layout{Sampling: testjpeg.S420, Progressive: true})
	body := progressive[:len(progressive)-2]
	scan := body[bytes.LastIndex(body, []byte{0xFF, 0xDA}):]
	baseline := testjpeg.Noise(64, 64, 1, testjpeg.Layout{Sampling: testjpeg.S420})
	frame, scanAt := bytes.Index(baseline, []byte{0xFF, 0xC0}), bytes.Index(baseline, []byte{0xFF, 0xDA})
	cat := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	files := []File{
		{"5,000 scans", cat(body, bytes.Repeat(scan, 5000), []byte{0xFF, 0xD9})},
		{"5,000 empty scans", cat(body, bytes.Repeat(scan[:12], 5000), []byte{0xFF, 0xD9})},
		{"a megabyte of filling", cat(baseline[:2], bytes.Repeat([]byte{0xFF}, 1<<20), baseline[2:])},
		{"a megabyte of restarts", cat(baseline[:scanAt+40], bytes.Repeat([]byte{0xFF, 0xD0}, 1<<19))},
		{"100,000 comments", cat(baseline[:2], bytes.Repeat([]byte{0xFF, 0xFE, 0, 2}, 100_000), baseline[2:])},
		{"10,000 tables", cat(baseline[:2], bytes.Repeat(baseline[2:frame], 10_000), baseline[2:])},
		{"1,000 frames", cat(baseline[:scanAt], bytes.Repeat(baseline[frame:scanAt], 1000), baseline[scanAt:])},
		{"progressive, cut, 60,000×2,000 pixels", Resized(progressive[:len(progressive)/2], media.JPEG, 60_000, 2000)},
	}
	for at := frame + 4; at < frame+19; at++ {
		for _, v := range []byte{0, 5, 0x14, 0xFF, 1, 4, 0x11, 0x41, 0x44, 0xF1, 0x1F}[:tier.Cases(4, 11)] {
			b := bytes.Clone(baseline)
			b[at] = v
			files = append(files, File{fmt.Sprintf("%#x at %d of the frame", v, at-frame), b})
		}
	}
	return files
}

func pngBombs([]File) []File {
	zeros := make([]byte, 10<<20)
	much := deflated(make([]byte, 32<<20/slowness))
	row := append(ihdr(8, 8, 8, 0, 0), pixeltest.Chunk("IDAT", deflated(make([]byte, 9*8)))...)

	return []File{
		{"100,000×100,000 of nothing", png(ihdr(100_000, 100_000, 8, 2, 0), pixeltest.Chunk("IDAT", deflated(zeros[:1<<20])))},
		{"2³¹-1 wide", png(ihdr(math.MaxInt32, 1, 8, 0, 0), pixeltest.Chunk("IDAT", nil))},
		{"2³² - 1 both ways", png(ihdr(math.MaxUint32, math.MaxUint32, 16, 6, 1), pixeltest.Chunk("IDAT", nil))},
		{"3,000×3,000 zeros in 9 KiB", png(ihdr(3000, 3000, 8, 0, 0), pixeltest.Chunk("IDAT", deflated(zeros[:3001*3000])))},
		{"6,000×2,000 of one bit", png(ihdr(6000, 2000, 1, 0, 0), pixeltest.Chunk("IDAT", deflated(zeros[:751*2000])))},
		{"1,000 times the pixels", png(ihdr(100, 100, 8, 0, 0), pixeltest.Chunk("IDAT", much))},
		{"EXIF in a text of 32 MiB", png(pixeltest.Chunk("zTXt", append([]byte("Raw profile type exif\x00\x00"), much...)), row)},
		{"the same in its place", png(row, pixeltest.Chunk("zTXt", append([]byte("Raw profile type exif\x00\x00"), much...)))},
		{"a text of 32 MiB", png(row[:25], pixeltest.Chunk("zTXt", append([]byte("Comment\x00\x00"), much...)), row[25:])},
		{"an iTXt of 32 MiB", png(row[:25], pixeltest.Chunk("iTXt", append([]byte("Comment\x00\x01\x00\x00\x00"), much...)), row[25:])},
		{"a colour profile of 32 MiB", png(row[:25], pixeltest.Chunk("iCCP", append([]byte("p\x00\x00"), much...)), row[25:])},
		{"50,000 empty chunks", png(row[:25], bytes.Repeat(pixeltest.Chunk("IDAT", nil), 50_000), row[25:])},
		{"50,000 texts", png(row[:25], bytes.Repeat(pixeltest.Chunk("tEXt", []byte("a\x00b")), 50_000), row[25:])},
		{"50,000 unknown chunks", png(row[:25], bytes.Repeat(pixeltest.Chunk("quUx", []byte("a")), 50_000), row[25:])},
		{"a chunk of 2³²-1 bytes", png(row[:25], []byte("\xFF\xFF\xFF\xFFIDAT"), row[25:])},
		{"a palette of nothing", png(ihdr(8, 8, 8, 3, 0), row[25:])},
		{"a palette that is too short", png(ihdr(8, 8, 8, 3, 0), pixeltest.Chunk("PLTE", []byte{1, 2, 3}),
			pixeltest.Chunk("IDAT", deflated(bytes.Repeat([]byte{0, 1, 2, 3, 4, 5, 6, 7, 255}, 8))))},
		{"a palette that is too long", png(ihdr(8, 8, 1, 3, 0), pixeltest.Chunk("PLTE", make([]byte, 768)), row[25:])},
		{"filter 5", png(ihdr(8, 8, 8, 0, 0), pixeltest.Chunk("IDAT", deflated(bytes.Repeat([]byte{5, 1, 2, 3, 4, 5, 6, 7, 8}, 8))))},
		{"a pixel too few", png(ihdr(8, 8, 8, 0, 0), pixeltest.Chunk("IDAT", deflated(zeros[:9*8-1])))},
		{"transparency of nothing", png(ihdr(8, 8, 8, 3, 0), pixeltest.Chunk("tRNS", make([]byte, 256)),
			pixeltest.Chunk("PLTE", []byte{1, 2, 3}), row[25:])},
		{"two headers", png(row[:25], ihdr(100, 100, 16, 6, 0), row[25:])},
		{"pixels before the header", png(row[25:], row[:25])},
	}
}

func webpBombs(seeds []File) []File {
	var files []File
	for _, s := range seeds {
		le := bytes.Clone(s.Data)
		binary.LittleEndian.PutUint32(le[4:], 0xFFFFFFFF)
		files = append(files,
			File{s.Name + ", 2²⁴×2²⁴", Resized(s.Data, media.WebP, 1<<24, 1<<24)},
			File{s.Name + ", 16383×16383", Resized(s.Data, media.WebP, 16_383, 16_383)},
			File{s.Name + ", a RIFF of 4 GiB", le},
			File{s.Name + ", twice", append(bytes.Clone(s.Data), s.Data...)},
			File{s.Name + ", 100,000 chunks of nothing", append(bytes.Clone(s.Data[:12]),
				append(bytes.Repeat([]byte("XXXX\x00\x00\x00\x00"), 100_000), s.Data[12:]...)...)})
	}
	return files
}

func avifBombs(seeds []File) []File {
	var files []File
	for _, s := range seeds {
		files = append(files,
			File{s.Name + ", 2³²-1 both ways", Resized(s.Data, media.AVIF, math.MaxUint32, math.MaxUint32)},
			File{s.Name + ", 100,000×100,000", Resized(s.Data, media.AVIF, 100_000, 100_000)},
			File{s.Name + ", boxes of nothing", append(bytes.Clone(s.Data[:binary.BigEndian.Uint32(s.Data)]),
				bytes.Repeat([]byte("\x00\x00\x00\x08free"), 100_000)...)},
			File{s.Name + ", a box of 2⁶⁴-1 bytes", append(bytes.Clone(s.Data[:binary.BigEndian.Uint32(s.Data)]),
				"\x00\x00\x00\x01meta\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"...)})
	}
	return files
}

func gifBombs(seeds []File) []File {
	header := append([]byte("GIF89a\x17\x00\x11\x00\xF7\x00\x00"), make([]byte, 3*256)...)
	frame := func(x, y, width, height uint16, lzw ...byte) []byte {
		le := binary.LittleEndian
		b := le.AppendUint16(le.AppendUint16([]byte{','}, x), y)
		b = le.AppendUint16(le.AppendUint16(b, width), height)
		return append(append(b, 0), lzw...)
	}
	gif := func(parts ...[]byte) []byte {
		return append(append(bytes.Clone(header), bytes.Join(parts, nil)...), ';')
	}

	large := bytes.Clone(header)
	binary.LittleEndian.PutUint32(large[6:], 0x1F40_1F40)
	pixel := []byte{8, 4, 0x00, 0x03, 0x02, 0x04, 0} // clear, 1, end
	clears := append([]byte{8},
		bytes.Repeat(append([]byte{255}, bytes.Repeat([]byte{0, 1, 2, 4, 8, 16, 32, 64, 128}, 29)[:255]...), 2000)...)

	return []File{
		{"65,535×65,535 in name", Resized(seeds[0].Data, media.GIF, 65_535, 65_535)},
		{"a pixel on 8,000×8,000", append(append(large, frame(7999, 7999, 1, 1, pixel...)...), ';')},
		{"a pixel beyond the canvas", gif(frame(65_535, 65_535, 1, 1, pixel...))},
		{"a frame of 0×0", gif(frame(0, 0, 0, 0, pixel...))},
		{"code size 0", gif(frame(0, 0, 5, 5, 0, 2, 1, 2, 0))},
		{"code size 12", gif(frame(0, 0, 5, 5, 12, 2, 1, 2, 0))},
		{"code size 255", gif(frame(0, 0, 5, 5, 255, 2, 1, 2, 0))},
		{"half a megabyte of clear codes", gif(frame(0, 0, 5, 5, append(clears, 0)...))},
		{"no blocks", gif(frame(0, 0, 5, 5, 8, 0))},
		{"100,000 extensions", gif(bytes.Repeat([]byte{'!', 0xFE, 1, 'a', 0}, 100_000), frame(0, 0, 1, 1, pixel...))},
		{"10,000 frames", gif(bytes.Repeat(frame(0, 0, 1, 1, pixel...), 10_000))},
		{"pixels of no colour", append(append([]byte("GIF89a\x05\x00\x05\x00\x00\x00\x00"),
			frame(0, 0, 5, 5, 2, 3, 0x84, 0x8F, 0x05, 0)...), ';')},
	}
}

func bmpBombs(seeds []File) []File {
	files := []File{
		{"-2³¹ high", bmp(4, math.MinInt32, 24, 0, make([]byte, 64))},
		{"-1 wide", bmp(-1, 4, 24, 0, make([]byte, 64))},
		{"-2³¹ wide", bmp(math.MinInt32, 4, 24, 0, make([]byte, 64))},
		{"2³¹-1 both ways", bmp(math.MaxInt32, math.MaxInt32, 32, 0, make([]byte, 64))},
		{"4,000×4,000 in name", bmp(4000, 4000, 24, 0, make([]byte, 64))},
		{"runs beyond the row", bmp(4, 4, 8, 1, bytes.Repeat([]byte{255, 1}, 100))},
		{"jumps beyond the picture", bmp(4, 4, 8, 1, append(bytes.Repeat([]byte{0, 2, 255, 255}, 1000), 4, 4, 0, 1))},
		{"ends of lines without end", bmp(4, 4, 8, 1, bytes.Repeat([]byte{0, 0}, 100_000))},
		{"empty runs without end", bmp(4, 4, 8, 1, bytes.Repeat([]byte{0, 0, 0, 5}, 100_000))},
		{"absolute pixels beyond the data", bmp(4, 4, 8, 1, []byte{0, 255, 1})},
		{"runs of 4 bits in 8", bmp(4, 4, 8, 2, []byte{4, 4, 0, 1})},
		{"runs from top to bottom", bmp(4, -4, 8, 1, []byte{4, 4, 0, 1})},
		{"runs, 3,000×3,000", bmp(3000, 3000, 8, 1, []byte{4, 4, 0, 1})},
		{"3 bits", bmp(4, 4, 3, 0, make([]byte, 64))},
		{"0 bits", bmp(4, 4, 0, 0, make([]byte, 64))},
		{"masks of nothing", bmp(4, 4, 32, 3, make([]byte, 64))},
	}

	for _, at := range []int{10, 14, 46} { // where pixels begin; the header's size; colours
		for _, v := range []uint32{0, 1, 12, 14, 256, 257, 1 << 16, math.MaxInt32, math.MaxUint32} {
			b := bytes.Clone(seeds[2].Data)
			binary.LittleEndian.PutUint32(b[at:], v)
			files = append(files, File{fmt.Sprintf("%d at %d", v, at), b})
		}
	}
	return files
}

func tiffBombs(seeds []File) []File {
	var files []File
	for _, s := range seeds[:4] { // without compression and with, in strips
		for _, tag := range []uint16{258, 259, 262, 266, 273, 277, 278, 279, 284, 317, 320, 322, 323, 324, 325, 338, 339} {
			for _, v := range []uint32{0, 1, 2, 3, 8, 0x7FFF, 0xFFFF, 0x10000, math.MaxInt32, math.MaxUint32} {
				b := bytes.Clone(s.Data)
				setTIFF(b, tag, v)
				if !bytes.Equal(b, s.Data) {
					files = append(files, File{fmt.Sprintf("%s, tag %d is %d", s.Name, tag, v), b})
				}
			}
			files = append(files, File{fmt.Sprintf("%s, tag %d has 2³²-1 values", s.Name, tag), countedTIFF(s.Data, tag, math.MaxUint32)},
				File{fmt.Sprintf("%s, tag %d has 100,000 values", s.Name, tag), countedTIFF(s.Data, tag, 100_000)})
		}
		for _, at := range []uint32{0, 4, 8, 10, math.MaxUint32, math.MaxUint32 - 7, uint32(len(s.Data)), uint32(len(s.Data) - 1)} {
			b := bytes.Clone(s.Data)
			binary.LittleEndian.PutUint32(b[4:], at)
			files = append(files, File{fmt.Sprintf("%s, a directory at %d", s.Name, at), b})
		}
	}
	return files
}

// countedTIFF says that a tag has so many values, at the beginning of the file.
func countedTIFF(data []byte, tag uint16, count uint32) []byte {
	b := bytes.Clone(data)
	at := int(binary.LittleEndian.Uint32(b[4:]))
	for range binary.LittleEndian.Uint16(b[at:]) {
		if entry := b[at+2:]; binary.LittleEndian.Uint16(entry) == tag {
			binary.LittleEndian.PutUint32(entry[4:], count)
			binary.LittleEndian.PutUint32(entry[8:], 0)
		}
		at += 12
	}
	return b
}
