package media

// Rotate90 turns an image counter-clockwise by so many quarters of a circle, of which
// any whole number is taken, as by numpy.rot90.
type Rotate90 struct {
	Turns int `json:"turns"`
}

// Check returns what is wrong with the parameters: nothing.
func (o Rotate90) Check() error { return nil }

// Result tells the form after the operation.
func (o Rotate90) Result(in Form) (Form, error) {
	if o.Turns%2 != 0 {
		in.Height, in.Width = in.Width, in.Height
	}
	return in, in.checkPixels("rotate90")
}

func (o Rotate90) name() string { return "rotate90" }

func (o Rotate90) place(p *Plan, _ uint64, _ Rand) error {
	p.turn(quarters[(o.Turns%4+4)%4])
	return nil
}

// quarters are the orientations that turn an image counter-clockwise by 0 to 3
// quarters of a circle.
var quarters = [4]int{1, 8, 3, 6}

// RandomRotate90 turns an image, with probability P, by none to three quarters of a
// circle, each as likely as the others. So it may stay as it is, even if P is 1.
type RandomRotate90 struct {
	P float64 `json:"p"`
}

// Check returns what is wrong with the parameters.
func (o RandomRotate90) Check() error { return checkChance("random_rotate90", o.P) }

// Result tells the form after the operation: sides of different length may be
// exchanged, so that neither is known.
func (o RandomRotate90) Result(in Form) (Form, error) {
	if o.P > 0 && in.Height != in.Width {
		in.Height, in.Width = Unknown, Unknown
	}
	return in, in.checkPixels("random_rotate90")
}

// place uses draw 0 to decide whether to turn, and draw 1 for how far.
func (o RandomRotate90) name() string { return "random_rotate90" }

func (o RandomRotate90) place(p *Plan, id uint64, r Rand) error {
	turns := 0
	if r.Float64(id, 0) < o.P {
		turns = below(r.Float64(id, 1), 4)
	}
	if p.tells() {
		p.tell(map[string]any{"turns": turns})
	}
	p.turn(quarters[turns])
	return nil
}
