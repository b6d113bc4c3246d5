package media

import (
	"github.com/headrace/headrace/media/internal/resample"
	"github.com/headrace/headrace/tensor"
)

// WorkingBytes is an upper estimate, for byte budgets, of the memory that carrying out
// the plan takes besides its result and the compressed data: by the decoder that is
// registered for what info describes, or, where info is nil, on pixels in memory. C
// libraries' memory is part of it. src is the data, as far as they have been read.
func (p *Plan) WorkingBytes(info *Info, src []byte) int64 {
	const little = 1 << 18 // tables, and what is taken whatever the size
	f := p.Options.Form()
	if info == nil {
		return little + p.passBytes(int64(f.pixelBytes()), true)
	}

	decoder, err := DecoderFor(info.Format)
	if err != nil {
		return 0
	}
	inGo := decoder.Name() == GoJPEG{}.Name()
	if p.Options.Background != nil && info.Alpha {
		f.Color = RGBA
	}

	pixels := int64(info.Width) * int64(info.Height)
	canvas, usual := int64(f.pixelBytes()), f.pixelBytes() == 3
	switch {
	case info.Format == JPEG && (usual || inGo):
		canvas = 0 // rows go on as they come
	case p.Plain():
		canvas = 0 // it is the result
	}

	n := little + pixels*canvas + info.decoderBytes(src, f, inGo)
	if !p.Plain() {
		n += p.passBytes(int64(f.pixelBytes()), info.Format == JPEG)
	}
	return n
}

// WorkingBytes is that of a plan that makes RGB of the whole image in some other
// form: what is known before there is a plan.
func (i Info) WorkingBytes() int64 {
	return 1<<18 + int64(i.Width)*int64(i.Height)*(3+6) + i.decoderBytes(nil, Form{Color: RGB, DType: tensor.Uint8}, false)
}

// Plain reports whether the result is the decoded image, pixel for pixel.
func (p *Plan) Plain() bool {
	s := &p.Stages[0]
	f := p.Options.Form()
	switch {
	case len(p.Stages) != 1, p.Orientation > 1, s.Turn > 1, // turned
		s.Crop != Rect{0, 0, p.inWidth, p.inHeight}, s.Window != s.Crop, s.Resizes(), // other pixels
		len(s.Passes) > 0, p.Options.Background != nil, p.Color != f.Color, // other colours
		p.Output.DType != f.DType, p.Output.Layout != HWC: // another form
		return false
	}
	return true
}

// decoderBytes is what a library takes for itself to decode the image to a form.
func (i *Info) decoderBytes(src []byte, f Form, inGo bool) int64 {
	pixels := int64(i.Width) * int64(i.Height)
	stored := int64(i.Components) * int64((i.Bits+7)/8) // of a pixel
	rows := int64(i.Width+64) * 1024                    // of the few that a library has at a time, of all channels
	unusual := int64(0)                                 // of a pixel, where it has to be decoded to another form first
	if f.pixelBytes() != 3 {
		unusual = 4
		if i.Bits > 8 {
			unusual = 8
		}
	}

	switch i.Format {
	case JPEG:
		n := rows + pixels*unusual
		if inGo {
			// Planes and the image made of them, and of an image in several scans all
			// coefficients, of 32 bits each.
			n += i.samples(src) + 4*pixels
			if i.Scans {
				n += 4 * i.samples(src)
			}
		} else if i.Scans {
			n += 2*i.samples(src) + i.samples(src)/4 // coefficients of 16 bits, until the last is read
		}
		return n
	case PNG:
		if inGo {
			return rows + pixels*(max(stored, 4)+4)
		}
		return rows + pixels*unusual
	case WebP:
		return rows + pixels*unusual + i.webpPlanes(src, inGo) + i.webpCodes(src, inGo)
	case AVIF:
		depth := int64((i.Bits + 7) / 8)
		n := pixels * (10*depth + unusual) // planes of the frame, what it is predicted from, and what filters take
		if i.Alpha {
			n += pixels * 4 * depth
		}
		return rows + n + 8<<20
	}

	if i.Format == TIFF && !inGo {
		return rows + i.tiffBytes(src)
	}
	return rows // GIF, BMP, TIFF in Go: row by row
}

// samples is how many samples a JPEG has, of all components. Where the sampling of
// components is not known, all have a sample for each pixel.
func (i *Info) samples(src []byte) int64 {
	if frame := jpegFrame(src); len(frame) >= 9 {
		return 64 * blocks(i.Width, i.Height, frame[6:])
	}
	return int64(i.Components) * int64(i.Width+31) * int64(i.Height+31)
}

// jpegFrame is the content of the frame header; nil: there is none.
func jpegFrame(src []byte) []byte {
	if !isJPEG(src) {
		return nil
	}
	for rest := src[2:]; ; {
		marker, body, after, err := nextSegment(rest)
		switch {
		case err != nil || marker == sos:
			return nil
		case isFrame(marker):
			return body
		}
		rest = after
	}
}

// blocks counts those of all components of a JPEG, filled up to whole units of what is
// coded together.
func blocks(width, height int, components []byte) (n int64) {
	across, down := 1, 1
	for c := components; len(c) >= 3; c = c[3:] {
		across, down = max(across, int(c[1]>>4)), max(down, int(c[1]&15))
	}
	units := int64((width+8*across-1)/(8*across)) * int64((height+8*down-1)/(8*down))
	for c := components; len(c) >= 3; c = c[3:] {
		n += units * max(int64(c[1]>>4)*int64(c[1]&15), 1)
	}
	return n
}

// passBytes is what the passes take: all images on the way to the result, which may
// be enlarged before they are cut, and what is between the passes of each. rowwise says
// that the first has no image to work on, but rows as they come.
func (p *Plan) passBytes(pixel int64, rowwise bool) (n int64) {
	inGo := CurrentRunner().Name() == GoRunner{}.Name()
	for i := range p.Stages {
		s := &p.Stages[i]
		made := int64(s.Window.Width) * int64(s.Window.Height) * pixel
		if s.Turn >= 5 {
			made *= 2
		}
		n += made + made/4 // memory that is kept grows by more than is asked for

		if s.Warp != nil && s.Warp.Waves.On() {
			n += 8 * int64(s.Width) * int64(s.Height)
		}
		extra := 0
		for k := range s.Passes {
			extra = max(extra, s.Passes[k].extra())
		}
		n += int64(s.Window.Width) * int64(s.Window.Height) * int64(extra)

		v, part := s.Visible(), int64(s.Crop.Width)*int64(s.Crop.Height)*pixel
		if i == 0 && (p.Orientation > 1 || p.Options.Color == RGBA && s.Resizes()) {
			n += 2*part + part/2 // turned, or multiplied with its alpha channel
		}

		if !s.Resizes() {
			continue
		}

		width, rows := max(int64(v.Width), int64(s.Crop.Width)), int64(s.Crop.Height)
		n += resample.TableBytes(s.Crop.Width, s.Width, v.Width,
			resample.Filter(s.Filter)) + resample.TableBytes(s.Crop.Height, s.Height, v.Height, resample.Filter(s.Filter))
		if pixel == 3 && !inGo { // as many rows as one of the result needs
			rows = min(rows, resample.Filter(s.Filter).Reach(s.Crop.Height, s.Height)) + 8
		} else {
			width = int64(v.Width)
		}

		between := (width + 128) * rows * max(pixel, 4)
		n += between + between/4
	}

	if rowwise {
		n += int64(p.inWidth+64) * 64
	}
	return n
}
