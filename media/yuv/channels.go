package yuv

import (
	"encoding/binary"

	"github.com/headrace/headrace/media/internal/orient"
)

// toGray writes luma alone, expanded to the full range, as FFmpeg has its format gray. Of
// RGB it is that of BT.601.
func toGray(to Target, p *Picture) error {
	if p.Kind == RGB {
		return lightness(to, p)
	}
	gray := *p
	gray.Kind = Gray
	f := gray.factors(to.Wide)
	part := &p.Parts[0]

	if p.bytesOf(part) == 1 && !to.Wide {
		var level [256]byte
		for v := range level {
			level[v] = byte(min(max((f.Luma*int64(v)<<f.Parts+f.Red)>>f.Bits, 0), 255))
		}
		for y := range p.Height {
			from, row := part.Data[part.First+y*part.Stride:], to.Data[y*to.Stride:][:p.Width]
			for x := range row {
				row[x] = level[from[x*part.Step]]
			}
		}
		return nil
	}
	for y := range p.Height {
		row := to.Data[y*to.Stride:]
		for x := range p.Width {
			v := (f.Luma*gray.level(0, x, y, f) + f.Red) >> f.Bits
			if to.Wide {
				binary.LittleEndian.PutUint16(row[2*x:], uint16(min(max(v, 0), 65535)))
			} else {
				row[x] = byte(min(max(v, 0), 255))
			}
		}
	}
	return nil
}

// lightness writes that of RGB pixels, as package media has it.
func lightness(to Target, p *Picture) error {
	rgb := Target{Wide: to.Wide}
	rgb.Stride = rgb.row(p.Width)
	rgb.Data = make([]byte, rgb.Stride)
	one := *p
	one.Height = 1

	for y := range p.Height {
		for i := range one.Parts {
			one.Parts[i].First = p.Parts[i].First + y*p.Parts[i].Stride
		}
		if err := convert(rgb, &one, p.factors(to.Wide)); err != nil {
			return err
		}
		row := to.Data[y*to.Stride:]
		for x := range p.Width {
			if !to.Wide {
				in := rgb.Data[3*x:]
				row[x] = byte(light(uint64(in[0]), uint64(in[1]), uint64(in[2])))
				continue
			}
			in := rgb.Data[6*x:]
			channel := func(c int) uint64 { return uint64(binary.LittleEndian.Uint16(in[2*c:])) }
			binary.LittleEndian.PutUint16(row[2*x:], uint16(light(channel(0), channel(1), channel(2))))
		}
	}
	return nil
}

func light(r, g, b uint64) uint64 { return (19595*r + 38470*g + 7471*b + 1<<15) >> 16 }

// toRGBA writes colours and alpha.
func toRGBA(to Target, p *Picture) error {
	rgb := to
	rgb.Channels = 3
	if err := convert(rgb, p, p.factors(to.Wide)); err != nil {
		return err
	}
	alpha := make([]uint16, p.Width)
	for y := range p.Height {
		p.alpha(alpha, y, to.Wide)
		row := to.Data[y*to.Stride:][:to.row(p.Width)]
		if to.Wide {
			for x := p.Width - 1; x >= 0; x-- { // from the last: rows are spread where they are
				copy(row[8*x:], row[6*x:][:6])
				binary.LittleEndian.PutUint16(row[8*x+6:], alpha[x])
			}
			continue
		}
		for x := p.Width - 1; x >= 0; x-- {
			r, g, b := row[3*x], row[3*x+1], row[3*x+2]
			pixel := row[4*x:][:4]
			pixel[0], pixel[1], pixel[2], pixel[3] = r, g, b, byte(alpha[x])
		}
	}
	return nil
}

// alpha has a row of it in 8 bits or, if wide, in 16.
func (p *Picture) alpha(to []uint16, y int, wide bool) {
	top, most := int64(255), int64(1)<<p.Bits-1
	if wide {
		top = 65535
	}
	for x := range to {
		if to[x] = uint16(top); p.Alpha.Data != nil {
			to[x] = uint16((p.sampleOf(&p.Alpha, x, y, p.Bits)*top + most/2) / most)
		}
	}
}

// Interleave writes the samples of an image of RGB or gray that Check has found well as
// they are, those of a pixel side by side: of so many channels, alpha being the fourth.
// The image is turned as one of EXIF's orientations says.
func (p *Picture) Interleave(to []byte, channels int, wide bool, orientation int) {
	width, height := orient.Size(orientation, p.Width, p.Height)
	parts := []*Part{&p.Parts[0], &p.Parts[1], &p.Parts[2], &p.Alpha}[:channels]
	at := 0
	for y := range height {
		for x := range width {
			sx, sy := orient.At(orientation, p.Width, p.Height, x, y)
			for _, part := range parts {
				v := p.sampleOf(part, sx, sy, 16)
				to[at] = byte(v)
				at++
				if wide {
					to[at] = byte(v >> 8)
					at++
				}
			}
		}
	}
}
