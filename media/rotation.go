package media

import (
	"fmt"
	"math"
)

// Rotate turns an image counter-clockwise by an angle in degrees, as Pillow's rotate
// does.
type Rotate struct {
	Angle  float64 `json:"angle"`
	Filter Filter  `json:"filter,omitzero"` // Nearest, Bilinear or Bicubic
	// Expand makes the result as large as the turned image, instead of as the image.
	Expand bool `json:"expand,omitempty"`
	// Center is the point that stays in place, across and down from the upper left
	// corner. nil: the middle.
	Center *[2]float64 `json:"center,omitempty"`
	Fill   [4]uint16   `json:"fill,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o Rotate) Check() error {
	return RandomRotation{Degrees: [2]float64{o.Angle, o.Angle}, Filter: o.Filter, Center: o.Center}.check("rotate")
}

// Result tells the form after the operation.
func (o Rotate) Result(in Form) (Form, error) {
	return RandomRotation{Degrees: [2]float64{o.Angle, o.Angle}, Expand: o.Expand, Fill: o.Fill}.result("rotate", in)
}

func (o Rotate) name() string { return "rotate" }

func (o Rotate) place(p *Plan, _ uint64, _ Rand) error {
	angle := math.Mod(o.Angle, 360)
	if angle < 0 {
		angle += 360
	}
	quarters, is := quarterTurns(angle)
	fits := quarters%2 == 0 || o.Expand || p.Width == p.Height
	if is && o.Center == nil && fits {
		return Rotate90{quarters}.place(p, 0, nil)
	}
	m, to := rotation(Size{p.Height, p.Width}, angle, o.Center, o.Expand)
	p.warp(Warp{Map: m, Filter: o.Filter}, to, o.Fill)
	return nil
}

// quarterTurns reports whether an angle from 0 to 360 degrees is so many quarters.
func quarterTurns(angle float64) (n int, is bool) {
	n = int(angle / 90)
	return n % 4, float64(90*n) == angle
}

// rotation returns the map of a rotation and the size of its result. Pillow
// rounds sine and cosine to 15 digits.
func rotation(of Size, angle float64, center *[2]float64, expand bool) (m Map, to Size) {
	w, h := float64(of.Width), float64(of.Height)
	at := [2]float64{w / 2, h / 2}
	if center != nil {
		at = *center
	}
	sin, cos := sinCos(-angle)
	sin, cos = digits15(sin), digits15(cos)
	m, to = Map{cos, sin, 0, -sin, cos, 0, 0, 0, 1}, of
	m[2], m[5] = m.At(-at[0], -at[1])
	m[2], m[5] = m[2]+at[0], m[5]+at[1]
	if !expand {
		return m, to
	}
	x0, y0, x1, y1 := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, c := range [...][2]float64{{0, 0}, {w, 0}, {w, h}, {0, h}} {
		x, y := m.At(c[0], c[1])
		x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
	}
	to = Size{int(math.Ceil(y1) - math.Floor(y0)), int(math.Ceil(x1) - math.Floor(x0))}
	m[2], m[5] = m.At(-(float64(to.Width)-w)/2, -(float64(to.Height)-h)/2)
	return m, to
}

func digits15(v float64) float64 { return math.RoundToEven(float64(v*1e15)) / 1e15 }

// RandomRotation is Rotate by an angle that is drawn evenly between two bounds.
type RandomRotation struct {
	Degrees [2]float64  `json:"degrees"`
	Filter  Filter      `json:"filter,omitzero"`
	Expand  bool        `json:"expand,omitempty"`
	Center  *[2]float64 `json:"center,omitempty"`
	Fill    [4]uint16   `json:"fill,omitzero"`
}

// Check refuses parameters beyond their bounds.
func (o RandomRotation) Check() error { return o.check("random_rotation") }

func (o RandomRotation) check(name string) error {
	if err := checkAngles(name, o.Degrees); err != nil {
		return err
	}
	if err := checkCenter(name, o.Center); err != nil {
		return err
	}
	return o.Filter.checkWarp(name)
}

// Result tells the form after the operation.
func (o RandomRotation) Result(in Form) (Form, error) { return o.result("random_rotation", in) }

func (o RandomRotation) result(name string, in Form) (Form, error) {
	if err := checkFill(name, in, o.Fill); err != nil {
		return in, err
	}
	if o.Expand {
		in.Height, in.Width = Unknown, Unknown
	}
	return in, in.checkPixels(name)
}

func (o RandomRotation) name() string { return "random_rotation" }

// place uses draw 0.
func (o RandomRotation) place(p *Plan, id uint64, r Rand) error {
	angle := evenly(o.Degrees, id, r, 0)
	if p.tells() {
		p.tell(map[string]any{"angle": angle})
	}
	return Rotate{angle, o.Filter, o.Expand, o.Center, o.Fill}.place(p, id, r)
}

// evenly draws a number between two ends, of which the second is never reached.
func evenly(ends [2]float64, id uint64, r Rand, draw uint32) float64 {
	if ends[0] == ends[1] {
		return ends[0]
	}
	return ends[0] + float64(float64(ends[1]-ends[0])*r.Float64(id, draw))
}

func checkAngles(name string, ends [2]float64) error {
	if !(ends[0] <= ends[1] && !math.IsInf(ends[0], 0) && !math.IsInf(ends[1], 0)) {
		return fmt.Errorf("%w: %s by %v degrees: must be two rising numbers", ErrGeometry, name, ends)
	}
	return nil
}

func checkCenter(name string, center *[2]float64) error {
	if center == nil {
		return nil
	}
	for _, v := range center {
		if !(math.Abs(v) <= MaxPixels) {
			return fmt.Errorf("%w: %s about %v: must be in pixels from the upper left corner", ErrGeometry, name, *center)
		}
	}
	return nil
}

// checkWarp refuses filters that are not for warps, in which nothing becomes smaller by
// them.
func (f Filter) checkWarp(name string) error {
	switch f {
	case Nearest, Bilinear, Bicubic:
		return nil
	}
	return fmt.Errorf("%w: %s with %v: must be nearest, bilinear or bicubic", ErrGeometry, name, f)
}
