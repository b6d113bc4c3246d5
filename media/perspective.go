package media

import (
	"fmt"
	"math"
)

// Quad are four points: upper left, upper right, lower right, lower left; each as pixels
// across and down.
type Quad [4][2]float64

// Perspective moves four points of an image to others, and everything else as if it lay
// in a plane that is looked at from another place, as torchvision's perspective does of
// Pillow images.
type Perspective struct {
	Start  Quad      `json:"start"`
	End    Quad      `json:"end"`
	Filter Filter    `json:"filter,omitzero"` // Nearest, Bilinear or Bicubic
	Fill   [4]uint16 `json:"fill,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o Perspective) Check() error {
	for _, q := range [...]Quad{o.Start, o.End} {
		for _, at := range q {
			if !(math.Abs(at[0]) <= MaxPixels && math.Abs(at[1]) <= MaxPixels) {
				return fmt.Errorf("%w: perspective with the point %v: must be in pixels", ErrGeometry, at)
			}
		}
	}
	return o.Filter.checkWarp("perspective")
}

// Result tells the form after the operation.
func (o Perspective) Result(in Form) (Form, error) {
	if err := checkFill("perspective", in, o.Fill); err != nil {
		return in, err
	}
	return in, in.checkPixels("perspective")
}

func (o Perspective) name() string { return "perspective" }

// place leaves an image as it is if the points lie on a line, as those of an image of one
// row do.
func (o Perspective) place(p *Plan, _ uint64, _ Rand) error {
	if m, ok := between4(o.End, o.Start); ok {
		p.warp(Warp{Map: m, Filter: o.Filter}, Size{p.Height, p.Width}, o.Fill)
	}
	return nil
}

// between4 returns the map that takes four points to others, in single precision as
// torchvision's is. It reports false if there is none.
func between4(from, to Quad) (m Map, ok bool) {
	var rows [8][9]float64
	for i := range from {
		x, y, u, v := from[i][0], from[i][1], to[i][0], to[i][1]
		rows[2*i] = [9]float64{x, y, 1, 0, 0, 0, -u * x, -u * y, u}
		rows[2*i+1] = [9]float64{0, 0, 0, x, y, 1, -v * x, -v * y, v}
	}

	for k := range rows { // Gauss's elimination, with the largest of a column first
		best := k
		for i := k + 1; i < len(rows); i++ {
			if math.Abs(rows[i][k]) > math.Abs(rows[best][k]) {
				best = i
			}
		}
		rows[k], rows[best] = rows[best], rows[k]
		if math.Abs(rows[k][k]) < 1e-9 {
			return m, false
		}
		for i := range rows {
			if i == k {
				continue
			}
			by := rows[i][k] / rows[k][k]
			for j := k; j < 9; j++ {
				rows[i][j] -= float64(by * rows[k][j])
			}
		}
	}
	for k := range rows {
		m[k] = float64(float32(rows[k][8] / rows[k][k]))
	}
	m[8] = 1
	return m, true
}

// RandomPerspective moves, with probability P, the corners of an image inwards by whole
// pixels, each by up to Distortion of half the sides.
type RandomPerspective struct {
	Distortion float64   `json:"distortion"` // from 0 to 1
	P          float64   `json:"p"`
	Filter     Filter    `json:"filter,omitzero"`
	Fill       [4]uint16 `json:"fill,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o RandomPerspective) Check() error {
	if !(o.Distortion >= 0 && o.Distortion <= 1) {
		return fmt.Errorf("%w: random_perspective with a distortion of %v: must be from 0 to 1", ErrGeometry, o.Distortion)
	}
	if err := checkChance("random_perspective", o.P); err != nil {
		return err
	}
	return o.Filter.checkWarp("random_perspective")
}

// Result tells the form after the operation.
func (o RandomPerspective) Result(in Form) (Form, error) {
	if err := checkFill("random_perspective", in, o.Fill); err != nil {
		return in, err
	}
	return in, in.checkPixels("random_perspective")
}

func (o RandomPerspective) name() string { return "random_perspective" }

// place uses draw 0 to decide whether, and the next eight for x and y of each corner.
func (o RandomPerspective) place(p *Plan, id uint64, r Rand) error {
	if r.Float64(id, 0) >= o.P {
		if p.tells() {
			p.tell(map[string]any{"moved": false})
		}
		return nil
	}

	// Corners are those of the first and last pixels, as in torchvision.
	w, h := float64(p.Width-1), float64(p.Height-1)
	start := Quad{{0, 0}, {w, 0}, {w, h}, {0, h}}
	end := start
	for i := range end {
		for k, side := range [...]int{p.Width, p.Height} {
			in := float64(below(r.Float64(id, uint32(1+2*i+k)), int(float64(o.Distortion*float64(side/2)))+1))
			if end[i][k] > 0 {
				in = -in
			}
			end[i][k] += in
		}
	}
	if p.tells() {
		corners := make([]float64, 0, 8)
		for _, at := range end {
			corners = append(corners, at[0], at[1])
		}
		p.tell(map[string]any{"moved": true, "corners": corners})
	}
	return Perspective{start, end, o.Filter, o.Fill}.place(p, id, r)
}
